//! One file of the kernel that holds a setting.

use crate::host::HostError;
use crate::host::setting::is_path;
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;

/// Where the kernel's files are. Parameters, so that recorded trees can be tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRoots {
    /// Normally `/sys`.
    pub sysfs: PathBuf,
    /// Normally `/proc`.
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

/// Which file it is. Kept in the journal in this form, so that a journal leads nowhere but to such files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Attribute {
    Queue { device: String, attribute: String },
    Sysctl { name: String },
}

impl Attribute {
    pub(crate) fn name(&self) -> String {
        match self {
            Attribute::Queue { device, attribute } => format!("{device}/queue/{attribute}"),
            Attribute::Sysctl { name } => name.clone(),
        }
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
        read_value(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => HostError::Missing {
                name: self.name(),
                path,
                hint: "ls the directory for what this kernel and this device have",
            },
            _ => HostError::io("read", path, source),
        })
    }

    pub(crate) fn write(&self, roots: &HostRoots, value: &str) -> Result<(), HostError> {
        let path = self.path(roots)?;
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

pub(crate) fn read_value(path: &std::path::Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(VALUE_LIMIT_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().next().unwrap_or_default().trim();
    let chosen = line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word.trim());
    Ok(chosen.unwrap_or(line).to_owned())
}

/// Whether two texts are the same value: some sysctls separate numbers by tabs.
pub(crate) fn same_value(a: &str, b: &str) -> bool {
    let normal = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    normal(a) == normal(b)
}
