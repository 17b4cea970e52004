//! Server in a process of its own, which is this test binary once more: so that its memory can be measured.

use super::PATIENCE;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use test_support::wait_until;

/// Runs the test `name` of this binary as a server, told the directory by `variable`, and waits until `socket` answers.
pub fn start_server(
    name: &str,
    variable: &str,
    directory: &Path,
    environment: &[(&str, &str)],
    socket: &Path,
) -> Child {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(variable, directory)
        .envs(environment.iter().copied())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_until(PATIENCE, "the child serves", || UnixStream::connect(socket).is_ok());
    child
}

/// Process that serves at a socket; killed when it is dropped.
pub struct ServerProcess {
    child: Child,
    /// Socket at which it serves.
    pub socket: PathBuf,
}

impl ServerProcess {
    /// Runs the test `name` of this binary as a server, told the directory by `variable`, and waits until it serves.
    pub fn start(name: &str, variable: &str, directory: &Path, environment: &[(&str, &str)]) -> Self {
        let socket = directory.join("nbd");
        ServerProcess { child: start_server(name, variable, directory, environment, &socket), socket }
    }

    /// The most memory that it has had so far.
    pub fn peak_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
