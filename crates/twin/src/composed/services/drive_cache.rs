//! Read cache on drives: what was read from slow drives is kept on those of a group without volumes.

use load::Direction;

use super::Request;
use super::request::{Io, Served, Stage};
use crate::cache::{DriveCache, ReadCache, ReadCacheFill, SECTOR_BYTES};
use crate::part::Counters;

/// Read cache on the drives of a group.
#[derive(Debug, Clone)]
pub(super) struct CacheOnDrives {
    pub set: u16,
    pub kept: DriveCache,
    /// Blocks that were read once, where the second read is the one that is kept.
    seen: Option<ReadCache>,
    pub is_lost: bool,
    pub hits: u64,
    pub misses: u64,
    admitted_bytes: u64,
}

impl CacheOnDrives {
    /// Empty cache on a set, of so many bytes.
    pub fn new(cache: &array::DriveCache, set: u16, bytes: u64) -> CacheOnDrives {
        CacheOnDrives {
            set,
            kept: DriveCache::new(bytes, cache.block.get()),
            seen: (cache.admit.get() == 1).then(|| ReadCache::new(bytes, cache.block.get())),
            is_lost: false,
            hits: 0,
            misses: 0,
            admitted_bytes: 0,
        }
    }

    /// Keeps what was read from elsewhere, after the answer.
    pub fn admit(&mut self, served: &mut Served, request: Request) {
        let first = request.address.div_ceil(SECTOR_BYTES) * SECTOR_BYTES;
        let end = (request.address + request.length_bytes) / SECTOR_BYTES * SECTOR_BYTES;
        if first >= end {
            return;
        }
        if self.seen.as_mut().is_some_and(|seen| !seen.has_seen(request.address)) {
            return;
        }
        let (set, mut admitted_bytes) = (self.set, 0);
        self.kept.keep(first, end - first, |offset_bytes, length_bytes| {
            admitted_bytes += length_bytes;
            served.add(Stage::After, Io::internal(Direction::Write, set, offset_bytes, length_bytes));
        });
        self.admitted_bytes += admitted_bytes;
    }

    /// Has seen all of a range once.
    pub fn see(&mut self, address: u64, length_bytes: u64) {
        if let Some(seen) = &mut self.seen {
            let block_bytes = seen.block_bytes();
            let first = address / block_bytes * block_bytes;
            seen.keep(first, (address + length_bytes - first).next_multiple_of(block_bytes));
        }
    }

    /// Set and size of it, and whether it sees blocks before it keeps them: after the same reads others of the same shape keep the same.
    pub fn shape(&self) -> (u16, (u64, u64), bool) {
        (self.set, self.kept.shape(), self.seen.is_some())
    }

    /// Keeps what another of the same shape keeps.
    pub fn copy(&mut self, of: &CacheOnDrives) {
        self.kept.clone_from(&of.kept);
        self.seen.clone_from(&of.seen);
    }

    /// Fill of it.
    pub fn fill(&self) -> ReadCacheFill {
        ReadCacheFill {
            kept_sectors: self.kept.kept_sectors(),
            room_sectors: self.kept.sectors(),
            seen_blocks: self.seen.as_ref().map_or(0, ReadCache::filled_blocks),
        }
    }

    pub fn count_into(&self, counters: &mut Counters) {
        for (name, value) in [
            ("hits", self.hits),
            ("misses", self.misses),
            ("admitted_bytes", self.admitted_bytes),
            ("fill_bytes", self.kept.filled_bytes()),
        ] {
            counters.add("drive_cache", name, value);
        }
    }
}
