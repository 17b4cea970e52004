//! Origin of a file: whether arraylab created it and its content is still arraylab's own.
//!
//! A file is marked in the extended attribute `user.arraylab.created`. The mark must never vouch for data of others:
//! - It names inode and birth time, so a copy that took the attribute along (`cp -a`, `rsync -X`, a restored
//!   backup) is not ours.
//! - It names size and modification time as they were when the last run ended, so a file that somebody wrote into
//!   afterwards is not ours.
//! - While a run writes, the mark says so. After `kill -9` nobody knows who wrote last: not ours.
//!
//! Where a file system has no user attributes, a file counts as foreign from the next run on. All errors lean to
//! asking for consent.

use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::time::UNIX_EPOCH;

const ATTRIBUTE: &str = "user.arraylab.created";
/// A mark is about 150 bytes.
const MARK_LIMIT_BYTES: usize = 1024;

/// Origin of a file's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Created by arraylab and untouched since its last run.
    Ours,
    /// Created by arraylab; its last run did not end cleanly.
    OursUnclean,
    /// Created by arraylab; written, resized or copied since.
    OursChanged,
    /// Anything else.
    Foreign,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    inode: u64,
    /// Birth time; on file systems without one, the number of the file system.
    birth_ns: Option<u64>,
    device: Option<u64>,
    size_bytes: u64,
    /// Time of the last modification; `None` while a run writes.
    modified_ns: Option<i64>,
}

impl Mark {
    fn of(metadata: &Metadata, writing: bool) -> Mark {
        let birth_ns = birth_ns(metadata);
        Mark {
            inode: metadata.ino(),
            birth_ns,
            device: birth_ns.is_none().then(|| metadata.dev()),
            size_bytes: metadata.size(),
            modified_ns: (!writing).then(|| metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec()),
        }
    }
}

/// Returns the time of the file's creation, if the file system has it.
pub(crate) fn birth_ns(metadata: &Metadata) -> Option<u64> {
    let birth = metadata.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(birth.as_nanos()).ok()
}

/// Reads the mark of an open file.
pub(crate) fn origin(file: &File) -> io::Result<Origin> {
    let mut buffer = [0u8; MARK_LIMIT_BYTES];
    let length = match fgetxattr(file, ATTRIBUTE, &mut buffer) {
        Ok(length) => length,
        Err(Errno::NODATA | Errno::NOTSUP | Errno::RANGE | Errno::PERM | Errno::ACCESS) => {
            return Ok(Origin::Foreign);
        }
        Err(error) => return Err(error.into()),
    };
    let Ok(mark) = serde_json::from_slice::<Mark>(&buffer[..length]) else { return Ok(Origin::Foreign) };
    let now = Mark::of(&file.metadata()?, false);
    Ok(if mark == now {
        Origin::Ours
    } else if mark.modified_ns.is_none() && mark == (Mark { modified_ns: None, ..now }) {
        Origin::OursUnclean
    } else {
        Origin::OursChanged
    })
}

/// Marks a file as being written by a run. False where the file system has no user attributes.
pub(crate) fn mark_writing(file: &File) -> io::Result<bool> {
    mark(file, true)
}

/// Marks a file as left alone by a run that has ended.
pub(crate) fn mark_ended(file: &File) -> io::Result<bool> {
    mark(file, false)
}

fn mark(file: &File, writing: bool) -> io::Result<bool> {
    let text = serde_json::to_vec(&Mark::of(&file.metadata()?, writing))?;
    match fsetxattr(file, ATTRIBUTE, &text, XattrFlags::empty()) {
        Ok(()) => Ok(true),
        Err(Errno::NOTSUP | Errno::PERM | Errno::ACCESS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::process::Command;

    fn marked() -> (tempfile::TempDir, std::path::PathBuf) {
        let directory = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = directory.path().join("f");
        std::fs::write(&path, [7; 4096]).unwrap();
        assert!(
            mark_ended(&File::open(&path).unwrap()).unwrap(),
            "tmpfs takes user attributes since Linux 6.6"
        );
        (directory, path)
    }

    fn origin_of(path: &std::path::Path) -> Origin {
        origin(&File::open(path).unwrap()).unwrap()
    }

    /// Proves that a marked file is ours, also under another name.
    #[test]
    fn a_marked_file_is_ours() {
        let (directory, path) = marked();
        assert_eq!(origin_of(&path), Origin::Ours);
        let moved = directory.path().join("g");
        std::fs::rename(&path, &moved).unwrap();
        assert_eq!(origin_of(&moved), Origin::Ours);
        std::fs::write(directory.path().join("h"), "x").unwrap();
        assert_eq!(origin_of(&directory.path().join("h")), Origin::Foreign);
    }

    /// Proves that a copy with all its attributes and times is not ours.
    #[test]
    fn a_faithful_copy_is_not_ours() {
        let (directory, path) = marked();
        let copy = directory.path().join("copy");
        assert!(
            Command::new("cp")
                .args(["-a", "--preserve=all"])
                .args([&path, &copy])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(origin_of(&copy), Origin::OursChanged, "the attribute went along");
    }

    /// Proves that writing, overwriting with old times, or resizing ends the claim.
    #[test]
    fn a_changed_file_is_not_ours() {
        let (directory, path) = marked();
        let other = directory.path().join("precious");
        std::fs::write(&other, [9; 4096]).unwrap();
        File::options().write(true).open(&other).unwrap().set_modified(UNIX_EPOCH).unwrap();
        assert!(Command::new("cp").arg("-p").args([&other, &path]).status().unwrap().success());
        assert_eq!(origin_of(&path), Origin::OursChanged);

        let (_directory, path) = marked();
        File::options().write(true).open(&path).unwrap().write_all(b"precious").unwrap();
        assert_eq!(origin_of(&path), Origin::OursChanged);

        let (_directory, path) = marked();
        let file = File::options().write(true).open(&path).unwrap();
        let modified = file.metadata().unwrap().modified().unwrap();
        file.set_len(8192).unwrap();
        file.set_modified(modified).unwrap();
        assert_eq!(origin_of(&path), Origin::OursChanged);
    }

    /// Proves that a run that never ended leaves a mark that vouches for nothing.
    #[test]
    fn an_unclean_end_is_not_ours() {
        let (_directory, path) = marked();
        let file = File::options().write(true).open(&path).unwrap();
        assert!(mark_writing(&file).unwrap());
        drop(file);
        assert_eq!(origin_of(&path), Origin::OursUnclean);
        fsetxattr(File::open(&path).unwrap(), ATTRIBUTE, b"{\"inode\":1}", XattrFlags::empty()).unwrap();
        assert_eq!(origin_of(&path), Origin::Foreign, "half a mark is none");
    }
}
