//! The plan `acceptance`, shortened, on each kind of real target, with its sheet and its report.

use crate::support::{LoopDevice, NbdServer, arraylab, consent_id, results, succeed, text};
use std::fs;

/// Runs the cases of priority 1, half a second each, and looks at what an engineer takes away.
fn accept(target: &str, needs_consent: bool) {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let run = directory.path().join("run");
    let run = run.to_str().unwrap();
    // Eight cases of priority 1 are in the plan; there is room for them, and for the writes before them.
    let mut words: Vec<&str> = vec!["run", "acceptance", "--target", target, "--out", run];
    words.extend(["--set", "runtime=0.5", "--set", "ramp_time=0.1", "--time-budget", "5s"]);
    let id = needs_consent.then(|| consent_id(&words));
    words.extend(id.iter().flat_map(|id| ["--overwrite-data", id]));
    let output = arraylab(&words);
    let printed_text = text(&output.stderr);
    // Whether the machine that runs the tests keeps 100 ms is not what is tested.
    // Half a second shows neither that no I/O takes ten nor, on a slow one, percentiles.
    assert_eq!(output.status.code(), Some(1), "{printed_text}");
    assert!(printed_text.contains("not shown  no I/O of the mixed load takes 10 s"), "{printed_text}");
    assert!(printed_text.contains("left out: long-write"), "{printed_text}");
    let is_verdict =
        |line: &&str| ["PASS  ", "FAIL  ", "not shown  "].iter().any(|word| line.starts_with(word));
    assert_eq!(printed_text.lines().filter(is_verdict).count(), 10, "{printed_text}");
    let results = results(run.as_ref());
    assert_eq!(results.len(), 8);
    for result in &results {
        assert_eq!(result["status"], "done", "{result}");
        for direction in ["read", "write"].map(|name| &result[name]).into_iter().filter(|it| !it.is_null()) {
            assert!(direction["ios"].as_u64() > Some(0) && direction["errors"] == 0, "{result}");
        }
    }
    for (format, wanted) in [
        (
            "md",
            [
                "## What was required",
                "✓ PASS | no read fails | corners",
                "| `lscpu`",
                "lscpu (before the first case)",
            ],
        ),
        (
            "html",
            [
                "id=\"requirements\"",
                "✓ PASS</td><td>no read fails</td>",
                "id=\"inventory\"",
                "<summary>lscpu (before the first case)",
            ],
        ),
    ] {
        let page = fs::read_to_string(succeed(&["report", run, "--format", format]).trim()).unwrap();
        for wanted in wanted.iter().filter(|wanted| !wanted.starts_with("| `")) {
            assert!(page.contains(wanted), "{wanted} is not in the report");
        }
    }
}

/// Proves that `acceptance` runs on a file within its time budget, with a sheet, an inventory and a report.
#[test]
fn on_a_file() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    accept(&format!("file:{},size=64m", directory.path().join("t.img").display()), false);
}

/// Proves the same on a block device.
#[test]
fn on_a_loop_device() {
    accept(&LoopDevice::new(64 << 20).path, true);
}

/// Proves the same on an NBD address.
#[test]
fn on_an_nbd_address() {
    accept(&NbdServer::new("64M").uri(), true);
}

/// Proves that the limits of a file of promises take the place of the plan's and are kept with the run, and that a mistake in it is
/// shown at its line, before anything is run.
#[test]
fn promises_take_the_place_of_limits() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let run_with = |promises: &str, name: &str| {
        fs::write(path("promises.yaml"), promises).unwrap();
        arraylab(&[
            "run",
            "acceptance",
            "--target",
            "twin:small-flash",
            "--stage",
            "latency",
            "--set",
            "runtime=0.5",
            "--promises",
            &path("promises.yaml"),
            "--out",
            &path(name),
        ])
    };
    let promised = "# Offer of May, 4 KiB, one I/O at a time.\nrequire:\n  - { says: reads within 1 us, quantity: read.latency_ns.mean, at_most: 1us, stage: latency, cases: { rw: randread } }\n  - { says: writes within 1 s, quantity: write.latency_ns.mean, at_most: 1s, stage: latency, cases: { rw: randwrite } }\n";
    let output = run_with(promised, "run");
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert_eq!((printed.matches("PASS").count(), printed.matches("FAIL").count()), (1, 1), "{printed}");
    let page = fs::read_to_string(succeed(&["report", &path("run"), "--format", "md"]).trim()).unwrap();
    assert!(page.contains("reads within 1 us") && !page.contains("no read fails"), "{page}");
    for (wrong, words) in [
        (promised.replace("1us", "1"), "promises.yaml:3:"),
        (promised.replace("stage: latency", "stage: latencies"), "promises.yaml:3:"),
        (format!("{promised}stages: {{}}\n"), "stages"),
        ("limits: []\n".to_owned(), "promises nothing"),
    ] {
        let output = run_with(&wrong, "refused");
        let printed = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{printed}");
        assert!(printed.contains(words) && printed.contains("hint: "), "{words}: {printed}");
        assert!(!directory.path().join("refused").exists());
    }
}
