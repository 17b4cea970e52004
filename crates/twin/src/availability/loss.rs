//! Lost drives of a RAID group, and the progress of their replacements.

use layout::{Condition, DriveIndex, DriveSet};
use load::IoError;
use serde_json::{Map, Value};

/// The drive that an event takes where none is named: as good as any, drives are alike.
const FIRST_TO_FAIL: DriveIndex = 0;

/// The outcome of an I/O whose data is lost: EIO.
pub(crate) const DATA_LOST: IoError = IoError::Os(5);

/// Argument of an event: the drive's number.
pub(crate) const DRIVE: &str = "drive";

/// The drive of a set that an event is told, or the first.
pub(crate) fn drive_of(arguments: &Map<String, Value>) -> DriveIndex {
    let named = arguments.get(DRIVE).and_then(Value::as_u64);
    named.map_or(FIRST_TO_FAIL, |drive| drive as DriveIndex)
}

/// Lost drives of a RAID group, and the slots that are being rebuilt.
#[derive(Debug, Clone)]
pub(crate) struct Loss {
    failed: DriveSet,
    /// Of these, places that a spare or a new drive has taken.
    filling: DriveSet,
    /// Stripe below which the drive that fills a place holds its part.
    filled_below_stripe: u64,
}

impl Loss {
    pub const NONE: Loss = Loss { failed: DriveSet::EMPTY, filling: DriveSet::EMPTY, filled_below_stripe: 0 };

    /// A drive is lost; `false` where its place is empty already. A drive that was being filled is lost like any other.
    pub fn lose(&mut self, drive: DriveIndex) -> bool {
        let was_filling = self.filling.remove(drive);
        self.failed.insert(drive) || was_filling
    }

    /// Every place whose drive is lost, filled in part or not.
    pub fn failed(&self) -> &DriveSet {
        &self.failed
    }

    /// Returns whether a place is empty: its drive is lost and nothing has taken it.
    pub fn is_empty_place(&self, drive: DriveIndex) -> bool {
        self.failed.contains(drive) && !self.filling.contains(drive)
    }

    /// A spare or a new drive takes an empty place. All such places are filled together, from the first stripe on.
    pub fn fill(&mut self, drive: DriveIndex) {
        self.filling.insert(drive);
        self.filled_below_stripe = 0;
    }

    /// Returns whether a place is being filled.
    pub fn is_filling(&self, drive: DriveIndex) -> bool {
        self.filling.contains(drive)
    }

    /// Places that are being filled.
    pub fn filling(&self) -> &DriveSet {
        &self.filling
    }

    /// Stripes below this one are in the drives that fill places.
    pub fn filled_below_stripe(&self) -> u64 {
        self.filled_below_stripe
    }

    /// From now on stripes below this one are.
    pub fn filled_below(&mut self, stripe: u64) {
        self.filled_below_stripe = stripe;
    }

    /// An empty drive has taken a place of which nothing is missed any more.
    pub fn is_back(&mut self, drive: DriveIndex) {
        self.filling.remove(drive);
        self.failed.remove(drive);
    }

    /// Notes that the place that was being filled is whole.
    pub fn is_filled(&mut self) {
        let filled: Vec<DriveIndex> = self.filling.iter().collect();
        for drive in filled {
            self.is_back(drive);
        }
    }
}

impl Condition for Loss {
    #[inline]
    fn is_whole(&self) -> bool {
        self.failed.is_empty()
    }

    #[inline]
    fn is_missing(&self, stripe: u64, drive: DriveIndex) -> bool {
        let is_filled = stripe < self.filled_below_stripe && self.filling.contains(drive);
        self.failed.contains(drive) && !is_filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that only a filled place counts as filled, below the mark, and that a second loss stays one when the first
    /// is filled.
    #[test]
    fn places_are_filled_one_by_one() {
        let mut loss = Loss::NONE;
        assert!(loss.is_whole());
        assert!(loss.lose(3) && !loss.lose(3));
        loss.fill(3);
        loss.filled_below(10);
        assert!(!loss.is_missing(9, 3) && loss.is_missing(10, 3) && !loss.is_missing(10, 4));
        assert!(loss.lose(4));
        assert!(loss.is_missing(9, 4) && loss.is_empty_place(4) && !loss.is_empty_place(3));
        loss.is_filled();
        assert!(!loss.is_missing(10, 3) && loss.is_missing(9, 4) && !loss.is_whole());
        loss.fill(4);
        assert!(loss.lose(4), "what fills a place can be lost as well");
        assert!(loss.is_empty_place(4));
    }
}
