//! Metadata of the services: which of it is in memory, and its reads and writes on the drives.

use load::{Direction, Random};

use super::request::Io;

/// Bytes of an index or a map that are read at once.
const READ_BYTES: u32 = 4096;
/// Metadata lies at multiples of this.
const PLACE_BYTES: u64 = 4096;

/// Streams of random numbers of the services, far from those of the drives.
const RANDOM_STREAM: u64 = 0x5e41_0000;

/// Metadata, which lies anywhere in its set.
#[derive(Debug, Clone)]
pub(crate) struct Metadata {
    pub random: Random,
    places: Random,
    /// Bytes of each set of the first array.
    set_bytes: Vec<u64>,
}

/// Share of a table that fits into its part of memory, and so of the references that find it there: the steady state of any cache
/// under uniform references.
pub(crate) fn share_in_memory(memory_bytes: u64, table_bytes: f64) -> f64 {
    (memory_bytes as f64 / table_bytes.max(1.0)).min(1.0)
}

impl Metadata {
    pub fn new(seed: u64, set_bytes: Vec<u64>) -> Metadata {
        Metadata {
            random: Random::from_seed_and_stream(seed, RANDOM_STREAM),
            places: Random::from_seed_and_stream(seed, RANDOM_STREAM + 1),
            set_bytes,
        }
    }

    /// Returns whether a reference to a table of which such a share is in memory finds the rest.
    pub fn misses(&mut self, in_memory: f64) -> bool {
        in_memory < 1.0 && self.random.unit_open() >= in_memory
    }

    /// A read of a table.
    pub fn read(&mut self, set: u16) -> Io {
        self.io(Direction::Read, set, READ_BYTES)
    }

    /// A record that is written.
    pub fn write(&mut self, set: u16, length_bytes: u32) -> Io {
        self.io(Direction::Write, set, length_bytes)
    }

    /// A write of the metadata of a snapshot that is deleted.
    pub fn deletion(&mut self, set: u16) -> Io {
        self.write(set, READ_BYTES)
    }

    fn io(&mut self, direction: Direction, set: u16, length_bytes: u32) -> Io {
        let places = (self.set_bytes[usize::from(set)] / PLACE_BYTES).max(1);
        Io::internal(direction, set, self.places.below(places) * PLACE_BYTES, u64::from(length_bytes))
    }
}
