//! An NBD server of nbdkit.

use crate::wait_until;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Limit on a start: far beyond what one takes on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(60);

/// An nbdkit on a Unix socket, which ends with the test.
#[derive(Debug)]
pub struct Nbdkit {
    child: Child,
    socket: PathBuf,
}

impl Nbdkit {
    /// Starts nbdkit with a plugin, its filters and their parameters, and returns when it accepts connections.
    ///
    /// # Panics
    ///
    /// Where nbdkit is not installed or does not start.
    pub fn start(socket: impl Into<PathBuf>, arguments: &[&str]) -> Nbdkit {
        let socket = socket.into();
        // The socket appears before nbdkit listens on it, and its PID file after (`nbdkit(1)`, --pidfile).
        let pid_file = socket.with_extension("pid");
        let child = Command::new("nbdkit")
            .args(["--foreground", "--exit-with-parent", "--unix"])
            .arg(&socket)
            .arg("--pidfile")
            .arg(&pid_file)
            .args(arguments)
            .stdin(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("nbdkit is needed (scripts/install-test-clients.sh installs it): {error}")
            });
        let nbdkit = Nbdkit { child, socket };
        wait_until(START_LIMIT, "nbdkit listens", || pid_file.exists());
        nbdkit
    }

    /// Returns the path of its socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns the URI of its export, for a socket whose path needs no escapes.
    pub fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", self.socket.display())
    }

    /// Stops the server (`-STOP`) or has it go on (`-CONT`).
    ///
    /// # Panics
    ///
    /// Where it cannot be signalled.
    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill").arg(signal).arg(self.child.id().to_string()).status().unwrap();
        assert!(sent.success(), "kill {signal}: {sent}");
    }
}

impl Drop for Nbdkit {
    fn drop(&mut self) {
        // A stopped server is killed as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
