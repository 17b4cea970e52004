//! Measured compressibility and duplicates of written content.
//!
//! Blocks are kept in mind by a hash, to find those that occur more than once, and some are copied and compressed when
//! the load is over, so that no compressor works while it runs.

use crate::Content;
use crate::content_block::{CONTENT_BLOCK_BYTES, DUPLICATE_SETS};
use std::collections::{BTreeMap, BTreeSet};

/// Blocks whose content is kept in mind to find duplicates: 16 bytes each.
const HASHED_BLOCKS_LIMIT: usize = 8192;
/// Blocks that are copied, spread over the whole load.
const COPIED_BLOCKS_LIMIT: usize = 64;
/// The compressor's effort, of 10: zlib's default.
const DEFLATE_LEVEL: u8 = 6;
/// A share within this many points is what was asked for: deflate itself adds 2.4 to I/Os of 512 bytes.
const TOLERANCE_POINTS: f64 = 3.0;

/// Looks at blocks as they are made.
#[derive(Debug, Clone, Default)]
pub(crate) struct ContentProbe {
    blocks: u64,
    duplicates_meant: u64,
    /// Count of each content's occurrences among the first blocks.
    hashes: BTreeMap<u64, u32>,
    hashed: usize,
    /// Blocks for each one that is copied; doubled whenever the room is used up.
    copy_every: u64,
    copies: Vec<Vec<u8>>,
}

impl ContentProbe {
    /// Tallies a block when it is handed out.
    pub fn take(&mut self, block: &[u8], is_meant_as_duplicate: bool) {
        if self.hashed < HASHED_BLOCKS_LIMIT {
            self.hashed += 1;
            *self.hashes.entry(hash(block)).or_insert(0) += 1;
        }
        self.copy_every = self.copy_every.max(1);
        if self.blocks.is_multiple_of(self.copy_every) {
            if self.copies.len() == COPIED_BLOCKS_LIMIT {
                let mut place = 0;
                self.copies.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.copy_every *= 2;
            }
            if self.blocks.is_multiple_of(self.copy_every) {
                self.copies.push(block.to_vec());
            }
        }
        self.blocks += 1;
        self.duplicates_meant += u64::from(is_meant_as_duplicate);
    }

    /// Returns the tally of the blocks seen. Compresses the copies.
    pub fn tally(&self) -> ContentTally {
        // Small blocks lie beside others where arrays compress them, and duplicates are counted by themselves.
        let distinct: BTreeSet<&[u8]> = self.copies.iter().map(Vec::as_slice).collect();
        let raw: Vec<u8> = distinct.into_iter().flatten().copied().collect();
        let pieces = raw.chunks(CONTENT_BLOCK_BYTES);
        let compressed =
            pieces.map(|piece| miniz_oxide::deflate::compress_to_vec(piece, DEFLATE_LEVEL).len() as u64);
        ContentTally {
            blocks: self.blocks,
            duplicates_meant: self.duplicates_meant,
            hashed_blocks: self.hashed as u64,
            repeated_blocks: self
                .hashes
                .values()
                .filter(|count| **count > 1)
                .map(|count| u64::from(*count))
                .sum(),
            raw_bytes: raw.len() as u64,
            compressed_bytes: compressed.sum(),
        }
    }
}

/// All of a block, a word at a time: two blocks that differ anywhere have different hashes, but for one pair in some 2^64.
fn hash(block: &[u8]) -> u64 {
    let words = block.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    words.fold(block.len() as u64, |hash, word| {
        let mixed = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 29)
    })
}

/// Measured content of writes, over one worker or several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContentTally {
    /// Blocks that were made.
    pub blocks: u64,
    /// Blocks of those that were meant to equal another.
    pub duplicates_meant: u64,
    hashed_blocks: u64,
    repeated_blocks: u64,
    raw_bytes: u64,
    compressed_bytes: u64,
}

impl ContentTally {
    /// Adds another worker's.
    pub fn merge(&mut self, other: &ContentTally) {
        self.blocks += other.blocks;
        self.duplicates_meant += other.duplicates_meant;
        self.hashed_blocks += other.hashed_blocks;
        self.repeated_blocks += other.repeated_blocks;
        self.raw_bytes += other.raw_bytes;
        self.compressed_bytes += other.compressed_bytes;
    }

    /// Returns the share by which deflate shrinks distinct blocks, 4 KiB each, in percent; `None` where nothing was made.
    pub fn compress_percent(&self) -> Option<f64> {
        (self.raw_bytes > 0).then(|| 100.0 * (1.0 - self.compressed_bytes as f64 / self.raw_bytes as f64))
    }

    /// Share of blocks whose content came more than once, in percent; `None` where nothing was made.
    pub fn dedupe_percent(&self) -> Option<f64> {
        (self.hashed_blocks > 0).then(|| 100.0 * self.repeated_blocks as f64 / self.hashed_blocks as f64)
    }

    /// Describes the differences between the content that was made and the content that was requested.
    pub fn differs_from(&self, requested: Content) -> Vec<String> {
        let mut differences = Vec::new();
        let (Some(compress), Some(dedupe)) = (self.compress_percent(), self.dedupe_percent()) else {
            return differences;
        };
        let wanted = f64::from(requested.compress_percent);
        if (compress - wanted).abs() > TOLERANCE_POINTS {
            differences.push(format!(
                "content that shrinks by {wanted} % was asked for, and deflate shrinks what was written by {compress:.1} %"
            ));
        }
        let wanted = f64::from(requested.dedupe_percent);
        // Four standard errors; of few blocks, a content may have come only once so far.
        let error = 400.0 * (wanted / 100.0 * (1.0 - wanted / 100.0) / self.hashed_blocks as f64).sqrt();
        let lonely =
            if wanted > 0.0 { 100.0 * DUPLICATE_SETS as f64 / self.hashed_blocks as f64 } else { 0.0 };
        if (dedupe - wanted).abs() > TOLERANCE_POINTS + error + lonely {
            differences.push(format!("{wanted} % duplicates were asked for and {dedupe:.1} % written"));
        }
        differences
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Filler;

    fn tally(requested: Content, bs_bytes: usize, ios: usize) -> ContentTally {
        let mut filler = Filler::new(requested, 5, 0);
        let mut buffer = vec![0; bs_bytes];
        (0..ios).for_each(|_| filler.fill(&mut buffer));
        filler.delivered()
    }

    /// Proves that what is made is measured as asked for over shares, sizes of I/Os and lengths of loads, and that content
    /// with other shares than those asked for is told, for each share by itself.
    #[test]
    fn what_is_made_is_measured() {
        for (compress_percent, dedupe_percent) in [(0, 10), (25, 0), (50, 50), (75, 20), (100, 90), (33, 100)]
        {
            let requested = Content { compress_percent, dedupe_percent };
            for (bs_bytes, ios) in [(512, 3000), (4096, 20_000), (6144, 700), (65_536, 300)] {
                let found = tally(requested, bs_bytes, ios);
                assert_eq!(found.differs_from(requested), [""; 0], "{requested:?} {bs_bytes}: {found:?}");
                let other = Content { compress_percent: (compress_percent + 50) % 100, ..requested };
                assert!(found.differs_from(other)[0].contains("deflate shrinks"), "{requested:?} {bs_bytes}");
                let other = Content { dedupe_percent: if dedupe_percent < 50 { 80 } else { 0 }, ..requested };
                assert!(
                    found.differs_from(other)[0].contains("duplicates were asked"),
                    "{requested:?} {bs_bytes}"
                );
            }
        }
    }

    /// Proves that copies are spread over the whole load, and that their number is bounded.
    #[test]
    fn copies_are_spread() {
        let mut probe = ContentProbe::default();
        for number in 0..10_000u32 {
            probe.take(&number.to_le_bytes().repeat(CONTENT_BLOCK_BYTES / 4), false);
        }
        let numbers: Vec<u32> =
            probe.copies.iter().map(|copy| u32::from_le_bytes(copy[..4].try_into().unwrap())).collect();
        assert!((COPIED_BLOCKS_LIMIT / 2..=COPIED_BLOCKS_LIMIT).contains(&numbers.len()), "{numbers:?}");
        let step = numbers[1];
        assert!(
            numbers.iter().enumerate().all(|(place, &number)| number == place as u32 * step),
            "{numbers:?}"
        );
        assert!(numbers[numbers.len() - 1] > 9000, "{numbers:?}");
    }
}
