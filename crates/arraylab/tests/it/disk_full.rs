//! A disk that fills while a campaign runs.

use crate::support::{Mount, results, succeed, tool};
use std::fs;

/// Proves that a run whose own disk fills ends with status 3 and goes on once there is room.
#[test]
fn under_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let small = directory.path().join("small");
    fs::create_dir(&small).unwrap();
    let mount = Mount::new(&["-t", "tmpfs", "-o", "size=1m", "tmpfs"], &small);
    let run = small.join("run");
    let (code, said) = crate::support::refuse(&[
        "run",
        "flashsystem-840",
        "--target",
        "twin:flashsystem-840",
        "--stage",
        "read-share",
        "--set",
        "runtime=4",
        "--set",
        "ramp_time=0",
        "--out",
        run.to_str().unwrap(),
    ]);
    // A megabyte holds some of the cases: it must have begun, or the test would prove nothing.
    if code == Some(0) {
        panic!("the run fitted into the small disk: {said}");
    }
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("full"), "{said}");
    assert!(said.contains("--resume"), "{said}");
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
    let target = image.to_str().unwrap();
    let id =
        crate::support::consent_id(&["run", "quick", "--target", target, "--out", run.to_str().unwrap()]);
    let arguments = [
        "run",
        "quick",
        "--target",
        target,
        "--out",
        run.to_str().unwrap(),
        "--set",
        "runtime=1",
        "--overwrite-data",
        &id,
    ];
    let (code, said) = crate::support::refuse(&arguments);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("No space left on device"), "{said}");
    tool("mount", &["-o", "remount,size=256m", mount.directory.to_str().unwrap()]);
    succeed(&["run", "--resume", run.to_str().unwrap()]);
    assert!(results(&run).iter().all(|result| result["status"] == "done"));
}
