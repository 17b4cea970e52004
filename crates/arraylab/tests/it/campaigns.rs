//! Campaigns on twins, and what can be done with a run.

use crate::support::{command, json_lines, results, succeed, text, wait_until};
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

fn twin_run(run: &std::path::Path, more: &[&str]) -> String {
    let mut arguments = vec![
        "run",
        "flashsystem-840",
        "--target",
        "twin:flashsystem-840",
        "--out",
        run.to_str().unwrap(),
        "--set",
        "runtime=0.2",
    ];
    arguments.extend(more);
    succeed(&arguments)
}

const SHORT: &[&str] = &["--stage", "peak-4k", "--stage", "block-size"];

/// Proves that the same plan, array and seed give the same bytes, with one thread and with two, and alone or among
/// others; and that another seed gives others.
#[test]
fn same_seed_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let run = |name: &str, more: &[&str]| {
        let path = directory.path().join(name);
        twin_run(&path, &[SHORT, more].concat());
        succeed(&["results", path.to_str().unwrap(), "--json"])
    };
    let once = run("once", &["--threads", "1"]);
    assert_eq!(once, run("again", &["--threads", "2"]));
    assert_ne!(once, run("other", &["--seed", "2"]));
    let alone = run("alone", &["--only", "bs=8k"]);
    assert_eq!(alone.lines().count(), 1);
    assert!(once.contains(alone.trim()), "a case alone is the case among others");
}

/// Proves that a twin on the wall clock gives the bytes that it gives as fast as it goes, cases with skipped time among
/// them; that it takes the time that its speed says; and that it says how late it was.
#[test]
fn a_twin_on_the_wall_clock_gives_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let plan = directory.path().join("timed.yaml");
    fs::write(
        &plan,
        "title: Timed\nwatch: { interval: 20 }\nstages:\n  load:\n    settings: { rw: randrw, bs: 4k, rwmixread: 70, iodepth: 4 }\n    matrix: { numjobs: [1, 2] }\n",
    )
    .unwrap();
    let run = |name: &str, more: &[&str]| {
        let path = directory.path().join(name);
        let arguments = [
            "run",
            plan.to_str().unwrap(),
            "--target",
            "twin:flashsystem-840",
            "--out",
            path.to_str().unwrap(),
        ];
        let printed_text = crate::support::arraylab(&[&arguments, more].concat());
        assert!(printed_text.status.success(), "{}", text(&printed_text.stderr));
        (path, text(&printed_text.stderr))
    };
    let of = |path: &std::path::Path| succeed(&["results", path.to_str().unwrap(), "--json"]);
    let (fast, printed_text) = run("fast", &["--set", "runtime=80"]);
    assert!(!printed_text.contains("wall clock"), "{printed_text}");
    let begun = Instant::now();
    let (timed, printed_text) = run("timed", &["--set", "runtime=80", "--speed", "100"]);
    // Two cases of 80 s, one after the other.
    assert!(begun.elapsed() >= Duration::from_millis(1600), "{:?}", begun.elapsed());
    assert!(printed_text.contains("kept time with the wall clock; the latest sample was"), "{printed_text}");
    assert!(of(&fast).contains("extrapolation"), "no time was skipped");
    assert_eq!(of(&fast), of(&timed));
}

/// Proves that a twin on the wall clock shows no sample before its interval has ended on that clock.
#[test]
fn a_twin_on_the_wall_clock_can_be_watched() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let begun = Instant::now();
    let mut child = wall_clock_run(&run, "2");
    let mut shown = Vec::new();
    while shown.len() < 3 {
        assert!(begun.elapsed() < Duration::from_secs(30), "{shown:?}");
        std::thread::sleep(Duration::from_millis(20));
        if run.join("manifest.json").exists() {
            let last = crate::support::query(&run, "SELECT COALESCE(MAX(end_ns), 0) FROM intervals");
            let last_ns: u64 = last.parse().unwrap();
            // Twice as fast as the clock.
            assert!(
                u128::from(last_ns) <= 2 * begun.elapsed().as_nanos(),
                "{last_ns} after {:?}",
                begun.elapsed()
            );
            if last_ns > 0 && shown.last() != Some(&last_ns) {
                shown.push(last_ns);
            }
        }
    }
    crate::support::tool("kill", &["-INT", &child.id().to_string()]);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// Proves that Ctrl-C ends a twin on the wall clock within seconds, though its next sample is a quarter of an hour away.
#[test]
fn a_twin_on_the_wall_clock_can_be_interrupted() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let mut child = wall_clock_run(&run, "0.001");
    let is_running = || {
        let printed_text = succeed(&["status", run.to_str().unwrap(), "--json"]);
        json_lines(&printed_text).remove(0)["current"].is_object()
    };
    wait_until("a case is under way", || run.join("manifest.json").exists() && is_running());
    let requested = Instant::now();
    crate::support::tool("kill", &["-INT", &child.id().to_string()]);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(requested.elapsed() < Duration::from_secs(3), "ended after {:?}", requested.elapsed());
}

fn wall_clock_run(run: &std::path::Path, speed: &str) -> std::process::Child {
    let arguments = ["run", "quick", "--target", "twin:raid-levels", "--out", run.to_str().unwrap()];
    let more = ["--set", "runtime=20", "--speed", speed];
    command(&[&arguments[..], &more].concat()).stderr(Stdio::null()).spawn().unwrap()
}

/// Proves that a speed is refused where there is no twin, before anything is written, and so is one that no clock has.
#[test]
fn a_speed_is_for_twins() {
    let directory = tempfile::tempdir().unwrap();
    let (run, image) = (directory.path().join("run"), directory.path().join("test.img"));
    let target = format!("file:{},size=16m", image.display());
    let try_it = |target: &str, speed: &str| {
        crate::support::refuse(&[
            "run",
            "quick",
            "--target",
            target,
            "--out",
            run.to_str().unwrap(),
            "--speed",
            speed,
        ])
    };
    let (code, printed_text) = try_it(&target, "2");
    assert_eq!(code, Some(2));
    assert!(printed_text.contains("--speed is for twins"), "{printed_text}");
    for speed in ["0", "-1", "1001", "fast", "NaN"] {
        let (code, printed_text) = try_it("twin:raid-levels", speed);
        assert_eq!(code, Some(2), "{speed}");
        assert!(speed.starts_with('-') || printed_text.contains("between 0.001 and 1000"), "{printed_text}");
    }
    assert!(!run.exists() && !image.exists());
}

/// Proves that `run --json`, `results --json` and `results --csv` agree, and that fields are those of the design.
#[test]
fn results_have_the_fields_of_the_design() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let printed = twin_run(&run, &["--stage", "block-size", "--json"]);
    assert_eq!(printed, succeed(&["results", run.to_str().unwrap(), "--json"]));
    let results = json_lines(&printed);
    assert_eq!(results.len(), 6);
    let first = results[0].as_object().unwrap();
    let keys: Vec<&str> = first.keys().map(String::as_str).collect();
    assert_eq!(
        keys[..12],
        [
            "plan",
            "stage",
            "case",
            "settings",
            "target",
            "engine",
            "status",
            "duration_s",
            "iops",
            "bw_bytes_per_s",
            "read",
            "write"
        ]
    );
    assert_eq!(first["case"], "bs=4096");
    assert_eq!(first["settings"]["bs"], 4096);
    let latency: Vec<&str> =
        first["read"]["latency_ns"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(latency, ["mean", "p50", "p95", "p99", "p99.9", "p99.99", "min", "max"]);
    let csv = succeed(&["results", run.to_str().unwrap(), "--csv"]);
    let heading = csv.lines().next().unwrap();
    for column in ["settings.bs", "read.latency_ns.p99.9", "write.iops", "bw_bytes_per_s"] {
        assert!(heading.split(',').any(|name| name == column), "{column} in {heading}");
    }
    assert_eq!(csv.lines().count(), 7);
}

/// Proves that `status` tells a running campaign from a dead one, and that Ctrl-C ends within a second, with status 130
/// and a line on how to go on.
#[test]
fn interruption_and_status() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let run_name = run.to_str().unwrap();
    let image = directory.path().join("test.img");
    let target = format!("file:{},size=16m", image.display());
    let mut child = command(&["run", "quick", "--target", &target, "--out", run_name, "--set", "runtime=30"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let status = || json_lines(&succeed(&["status", run_name, "--json"])).remove(0);
    wait_until("a case is under way", || {
        run.join("manifest.json").exists() && status()["current"].is_object()
    });
    assert_eq!(status()["state"], "running");
    assert_eq!(status()["cases_total"], 5);
    succeed(&["mark", run_name, "a cable was pulled"]);
    let requested = Instant::now();
    crate::support::tool("kill", &["-INT", &child.id().to_string()]);
    let ended = child.wait().unwrap();
    assert!(requested.elapsed() < Duration::from_secs(3), "ended after {:?}", requested.elapsed());
    assert_eq!(ended.code(), Some(130));
    let mut printed_text = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut printed_text).unwrap();
    assert!(printed_text.contains(&format!("arraylab run --resume {run_name}")), "{printed_text}");
    assert_eq!(status()["state"], "interrupted");
}

/// Proves that losing the terminal does not end a campaign.
#[test]
fn a_lost_terminal_does_not_end_a_campaign() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let mut child = command(&[
        "run",
        "flashsystem-840",
        "--target",
        "twin:flashsystem-840",
        "--stage",
        "read-share",
        "--set",
        "runtime=1",
        "--out",
        run.to_str().unwrap(),
    ])
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    // The reader of stderr goes away, and the terminal says so.
    drop(child.stderr.take());
    // Until it has begun, nobody has told it not to end.
    wait_until("the campaign has begun", || run.join("manifest.json").exists());
    crate::support::tool("kill", &["-HUP", &child.id().to_string()]);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(results(&run).len(), 11);
}

/// Proves that a report is one file that loads nothing from outside, as HTML and as Markdown, and that `report` prints
/// its path last.
#[test]
fn a_report_stands_alone() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    twin_run(&run, &["--stage", "block-size"]);
    let run_name = run.to_str().unwrap();
    let printed_text = succeed(&["report", run_name]);
    let path = printed_text.lines().last().unwrap();
    assert_eq!(path, run.join("report.html").to_str().unwrap());
    let html = fs::read_to_string(path).unwrap();
    assert!(html.contains("<svg") && html.contains("<table"));
    for loads in ["src=\"http", "href=\"http", "url(http", "@import", "<link"] {
        assert!(!html.contains(loads), "{loads}");
    }
    let markdown = succeed(&[
        "report",
        run_name,
        "--format",
        "md",
        "--out",
        directory.path().join("r.md").to_str().unwrap(),
    ]);
    assert!(markdown.trim().ends_with("r.md"));
    assert!(fs::read_to_string(directory.path().join("r.md")).unwrap().contains("| "));
    assert_eq!(fs::read_to_string(path).unwrap(), {
        succeed(&["report", run_name]);
        fs::read_to_string(path).unwrap()
    });
}

/// Proves that a reader of stdout that has seen enough is no failure.
#[test]
fn a_closed_pipe_is_no_failure() {
    let mut child = command(&["expand", "flashsystem-840", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(!text(&output.stderr).contains("panicked"), "{}", text(&output.stderr));
}
