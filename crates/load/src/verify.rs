//! Verification blocks with address, generation and checksum, so that a wrong block is found and named.
//!
//! A unit (the smallest block of the load) begins with a header of 40 bytes, little endian:
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | `arraylab` |
//! | 8..16 | address: the unit's first byte on the target |
//! | 16..24 | seed of the load |
//! | 24..28 | generation: the number of the write, from 1, in its job |
//! | 28..32 | length of the unit |
//! | 32..36 | CRC-32C of the whole unit with this field 0 |
//! | 36..40 | 0 |
//!
//! and goes on with random bytes that follow from seed, address and generation. CRC-32C finds every single flipped bit;
//! the address finds blocks that changed places, the generation writes that were lost.

use std::ops::Range;

use crate::Random;
use crate::content::fill_random;

/// The smallest unit that can be verified.
pub const UNIT_MINIMUM_BYTES: usize = 512;
const MAGIC: [u8; 8] = *b"arraylab";
const HEADER_BYTES: usize = 40;
const CHECKSUM: Range<usize> = 32..36;

/// Stamp of a verification unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Its first byte on the target.
    pub address_bytes: u64,
    /// Seed of the load that wrote it.
    pub seed: u64,
    /// Number of the write in its job, from 1.
    pub generation: u32,
}

/// Fault of a verification unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// It carries no header of ours.
    #[error("it was not written by arraylab, or its header is destroyed")]
    NoHeader,
    /// Its bytes do not fit its checksum.
    #[error("its checksum is {found:#010x}, but its bytes give {computed:#010x}")]
    Checksum {
        /// Checksum as stored.
        found: u32,
        /// Checksum as computed.
        computed: u32,
    },
    /// It is intact, but belongs elsewhere.
    #[error("it belongs to address {found}")]
    Address {
        /// The address that it carries.
        found: u64,
    },
    /// It is intact, but another load wrote it.
    #[error("the load with seed {found} wrote it")]
    Seed {
        /// The seed that it carries.
        found: u64,
    },
    /// It is intact, but not from the last write that was acknowledged.
    #[error("it is of write {found}, but write {expected} was acknowledged")]
    Generation {
        /// The generation that it carries.
        found: u32,
        /// The generation of the last write that was acknowledged.
        expected: u32,
    },
}

/// A unit that is not as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "block at byte {address_bytes} ({unit_bytes} bytes) is wrong: {wrong}; expected: write {expected_generation} of the load \
     with seed {expected_seed}"
)]
pub struct WrongBlock {
    /// Its first byte on the target.
    pub address_bytes: u64,
    /// Its length.
    pub unit_bytes: u32,
    /// The generation of the last write of it that was acknowledged.
    pub expected_generation: u32,
    /// The seed of the load that made it.
    pub expected_seed: u64,
    /// Kind of the error.
    pub wrong: Wrong,
}

impl Stamp {
    /// Fills a unit.
    pub fn write(&self, unit: &mut [u8]) {
        debug_assert!(unit.len() >= UNIT_MINIMUM_BYTES);
        let key = self.seed ^ self.address_bytes.rotate_left(17) ^ (u64::from(self.generation) << 40);
        fill_random(&mut Random::from_seed(key), &mut unit[HEADER_BYTES..]);
        unit[..8].copy_from_slice(&MAGIC);
        unit[8..16].copy_from_slice(&self.address_bytes.to_le_bytes());
        unit[16..24].copy_from_slice(&self.seed.to_le_bytes());
        unit[24..28].copy_from_slice(&self.generation.to_le_bytes());
        let unit_bytes = unit.len() as u32;
        unit[28..32].copy_from_slice(&unit_bytes.to_le_bytes());
        unit[32..40].fill(0);
        let checksum = crc32c::crc32c(unit);
        unit[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Reads the stamp of an intact unit.
    pub fn read(unit: &[u8]) -> Result<Stamp, Wrong> {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| unit[at + index]));
        let half = |at: usize| u32::from_le_bytes(std::array::from_fn(|index| unit[at + index]));
        if unit.len() < UNIT_MINIMUM_BYTES || unit[..8] != MAGIC || half(28) as usize != unit.len() {
            return Err(Wrong::NoHeader);
        }
        let found = half(CHECKSUM.start);
        let computed = crc32c::crc32c_append(
            crc32c::crc32c_append(crc32c::crc32c(&unit[..CHECKSUM.start]), &[0; 4]),
            &unit[CHECKSUM.end..],
        );
        if found != computed {
            return Err(Wrong::Checksum { found, computed });
        }
        Ok(Stamp { address_bytes: word(8), seed: word(16), generation: half(24) })
    }
}

/// A write failed or was not answered: the block may hold the old or the new content, or neither.
const UNKNOWN: u32 = UNDER_WAY - 1;
/// A write of the block is under way; the other bits are what was acknowledged before.
const UNDER_WAY: u32 = 1 << 31;
/// The last generation.
const GENERATION_LIMIT: u32 = UNKNOWN - 1;

/// Acknowledged writes in a part of the target, by unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    base_bytes: u64,
    unit_bytes: u32,
    seed: u64,
    last_generation: u32,
    generations: Vec<u32>,
}

impl Written {
    /// A part in which nothing has been written yet; `part` is whole units.
    pub fn new(part: Range<u64>, unit_bytes: u32, seed: u64) -> Self {
        let units = (part.end - part.start) / u64::from(unit_bytes);
        Written {
            base_bytes: part.start,
            unit_bytes,
            seed,
            last_generation: 0,
            generations: vec![0; units as usize],
        }
    }

    /// The bytes of the part.
    pub fn range(&self) -> Range<u64> {
        self.base_bytes..self.base_bytes + self.generations.len() as u64 * u64::from(self.unit_bytes)
    }

    /// Rebuilds the record from stored [`Written::states`].
    pub fn from_states(base_bytes: u64, unit_bytes: u32, seed: u64, states: Vec<u32>) -> Self {
        Written { base_bytes, unit_bytes, seed, last_generation: 0, generations: states }
    }

    /// Length of a unit.
    pub fn unit_bytes(&self) -> u32 {
        self.unit_bytes
    }

    /// Seed of the load.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the state of each unit: 0 where nothing was written, else the generation that was acknowledged last,
    /// with marks for writes in flight and for unknown content.
    pub fn states(&self) -> &[u32] {
        &self.generations
    }

    /// The units of a range within the part.
    pub fn units(&self, offset_bytes: u64, length_bytes: u32) -> Range<usize> {
        let first = ((offset_bytes - self.base_bytes) / u64::from(self.unit_bytes)) as usize;
        first..first + (length_bytes / self.unit_bytes) as usize
    }

    /// Begins a write: fills its buffer and returns its generation; `None` while another write of one of its units is
    /// in flight, because it would be unknown which of the two stays.
    pub fn begin(&mut self, offset_bytes: u64, buffer: &mut [u8]) -> Option<u32> {
        let units = self.units(offset_bytes, buffer.len() as u32);
        if self.generations[units.clone()].iter().any(|&state| state & UNDER_WAY != 0) {
            return None;
        }
        // After 2^31 - 2 writes of a job numbers begin again, which takes 1.5 days at 16,000 writes a second.
        self.last_generation =
            if self.last_generation == GENERATION_LIMIT { 1 } else { self.last_generation + 1 };
        let generation = self.last_generation;
        let stamps = buffer.chunks_exact_mut(self.unit_bytes as usize);
        for ((state, unit), index) in self.generations[units.clone()].iter_mut().zip(stamps).zip(units) {
            let address_bytes = self.base_bytes + index as u64 * u64::from(self.unit_bytes);
            Stamp { address_bytes, seed: self.seed, generation }.write(unit);
            *state |= UNDER_WAY;
        }
        Some(generation)
    }

    /// Ends a write that [`Written::begin`] began.
    pub fn end(&mut self, offset_bytes: u64, length_bytes: u32, generation: u32, succeeded: bool) {
        let units = self.units(offset_bytes, length_bytes);
        self.generations[units].fill(if succeeded { generation } else { UNKNOWN });
    }

    /// Gives up on writes that were never answered: their blocks may hold anything.
    pub fn abandon(&mut self) {
        for state in &mut self.generations {
            if *state & UNDER_WAY != 0 {
                *state = UNKNOWN;
            }
        }
    }

    /// Units whose content is known.
    pub fn known_units(&self) -> u64 {
        self.generations.iter().filter(|&&state| state != 0 && state != UNKNOWN).count() as u64
    }

    /// Checks data that was read back. Passes every wrong unit to `on_wrong`, in order; returns the number of units checked.
    pub fn check(&self, offset_bytes: u64, bytes: &[u8], on_wrong: &mut dyn FnMut(WrongBlock)) -> u64 {
        let units = self.units(offset_bytes, bytes.len() as u32);
        let mut checked = 0;
        for (index, unit) in units.zip(bytes.chunks_exact(self.unit_bytes as usize)) {
            let expected = self.generations[index];
            if expected == 0 || expected >= UNKNOWN {
                continue;
            }
            checked += 1;
            let address_bytes = self.base_bytes + index as u64 * u64::from(self.unit_bytes);
            let wrong = match Stamp::read(unit) {
                Err(wrong) => wrong,
                Ok(stamp) if stamp.seed != self.seed => Wrong::Seed { found: stamp.seed },
                Ok(stamp) if stamp.address_bytes != address_bytes => {
                    Wrong::Address { found: stamp.address_bytes }
                }
                Ok(stamp) if stamp.generation != expected => {
                    Wrong::Generation { found: stamp.generation, expected }
                }
                Ok(_) => continue,
            };
            on_wrong(WrongBlock {
                address_bytes,
                unit_bytes: self.unit_bytes,
                expected_generation: expected,
                expected_seed: self.seed,
                wrong,
            });
        }
        checked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UNITS: usize = 64;

    /// Every unit of a part written three times, and its bytes.
    fn target(unit_bytes: u32) -> (Written, Vec<u8>) {
        let base = 1 << 30;
        let length = UNITS as u64 * u64::from(unit_bytes);
        let mut written = Written::new(base..base + length, unit_bytes, 77);
        let mut bytes = vec![0; length as usize];
        for _ in 0..3 {
            for (index, unit) in bytes.chunks_exact_mut(unit_bytes as usize).enumerate() {
                let offset = base + index as u64 * u64::from(unit_bytes);
                let generation = written.begin(offset, unit).unwrap();
                written.end(offset, unit_bytes, generation, true);
            }
        }
        (written, bytes)
    }

    fn wrongs(written: &Written, bytes: &[u8]) -> Vec<WrongBlock> {
        let mut found = Vec::new();
        assert_eq!(written.check(1 << 30, bytes, &mut |wrong| found.push(wrong)), UNITS as u64);
        found
    }

    /// Proves that each of 1,000 single flipped bits, anywhere in the blocks, is found and its block named, with no
    /// other block accused.
    #[test]
    fn every_flipped_bit_is_found() {
        let (written, mut bytes) = target(512);
        assert_eq!(wrongs(&written, &bytes), []);
        let mut random = Random::from_seed(1);
        for _ in 0..1000 {
            let bit = random.below(bytes.len() as u64 * 8) as usize;
            bytes[bit / 8] ^= 1 << (bit % 8);
            let found = wrongs(&written, &bytes);
            assert_eq!(found.len(), 1, "bit {bit}");
            assert_eq!(found[0].address_bytes, (1 << 30) + (bit / 8 / 512 * 512) as u64);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(wrongs(&written, &bytes), []);
    }

    /// Proves that every swapped pair of blocks is found at both places, with the address each belongs to.
    #[test]
    fn every_swapped_pair_is_found() {
        let (written, mut bytes) = target(512);
        for first in 0..UNITS {
            for second in first + 1..UNITS {
                let (left, right) = bytes.split_at_mut(second * 512);
                left[first * 512..][..512].swap_with_slice(&mut right[..512]);
                let found = wrongs(&written, &bytes);
                let address = |unit: usize| (1 << 30) + unit as u64 * 512;
                let expected = [(first, second), (second, first)].map(|(at, from)| WrongBlock {
                    address_bytes: address(at),
                    unit_bytes: 512,
                    expected_generation: written.states()[at],
                    expected_seed: written.seed(),
                    wrong: Wrong::Address { found: address(from) },
                });
                assert_eq!(found, expected);
                let (left, right) = bytes.split_at_mut(second * 512);
                left[first * 512..][..512].swap_with_slice(&mut right[..512]);
            }
        }
    }

    /// Proves that a lost write, another load's block and foreign data are told apart; that a failed or unanswered
    /// write is not held against the device; and that two writes of one block are never under way together.
    #[test]
    fn kinds_are_told_apart() {
        let (mut written, mut bytes) = target(4096);
        let old = bytes[..4096].to_vec();
        let generation = written.begin(1 << 30, &mut bytes[..4096]).unwrap();
        assert_eq!(written.begin(1 << 30, &mut vec![0; 8192]), None);
        written.end(1 << 30, 4096, generation, true);
        bytes[..4096].copy_from_slice(&old);
        assert_eq!(
            wrongs(&written, &bytes)[0].to_string(),
            format!(
                "block at byte {} (4096 bytes) is wrong: it is of write {}, but write {generation} was acknowledged; \
                 expected: write {generation} of the load with seed 77",
                1 << 30,
                2 * UNITS + 1
            )
        );
        Stamp { address_bytes: 1 << 30, seed: 78, generation }.write(&mut bytes[..4096]);
        assert_eq!(wrongs(&written, &bytes)[0].wrong, Wrong::Seed { found: 78 });
        bytes[..4096].fill(0);
        assert_eq!(wrongs(&written, &bytes)[0].wrong, Wrong::NoHeader);
        let failed = written.begin(1 << 30, &mut bytes[..4096]).unwrap();
        written.end(1 << 30, 4096, failed, false);
        bytes[..4096].fill(9);
        written.begin((1 << 30) + 4096, &mut vec![0; 4096]).unwrap();
        written.abandon();
        assert_eq!(written.check(1 << 30, &bytes, &mut |wrong| panic!("{wrong}")), UNITS as u64 - 2);
    }

    proptest! {
        /// Proves that no bytes make the reader of stamps panic.
        #[test]
        fn any_bytes_can_be_read(mut bytes in proptest::collection::vec(any::<u8>(), 512..1024), magic: bool) {
            if magic {
                bytes[..8].copy_from_slice(&MAGIC);
                let length = bytes.len() as u32;
                bytes[28..32].copy_from_slice(&length.to_le_bytes());
            }
            prop_assert!(Stamp::read(&bytes).is_err());
        }
    }
}
