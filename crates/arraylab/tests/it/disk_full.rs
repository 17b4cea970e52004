//! A disk that fills while a campaign runs.

use crate::support::{Mount, results, run_on, succeed, text, tool};
use std::fs;

/// Proves that a run whose own disk fills ends with status 3 and goes on once there is room.
#[test]
fn under_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let small = directory.path().join("small");
    fs::create_dir(&small).unwrap();
    let mount = Mount::new(&["-t", "tmpfs", "-o", "size=1m", "tmpfs"], &small);
    let run = small.join("run");
    let more = ["--stage", "read-share", "--set", "runtime=4", "--set", "ramp_time=0"];
    let output = run_on("flashsystem-840", "twin:flashsystem-840", &run, &more);
    let (code, printed_text) = (output.status.code(), text(&output.stderr));
    // A megabyte holds some of the cases: it must have begun, or the test would prove nothing.
    if code == Some(0) {
        panic!("the run fitted into the small disk: {printed_text}");
    }
    assert_eq!(code, Some(3), "{printed_text}");
    assert!(printed_text.contains("full"), "{printed_text}");
    assert!(printed_text.contains("--resume"), "{printed_text}");
    tool("mount", &["-o", "remount,size=256m", mount.directory.to_str().unwrap()]);
    succeed(&["run", "--resume", run.to_str().unwrap()]);
    assert_eq!(results(&run).len(), 11);
    assert!(results(&run).iter().all(|result| result["status"] == "done"));
}

/// Proves that a target whose disk fills ends the run with status 3 and fio's cause, and that the run goes on once
/// there is room.
#[test]
fn under_the_target() {
    let directory = tempfile::tempdir().unwrap();
    let small = directory.path().join("small");
    fs::create_dir(&small).unwrap();
    let mount = Mount::new(&["-t", "tmpfs", "-o", "size=16m", "tmpfs"], &small);
    let image = small.join("sparse.img");
    fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let run = directory.path().join("run");
    let output = run_on("quick", image.to_str().unwrap(), &run, &["--set", "runtime=1"]);
    let (code, printed_text) = (output.status.code(), text(&output.stderr));
    assert_eq!(code, Some(3), "{printed_text}");
    assert!(printed_text.contains("No space left on device"), "{printed_text}");
    tool("mount", &["-o", "remount,size=256m", mount.directory.to_str().unwrap()]);
    succeed(&["run", "--resume", run.to_str().unwrap()]);
    assert!(results(&run).iter().all(|result| result["status"] == "done"));
}
