//! A volume in a directory: one sparse file a drive, or files and devices named by the user.

use crate::block_store::{BackingStore, BlockStore, FileBlockStore};
use crate::{VolumeError, error::ErrorContext};
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const RECORD: &str = "array.json";
const RECORD_NEW: &str = "array.json.new";
const JOURNAL: &str = "journal";
const LOCK: &str = "lock";

/// A file or device that the user named for a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedDrive {
    /// Its path.
    pub path: PathBuf,
    /// Permission to overwrite what it holds when the volume is made. Without it only an empty or missing file is taken.
    pub overwrite: bool,
}

/// A directory, locked against a second server for as long as this lives.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    named_drives: Vec<NamedDrive>,
    lock: File,
}

impl Drop for Directory {
    /// Gives the lock back at once. Closing would not: a process that another thread is starting holds a copy of the
    /// open file until its `exec`, and the lock with it (flock(2)).
    fn drop(&mut self) {
        // What closing does anyway need not be reported.
        let _ = self.lock.unlock();
    }
}

impl Directory {
    /// Takes a directory, which is made if it does not exist. `named_drives` are files or devices for the first
    /// drives, in order; the others, and replacements, are files in the directory.
    pub fn lock(path: &Path, named_drives: Vec<NamedDrive>) -> Result<Self, VolumeError> {
        fs::create_dir_all(path).context("make the volume's directory")?;
        let lock = File::create(path.join(LOCK)).context("open the volume's lock file")?;
        match lock.try_lock() {
            Ok(()) => Ok(Directory { path: path.to_owned(), named_drives, lock }),
            Err(TryLockError::WouldBlock) => Err(VolumeError::InUse { path: path.display().to_string() }),
            Err(TryLockError::Error(error)) => Err(error).context("lock the volume's directory"),
        }
    }

    fn sync_directory(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }
}

impl BackingStore for Directory {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn drive(
        &self,
        drive: u16,
        generation: u32,
        size_bytes: u64,
        is_new: bool,
    ) -> io::Result<Arc<dyn BlockStore>> {
        let path = match self.named_drives.get(usize::from(drive)) {
            Some(named) if generation == 0 => {
                if is_new && !named.overwrite && holds_data(&named.path)? {
                    let message = format!(
                        "{} holds data, and nothing says that it may be overwritten",
                        named.path.display()
                    );
                    return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
                }
                named.path.clone()
            }
            _ => self.path.join(format!("drive-{drive:04}.{generation}")),
        };
        let block_store = FileBlockStore::open(&path, is_new.then_some(size_bytes))?;
        if is_new {
            self.sync_directory()?;
        }
        Ok(Arc::new(block_store))
    }

    fn journal(&self) -> io::Result<Arc<dyn BlockStore>> {
        let path = self.path.join(JOURNAL);
        let is_new = !path.exists();
        let block_store = FileBlockStore::open(&path, is_new.then_some(0))?;
        if is_new {
            self.sync_directory()?;
        }
        Ok(Arc::new(block_store))
    }

    fn read_record(&self) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.path.join(RECORD)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn write_record(&self, bytes: &[u8]) -> io::Result<()> {
        let new = self.path.join(RECORD_NEW);
        let mut file = File::create(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, self.path.join(RECORD))?;
        self.sync_directory()
    }
}

/// Returns whether a path is anything but a missing or empty file.
fn holds_data(path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(!metadata.is_file() || metadata.len() > 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a copy of the open lock file, as a process that is being started holds it, keeps nobody out of the
    /// directory once its owner has left.
    #[test]
    fn a_copy_of_the_lock_holds_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let first = Directory::lock(directory.path(), vec![]).unwrap();
        let copy = first.lock.try_clone().unwrap();
        assert!(Directory::lock(directory.path(), vec![]).is_err());
        drop(first);
        assert!(Directory::lock(directory.path(), vec![]).is_ok());
        drop(copy);
    }
}
