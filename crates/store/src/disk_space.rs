//! Free space of the disk under a run.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Written and removed to see whether there is room.
pub(crate) const ROOM_FILE: &str = "room.tmp";

/// Twice what SQLite asks for at once, which is 32 KiB of shared memory.
const ROOM_BYTES: usize = 64 << 10;

/// Returns true if a little more can be written beside a file: false only where the file system says that it is full.
pub(crate) fn has_room_beside(path: &Path) -> bool {
    let probe = path.with_file_name(ROOM_FILE);
    let write = || {
        let mut file = File::create(&probe)?;
        file.write_all(&[0; ROOM_BYTES])?;
        file.sync_all()
    };
    let written = write();
    // Where it was never made, there is nothing to remove.
    let _ = fs::remove_file(&probe);
    !written.is_err_and(|error| is_out_of_room(&error))
}

/// Returns true if the disk is full or the quota used up: the user has to make room for both.
pub(crate) fn is_out_of_room(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
