//! Run directory paths and atomic file writes.

use crate::StoreError;
use crate::disk_space::ROOM_FILE;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

pub(crate) const MANIFEST_FILE: &str = "manifest.json";
pub(crate) const DATABASE_FILE: &str = "run.sqlite";
pub(crate) const LOCK_FILE: &str = "lock";
pub(crate) const CASES_DIRECTORY: &str = "cases";
/// Directory of the pictures of a run's plan, under their names in the plan.
pub const PICTURES_DIRECTORY: &str = "pictures";
/// Bytes of a case's name that its directory keeps; file systems allow 255 for a whole name.
const CASE_NAME_LIMIT_BYTES: usize = 80;

/// Returns the directory for the engine's files of one attempt of a case.
pub(crate) fn case_directory(run: &Path, case_index: u32, name: &str, attempt: u32) -> PathBuf {
    let mut directory = format!("{case_index:04}-");
    for character in name.chars().take(CASE_NAME_LIMIT_BYTES) {
        let plain = character.is_ascii_alphanumeric() || "=._+,-".contains(character);
        directory.push(if plain { character } else { '_' });
    }
    // A later attempt never overwrites what the engine wrote in an earlier one.
    if attempt > 1 {
        directory.push_str(&format!(".attempt-{attempt}"));
    }
    run.join(CASES_DIRECTORY).join(directory)
}

/// Returns true if a directory is empty but for the remains of a creation that was cut short before its manifest
/// was written: nothing had been measured then.
pub(crate) fn is_free_for_new_run(directory: &Path) -> Result<bool, StoreError> {
    let entries = fs::read_dir(directory).map_err(|source| StoreError::io("list", directory, source))?;
    for entry in entries {
        let entry = entry.map_err(|source| StoreError::io("list", directory, source))?;
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| {
            name == LOCK_FILE
                || name == ROOM_FILE
                || name == temporary_name(MANIFEST_FILE)
                || name.starts_with(DATABASE_FILE)
        });
        if !ours {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes what an unfinished creation left, but for the lock, which the caller holds.
pub(crate) fn remove_leftovers(directory: &Path) -> Result<(), StoreError> {
    let temporary_manifest = temporary_name(MANIFEST_FILE);
    let database = ["", "-wal", "-shm", "-journal"].map(|suffix| format!("{DATABASE_FILE}{suffix}"));
    for name in database.iter().chain([&temporary_manifest]).map(String::as_str).chain([ROOM_FILE]) {
        let path = directory.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(StoreError::io("remove", &path, error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Writes a file so that a reader, or a machine that lost power, sees all of it or nothing.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("file");
    let temporary = path.with_file_name(temporary_name(name));
    let write = || {
        let mut file = File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    write().map_err(|source| StoreError::io("write", path, source))?;
    sync_parent(path)
}

/// Makes the name of a file outlast a power loss.
pub(crate) fn sync_parent(path: &Path) -> Result<(), StoreError> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    File::open(parent)
        .and_then(|directory| directory.sync_all())
        .map_err(|source| StoreError::io("synchronise", parent, source))
}

/// Reads a file that has a size limit.
pub(crate) fn read_limited(path: &Path, limit_bytes: u64) -> Result<Vec<u8>, StoreError> {
    let read = || {
        let mut bytes = Vec::new();
        File::open(path)?.take(limit_bytes + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|source| StoreError::io("read", path, source))?;
    if bytes.len() as u64 > limit_bytes {
        return Err(StoreError::Corrupt {
            path: path.into(),
            detail: format!("it is larger than {limit_bytes} bytes"),
        });
    }
    Ok(bytes)
}

fn temporary_name(name: &str) -> String {
    format!("{name}.tmp")
}
