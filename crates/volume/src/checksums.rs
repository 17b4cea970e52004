//! The checksums of a drive, with some of their pages in memory: a page of 4 KiB covers half a MiB of data, so that
//! neither a read nor a batch of writes asks the drive twice.

use crate::block_store::BlockStore;
use crate::lock::lock;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

/// The unit of checksums, and of what a power cut tears.
pub const SECTOR_BYTES: usize = 512;
/// Of a sector.
pub(crate) const CHECKSUM_BYTES: usize = 4;
const PAGE_BYTES: usize = 4096;
/// Pages of a drive in memory, at most: 1 MiB for 128 MiB of data.
const SLOTS: usize = 256;

/// CRC-32C of a sector, shifted so that the checksum of zeros is zero and a drive that was never written is sound.
pub(crate) fn checksum(sector: &[u8]) -> u32 {
    const OF_ZEROS: u32 = 0x30fc_edc0;
    // By carry-less multiplication: four times as fast for a sector as the processor's instruction for this checksum, which
    // the journal's headers and records take.
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, sector) as u32 ^ OF_ZEROS
}

/// Of whole sectors, one behind the other.
pub(crate) fn checksums_of(bytes: &[u8]) -> Vec<u8> {
    let mut sums = vec![0; bytes.len() / SECTOR_BYTES * CHECKSUM_BYTES];
    put_checksums(bytes, &mut sums);
    sums
}

/// As [`checksums_of`], into a place for them.
pub(crate) fn put_checksums(bytes: &[u8], sums: &mut [u8]) {
    for (sector, sum) in bytes.chunks_exact(SECTOR_BYTES).zip(sums.chunks_exact_mut(CHECKSUM_BYTES)) {
        sum.copy_from_slice(&checksum(sector).to_le_bytes());
    }
}

/// Slot that a page may be kept in: the one whose number its own leaves as remainder.
#[derive(Default)]
struct Slot {
    page: u64,
    bytes: Option<Box<[u8; PAGE_BYTES]>>,
    /// Changed here and not yet on the drive.
    dirty: Range<usize>,
}

/// The checksums of a drive. A slot stays locked while its page is read or written, so that memory and drive agree.
pub(crate) struct Checksums {
    start_bytes: u64,
    slots: Vec<Mutex<Slot>>,
}

impl Checksums {
    /// Those that begin at `start_bytes` of the store.
    pub(crate) fn new(start_bytes: u64) -> Self {
        Checksums { start_bytes, slots: (0..SLOTS).map(|_| Mutex::default()).collect() }
    }

    /// Reads from `at` on.
    pub(crate) fn read(&self, block_store: &dyn BlockStore, at: u64, sums: &mut [u8]) -> io::Result<()> {
        for_each_page(at, sums.len(), |page, within, range| {
            let mut slot = self.slot(page);
            let bytes = self.hold(&mut slot, block_store, page)?;
            sums[range].copy_from_slice(&bytes[within]);
            Ok(())
        })
    }

    /// Writes from `at` on; to the drive only with [`Checksums::flush`], or when the slot is needed.
    pub(crate) fn put(&self, block_store: &dyn BlockStore, at: u64, sums: &[u8]) -> io::Result<()> {
        for_each_page(at, sums.len(), |page, within, range| {
            let mut slot = self.slot(page);
            self.hold(&mut slot, block_store, page)?[within.clone()].copy_from_slice(&sums[range]);
            slot.dirty = if slot.dirty.is_empty() {
                within
            } else {
                slot.dirty.start.min(within.start)..slot.dirty.end.max(within.end)
            };
            Ok(())
        })
    }

    /// Writes from `at` on, to the drive as well.
    pub(crate) fn write(&self, block_store: &dyn BlockStore, at: u64, sums: &[u8]) -> io::Result<()> {
        self.put(block_store, at, sums)?;
        for_each_page(at, sums.len(), |page, _, _| {
            let mut slot = self.slot(page);
            if slot.page == page { self.clean(&mut slot, block_store) } else { Ok(()) }
        })
    }

    /// Brings everything that was put to the drive.
    pub(crate) fn flush(&self, block_store: &dyn BlockStore) -> io::Result<()> {
        self.slots.iter().try_for_each(|slot| self.clean(&mut lock(slot), block_store))
    }

    /// Makes a range zero and gives its space back.
    pub(crate) fn zero(&self, block_store: &dyn BlockStore, at: u64, length: u64) -> io::Result<()> {
        let pages = at / PAGE_BYTES as u64..(at + length).div_ceil(PAGE_BYTES as u64);
        for slot in &self.slots {
            let mut slot = lock(slot);
            if pages.contains(&slot.page) {
                self.clean(&mut slot, block_store)?;
                slot.bytes = None;
            }
        }
        block_store.zero(self.start_bytes + at, length)
    }

    /// Forgets what is in memory, so that the drive is asked again.
    pub(crate) fn forget(&self, block_store: &dyn BlockStore) -> io::Result<()> {
        self.slots.iter().try_for_each(|slot| {
            let mut slot = lock(slot);
            self.clean(&mut slot, block_store)?;
            slot.bytes = None;
            Ok(())
        })
    }

    fn slot(&self, page: u64) -> MutexGuard<'_, Slot> {
        lock(&self.slots[(page % SLOTS as u64) as usize])
    }

    /// The bytes of a page, read if they are not here.
    fn hold<'a>(
        &self,
        slot: &'a mut Slot,
        block_store: &dyn BlockStore,
        page: u64,
    ) -> io::Result<&'a mut [u8; PAGE_BYTES]> {
        if slot.page != page || slot.bytes.is_none() {
            self.clean(slot, block_store)?;
            let mut bytes = slot.bytes.take().unwrap_or_else(|| Box::new([0; PAGE_BYTES]));
            block_store.read_at(self.start_bytes + page * PAGE_BYTES as u64, &mut bytes[..])?;
            (slot.page, slot.bytes) = (page, Some(bytes));
        }
        slot.bytes.as_deref_mut().ok_or_else(|| io::Error::other("a page of checksums is missing"))
    }

    fn clean(&self, slot: &mut Slot, block_store: &dyn BlockStore) -> io::Result<()> {
        if let Some(bytes) = slot.bytes.as_ref().filter(|_| !slot.dirty.is_empty()) {
            let at = self.start_bytes + slot.page * PAGE_BYTES as u64 + slot.dirty.start as u64;
            block_store.write_at(at, &bytes[slot.dirty.clone()])?;
        }
        slot.dirty = 0..0;
        Ok(())
    }
}

/// Calls `visit(page, range in it, range of the buffer)` for each page of a range.
fn for_each_page(
    at: u64,
    length: usize,
    mut visit: impl FnMut(u64, Range<usize>, Range<usize>) -> io::Result<()>,
) -> io::Result<()> {
    let mut done = 0;
    while done < length {
        let position = at + done as u64;
        let within = (position % PAGE_BYTES as u64) as usize;
        let count = (length - done).min(PAGE_BYTES - within);
        visit(position / PAGE_BYTES as u64, within..within + count, done..done + count)?;
        done += count;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryBlockStore;

    /// Proves CRC-32C by the published check value of "123456789" (RFC 3720's polynomial), and that a sector that was never written is sound.
    #[test]
    fn checksum_is_crc32c_with_zeros_at_zero() {
        assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(checksum(&[0; SECTOR_BYTES]), 0);
        assert_ne!(checksum(&[1; SECTOR_BYTES]), 0);
    }

    /// Proves that what was put is read at once, reaches the store with a flush or when another page needs the
    /// slot, that a range made zero is zero, and that what the store holds counts after forgetting.
    #[test]
    fn memory_and_store_agree() {
        let block_store = MemoryBlockStore::default();
        let on_store = |at: u64| {
            let mut sums = [0; 4];
            block_store.read_at(100 * 512 + at, &mut sums).unwrap();
            sums
        };
        let checksums = Checksums::new(100 * 512);
        let read = |at: u64| {
            let mut sums = [0; 4];
            checksums.read(&block_store, at, &mut sums).unwrap();
            sums
        };
        checksums.put(&block_store, 4092, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        assert_eq!((read(4092), read(4096), on_store(4092)), ([1, 2, 3, 4], [5, 6, 7, 8], [0; 4]));
        // Page 256 takes the slot of page 0.
        assert_eq!(read((SLOTS * PAGE_BYTES) as u64), [0; 4]);
        assert_eq!((on_store(4092), on_store(4096)), ([1, 2, 3, 4], [0; 4]));
        checksums.flush(&block_store).unwrap();
        assert_eq!((on_store(4096), read(4092)), ([5, 6, 7, 8], [1, 2, 3, 4]));
        checksums.write(&block_store, 8, &[9; 4]).unwrap();
        assert_eq!(on_store(8), [9; 4]);
        block_store.write_at(100 * 512 + 8, &[7; 4]).unwrap();
        assert_eq!(read(8), [9; 4]);
        checksums.forget(&block_store).unwrap();
        assert_eq!(read(8), [7; 4]);
        checksums.zero(&block_store, 8, 4096).unwrap();
        assert_eq!((read(8), read(4092), read(4096), on_store(8)), ([0; 4], [0; 4], [0; 4], [0; 4]));
    }
}
