//! Trims of ranges: discards of block devices, holes in files, and zeroes that the device writes.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::fs::FileTypeExt as _;

use rustix::fs::{FallocateFlags, fallocate};

use crate::TrimKind;

/// `BLKDISCARD` of linux/fs.h, `_IO(0x12, 119)`: the kernel gives the device discards, and refuses where it takes none. A hole
/// (`FALLOC_FL_PUNCH_HOLE`) is no discard on a block device: the kernel has it write zeroes (block/fops.c).
const BLKDISCARD: libc::Ioctl = 0x1277;
/// `BLOCK_URING_CMD_DISCARD` of linux/blkdev.h, `_IO(0x12, 0)` (Linux 6.12): the same through io_uring.
pub(crate) const BLOCK_URING_CMD_DISCARD: u32 = 0x1200;
/// The first kernel that has it.
const URING_DISCARD_SINCE: (u32, u32) = (6, 12);

/// Discards a range of a block device, or punches a hole into a file.
pub fn discard(file: &File, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
    let is_block_device = file.metadata()?.file_type().is_block_device();
    trim(file, TrimKind::Discard, is_block_device, offset_bytes, length_bytes)
}

/// Trims a range of an open target.
pub(crate) fn trim(
    file: impl AsFd,
    kind: TrimKind,
    is_block_device: bool,
    offset_bytes: u64,
    length_bytes: u64,
) -> io::Result<()> {
    let file = file.as_fd();
    if kind == TrimKind::Discard && is_block_device {
        let range = [offset_bytes, length_bytes];
        // SAFETY: the kernel reads the two numbers of the range, which outlive the call.
        return match unsafe { libc::ioctl(file.as_raw_fd(), BLKDISCARD, range.as_ptr()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        };
    }
    Ok(fallocate(file, fallocate_flags(kind), offset_bytes, length_bytes)?)
}

/// Flags of fallocate(2) for a trim of a file, and for zeroes on a block device.
pub(crate) fn fallocate_flags(kind: TrimKind) -> FallocateFlags {
    FallocateFlags::KEEP_SIZE
        | match kind {
            TrimKind::Discard => FallocateFlags::PUNCH_HOLE,
            TrimKind::WriteZeroes => FallocateFlags::ZERO_RANGE,
        }
}

/// Returns true if this kernel's io_uring discards on block devices.
pub(crate) fn ring_discards() -> bool {
    std::fs::read_to_string("/proc/sys/kernel/osrelease").is_ok_and(|release| is_since(&release))
}

/// Reads the first two numbers of a kernel's release: "6.12.117+deb12-amd64".
fn is_since(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse().ok());
    numbers.next().zip(numbers.next()).is_some_and(|version| version >= URING_DISCARD_SINCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that releases of kernels are compared as numbers, and that one that cannot be read has no discards.
    #[test]
    fn releases_are_compared_as_numbers() {
        for (release, expected) in [
            ("6.12.117+deb12-amd64\n", true),
            ("6.12-rc1", true),
            ("6.9.3", false),
            ("6.1.0-18-amd64", false),
            ("5.19", false),
            ("7.0.0", true),
            ("6", false),
            ("", false),
            ("x.12", false),
        ] {
            assert_eq!(is_since(release), expected, "{release:?}");
        }
    }
}
