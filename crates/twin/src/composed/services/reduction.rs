//! Data reduction: blocks are deduplicated and compressed before they go to caches and drives.

use load::Content;

use crate::engine::Rate;
use crate::part::Counters;

use super::super::rates::rate;
use super::metadata::{Metadata, share_in_memory};

/// Sector: the unit of drives' addresses.
const SECTOR_BYTES: u64 = 512;

/// Reducer of an array.
#[derive(Debug, Clone)]
pub(crate) struct Reduction {
    block_bytes: u64,
    compress: Rate,
    decompress: Rate,
    fingerprint: Rate,
    deduplicates: bool,
    lookup_ns: u64,
    /// Share of the index that is in memory.
    in_memory: f64,
    /// Hundredths of bytes that were not written yet, because sectors are whole.
    owed: u64,
    taken_bytes: u64,
    stored_bytes: u64,
    duplicate_blocks: u64,
    index_reads: u64,
}

/// Result of reducing a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reduced {
    pub stored_bytes: u64,
    /// Lookups that read the index from the drives.
    pub index_reads: u64,
    pub time_ns: u64,
}

/// Share of a block that compression leaves, in percent.
fn kept_percent(content: Content) -> u64 {
    100 - u64::from(content.compress_percent.min(100))
}

impl Reduction {
    /// Of so many bytes of volumes.
    pub fn new(reduction: &array::Reduction, volume_bytes: u64) -> Reduction {
        let index_bytes = (volume_bytes / reduction.block.get()) as f64 * reduction.entry.get() as f64;
        Reduction {
            block_bytes: reduction.block.get(),
            compress: rate(reduction.compress.get(), true),
            decompress: rate(reduction.decompress.get(), true),
            fingerprint: rate(reduction.fingerprint.get(), true),
            deduplicates: reduction.deduplicate.is_on(),
            lookup_ns: reduction.lookup.get(),
            in_memory: share_in_memory(reduction.index_cache.get(), index_bytes),
            owed: 0,
            taken_bytes: 0,
            stored_bytes: 0,
            duplicate_blocks: 0,
            index_reads: 0,
        }
    }

    /// The blocks that a range touches: their first byte, and their bytes.
    pub fn blocks(&self, offset: u64, length: u64) -> (u64, u64) {
        let first = offset / self.block_bytes * self.block_bytes;
        (first, (offset + length).div_ceil(self.block_bytes) * self.block_bytes - first)
    }

    /// Bytes on the drives of stored blocks, in whole sectors.
    pub fn stored(&self, bytes: u64, content: Content) -> u64 {
        (bytes * kept_percent(content)).div_ceil(100).div_ceil(SECTOR_BYTES).max(1) * SECTOR_BYTES
    }

    /// Whole blocks are written.
    pub fn write(&mut self, bytes: u64, content: Content, metadata: &mut Metadata) -> Reduced {
        let blocks = bytes / self.block_bytes;
        let (mut unique, mut index_reads, mut time_ns) = (blocks, 0, 0);
        if self.deduplicates {
            time_ns += self.fingerprint.duration_ns(bytes) + blocks * self.lookup_ns;
            for _ in 0..blocks {
                unique -= u64::from(metadata.random.below(100) < u64::from(content.dedupe_percent));
                index_reads += u64::from(metadata.misses(self.in_memory));
            }
        }
        let unique_bytes = unique * self.block_bytes;
        time_ns += self.compress.duration_ns(unique_bytes);
        self.owed += unique_bytes * kept_percent(content);
        let stored_bytes = (self.owed / 100 / SECTOR_BYTES * SECTOR_BYTES).min(bytes);
        self.owed -= stored_bytes * 100;
        self.taken_bytes += bytes;
        self.stored_bytes += stored_bytes;
        self.duplicate_blocks += blocks - unique;
        self.index_reads += index_reads;
        Reduced { stored_bytes, index_reads, time_ns }
    }

    /// Processor time of reading so many bytes of blocks.
    pub fn decompress_ns(&self, bytes: u64) -> u64 {
        self.decompress.duration_ns(bytes)
    }

    pub fn count_into(&self, counters: &mut Counters) {
        for (name, value) in [
            ("taken_bytes", self.taken_bytes),
            ("stored_bytes", self.stored_bytes),
            ("duplicate_blocks", self.duplicate_blocks),
            ("index_reads", self.index_reads),
        ] {
            counters.add("reduction", name, value);
        }
    }
}
