//! Path classification.

use crate::block::{BlockDevice, classify_block_device};
use crate::content::{Content, scan_content};
use crate::error::TargetError;
use crate::file::RegularFile;
use crate::lvm::active_volumes;
use crate::roots::Roots;
use crate::same_disk::OtherPath;
use crate::sysfs::DeviceNumber;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::Serialize;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An existing path that a test can run on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "type")]
pub enum Classification {
    /// A block device.
    BlockDevice {
        /// Path without links, for example `/dev/sdb`.
        path: PathBuf,
        /// Device as sysfs describes it.
        device: Box<BlockDevice>,
        /// Content of the device; `None` if it could not be read.
        content: Option<Content>,
        /// The kernel refused to open it exclusively: something uses it, known to `device` or not.
        claimed: bool,
    },
    /// A regular file that is not empty.
    File(RegularFile),
}

/// Looks at an existing path. Opens it for reading only.
pub fn classify(roots: &Roots, path: &Path) -> Result<Classification, TargetError> {
    let resolved = fs::canonicalize(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => TargetError::Missing { path: path.to_owned() },
        _ => TargetError::io("find", path, error),
    })?;
    let kind = fs::metadata(&resolved).map_err(|error| TargetError::io("look at", path, error))?.file_type();
    let unsuitable = |what: &str, hint: &str| TargetError::Unsuitable {
        path: path.to_owned(),
        what: what.to_owned(),
        hint: hint.to_owned(),
    };
    if kind.is_dir() {
        return Err(unsuitable("a directory", "name a file in it: file:DIRECTORY/NAME,size=1g creates one"));
    }
    if kind.is_char_device() || kind.is_fifo() {
        let what = if kind.is_fifo() { "a pipe" } else { "a character device" };
        return Err(unsuitable(what, "a test needs a block device or a file"));
    }
    if kind.is_socket() {
        return Err(unsuitable("a socket", "if an NBD server listens there, write nbd+unix:///?socket=PATH"));
    }
    let classification = if kind.is_block_device() {
        classify_block(roots, &resolved)?
    } else {
        classify_file(roots, &resolved)?
    };
    if classification.size_bytes() == 0 {
        let shown = path.display();
        return Err(match &classification {
            Classification::BlockDevice { .. } => {
                unsuitable("a block device of 0 bytes", "is there a medium in it, is the loop device set up?")
            }
            Classification::File(_) => unsuitable(
                "an empty file",
                &format!("file:{shown},size=1g creates a file once this one is deleted"),
            ),
        });
    }
    Ok(classification)
}

impl Classification {
    /// Capacity.
    pub fn size_bytes(&self) -> u64 {
        match self {
            Classification::BlockDevice { device, .. } => device.size_bytes,
            Classification::File(file) => file.size_bytes,
        }
    }
}

fn classify_block(roots: &Roots, path: &Path) -> Result<Classification, TargetError> {
    let (file, claimed) = match open_block(path, OFlags::RDONLY) {
        Ok(file) => (file, false),
        Err(error) if error.raw_os_error() == Some(Errno::BUSY.raw_os_error()) => {
            (File::open(path).map_err(|error| TargetError::io("open", path, error))?, true)
        }
        Err(error) => return Err(TargetError::io("open", path, error)),
    };
    // The number of what was opened, not of what the name means a moment later.
    let metadata = file.metadata().map_err(|error| TargetError::io("look at", path, error))?;
    let mut device = classify_block_device(roots, DeviceNumber::from_raw(metadata.rdev()))?;
    for other in &mut device.other_paths {
        other.claimed = claim_other_path(roots, other).is_none();
    }
    let mut content = scan_content(&file, device.size_bytes).ok();
    if let Some(group) = content.as_mut().and_then(|content| content.volume_group.as_mut()) {
        group.active_volumes = active_volumes(roots, &group.uuid);
    }
    Ok(Classification::BlockDevice { path: path.to_owned(), device: Box::new(device), content, claimed })
}

/// Opens a block device exclusively: the kernel answers EBUSY when it, its whole device or a partition of it is
/// mounted, held, swapped to, or opened exclusively by another program, in whatever mount namespace (open(2),
/// `O_EXCL` without `O_CREAT`). It does not keep an engine from opening the device beside us.
///
/// Programs that only look (losetup, mdadm, udev's rules, another arraylab) claim a device for a moment too, so a
/// refusal counts only when it lasts.
pub(crate) fn open_block(path: &Path, access: OFlags) -> io::Result<File> {
    let mut attempts_left = CLAIM_ATTEMPTS;
    loop {
        attempts_left -= 1;
        match rustix::fs::open(path, access | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty()) {
            Ok(descriptor) => return Ok(File::from(descriptor)),
            Err(Errno::BUSY) if attempts_left > 0 => std::thread::sleep(CLAIM_PAUSE),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Opens another path to a disk exclusively, for reading, so that nothing can mount it or build on it meanwhile;
/// `None` if another program already has.
pub(crate) fn claim_other_path(roots: &Roots, other: &OtherPath) -> Option<Vec<File>> {
    let mut held = Vec::new();
    for name in &other.to_claim {
        let path = roots.dev.join(name);
        // A path without a node, and one that has gone dead, cannot be mounted either.
        if !fs::metadata(&path).is_ok_and(|metadata| metadata.file_type().is_block_device()) {
            continue;
        }
        match open_block(&path, OFlags::RDONLY) {
            Ok(file) => held.push(file),
            Err(error) if error.raw_os_error() == Some(Errno::BUSY.raw_os_error()) => return None,
            Err(_) => {}
        }
    }
    Some(held)
}

const CLAIM_ATTEMPTS: u32 = 6;
const CLAIM_PAUSE: Duration = Duration::from_millis(20);

fn classify_file(roots: &Roots, path: &Path) -> Result<Classification, TargetError> {
    let file = File::open(path).map_err(|error| TargetError::io("open", path, error))?;
    RegularFile::read(roots, path, &file).map(Classification::File)
}
