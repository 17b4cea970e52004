//! Places of a cache that is set-associative with eight ways, replaced first in, first out.

/// Ways of a set: places among which a block may lie.
const WAYS: usize = 8;

/// Blocks, each in one of the eight places of the set that its number names by a hash; the place filled longest ago is filled
/// next.
#[derive(Debug)]
pub(super) struct Ways {
    /// Number of the block + 1, or 0.
    places: Box<[u64]>,
    /// By set: the way that is filled next.
    next: Box<[u8]>,
    filled: u64,
}

impl Clone for Ways {
    fn clone(&self) -> Ways {
        Ways { places: self.copy_of(&self.places), next: self.next.clone(), filled: self.filled }
    }
}

impl Ways {
    /// Copies a table by place. Of places that hold nothing it is new: memory that nobody has touched costs nothing, and the tables of an
    /// empty cache of some terabytes have a gigabyte.
    pub fn copy_of(&self, table: &[u64]) -> Box<[u64]> {
        if self.filled == 0 { vec![0; table.len()].into() } else { table.into() }
    }

    /// Room for so many blocks, in whole sets.
    pub fn new(blocks: u64) -> Ways {
        let sets = (blocks / WAYS as u64) as usize;
        Ways { places: vec![0; sets * WAYS].into(), next: vec![0; sets].into(), filled: 0 }
    }

    /// Places in all.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Places that hold a block.
    pub fn filled(&self) -> u64 {
        self.filled
    }

    fn set(&self, block: u64) -> Option<usize> {
        let sets = self.next.len() as u64;
        // Fibonacci hashing, then the high word of a product instead of a division.
        let mixed = block.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (sets > 0).then(|| ((u128::from(mixed) * u128::from(sets)) >> 64) as usize)
    }

    /// Returns whether a block has a place.
    pub fn has(&self, block: u64) -> bool {
        self.find(block).is_some()
    }

    /// The place of a block, if it has one.
    pub fn find(&self, block: u64) -> Option<usize> {
        self.find_in(self.set(block)?, block)
    }

    fn find_in(&self, set: usize, block: u64) -> Option<usize> {
        (set * WAYS..(set + 1) * WAYS).find(|&place| self.places[place] == block + 1)
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
    pub fn insert(&mut self, block: u64) -> Option<usize> {
        let set = self.set(block)?;
        Some(self.insert_in(set, block))
    }

    fn insert_in(&mut self, set: usize, block: u64) -> usize {
        let way = &mut self.next[set];
        let place = set * WAYS + usize::from(*way);
        *way = (*way + 1) % WAYS as u8;
        self.filled += u64::from(self.places[place] == 0);
        self.places[place] = block + 1;
        place
    }

    /// All places are empty.
    pub fn clear(&mut self) {
        self.places.fill(0);
        self.filled = 0;
    }

    /// Returns whether hardly a place is empty.
    pub fn is_full(&self) -> bool {
        self.filled >= self.places.len() as u64 / 20 * 19
    }
}
