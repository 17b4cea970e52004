//! Target opened with the guard's permit.

use std::fs::{File, OpenOptions};
use std::io::{IoSliceMut, Seek as _, SeekFrom};
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

use diagnostic::text_with_causes;
use rustix::fs::{AtFlags, StatxFlags};
use storage_target::{Address, ReadPermit, WritePermit};

use crate::{ErrorKind, RingError};

/// File systems whose server may stop answering (statfs(2)): FUSE, NFS, SMB, CIFS, Ceph. A read of theirs may wait for the
/// server, for attributes that are out of date, before the kernel finds that it would have to.
const REMOTE_MAGICS: [u64; 5] = [0x6573_5546, 0x6969, 0xfe53_4d42, 0xff53_4d42, 0x00c3_6400];
/// The smallest unit of any block device.
const SECTOR_BYTES: u32 = 512;

/// An open file or block device.
#[derive(Debug)]
pub struct OpenTarget {
    file: File,
    name: String,
    capacity_bytes: u64,
    alignment_bytes: u32,
    is_writable: bool,
    is_remote: bool,
    has_nowait: bool,
    is_block_device: bool,
}

impl OpenTarget {
    /// Opens what the guard permits to write. The permit must be held as long as the target is used: it keeps everybody
    /// else out.
    pub fn writing(permit: &WritePermit, direct: bool) -> Result<OpenTarget, RingError> {
        let opened = OpenTarget::open(&path_of(permit.address())?, true, direct)?;
        // The name was resolved again: it must still lead to what the permit holds.
        permit.recheck().map_err(|error| {
            RingError::refused(
                format!("`{}` is no longer what may be written: {}", opened.name, text_with_causes(&error)),
                "start again, and look at the new ID",
            )
        })?;
        opened.within(permit.inspected().capacity_bytes)
    }

    /// Opens what is only read, read-only: not even a mistake of ours could write.
    pub fn reading(permit: &ReadPermit, direct: bool) -> Result<OpenTarget, RingError> {
        OpenTarget::open(&path_of(permit.address())?, false, direct)?
            .within(permit.inspected().capacity_bytes)
    }

    pub(crate) fn open(path: &Path, write: bool, direct: bool) -> Result<OpenTarget, RingError> {
        let name = path.display().to_string();
        let failed = |action, source: std::io::Error| {
            let hint = if direct && source.raw_os_error() == Some(libc::EINVAL) {
                "its file system has no direct I/O: set `direct: 0`"
            } else {
                "dmesg may say more"
            };
            RingError::Target { action, target: name.clone(), source, hint }
        };
        let mut options = OpenOptions::new();
        options.read(true).write(write).custom_flags(if direct { libc::O_DIRECT } else { 0 });
        let mut file = options.open(path).map_err(|error| failed("open", error))?;
        let is_block_device =
            file.metadata().map_err(|error| failed("look at", error))?.file_type().is_block_device();
        let capacity_bytes = file.seek(SeekFrom::End(0)).map_err(|error| failed("find the end of", error))?;
        let alignment_bytes = if is_block_device {
            rustix::fs::ioctl_blksszget(&file)
                .map_err(|error| failed("ask for the block size of", error.into()))?
        } else if direct {
            direct_alignment(&file)
        } else {
            1
        };
        let magic = rustix::fs::fstatfs(&file).map_or(0, |found| found.f_type as u64 & 0xffff_ffff);
        let is_remote = REMOTE_MAGICS.contains(&magic);
        // A server that does not answer is not asked anything.
        let has_nowait = !is_remote && has_nowait(&file);
        Ok(OpenTarget {
            file,
            name,
            capacity_bytes,
            alignment_bytes,
            is_writable: write,
            is_remote,
            has_nowait,
            is_block_device,
        })
    }

    /// A target that shrank since it was looked at is refused; one that grew is used as far as it was looked at.
    fn within(mut self, inspected_bytes: u64) -> Result<OpenTarget, RingError> {
        if self.capacity_bytes < inspected_bytes {
            return Err(RingError::refused(
                format!("`{}` has {} bytes, but had {inspected_bytes}", self.name, self.capacity_bytes),
                "start again, so that its size is looked at anew",
            ));
        }
        self.capacity_bytes = inspected_bytes;
        Ok(self)
    }

    /// Bytes that may be addressed.
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// Offsets and lengths must be multiples of this.
    pub fn alignment_bytes(&self) -> u32 {
        self.alignment_bytes
    }

    /// Returns whether it may be written.
    pub fn is_writable(&self) -> bool {
        self.is_writable
    }

    /// Its path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether a kernel thread is to do the I/O: handing it over may wait, or the file cannot say that it
    /// would have to wait, so that the kernel tries in vain and then passes each I/O on by itself.
    pub(crate) fn needs_kernel_thread(&self) -> bool {
        !self.has_nowait
    }

    /// Returns whether a server that may stop answering is behind it, so that nothing is ever handed over in place.
    pub(crate) fn is_remote(&self) -> bool {
        self.is_remote
    }

    /// Returns what an error of a block device rests on, where it has changed: the kernel gives one that was removed no
    /// size, and answers what lies behind the end with fewer bytes, no space, or an error.
    pub(crate) fn change(&self) -> Option<ErrorKind> {
        if !self.is_block_device {
            return None;
        }
        match (&self.file).seek(SeekFrom::End(0)) {
            Ok(0) if self.capacity_bytes > 0 => Some(ErrorKind::Os(libc::ENODEV)),
            Ok(bytes) if bytes < self.capacity_bytes => Some(ErrorKind::Shrunk),
            _ => None,
        }
    }

    /// Returns whether it is a block device.
    pub(crate) fn is_block_device(&self) -> bool {
        self.is_block_device
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

/// Returns whether the file can be asked for an I/O that does not wait. Without it (tmpfs) io_uring does no I/O in place.
fn has_nowait(file: &File) -> bool {
    // One byte, which direct I/O refuses: only whether the flag is known counts, and that is looked at first.
    let answer =
        rustix::io::preadv2(file, &mut [IoSliceMut::new(&mut [0])], 0, rustix::io::ReadWriteFlags::NOWAIT);
    answer != Err(rustix::io::Errno::OPNOTSUPP)
}

fn path_of(address: Address) -> Result<std::path::PathBuf, RingError> {
    match address {
        Address::Path(path) => Ok(path),
        Address::NbdUri(uri) => Err(RingError::refused(
            format!("`{uri}` is an NBD address, which io_uring cannot drive"),
            "use --engine fio, or attach it as a block device (nbdfuse and losetup)",
        )),
        Address::Null => Err(RingError::refused(
            "a null target cannot be opened, nor be part of a stripe",
            "use it alone: one --target null:SIZE",
        )),
    }
}

/// Returns what the file system asks of direct I/O, where it says so (Linux 6.1); otherwise the sector.
fn direct_alignment(file: &File) -> u32 {
    match rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) {
        Ok(answer)
            if answer.stx_mask & StatxFlags::DIOALIGN.bits() != 0 && answer.stx_dio_offset_align > 0 =>
        {
            answer.stx_dio_offset_align
        }
        _ => SECTOR_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a file in memory, which cannot say that an I/O would wait, is known by it, and a file that can is too.
    #[test]
    fn files_that_cannot_refuse_to_wait_are_known() {
        let in_memory = rustix::fs::memfd_create("arraylab", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        assert!(!has_nowait(&File::from(in_memory)));
        assert!(has_nowait(&File::open("/dev/zero").unwrap()));
    }
}
