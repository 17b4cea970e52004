//! Writer lock of a run directory, which tells a live writer from a dead one.

use crate::StoreError;
use crate::directory::LOCK_FILE;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

/// Attempts of a writer to lock, with a pause after each: `is_held` holds a shared lock for microseconds.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(20);

/// The exclusive right to write a run. The kernel takes the lock (`flock`) back when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct WriterLock {
    file: File,
}

impl Drop for WriterLock {
    /// Gives the lock back at once. Closing would not: a process that another thread is starting holds a copy of the
    /// open file until its `exec`, and the lock with it (flock(2)).
    fn drop(&mut self) {
        // What closing does anyway need not be reported.
        let _ = self.file.unlock();
    }
}

impl WriterLock {
    pub(crate) fn take(directory: &Path) -> Result<WriterLock, StoreError> {
        let path = directory.join(LOCK_FILE);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|source| StoreError::io("open", &path, source))?;
        for _ in 0..TRIES {
            match file.try_lock() {
                Ok(()) => {
                    let note = |file: &mut File| {
                        file.set_len(0)?;
                        file.rewind()?;
                        writeln!(file, "{}", std::process::id())
                    };
                    note(&mut file).map_err(|source| StoreError::io("write", &path, source))?;
                    return Ok(WriterLock { file });
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
                Err(TryLockError::Error(source)) => return Err(StoreError::io("lock", &path, source)),
            }
        }
        Err(StoreError::InUse { directory: directory.into(), pid: read_pid(&mut file) })
    }
}

/// Returns true if a live process writes the run, with the process that wrote it last.
pub(crate) fn is_held(directory: &Path) -> Result<(bool, Option<u32>), StoreError> {
    let path = directory.join(LOCK_FILE);
    let mut file = match File::open(&path) {
        Ok(file) => file,
        // A run that was copied without its lock is not being written.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((false, None)),
        Err(source) => return Err(StoreError::io("open", &path, source)),
    };
    let held = match file.try_lock_shared() {
        Ok(()) => {
            file.unlock().map_err(|source| StoreError::io("unlock", &path, source))?;
            false
        }
        Err(TryLockError::WouldBlock) => true,
        Err(TryLockError::Error(source)) => return Err(StoreError::io("lock", &path, source)),
    };
    Ok((held, read_pid(&mut file)))
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a copy of the open lock file, as a process that is being started holds it, keeps nobody from the run
    /// once its writer has left.
    #[test]
    fn a_copy_of_the_lock_holds_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let first = WriterLock::take(directory.path()).unwrap();
        let copy = first.file.try_clone().unwrap();
        assert!(WriterLock::take(directory.path()).is_err());
        drop(first);
        assert!(WriterLock::take(directory.path()).is_ok());
        drop(copy);
    }
}
