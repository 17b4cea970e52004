//! A served array from the command line.

use crate::support::{refuse, succeed};

/// Proves that an array is served while a command runs, that the command finds it by its environment, that `ctl` reaches
/// it, and that the command's exit status is passed on.
#[test]
fn serve_runs_a_command() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("a.sock");
    let data = directory.path().join("data");
    let serve = |command: &str| {
        crate::support::arraylab(&[
            "serve",
            "flashsystem-840,capacity=64m",
            "--socket",
            socket.to_str().unwrap(),
            "--data",
            data.to_str().unwrap(),
            "--untimed",
            "--run",
            command,
        ])
    };
    let program = env!("CARGO_BIN_EXE_arraylab");
    let output =
        serve(&format!("nbdinfo --size \"$ARRAYLAB_NBD_URI\" && {program} ctl \"$ARRAYLAB_CONTROL\" status"));
    let said = crate::support::text(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    // Six data drives of seven hold what clients see.
    let size: u64 = said.lines().find_map(|line| line.parse().ok()).expect("nbdinfo prints the size");
    assert!(size > 5 * (64 << 20) && size <= 6 * (64 << 20), "{size}");
    assert!(said.contains("\"drives\""), "{said}");
    assert_eq!(serve("exit 7").status.code(), Some(7));
}

/// Proves that serving at modelled speed, which is not there, is not pretended, and that a missing array is named.
#[test]
fn what_cannot_be_served_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (socket, data) = (directory.path().join("a.sock"), directory.path().join("data"));
    let (socket, data) = (socket.to_str().unwrap(), data.to_str().unwrap());
    let (code, said) = refuse(&["serve", "flashsystem-840", "--socket", socket, "--data", data]);
    assert_eq!(code, Some(2));
    assert!(said.contains("--untimed"), "{said}");
    let (code, said) = refuse(&["serve", "flashsystem-804", "--socket", socket, "--data", data, "--untimed"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("flashsystem-840"), "{said}");
    assert!(!std::path::Path::new(data).exists(), "nothing is written");
    succeed(&["serve", "--help"]);
}
