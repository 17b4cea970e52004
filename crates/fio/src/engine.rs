//! Finding fio, and what it can do.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::FioError;

/// The environment variable that names the fio to use instead of the first one in `PATH`.
pub const ENGINE_VARIABLE: &str = "ARRAYLAB_FIO";

/// The oldest fio whose output has nanoseconds and the bins that we count in.
const OLDEST: Version = Version { major: 3, minor: 0 };

/// Time that fio may take beyond the time of a load: it waits for I/Os in flight (the kernel gives a SCSI or NVMe
/// command 30 s), and needs some seconds to begin and to print.
const OVERTIME_LIMIT: Duration = Duration::from_secs(60);

/// A version of fio, as far as its output depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
}

impl Version {
    /// Reads `fio-3.33` or `fio-3.42-135-gf5344`; `None` where it is neither.
    pub fn parse(text: &str) -> Option<Version> {
        let numbers = text.trim().strip_prefix("fio-")?;
        let mut parts = numbers.split(|c: char| !c.is_ascii_digit());
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?.parse().ok()?;
        Some(Version { major, minor })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A fio that can be used.
#[derive(Debug, Clone)]
pub struct Engine {
    /// The program.
    pub path: PathBuf,
    /// Its version as it prints it, such as `fio-3.42-135-gf5344`.
    pub version_text: String,
    /// Its version.
    pub version: Version,
    /// Time that fio may take beyond the time of a load before its target counts as hanging.
    pub overtime_limit: Duration,
    /// The I/O engines that it lists (`--enghelp`). One that is listed may still lack a library when loaded.
    pub ioengines: BTreeSet<String>,
}

impl Engine {
    /// The fio that `ARRAYLAB_FIO` names, or the first one in `PATH`.
    pub fn find() -> Result<Engine, FioError> {
        match std::env::var_os(ENGINE_VARIABLE) {
            Some(path) if !path.is_empty() => Engine::at(Path::new(&path)),
            _ => Engine::at(Path::new("fio")),
        }
    }

    /// The fio at a path; a bare name is looked for in `PATH`.
    pub fn at(path: &Path) -> Result<Engine, FioError> {
        let version_text = ask(path, "--version")?;
        let version_text = version_text.lines().next().unwrap_or_default().trim().to_owned();
        let version = Version::parse(&version_text).ok_or_else(|| FioError::NotFound {
            looked_in: format!(
                "`{} --version` says {version_text:?}, which is no version of fio",
                path.display()
            ),
        })?;
        if version < OLDEST {
            return Err(FioError::TooOld { path: path.to_path_buf(), version });
        }
        let ioengines = parse_engine_list(&ask(path, "--enghelp")?);
        let overtime_limit = OVERTIME_LIMIT;
        Ok(Engine { path: path.to_path_buf(), version_text, version, overtime_limit, ioengines })
    }

    /// Returns true if fio lists an I/O engine. An `external:` engine is a file and is left to fio to find.
    pub fn supports(&self, ioengine: &str) -> bool {
        self.ioengines.contains(ioengine) || ioengine.starts_with("external:")
    }
}

fn ask(path: &Path, question: &str) -> Result<String, FioError> {
    let output = Command::new(path).arg(question).stdin(Stdio::null()).output().map_err(|source| {
        let bare = path.components().count() == 1;
        match source.kind() {
            std::io::ErrorKind::NotFound if bare => {
                FioError::NotFound { looked_in: format!("`{}` in PATH", path.display()) }
            }
            std::io::ErrorKind::NotFound => FioError::NotFound { looked_in: path.display().to_string() },
            _ => FioError::Io { doing: "cannot run", path: path.to_path_buf(), source },
        }
    })?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The list is a heading, then a name a line.
fn parse_engine_list(text: &str) -> BTreeSet<String> {
    text.lines().skip(1).map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that the versions of releases, of builds between them and of old fios are read, and others not.
    #[test]
    fn versions_are_read() {
        assert_eq!(Version::parse("fio-3.33\n"), Some(Version { major: 3, minor: 33 }));
        assert_eq!(Version::parse("fio-3.42-135-gf5344"), Some(Version { major: 3, minor: 42 }));
        assert_eq!(Version::parse("fio-2.21"), Some(Version { major: 2, minor: 21 }));
        for wrong in ["", "fio", "fio-", "fio-x.1", "3.33", "fio-99999999999.1"] {
            assert_eq!(Version::parse(wrong), None, "{wrong:?}");
        }
    }

    /// Proves that the heading of the engine list is no engine.
    #[test]
    fn engines_are_listed() {
        let engines = parse_engine_list("Available IO engines:\n\tcpuio\n\tlibaio\n\n");
        assert_eq!(engines.into_iter().collect::<Vec<_>>(), ["cpuio", "libaio"]);
    }

    /// Another process writes it: were it open for writing here, a fork in another test's thread would inherit that,
    /// and running the script would fail with ETXTBSY.
    fn script(directory: &Path, says: &str) -> PathBuf {
        let path = directory.join("fio");
        let write = "printf '#!/bin/sh\\necho %s\\n' \"$2\" > \"$1\" && chmod 755 \"$1\"";
        assert!(
            Command::new("sh").args(["-c", write, "sh"]).arg(&path).arg(says).status().unwrap().success()
        );
        path
    }

    /// Proves that a missing fio, an old one and a program that is no fio are refused, each with its reason.
    #[test]
    fn unusable_programs_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let missing = Engine::at(&directory.path().join("nothing")).unwrap_err();
        assert!(matches!(missing, FioError::NotFound { .. }), "{missing}");
        assert!(missing.to_string().contains("apt-get install fio"), "{missing}");
        let old = Engine::at(&script(directory.path(), "fio-2.21")).unwrap_err();
        assert!(matches!(old, FioError::TooOld { version: Version { major: 2, minor: 21 }, .. }), "{old}");
        let other = Engine::at(&script(directory.path(), "hello")).unwrap_err();
        assert!(other.to_string().contains("no version of fio"), "{other}");
    }
}
