//! Host attributes that are changed and restored: sysfs and procfs files, and mount points.

use crate::host::HostError;
use crate::host::setting::is_path;
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Directories of the kernel's files. Parameters, so that recorded trees can be tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRoots {
    /// Directory of sysfs, normally `/sys`.
    pub sysfs: PathBuf,
    /// Directory of procfs, normally `/proc`.
    pub proc: PathBuf,
}

impl HostRoots {
    /// The running host.
    pub fn system() -> Self {
        HostRoots { sysfs: "/sys".into(), proc: "/proc".into() }
    }
}

/// The longest value that is read.
const VALUE_LIMIT_BYTES: u64 = 4096;

/// Attempts to unmount a file system of a dead run, which may still be in use until the kernel has ended its processes.
const UNMOUNT_ATTEMPTS: u32 = 20;
const UNMOUNT_PAUSE: Duration = Duration::from_millis(250);

/// Attribute of the host: a file of the kernel. Kept in the journal in this form, so that a journal leads nowhere but to
/// such files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Attribute {
    Queue {
        device: String,
        attribute: String,
    },
    Sysctl {
        name: String,
    },
    /// Mount point; its value is the device that is mounted there, or nothing.
    Mount {
        mount_point: PathBuf,
    },
}

impl Attribute {
    pub(crate) fn name(&self) -> String {
        match self {
            Attribute::Queue { device, attribute } => format!("{device}/queue/{attribute}"),
            Attribute::Sysctl { name } => name.clone(),
            Attribute::Mount { mount_point } => format!("mount {}", mount_point.display()),
        }
    }

    /// Value as changes report it: none where nothing is mounted.
    pub(crate) fn reportable_value(&self, value: &str) -> Option<String> {
        let is_value = !value.is_empty() || !matches!(self, Attribute::Mount { .. });
        is_value.then(|| value.to_owned())
    }

    pub(crate) fn is_scheduler(&self) -> bool {
        matches!(self, Attribute::Queue { attribute, .. } if attribute == "scheduler")
    }

    pub(crate) fn path(&self, roots: &HostRoots) -> Result<PathBuf, HostError> {
        let (valid, path) = match self {
            Attribute::Queue { device, attribute } => (
                // A `!` stands for the `/` of cciss/c0d0.
                is_path(&device.replace('!', "_"), '/', 1) && is_path(attribute, '/', 2),
                roots.sysfs.join("block").join(device).join("queue").join(attribute),
            ),
            Attribute::Sysctl { name } => {
                (is_path(name, '.', 16), roots.proc.join("sys").join(name.replace('.', "/")))
            }
            Attribute::Mount { mount_point } => (mount_point.is_absolute(), roots.proc.join("self/mounts")),
        };
        if valid {
            Ok(path)
        } else {
            Err(HostError::Name {
                name: self.name(),
                problem: "it is no name of a file of the kernel".into(),
            })
        }
    }

    /// The value: of a choice like `[none] mq-deadline` the chosen word, otherwise the first line.
    pub(crate) fn read(&self, roots: &HostRoots) -> Result<String, HostError> {
        let path = self.path(roots)?;
        if let Attribute::Mount { mount_point } = self {
            return mounted_at(&path, mount_point).map_err(|source| HostError::io("read", path, source));
        }
        read_value(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => HostError::Missing {
                name: self.name(),
                path,
                hint: "ls the directory for what this kernel and this device have",
            },
            _ => HostError::io("read", path, source),
        })
    }

    /// The words of a choice like `[none] mq-deadline`; nothing where it cannot be read.
    pub(crate) fn choices(&self, roots: &HostRoots) -> Vec<String> {
        let text = self.path(roots).ok().and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        line.split_whitespace().map(|word| word.trim_matches(['[', ']']).to_owned()).collect()
    }

    pub(crate) fn write(&self, roots: &HostRoots, value: &str) -> Result<(), HostError> {
        let path = self.path(roots)?;
        if let Attribute::Mount { mount_point } = self {
            return unmount(mount_point).map_err(|source| HostError::io("unmount", mount_point, source));
        }
        let written = OpenOptions::new().write(true).open(&path).and_then(|mut file| {
            let line = format!("{value}\n");
            // One write: the kernel takes each for a value of its own.
            file.write_all(line.as_bytes())?;
            // Of use on recorded trees only, whose files keep the tail of a longer value; the kernel's ignore it.
            let _ = file.set_len(line.len() as u64);
            Ok(())
        });
        written.map_err(|source| HostError::io("write", path, source))
    }
}

/// The device that is mounted at a place; of several the last, which hides the others.
fn mounted_at(mounts: &Path, mount_point: &Path) -> io::Result<String> {
    let text = fs::read_to_string(mounts)?;
    let device = text.lines().rev().find_map(|line| {
        let mut words = line.split(' ');
        let (device, place) = (words.next()?, words.next()?);
        (Path::new(&unescaped(place)) == mount_point).then(|| unescaped(device))
    });
    // A device may be known by several names.
    let real = |device: String| match fs::canonicalize(&device) {
        Ok(path) => path.display().to_string(),
        Err(_) => device,
    };
    Ok(device.map(real).unwrap_or_default())
}

/// The kernel writes blanks, tabs, line ends and backslashes in `/proc/mounts` as `\\040` and so on (fs/seq_file.c,
/// `mangle_path`).
fn unescaped(word: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .into_iter()
        .fold(word.to_owned(), |word, (code, character)| word.replace(code, character))
}

fn unmount(mount_point: &Path) -> io::Result<()> {
    let mut stderr = String::new();
    for attempt in 0..UNMOUNT_ATTEMPTS {
        if attempt > 0 {
            std::thread::sleep(UNMOUNT_PAUSE);
        }
        let output = Command::new("umount")
            .arg("--")
            .arg(mount_point)
            .stdin(Stdio::null())
            .env("LC_ALL", "C")
            .output()?;
        if output.status.success() {
            // An empty directory harms nobody.
            let _ = fs::remove_dir(mount_point);
            return Ok(());
        }
        stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    }
    Err(io::Error::other(stderr))
}

pub(crate) fn read_value(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(VALUE_LIMIT_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().next().unwrap_or_default().trim();
    let chosen = line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word.trim());
    Ok(chosen.unwrap_or(line).to_owned())
}

/// Returns true if two texts are the same value: some sysctls separate numbers by tabs.
pub(crate) fn same_value(a: &str, b: &str) -> bool {
    let normal = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    normal(a) == normal(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that what is mounted at a place is found by the kernel's own spelling, the last of several, and that
    /// nothing is mounted elsewhere.
    #[test]
    fn a_mount_is_found_as_the_kernel_spells_it() {
        let directory = tempfile::tempdir().unwrap();
        let mounts = directory.path().join("mounts");
        let text =
            "/dev/a /one ext4 rw 0 0\n/dev/b /with\\040blank\\134x ext4 rw 0 0\n/dev/c /one xfs rw 0 0\n";
        fs::write(&mounts, text).unwrap();
        let at = |place: &str| mounted_at(&mounts, Path::new(place)).unwrap();
        assert_eq!(at("/one"), "/dev/c");
        assert_eq!(at("/with blank\\x"), "/dev/b");
        assert_eq!(at("/on"), "");
    }
}
