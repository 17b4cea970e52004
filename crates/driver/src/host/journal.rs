//! Write-ahead journal of host settings, so that they can be restored after a crash.
//!
//! A state directory holds a file for each run: JSON lines, first who writes it, then a line for each change. The
//! writer holds the file's lock (`flock`), which the kernel takes back when the process ends, however it ends. Unlike
//! a process number the lock says the same in every PID namespace and is never that of another process. A second
//! lock, on `lock`, makes looking at the files of others and changing a setting one step.

use crate::host::HostError;
use crate::host::attribute::{Attribute, HostRoots};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A journal of more bytes is not one of ours: a change takes some 200, a run makes thousands at most.
const JOURNAL_LIMIT_BYTES: u64 = 64 << 20;
const LOCK_FILE: &str = "lock";
const SUFFIX: &str = ".host.jsonl";
const VERSION: u32 = 1;

/// Returns the default directory of journals: one that does not outlive a boot, as the settings do not.
pub fn default_state_directory() -> PathBuf {
    if geteuid().is_root() {
        return "/run/arraylab".into();
    }
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(directory) => PathBuf::from(directory).join("arraylab"),
        None => std::env::temp_dir().join(format!("arraylab-{}", geteuid().as_raw())),
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    version: u32,
    pid: u32,
    boot_id: String,
}

/// One change, and what the kernel may change with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub attribute: Attribute,
    pub before: String,
    pub after: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependents: Vec<(Attribute, String)>,
}

/// The directory of journals.
#[derive(Debug, Clone)]
pub(crate) struct StateDirectory {
    path: PathBuf,
}

/// Lock of the journals' directory, held while settings are read and changed.
pub(crate) struct DirectoryLock {
    _file: File,
}

/// The journal of this run.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    header: String,
}

/// A journal of another run.
pub(crate) struct Other {
    pub path: PathBuf,
    pub pid: u32,
    /// True if its writer lives.
    pub live: bool,
    /// True if it was written before the last boot, which put everything back.
    pub earlier_boot: bool,
    pub entries: Vec<Entry>,
    /// Held, if its writer is dead, so that only one run puts it back.
    pub file: File,
}

impl StateDirectory {
    pub(crate) fn open(path: &Path) -> Result<Self, HostError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(|source| HostError::io("create", path, source))?;
        check_owned(path)?;
        Ok(StateDirectory { path: path.to_owned() })
    }

    pub(crate) fn lock(&self) -> Result<DirectoryLock, HostError> {
        let path = self.path.join(LOCK_FILE);
        let file = open_own(&path, true)?;
        file.lock().map_err(|source| HostError::io("lock", path, source))?;
        Ok(DirectoryLock { _file: file })
    }

    /// A new journal, locked. The directory must be locked.
    pub(crate) fn create(&self, roots: &HostRoots) -> Result<Journal, HostError> {
        let pid = std::process::id();
        let header = Header { version: VERSION, pid, boot_id: boot_id(roots) };
        let header = to_line(&header);
        for number in 0..u32::MAX {
            let path = self.path.join(format!("{pid}-{number}{SUFFIX}"));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(HostError::io("create", path, source)),
                Ok(file) => {
                    file.try_lock().map_err(|error| HostError::io("lock", &path, error.into()))?;
                    let mut journal = Journal { file, path, header };
                    journal.clear()?;
                    return Ok(journal);
                }
            }
        }
        Err(HostError::Unsafe { path: self.path.clone(), problem: "has no free name" })
    }

    /// The journals of other runs, oldest name first. The directory must be locked.
    pub(crate) fn others(&self, roots: &HostRoots, own: Option<&Path>) -> Result<Vec<Other>, HostError> {
        let entries = fs::read_dir(&self.path).map_err(|source| HostError::io("read", &self.path, source))?;
        let mut paths: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.to_string_lossy().ends_with(SUFFIX) && Some(path.as_path()) != own)
            .collect();
        paths.sort();
        paths.into_iter().map(|path| read(&path, &boot_id(roots))).collect()
    }
}

impl Journal {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Notes a change that is about to be made; on the disk when this returns.
    pub(crate) fn append(&mut self, entry: &Entry) -> Result<(), HostError> {
        self.write(&to_line(entry))
    }

    /// Forgets all changes: they are put back.
    pub(crate) fn clear(&mut self) -> Result<(), HostError> {
        self.file
            .set_len(0)
            .and_then(|()| self.file.rewind())
            .map_err(|source| HostError::io("clear", &self.path, source))?;
        let header = self.header.clone();
        self.write(&header)
    }

    /// Ends the journal of a run that has put everything back.
    pub(crate) fn remove(&self) -> Result<(), HostError> {
        fs::remove_file(&self.path).map_err(|source| HostError::io("remove", &self.path, source))
    }

    fn write(&mut self, line: &str) -> Result<(), HostError> {
        self.file
            .write_all(line.as_bytes())
            .and_then(|()| self.file.sync_all())
            .map_err(|source| HostError::io("write", &self.path, source))
    }
}

fn read(path: &Path, boot_id: &str) -> Result<Other, HostError> {
    check_owned(path)?;
    let failed = |source| HostError::io("read", path, source);
    let mut file = open_own(path, false)?;
    let live = match file.try_lock() {
        Ok(()) => false,
        Err(TryLockError::WouldBlock) => true,
        Err(TryLockError::Error(source)) => return Err(HostError::io("lock", path, source)),
    };
    let mut text = String::new();
    (&mut file).take(JOURNAL_LIMIT_BYTES).read_to_string(&mut text).map_err(failed)?;
    // A last line without its end was not written whole, so its change was never made. A journal without a header
    // is one of a process that died while it began.
    let mut lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let header: Option<Header> = lines.next().and_then(|line| serde_json::from_str(line).ok());
    let entries = lines
        .map(|line| serde_json::from_str(line).map_err(|error| failed(error.into())))
        .collect::<Result<Vec<Entry>, _>>()?;
    let (pid, earlier_boot) = header.map_or((0, false), |header| (header.pid, header.boot_id != boot_id));
    Ok(Other { path: path.to_owned(), pid, live, earlier_boot, entries, file })
}

fn to_line(value: &impl Serialize) -> String {
    format!("{}\n", serde_json::json!(value))
}

fn boot_id(roots: &HostRoots) -> String {
    fs::read_to_string(roots.proc.join("sys/kernel/random/boot_id")).unwrap_or_default().trim().to_owned()
}

fn open_own(path: &Path, create: bool) -> Result<File, HostError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(create)
        .truncate(false)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32)
        .open(path)
        .map_err(|source| HostError::io("open", path, source))
}

/// Checks that only this user can write a journal: its contents are written to the kernel by this user, perhaps root.
fn check_owned(path: &Path) -> Result<(), HostError> {
    let metadata = fs::symlink_metadata(path).map_err(|source| HostError::io("look at", path, source))?;
    let problem = if metadata.file_type().is_symlink() {
        "is a symbolic link"
    } else if metadata.uid() != geteuid().as_raw() {
        "belongs to another user"
    } else if metadata.mode() & 0o022 != 0 {
        "is writable by others"
    } else {
        return Ok(());
    };
    Err(HostError::Unsafe { path: path.to_owned(), problem })
}
