//! Condition of a RAID group: the drives that a stripe cannot be read from.

use crate::DRIVE_COUNT_LIMIT;

/// Number of a drive in a layout, from 0.
pub type DriveIndex = u16;

const WORDS: usize = DRIVE_COUNT_LIMIT as usize / 64;

/// Says which drives a stripe has lost. Planning asks it for every member of a stripe that is not known to be whole.
pub trait Condition {
    /// Returns true if every drive holds all its data; lets planning take its short path.
    fn is_whole(&self) -> bool;
    /// Returns true if the data of `stripe` on `drive` cannot be read.
    fn is_missing(&self, stripe: u64, drive: DriveIndex) -> bool;
}

/// Nothing has failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Healthy;

impl Condition for Healthy {
    #[inline(always)]
    fn is_whole(&self) -> bool {
        true
    }
    #[inline(always)]
    fn is_missing(&self, _: u64, _: DriveIndex) -> bool {
        false
    }
}

/// A set of drives, of fixed size so that asking it costs one load. As a [`Condition`]: these drives have failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DriveSet {
    words: [u64; WORDS],
    count: u32,
}

impl DriveSet {
    /// No drive.
    pub const EMPTY: DriveSet = DriveSet { words: [0; WORDS], count: 0 };

    /// Adds a drive; `false` if it was in the set. Drives from [`DRIVE_COUNT_LIMIT`] on are in no layout and are ignored.
    pub fn insert(&mut self, drive: DriveIndex) -> bool {
        let Some(word) = self.words.get_mut(usize::from(drive) / 64) else { return false };
        let bit = 1u64 << (drive % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        self.count += u32::from(is_new);
        is_new
    }

    /// Takes a drive out; `false` if it was not in the set.
    pub fn remove(&mut self, drive: DriveIndex) -> bool {
        let was_in = self.contains(drive);
        if was_in {
            self.words[usize::from(drive) / 64] &= !(1u64 << (drive % 64));
            self.count -= 1;
        }
        was_in
    }

    /// Returns true if the drive is in the set.
    #[inline]
    pub fn contains(&self, drive: DriveIndex) -> bool {
        self.words.get(usize::from(drive) / 64).is_some_and(|word| word >> (drive % 64) & 1 == 1)
    }

    /// Returns the number of drives in the set.
    pub fn len(&self) -> u32 {
        self.count
    }

    /// Returns true if the set has no drives.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The drives in rising order.
    pub fn iter(&self) -> impl Iterator<Item = DriveIndex> + '_ {
        (0..DRIVE_COUNT_LIMIT as DriveIndex).filter(|&drive| self.contains(drive))
    }
}

impl FromIterator<DriveIndex> for DriveSet {
    fn from_iter<I: IntoIterator<Item = DriveIndex>>(drives: I) -> Self {
        let mut set = DriveSet::EMPTY;
        for drive in drives {
            set.insert(drive);
        }
        set
    }
}

impl Condition for DriveSet {
    #[inline]
    fn is_whole(&self) -> bool {
        self.is_empty()
    }
    #[inline]
    fn is_missing(&self, _: u64, drive: DriveIndex) -> bool {
        self.contains(drive)
    }
}

/// Failed drives whose stripes below a mark have been rebuilt onto a spare that took their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rebuilding {
    /// The drives that were lost.
    pub failed: DriveSet,
    /// Stripes below this one are whole again.
    pub rebuilt_below_stripe: u64,
}

impl Condition for Rebuilding {
    #[inline]
    fn is_whole(&self) -> bool {
        self.failed.is_empty()
    }
    #[inline]
    fn is_missing(&self, stripe: u64, drive: DriveIndex) -> bool {
        stripe >= self.rebuilt_below_stripe && self.failed.contains(drive)
    }
}
