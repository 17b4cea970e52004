//! Read cache: data that was read before and is still in memory.

use layout::Divisor;

use super::drive::SECTOR_BYTES;
use super::ways::Ways;

/// Blocks whose memory is asked for at once.
const FETCHED: usize = 16;

/// Fill of read caches, in sectors of 4 KiB.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadCacheFill {
    /// Sectors that are kept.
    pub kept_sectors: u64,
    /// Sectors that there is room for.
    pub room_sectors: u64,
    /// Blocks that were read once, where only the second read is kept.
    pub seen_blocks: u64,
}

impl ReadCacheFill {
    /// Bytes of a sector.
    pub const SECTOR_BYTES: u64 = SECTOR_BYTES;
}

/// Blocks of one controller. Only blocks that were read whole are kept.
#[derive(Debug, Clone)]
pub(crate) struct ReadCache {
    block_bytes: u64,
    by_block: Divisor,
    ways: Ways,
}

impl ReadCache {
    pub fn new(bytes: u64, block_bytes: u64) -> ReadCache {
        ReadCache {
            block_bytes,
            by_block: Divisor::new(block_bytes, u64::MAX),
            ways: Ways::new(bytes / block_bytes),
        }
    }

    /// Bytes of a block.
    pub fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    /// Places for a block.
    pub fn blocks(&self) -> u64 {
        self.ways.places()
    }

    /// Places that hold a block.
    pub fn filled_blocks(&self) -> u64 {
        self.ways.filled()
    }

    /// Everything is gone.
    pub fn forget(&mut self) {
        self.ways.clear();
    }

    /// Returns whether hardly a place is empty.
    pub fn is_full(&self) -> bool {
        self.ways.is_full()
    }

    /// Returns whether all of a range is there.
    pub fn holds(&self, offset: u64, length: u64) -> bool {
        let (first, last) = (self.block_of(offset), self.block_of(offset + length - 1));
        (first..=last).all(|block| self.ways.has(block))
    }

    /// Returns whether the block of a byte is there; from now on it is.
    pub fn has_seen(&mut self, offset: u64) -> bool {
        let block = self.block_of(offset);
        let is_there = self.ways.has(block);
        self.keep(block * self.block_bytes, self.block_bytes);
        is_there
    }

    /// Keeps the whole blocks of a range.
    pub fn keep(&mut self, offset: u64, length: u64) {
        let (first, end) = self.whole_blocks(offset, length);
        for from in (first..end).step_by(FETCHED) {
            let blocks = from..end.min(from + FETCHED as u64);
            // One block alone has nobody to wait beside.
            if blocks.end - blocks.start > 1 {
                self.ways.fetch(blocks.clone());
            }
            for block in blocks {
                if !self.ways.keep(block) {
                    return;
                }
            }
        }
    }

    /// Prefetches the memory of the blocks that [`ReadCache::keep`] of a range is about.
    pub fn fetch(&self, offset: u64, length: u64) {
        let (first, end) = self.whole_blocks(offset, length);
        self.ways.fetch(first..end);
    }

    /// First of the whole blocks of a range, and the one behind them.
    fn whole_blocks(&self, offset: u64, length: u64) -> (u64, u64) {
        (self.block_of(offset + self.block_bytes - 1), self.block_of(offset + length))
    }

    fn block_of(&self, byte: u64) -> u64 {
        self.by_block.divide(byte).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that what fits is found again, that partly read blocks are not, and that a cache of no size holds nothing.
    #[test]
    fn whole_blocks_are_found_again() {
        let mut cache = ReadCache::new(1 << 20, 4096);
        cache.keep(0, 65536);
        assert!(cache.holds(0, 65536) && cache.holds(512, 512));
        assert!(!cache.holds(65536, 512));
        cache.keep(1 << 30, 512);
        assert!(!cache.holds(1 << 30, 512));
        let mut none = ReadCache::new(0, 4096);
        none.keep(0, 65536);
        assert!(!none.holds(0, 4096));
    }

    /// Proves that each block of a long range is kept, whatever is looked up at once.
    #[test]
    fn long_ranges_are_kept_whole() {
        let mut cache = ReadCache::new(16 << 20, 4096);
        let blocks = 5 * FETCHED as u64 + 3;
        cache.keep(0, blocks * 4096);
        assert_eq!(cache.filled_blocks(), blocks);
        assert!(cache.holds(0, blocks * 4096) && !cache.holds(blocks * 4096, 512));
    }

    /// Proves that the share of hits of uniform reads is the share of blocks that fit, within 2 points.
    #[test]
    fn hits_are_the_share_that_fits() {
        let mut cache = ReadCache::new(1000 * 4096, 4096);
        let mut random = load::Random::from_seed(3);
        let mut hits = 0;
        for step in 0..100_000 {
            let block = random.below(4000) * 4096;
            hits += u32::from(step >= 20_000 && cache.holds(block, 4096));
            cache.keep(block, 4096);
        }
        let share = f64::from(hits) / 80_000.0;
        assert!((share - 0.25).abs() < 0.02, "{share}");
    }
}
