//! Read cache on drives: which 4 KiB of which blocks are kept, and where on the drives.

use super::ways::Ways;

/// Bytes that are kept or not.
pub(crate) const SECTOR_BYTES: u64 = 4096;

/// Blocks with the sectors of them that are kept.
#[derive(Debug, Clone)]
pub(crate) struct DriveCache {
    block_bytes: u64,
    ways: Ways,
    /// By index of a place: sectors of its block that are kept.
    sectors: Vec<u64>,
    kept_sectors: u64,
}

/// Sectors of a block from one byte of it to another.
fn sectors(from: u64, to: u64) -> u64 {
    let (first, end) = (from / SECTOR_BYTES, to.div_ceil(SECTOR_BYTES));
    let below = |count: u64| if count >= 64 { u64::MAX } else { (1 << count) - 1 };
    below(end) & !below(first)
}

impl DriveCache {
    /// Cache of so many bytes in blocks of a power of two, at most 64 sectors.
    pub fn new(bytes: u64, block_bytes: u64) -> DriveCache {
        DriveCache { block_bytes, ways: Ways::new(bytes / block_bytes), sectors: Vec::new(), kept_sectors: 0 }
    }

    /// Size of its blocks, and how many there is room for.
    pub fn shape(&self) -> (u64, u64) {
        (self.block_bytes, self.ways.places())
    }

    /// Calls with each block that a range touches: its number, and the bytes of it.
    fn for_each_block(&self, offset: u64, length: u64, mut run: impl FnMut(u64, u64, u64)) {
        let (mut at, end) = (offset, offset + length);
        while at < end {
            let block = at / self.block_bytes;
            let first = block * self.block_bytes;
            let until = end.min(first + self.block_bytes);
            run(block, at - first, until - first);
            at = until;
        }
    }

    /// Returns whether all of a range is kept; its places on the drives are then called with, each with its length.
    pub fn find(&self, offset: u64, length: u64, mut run: impl FnMut(u64, u64)) -> bool {
        let mut is_kept = length > 0;
        self.for_each_block(offset, length, |block, from, to| {
            let wanted = sectors(from, to);
            is_kept &=
                self.ways.find(block).is_some_and(|place| self.sectors[place.index] & wanted == wanted);
        });
        if is_kept {
            self.for_each_block(offset, length, |block, from, to| {
                if let Some(place) = self.ways.find(block) {
                    run(place.number as u64 * self.block_bytes + from, to - from);
                }
            });
        }
        is_kept
    }

    /// Keeps a range of whole sectors; calls with the places on the drives that are written, each with its length.
    pub fn keep(&mut self, offset: u64, length: u64, mut run: impl FnMut(u64, u64)) {
        let mut touched = Vec::new();
        self.for_each_block(offset, length, |block, from, to| touched.push((block, from, to)));
        for (block, from, to) in touched {
            let place = match self.ways.find(block) {
                Some(place) => place,
                None => {
                    let Some(place) = self.ways.insert(block) else { return };
                    self.sectors.resize(self.ways.indices(), 0);
                    let replaced = std::mem::take(&mut self.sectors[place.index]);
                    self.kept_sectors -= u64::from(replaced.count_ones());
                    place
                }
            };
            let (had, kept) = (self.sectors[place.index], sectors(from, to));
            self.kept_sectors += u64::from((kept & !had).count_ones());
            self.sectors[place.index] = had | kept;
            run(place.number as u64 * self.block_bytes + from, to - from);
        }
    }

    /// Gives up what is kept of a range.
    pub fn forget(&mut self, offset: u64, length: u64) {
        let mut touched = Vec::new();
        self.for_each_block(offset, length, |block, from, to| {
            touched.extend(self.ways.find(block).map(|place| (place, sectors(from, to))));
        });
        for (place, given_up) in touched {
            self.kept_sectors -= u64::from((self.sectors[place.index] & given_up).count_ones());
            self.sectors[place.index] &= !given_up;
        }
    }

    /// Sectors that are kept.
    pub fn kept_sectors(&self) -> u64 {
        self.kept_sectors
    }

    /// Sectors that there is room for.
    pub fn sectors(&self) -> u64 {
        self.ways.places() * (self.block_bytes / SECTOR_BYTES)
    }

    /// Returns whether hardly a place is empty.
    pub fn is_full(&self) -> bool {
        self.ways.is_full()
    }

    /// Bytes of the blocks that have a place.
    pub fn filled_bytes(&self) -> u64 {
        self.ways.filled() * self.block_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_kept(cache: &DriveCache, offset: u64, length: u64) -> bool {
        cache.find(offset, length, |_, _| {})
    }

    /// Proves that what was kept is found where it was put, also over blocks, that neighbours in a block are not, and that what
    /// is written is gone.
    #[test]
    fn sectors_are_kept_one_by_one() {
        let mut cache = DriveCache::new(1 << 24, 65_536);
        let mut put = Vec::new();
        cache.keep(61_440, 8192, |at, length| put.push((at, length)));
        assert_eq!(put.iter().map(|(_, length)| length).sum::<u64>(), 8192);
        let mut found = Vec::new();
        assert!(cache.find(61_440, 8192, |at, length| found.push((at, length))));
        assert_eq!(found, put);
        assert!(!is_kept(&cache, 57_344, 8192) && !is_kept(&cache, 61_440, 12_288));
        cache.keep(61_440, 8192, |_, _| {});
        assert_eq!((cache.kept_sectors(), cache.sectors()), (2, 4096));
        cache.forget(65_536, 512);
        assert_eq!(cache.kept_sectors(), 1);
        assert!(is_kept(&cache, 61_440, 4096) && !is_kept(&cache, 65_536, 4096));
        assert!(!is_kept(&DriveCache::new(0, 65_536), 0, 4096));
    }

    /// Proves that the share of hits of independent references is that of first in, first out in closed form: for uniform ones
    /// the share of blocks that fit; for skewed ones the sum of p × pT ÷ (1 + pT) with T such that pT ÷ (1 + pT) add up to the
    /// size (Fricker, Robert, Roberts 2012, "A versatile and accurate approximation for LRU cache performance", section 5), within 2 points.
    #[test]
    fn hits_are_those_of_first_in_first_out() {
        const BLOCKS: usize = 4000;
        const KEPT: u64 = 1000;
        for exponent in [0.0, 0.8, 1.1] {
            let weights: Vec<f64> = (1..=BLOCKS).map(|rank| (rank as f64).powf(-exponent)).collect();
            let sum: f64 = weights.iter().sum();
            let shares: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
            let fill = |time: f64| shares.iter().map(|p| p * time / (1.0 + p * time)).sum::<f64>();
            let (mut low, mut high) = (0.0, 1e9);
            for _ in 0..100 {
                let middle = (low + high) / 2.0;
                *(if fill(middle) < KEPT as f64 { &mut low } else { &mut high }) = middle;
            }
            let expected: f64 = shares.iter().map(|p| p * p * low / (1.0 + p * low)).sum();
            let mut bounds = Vec::new();
            shares.iter().fold(0.0, |before, share| {
                bounds.push(before + share);
                before + share
            });
            let mut cache = DriveCache::new(KEPT * 4096, 4096);
            let mut random = load::Random::from_seed(3);
            let mut hits = 0;
            for step in 0..200_000 {
                let drawn = random.unit_open();
                let block = bounds.partition_point(|bound| *bound < drawn).min(BLOCKS - 1) as u64 * 4096;
                let is_hit = is_kept(&cache, block, 4096);
                hits += u32::from(step >= 40_000 && is_hit);
                if !is_hit {
                    cache.keep(block, 4096, |_, _| {});
                }
            }
            let share = f64::from(hits) / 160_000.0;
            assert!((share - expected).abs() < 0.02, "{exponent}: {share} of {expected}");
        }
    }
}
