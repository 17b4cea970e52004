//! Write content: compressible to a chosen degree, and partly duplicates.
//!
//! Arrays that compress or deduplicate are flattered by zeros and by one buffer written again and again; so content is
//! made block by block, and what was delivered is counted.

use crate::content_block::{CONTENT_BLOCK_BYTES, DUPLICATE_SETS};
use crate::content_tally::{ContentProbe, ContentTally};
use crate::{Content, Random};

/// Streams of random numbers for content, far from those that decide what is issued.
const CONTENT_STREAMS: u64 = 1 << 44;

/// Fills buffers for writes, and counts what it delivered.
#[derive(Debug, Clone)]
pub struct Filler {
    content: Content,
    random: Random,
    seed: u64,
    /// Random bytes at the start of each block; zeros fill the rest.
    random_bytes: usize,
    next_unique: u64,
    probe: ContentProbe,
}

impl Filler {
    /// Makes the filler of worker `worker`, whose contents differ from those of other workers.
    pub fn new(content: Content, seed: u64, worker: u32) -> Self {
        let incompressible = 100 - usize::from(content.compress_percent.min(100));
        Filler {
            content,
            random: Random::from_seed_and_stream(seed, CONTENT_STREAMS + u64::from(worker)),
            seed,
            random_bytes: (CONTENT_BLOCK_BYTES * incompressible).div_ceil(100) / 8 * 8,
            next_unique: DUPLICATE_SETS + (u64::from(worker) << 40),
            probe: ContentProbe::default(),
        }
    }

    /// True where each write needs to be filled anew; otherwise [`Filler::touch`] suffices after a first fill.
    pub fn is_shaped(&self) -> bool {
        self.content != Content::default()
    }

    /// Fills a buffer with new content.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        for block in buffer.chunks_mut(CONTENT_BLOCK_BYTES) {
            let is_duplicate = self.content.dedupe_percent > 0
                && self.random.below(100) < u64::from(self.content.dedupe_percent);
            let identity = if is_duplicate {
                self.random.below(DUPLICATE_SETS)
            } else {
                self.next_unique += 1;
                self.next_unique
            };
            // A short block keeps the share of random bytes.
            let random_bytes =
                (self.random_bytes * block.len()).div_ceil(CONTENT_BLOCK_BYTES).min(block.len());
            let (random_part, zeros) = block.split_at_mut(random_bytes);
            fill_random(&mut Random::from_seed_and_stream(self.seed, identity), random_part);
            zeros.fill(0);
            // Where everything is compressible, a number still tells unique blocks apart.
            if random_part.len() < 8 && block.len() >= 8 {
                block[..8].copy_from_slice(&identity.to_le_bytes());
            }
            if self.content != Content::default() {
                self.probe.take(block, is_duplicate);
            }
        }
    }

    /// Makes every block of a buffer that holds random data different from all written before, at the price of a store.
    #[inline]
    pub fn touch(&mut self, buffer: &mut [u8]) {
        for block in buffer.chunks_mut(CONTENT_BLOCK_BYTES) {
            self.next_unique += 1;
            if let Some(start) = block.first_chunk_mut::<8>() {
                *start = self.next_unique.to_le_bytes();
            }
        }
    }

    /// Returns the tally of the content that was written.
    pub fn delivered(&self) -> ContentTally {
        self.probe.tally()
    }
}

pub(crate) fn fill_random(random: &mut Random, buffer: &mut [u8]) {
    let mut words = buffer.chunks_exact_mut(8);
    for word in &mut words {
        word.copy_from_slice(&random.next_u64().to_le_bytes());
    }
    let rest = words.into_remainder();
    let last = random.next_u64().to_le_bytes();
    rest.copy_from_slice(&last[..rest.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const BLOCKS: usize = 2000;

    fn written(compress_percent: u8, dedupe_percent: u8, worker: u32) -> (Vec<u8>, Filler) {
        let mut filler = Filler::new(Content { compress_percent, dedupe_percent }, 3, worker);
        let mut buffer = vec![0; BLOCKS * CONTENT_BLOCK_BYTES];
        buffer.chunks_mut(16_384).for_each(|chunk| filler.fill(chunk));
        (buffer, filler)
    }

    /// Proves that a real compressor, block by block, shrinks the content by the percentage asked for, within 2 points.
    #[test]
    fn a_compressor_finds_the_share() {
        for compress_percent in [0u8, 25, 50, 80, 100] {
            let (buffer, _) = written(compress_percent, 0, 0);
            let compressed: usize = buffer
                .chunks(CONTENT_BLOCK_BYTES)
                .take(200)
                .map(|block| miniz_oxide::deflate::compress_to_vec(block, 6).len())
                .sum();
            let saved = 100.0 - compressed as f64 * 100.0 / (200 * CONTENT_BLOCK_BYTES) as f64;
            assert!((saved - f64::from(compress_percent)).abs() < 2.0, "{compress_percent}: {saved}");
        }
    }

    /// Proves that the share of blocks that equal an earlier one is the one asked for and the one reported, also where
    /// everything is compressible, and that workers do not repeat one another by accident.
    #[test]
    fn duplicates_have_their_share() {
        for (compress, dedupe) in [(0u8, 0u8), (50, 30), (100, 70), (30, 100)] {
            let (buffer, filler) = written(compress, dedupe, 0);
            let distinct: BTreeSet<&[u8]> = buffer.chunks(CONTENT_BLOCK_BYTES).collect();
            let duplicates = BLOCKS - distinct.len();
            let tally = filler.delivered();
            let meant = tally.duplicates_meant;
            if (compress, dedupe) != (0, 0) {
                assert_eq!(tally.blocks, BLOCKS as u64);
            }
            // Of each duplicated content, the first is new.
            assert!(meant as usize - duplicates <= DUPLICATE_SETS as usize);
            let share = meant as f64 / BLOCKS as f64;
            assert!((share - f64::from(dedupe) / 100.0).abs() < 0.05, "{dedupe}: {share}");
            if dedupe == 0 {
                let (other, _) = written(compress, 0, 1);
                assert!(other.chunks(CONTENT_BLOCK_BYTES).all(|block| !distinct.contains(block)));
            }
        }
    }

    /// Proves that touching makes blocks of one buffer differ from one another and from those before.
    #[test]
    fn touched_blocks_differ() {
        let mut filler = Filler::new(Content::default(), 3, 0);
        let mut buffer = vec![7u8; 4 * CONTENT_BLOCK_BYTES];
        let mut seen = BTreeSet::new();
        for _ in 0..100 {
            filler.touch(&mut buffer);
            buffer.chunks(CONTENT_BLOCK_BYTES).for_each(|block| assert!(seen.insert(block.to_vec())));
        }
    }
}
