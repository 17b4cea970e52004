//! An NBD server for tests of the guard.

use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// An nbdkit that ends with the test.
pub struct NbdServer(Child);

impl NbdServer {
    pub fn start(socket: &str, arguments: &[&str]) -> NbdServer {
        let mut command = Command::new("nbdkit");
        command.args(["--foreground", "--exit-with-parent", "--unix", socket]).args(arguments);
        let server = NbdServer(command.spawn().expect("nbdkit is one of the project's test clients"));
        let patience = Instant::now() + Duration::from_secs(10);
        while !Path::new(socket).exists() {
            assert!(Instant::now() < patience, "nbdkit did not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        server
    }
}

impl Drop for NbdServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
