//! fio's server on another host, and fio's client for it.
//!
//! fio listens there (`fio --server`), runs the job file that its client sends, and sends back its report and its logs.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Engine, FioError};

/// Timeout of a server's answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// Interval at which the client is polled.
const POLL: Duration = Duration::from_millis(20);
/// The most that is read of what the client prints.
const OUTPUT_LIMIT_BYTES: u64 = 64 << 10;
/// A job that does nothing: 4 KiB of fio's null engine.
const PROBE_JOB: &str = "[probe]\nioengine=null\nsize=4k\nrw=read\n";
const PROBE_FILE: &str = "probe.fio";

/// Server of fio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Name or address of its machine.
    pub machine: String,
    /// Its port.
    pub port: u16,
}

impl Server {
    /// The server as fio's client names it.
    pub(crate) fn client_option(&self) -> String {
        let kind = if self.machine.contains(':') { "ip6:" } else { "" };
        format!("--client={kind}{},{}", self.machine, self.port)
    }

    /// Returns the suffix that the client adds to the name of a log that it has fetched.
    pub(crate) fn log_suffix(&self) -> String {
        format!(".{}", self.machine)
    }

    /// The version of the server, as it prints it. Files of the probe go to the directory.
    pub fn version_text(&self, engine: &Engine, directory: &std::path::Path) -> Result<String, FioError> {
        let job = directory.join(PROBE_FILE);
        std::fs::write(&job, PROBE_JOB).map_err(FioError::io("cannot write", &job))?;
        let mut child = Command::new(&engine.path)
            .args(["--eta=never", &self.client_option(), PROBE_FILE])
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(FioError::io("cannot run", &engine.path))?;
        let stdout = child.stdout.take();
        let reader = std::thread::spawn(move || {
            let mut text = Vec::new();
            if let Some(stdout) = stdout {
                let _ = stdout.take(OUTPUT_LIMIT_BYTES).read_to_end(&mut text);
            }
            String::from_utf8_lossy(&text).into_owned()
        });
        let begun = Instant::now();
        let has_ended = loop {
            match child.try_wait() {
                Ok(Some(_)) => break true,
                Ok(None) if begun.elapsed() < ANSWER_LIMIT => std::thread::sleep(POLL),
                _ => break false,
            }
        };
        let _ = child.kill();
        let _ = child.wait();
        let text = reader.join().unwrap_or_default();
        match version_in(&text) {
            Some(version) => Ok(version),
            None => Err(FioError::Refused {
                reason: format!(
                    "no server of fio answers at {}, port {}{}; start `fio --server` there",
                    self.machine,
                    self.port,
                    if has_ended { String::new() } else { format!(", within {} s", ANSWER_LIMIT.as_secs()) }
                ),
            }),
        }
    }
}

/// The version in a client's line: `hostname=h1, be=0, 64-bit, os=Linux, arch=x86-64, fio=fio-3.33, flags=1`.
fn version_in(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("hostname="))?;
    let version = line.split(", ").find_map(|part| part.strip_prefix("fio="))?;
    Some(version.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that the version is read from a client's line as fio 3.33 prints it, and from nothing else.
    #[test]
    fn the_version_is_in_the_first_line() {
        let line = "hostname=vm, be=0, 64-bit, os=Linux, arch=x86-64, fio=fio-3.33, flags=1\n<vm> p: (g=0)";
        assert_eq!(version_in(line).as_deref(), Some("fio-3.33"));
        assert_eq!(version_in("fio=fio-3.33"), None);
        assert_eq!(version_in(""), None);
    }

    /// Proves how machines are named to fio's client, and where nobody listens that the answer says so.
    #[test]
    fn servers_are_named() {
        let server = |machine: &str| Server { machine: machine.into(), port: 8765 };
        assert_eq!(server("h1").client_option(), "--client=h1,8765");
        assert_eq!(server("fe80::1").client_option(), "--client=ip6:fe80::1,8765");
    }
}
