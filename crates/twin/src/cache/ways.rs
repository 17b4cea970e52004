//! Places of a cache that is set-associative with eight ways, replaced first in, first out.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::hint::black_box;
use std::ops::Range;

/// Ways of a set: places among which a block may lie.
const WAYS: usize = 8;
/// Bits of a way's number.
const WAY_BITS: u32 = WAYS.trailing_zeros();

/// Share of the sets, one in so many, beyond which all have a word.
const FEW: usize = 32;

/// Blocks of a set, number + 1 or 0, in one line of the processor's caches.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct FilledSet([u64; WAYS]);

/// Blocks, each in one of the eight places of the set that its number names by a hash; the place filled longest ago is filled
/// next. Only sets that have held something have memory: a cache of 64 GiB has 32,768 pages of numbers, which a load of some seconds
/// touches at random, and to get each from the kernel takes longer than to simulate the I/O.
#[derive(Debug, Clone)]
pub(super) struct Ways {
    count: usize,
    words: Words,
    /// Sets that have held something, in the order in which they first did.
    filled_sets: Vec<FilledSet>,
    filled: u64,
}

/// By set: 0 as long as nothing was ever there, then 1 more than its place among the filled sets, and the way that is filled next.
#[derive(Debug, Clone)]
enum Words {
    /// Of the sets that are filled. Nothing depends on their order.
    Few(HashMap<u32, u32, BuildHasherDefault<BySet>>),
    All(Box<[u32]>),
}

/// Hashes the number of a set, which is part of a hash itself.
#[derive(Debug, Default)]
struct BySet(u64);

impl Hasher for BySet {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(u32::from(byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        // Tables take the low bits.
        self.0.rotate_left(32)
    }
}

impl Words {
    fn of(&self, set: usize) -> u32 {
        match self {
            Words::Few(words) => words.get(&(set as u32)).copied().unwrap_or_default(),
            Words::All(words) => words[set],
        }
    }

    fn of_mut(&mut self, set: usize) -> &mut u32 {
        match self {
            Words::Few(words) => words.entry(set as u32).or_default(),
            Words::All(words) => &mut words[set],
        }
    }

    /// A word for each of so many sets.
    fn all(&mut self, count: usize) {
        let Words::Few(few) = self else { return };
        let mut words = vec![0; count];
        few.iter().for_each(|(&set, &word)| words[set as usize] = word);
        *self = Words::All(words.into());
    }
}

/// Place of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Its number among all places of the cache.
    pub number: usize,
    /// Its number among the places that have memory.
    pub index: usize,
}

impl Ways {
    /// Room for so many blocks, in whole sets.
    pub fn new(blocks: u64) -> Ways {
        let count = (blocks / WAYS as u64) as usize;
        Ways { count, words: Words::Few(HashMap::default()), filled_sets: Vec::new(), filled: 0 }
    }

    /// Places that have memory: more than the index of any place.
    pub fn indices(&self) -> usize {
        self.filled_sets.len() * WAYS
    }

    /// All places.
    pub fn places(&self) -> u64 {
        (self.count * WAYS) as u64
    }

    /// Places that hold a block.
    pub fn filled(&self) -> u64 {
        self.filled
    }

    fn set(&self, block: u64) -> Option<usize> {
        let sets = self.count as u64;
        // Fibonacci hashing, then the high word of a product instead of a division.
        let mixed = block.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (sets > 0).then(|| ((u128::from(mixed) * u128::from(sets)) >> 64) as usize)
    }

    /// Returns whether a block has a place.
    pub fn has(&self, block: u64) -> bool {
        self.find(block).is_some()
    }

    /// The place of a block, if it has one.
    pub fn find(&self, block: u64) -> Option<Place> {
        self.find_in(self.set(block)?, block)
    }

    /// Prefetches the memory of these blocks' sets. Sets of neighbours lie anywhere, and a search waits for memory twice; reads for all of
    /// the blocks do not wait for one another.
    pub fn fetch(&self, blocks: Range<u64>) {
        let filled_sets = blocks.filter_map(|block| self.filled_set(self.set(block)?));
        filled_sets.for_each(|filled_set| _ = black_box(self.filled_sets[filled_set].0[0]));
    }

    fn filled_set(&self, set: usize) -> Option<usize> {
        (self.words.of(set) >> WAY_BITS).checked_sub(1).map(|filled_set| filled_set as usize)
    }

    fn find_in(&self, set: usize, block: u64) -> Option<Place> {
        let filled_set = self.filled_set(set)?;
        let way = self.filled_sets[filled_set].0.iter().position(|&held| held == block + 1)?;
        Some(Place { number: set * WAYS + way, index: filled_set * WAYS + way })
    }

    /// Gives a block a place unless it has one; false where there are no places.
    pub fn keep(&mut self, block: u64) -> bool {
        let Some(set) = self.set(block) else { return false };
        if self.find_in(set, block).is_none() {
            self.insert_in(set, block);
        }
        true
    }

    /// Gives a block that has no place one, which whatever it held leaves; `None` where there are no places.
    pub fn insert(&mut self, block: u64) -> Option<Place> {
        let set = self.set(block)?;
        Some(self.insert_in(set, block))
    }

    fn insert_in(&mut self, set: usize, block: u64) -> Place {
        let mut word = self.words.of_mut(set);
        if *word == 0 {
            if self.filled_sets.len() == self.count / FEW {
                self.words.all(self.count);
                word = self.words.of_mut(set);
            }
            self.filled_sets.push(FilledSet([0; WAYS]));
            // Sets beyond 29 bits would have 34 GB of memory.
            *word = (self.filled_sets.len() as u32) << WAY_BITS;
        }
        let (filled_set, way) = ((*word >> WAY_BITS) as usize - 1, *word as usize % WAYS);
        *word = *word - way as u32 + ((way + 1) % WAYS) as u32;
        let held = &mut self.filled_sets[filled_set].0[way];
        self.filled += u64::from(*held == 0);
        *held = block + 1;
        Place { number: set * WAYS + way, index: filled_set * WAYS + way }
    }

    /// All places are empty.
    pub fn clear(&mut self) {
        *self = Ways::new(self.places());
    }

    /// Returns whether hardly a place is empty.
    pub fn is_full(&self) -> bool {
        self.filled >= self.places() / 20 * 19
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same with a place for every block from the beginning.
    struct Plain {
        places: Vec<u64>,
        next: Vec<usize>,
    }

    impl Plain {
        fn find(&self, set: usize, block: u64) -> Option<usize> {
            (set * WAYS..(set + 1) * WAYS).find(|&place| self.places[place] == block + 1)
        }

        fn insert(&mut self, set: usize, block: u64) -> usize {
            let place = set * WAYS + self.next[set];
            self.next[set] = (self.next[set] + 1) % WAYS;
            self.places[place] = block + 1;
            place
        }
    }

    /// Proves that blocks have the places that they have in a plain table, while few sets are filled, when all get a word, and in a copy,
    /// and that no two places share memory.
    #[test]
    fn places_are_those_of_a_plain_table() {
        for sets in [1, 5, 64, 4096] {
            let mut ways = Ways::new((sets * WAYS) as u64 + 3);
            let mut plain = Plain { places: vec![0; sets * WAYS], next: vec![0; sets] };
            let mut random = load::Random::from_seed(sets as u64);
            for step in 0..20_000 {
                let block = random.below(sets as u64 * 12);
                let set = ways.set(block).unwrap();
                let expected = plain.find(set, block);
                assert_eq!(ways.find(block).map(|place| place.number), expected);
                if expected.is_none() {
                    assert_eq!(ways.insert(block).map(|place| place.number), Some(plain.insert(set, block)));
                }
                if step % 1000 == 0 {
                    ways = ways.clone();
                }
            }
            let filled: Vec<&u64> = plain.places.iter().filter(|&&place| place > 0).collect();
            assert_eq!(ways.filled(), filled.len() as u64);
            let indices: std::collections::BTreeSet<usize> =
                filled.iter().map(|&place| ways.find(place - 1).unwrap().index).collect();
            assert_eq!(indices.len(), filled.len());
            assert!(indices.iter().all(|&index| index < ways.indices()));
            assert!(matches!(ways.words, Words::All(_)));
            ways.clear();
            assert!(ways.filled() == 0 && filled.iter().all(|&&place| !ways.has(place - 1)));
        }
    }

    /// Proves that a cache of which a thousandth is filled has memory for little more than that.
    #[test]
    fn empty_sets_have_no_memory() {
        let mut ways = Ways::new(16 << 20);
        (0..16_000).for_each(|block| assert!(ways.keep(block * 977)));
        assert!(matches!(&ways.words, Words::Few(words) if words.len() <= 16_000));
        assert!(ways.indices() <= 16_000 * WAYS);
    }
}
