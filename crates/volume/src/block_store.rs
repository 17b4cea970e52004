//! Block stores and backing stores: the boundary below the volume.

// Straight to the kernel: the C library's calls may be cancelled, which costs a tenth of a small one.
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::{Errno, pread, pwrite, pwritev};
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::ops::{Deref, Range};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::Path;
use std::sync::Arc;

/// Part of a buffer that several hold and nobody changes.
#[derive(Clone)]
pub struct SharedBytes {
    buffer: Arc<dyn AsRef<[u8]> + Send + Sync>,
    range: Range<usize>,
}

impl SharedBytes {
    /// This range of a buffer.
    pub fn new(buffer: Arc<dyn AsRef<[u8]> + Send + Sync>, range: Range<usize>) -> Self {
        SharedBytes { buffer, range }
    }
}

impl Deref for SharedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &(*self.buffer).as_ref()[self.range.clone()]
    }
}

/// A drive's bytes, or the journal's. What was written may be lost in a power cut until [`BlockStore::sync`] returns,
/// whole sectors of 512 bytes in any order; reads see it at once.
pub trait BlockStore: Send + Sync {
    /// Fills `buffer`; bytes never written are zero.
    fn read_at(&self, offset_bytes: u64, buffer: &mut [u8]) -> io::Result<()>;
    /// Writes all of `bytes`.
    fn write_at(&self, offset_bytes: u64, bytes: &[u8]) -> io::Result<()>;
    /// Writes parts one behind the other, from `offset_bytes` on.
    fn write_parts_at(&self, offset_bytes: u64, parts: &[SharedBytes]) -> io::Result<()> {
        let mut at = offset_bytes;
        parts.iter().try_for_each(|part| {
            let outcome = self.write_at(at, part);
            at += part.len() as u64;
            outcome
        })
    }
    /// As [`BlockStore::write_at`], of bytes that need to be here only when the next [`BlockStore::sync`] has returned: what
    /// is read of them before is not used, and after a sync that failed they are written again.
    fn write_until_sync(&self, offset_bytes: u64, bytes: SharedBytes) -> io::Result<()> {
        self.write_at(offset_bytes, &bytes)
    }
    /// Makes a range zero and gives its space back where that is possible.
    fn zero(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<()>;
    /// Makes everything written before durable.
    fn sync(&self) -> io::Result<()>;
    /// Returns whether a range may hold anything but zeros; `true` where that is not known.
    fn is_allocated(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<bool>;
}

/// Backing store of a volume: its drives, its journal and its condition record.
pub trait BackingStore: Send + Sync {
    /// A name for messages.
    fn name(&self) -> String;
    /// The drive `drive` in its `generation`-th replacement; made `size_bytes` large if `is_new`.
    fn drive(
        &self,
        drive: u16,
        generation: u32,
        size_bytes: u64,
        is_new: bool,
    ) -> io::Result<Arc<dyn BlockStore>>;
    /// The journal.
    fn journal(&self) -> io::Result<Arc<dyn BlockStore>>;
    /// The record as last written; `None` if there is none.
    fn read_record(&self) -> io::Result<Option<Vec<u8>>>;
    /// Replaces the record: durable when this returns, whole or not at all.
    fn write_record(&self, bytes: &[u8]) -> io::Result<()>;
}

/// Parts that one call to the kernel writes.
const VECTOR_LIMIT: usize = 32;

/// A file or a block device.
#[derive(Debug)]
pub struct FileBlockStore {
    file: File,
    is_device: bool,
}

impl FileBlockStore {
    /// Opens a file, or makes it (sparse) if `size_bytes` is given. A device must be at least that large.
    pub fn open(path: &Path, size_bytes: Option<u64>) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(size_bytes.is_some())
            .truncate(false)
            .open(path)?;
        let is_device = file.metadata()?.file_type().is_block_device();
        if let Some(size_bytes) = size_bytes {
            if is_device {
                let mut last = [0; 1];
                file.read_exact_at(&mut last, size_bytes - 1)?;
            } else {
                file.set_len(0)?;
                file.set_len(size_bytes)?;
            }
        }
        Ok(FileBlockStore { file, is_device })
    }
}

impl BlockStore for FileBlockStore {
    fn read_at(&self, offset_bytes: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while done < buffer.len() {
            match pread(&self.file, &mut buffer[done..], offset_bytes + done as u64) {
                Ok(0) => {
                    buffer[done..].fill(0);
                    return Ok(());
                }
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn write_at(&self, offset_bytes: u64, bytes: &[u8]) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            match pwrite(&self.file, &bytes[done..], offset_bytes + done as u64) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn write_parts_at(&self, offset_bytes: u64, parts: &[SharedBytes]) -> io::Result<()> {
        let mut at = offset_bytes;
        for parts in parts.chunks(VECTOR_LIMIT) {
            let vectors: [IoSlice<'_>; VECTOR_LIMIT] =
                std::array::from_fn(|index| IoSlice::new(parts.get(index).map_or(&[], |part| part)));
            let length: usize = parts.iter().map(|part| part.len()).sum();
            let written = loop {
                match pwritev(&self.file, &vectors[..parts.len()], at) {
                    Err(Errno::INTR) => {}
                    outcome => break outcome?,
                }
            };
            if written < length {
                // A signal or a full file system: part by part whatever is left, again from the first.
                let mut part_at = at;
                for part in parts {
                    self.write_at(part_at, part)?;
                    part_at += part.len() as u64;
                }
            }
            at += length as u64;
        }
        Ok(())
    }

    fn zero(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        if length_bytes == 0 {
            return Ok(());
        }
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if fallocate(&self.file, hole, offset_bytes, length_bytes).is_ok() {
            return Ok(());
        }
        // A file system without holes: zeros are written.
        let zeros = vec![0; 1 << 20];
        let mut done = 0;
        while done < length_bytes {
            let count = (length_bytes - done).min(zeros.len() as u64);
            self.write_at(offset_bytes + done, &zeros[..count as usize])?;
            done += count;
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn is_allocated(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<bool> {
        if self.is_device {
            return Ok(true);
        }
        // The file's position, which this moves, is nothing to positioned I/O.
        match seek(&self.file, SeekFrom::Data(offset_bytes)) {
            Ok(next) => Ok(next < offset_bytes + length_bytes),
            Err(Errno::NXIO) => Ok(false),
            Err(_) => Ok(true),
        }
    }
}
