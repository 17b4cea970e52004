//! Plan features around loads: pauses by rate, events on conditions, pictures, an inventory, and mounts that
//! a killed run leaves.

use crate::support::{LoopDevice, command, consent_id, query, results, succeed, wait_until};
use std::fs;
use std::path::Path;
use std::process::Stdio;

fn plan(directory: &Path, yaml: &str) -> String {
    let path = directory.join("plan.yaml");
    fs::write(&path, yaml).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Proves that a pause is what a case wrote divided by a rate that an earlier stage found: 4,000 I/Os at 2,000 a second
/// are two seconds, whatever `otherwise` says.
#[test]
fn a_pause_rests_on_a_rate_found_earlier() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let plan = plan(
        directory.path(),
        "
title: Pauses
defaults: { rw: randwrite, bs: 4k, iodepth: 4 }
stages:
  long: { settings: { rate_iops: 2000, runtime: 1 } }
  minutes:
    settings: { rate_iops: 4000, runtime: 1 }
    matrix: { pass: [1, 2] }
    pause: { bytes_over: { stage: long, quantity: write.bw_bytes_per_s, match: [bs] }, otherwise: 1h }
",
    );
    let target = format!("file:{},size=16m", directory.path().join("t.img").display());
    let run = directory.path().join("run");
    succeed(&["run", &plan, "--target", &target, "--out", run.to_str().unwrap()]);
    // From the beginning of the first of the two cases to that of the second, less the load itself.
    let paused = "SELECT (b.started_at_ns - a.started_at_ns) / 1e9 - 1 FROM attempts a \
                  JOIN attempts b ON b.case_id = a.case_id + 1 ORDER BY a.case_id DESC LIMIT 1";
    let paused_s: f64 = query(&run, paused).parse().unwrap();
    let results = results(&run);
    let written = results[1]["write"]["bytes"].as_f64().unwrap();
    let wanted_s = written / results[0]["write"]["bw_bytes_per_s"].as_f64().unwrap();
    assert!((1.5..2.5).contains(&wanted_s), "{wanted_s}");
    assert!((wanted_s..wanted_s + 2.0).contains(&paused_s), "{paused_s} s instead of {wanted_s}");
}

/// Proves that an event on a condition takes place on a twin after the samples that fulfil it, and never where they do
/// not, and that the report has a mark for it.
#[test]
fn events_wait_for_their_condition() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(
        directory.path(),
        "
title: On a condition
watch: { interval: 1 }
stages:
  update:
    settings: { rw: randread, bs: 4k, numjobs: 4, iodepth: 4, runtime: 20 }
    events: [{ when: { quantity: iops, above: 1, samples: 3 }, action: firmware-update }]
  never:
    settings: { rw: randread, bs: 4k, numjobs: 4, iodepth: 4, runtime: 2 }
    events: [{ when: { quantity: iops, below: 1 }, action: firmware-update }]
",
    );
    let run = directory.path().join("run");
    succeed(&["run", &plan, "--target", "twin:flashsystem-840", "--out", run.to_str().unwrap()]);
    let first_s: f64 =
        query(&run, "SELECT min(case_at_ns) / 1e9 FROM events WHERE kind = 'event'").parse().unwrap();
    assert!((3.0..4.0).contains(&first_s), "{first_s}");
    let stages = "SELECT group_concat(DISTINCT stage) FROM events JOIN attempts a ON a.id = attempt_id \
                  JOIN cases c ON c.id = a.case_id WHERE kind = 'event'";
    assert_eq!(query(&run, stages), "update");
    let warning = "the event `firmware-update` did not take place: its condition has never held";
    assert_eq!(results(&run)[1]["warnings"][0], warning);
    let page = fs::read_to_string(succeed(&["report", run.to_str().unwrap()]).trim()).unwrap();
    let printed_text = query(&run, "SELECT text FROM events WHERE kind = 'event' ORDER BY at_ns LIMIT 1");
    assert!(page.contains(&printed_text), "`{printed_text}` is not in the report");
}

/// The smallest PNG: one pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";

/// Proves that pictures and what inventory commands say are kept with the run and stand in the report when the plan has
/// moved away, that a picture which was never there is a warning and no failure, and that a missing program is said.
#[test]
fn pictures_and_inventory_reach_the_report() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let home = directory.path().join("home");
    fs::create_dir_all(home.join("pictures")).unwrap();
    fs::write(home.join("pictures/bench.png"), PNG).unwrap();
    let plan = plan(
        &home,
        "
title: With pictures
inventory:
  - { command: [sh, -c, 'echo first \\<b\\>; echo oops >&2'], at: both }
  - command: /nonesuch/omreport
images:
  - { file: pictures/bench.png, caption: The bench & its cables }
  - { file: gone.png, caption: Never there }
stages:
  reads: { settings: { rw: randread, bs: 4k, runtime: 0.2 } }
",
    );
    let run = directory.path().join("run");
    let target = format!("file:{},size=4m", directory.path().join("t.img").display());
    succeed(&["run", &plan, "--target", &target, "--out", run.to_str().unwrap()]);
    fs::remove_dir_all(&home).unwrap();
    for (format, wanted) in [
        (
            "html",
            &[
                "<img alt=\"The bench &amp; its cables\" src=\"data:image/png;base64,iVBORw0KGgo",
                "The picture gone.png",
                "first &lt;b&gt;",
                "oops",
                "(after the last case)",
                "/nonesuch/omreport (before the first case)",
            ][..],
        ),
        (
            "md",
            &["pictures/bench.png: The bench", "The picture gone.png", "    first <b>", "/nonesuch/omreport"]
                [..],
        ),
    ] {
        let page = fs::read_to_string(succeed(&["report", run.to_str().unwrap(), "--format", format]).trim())
            .unwrap();
        for wanted in wanted {
            assert!(page.contains(wanted), "{wanted} is not in the {format} report");
        }
    }
}

/// Proves that a file system which a killed run has left mounted is unmounted when that run goes on, and by a run that
/// is refused because nobody has consented to it.
#[test]
fn what_a_killed_run_has_mounted_is_unmounted() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let plan = plan(
        directory.path(),
        "
title: ext4
stages:
  fs:
    filesystem: { fill: 50 }
    settings: { rw: randread, bs: 4k, iodepth: 4, runtime: 2, filesystem: ext4 }
",
    );
    let device = LoopDevice::new(64 << 20);
    let is_mounted = || fs::read_to_string("/proc/mounts").unwrap().contains(&device.path);
    let run = directory.path().join("with blank");
    let words = ["run", &plan, "--target", &device.path, "--out", run.to_str().unwrap()];
    let id = consent_id(&words);
    let kill_when_mounted = |words: &[&str]| {
        let mut child = command(words).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        wait_until("the file system is mounted", is_mounted);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_mounted(), "a killed run leaves it");
    };
    kill_when_mounted(&[&words[..], &["--overwrite-data", &id]].concat());
    let other = directory.path().join("other");
    let id = consent_id(&["run", &plan, "--target", &device.path, "--out", other.to_str().unwrap()]);
    assert!(!is_mounted() && !other.exists());

    kill_when_mounted(&["run", "--resume", run.to_str().unwrap(), "--overwrite-data", &id]);
    succeed(&["run", "--resume", run.to_str().unwrap(), "--overwrite-data", &id]);
    assert!(!is_mounted());
    assert_eq!(results(&run)[0]["status"], "done");
    let unmounted = "SELECT count(*) FROM settings_changed WHERE name LIKE 'mount %' AND after_value IS NULL";
    assert_eq!(query(&run, unmounted), "1");
}
