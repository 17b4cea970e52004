//! An NBD server for tests of the guard.

use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;
use test_support::wait_until;

/// An nbdkit that ends with the test.
pub struct NbdServer(Child);

impl NbdServer {
    pub fn start(socket: &str, arguments: &[&str]) -> NbdServer {
        let mut command = Command::new("nbdkit");
        command.args(["--foreground", "--exit-with-parent", "--unix", socket]).args(arguments);
        let server = NbdServer(command.spawn().expect("nbdkit is one of the project's test clients"));
        wait_until(Duration::from_secs(10), "nbdkit has its socket", || Path::new(socket).exists());
        server
    }
}

impl Drop for NbdServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
