//! Stale stripes: stripes whose writes a stopped drive has missed.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Share of what the record counts as missed at which what was brought back is recorded, …
const SETTLING_DIVISOR: usize = 8;
/// … and at least so many: the record is written whole each time.
const SETTLING_MINIMUM: usize = 1024;

#[derive(Default)]
struct Stripes {
    /// They lack writes.
    missed: BTreeSet<u64>,
    /// They have them again, but that is not durable: the array's record still counts them as missed.
    settling: BTreeSet<u64>,
    /// Stripe at which the next turn of bringing them back begins.
    next_turn: u64,
}

/// Of one drive. A stripe is added or taken away only under its lock.
#[derive(Default)]
pub(crate) struct StaleStripes(RwLock<Stripes>);

impl StaleStripes {
    /// As the array's record has it.
    pub(crate) fn recorded(stripes: &[u64]) -> StaleStripes {
        StaleStripes(RwLock::new(Stripes { missed: stripes.iter().copied().collect(), ..Stripes::default() }))
    }

    pub(crate) fn contains(&self, stripe: u64) -> bool {
        self.read().missed.contains(&stripe)
    }

    /// The first stripes of a range that lack writes, in order and no more than `most`.
    pub(crate) fn first_of(&self, stripes: Range<u64>, most: usize) -> Vec<u64> {
        self.read().missed.range(stripes).take(most).copied().collect()
    }

    /// Returns where the next turn of bringing them back begins: those before had theirs.
    pub(crate) fn next_turn(&self) -> u64 {
        self.read().next_turn
    }

    pub(crate) fn turn_goes_on_at(&self, stripe: u64) {
        self.write().next_turn = stripe;
    }

    /// Returns whether so much was brought back that it is worth a record.
    pub(crate) fn is_worth_a_record(&self) -> bool {
        let stripes = self.read();
        let settling = stripes.settling.len();
        settling >= SETTLING_MINIMUM.max((stripes.missed.len() + settling) / SETTLING_DIVISOR)
    }

    /// Returns whether anything was brought back that the record counts as missed.
    pub(crate) fn is_settling(&self) -> bool {
        !self.read().settling.is_empty()
    }

    pub(crate) fn count(&self) -> usize {
        self.read().missed.len()
    }

    /// Returns what the array's record is to say.
    pub(crate) fn to_record(&self) -> Vec<u64> {
        let stripes = self.read();
        stripes.missed.union(&stripes.settling).copied().collect()
    }

    pub(crate) fn add(&self, stripe: u64) {
        self.write().missed.insert(stripe);
    }

    /// A stripe has all writes again.
    pub(crate) fn has_caught_up(&self, stripe: u64) {
        let mut stripes = self.write();
        if stripes.missed.remove(&stripe) {
            stripes.settling.insert(stripe);
        }
    }

    /// Everything that was brought back is durable.
    pub(crate) fn settle(&self) {
        self.write().settling.clear();
    }

    fn read(&self) -> RwLockReadGuard<'_, Stripes> {
        // Sets are changed in steps that leave them whole.
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Stripes> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a stripe which has caught up serves at once, and that the record counts it as missed until it is durable;
    /// one that misses another write meanwhile stays missed.
    #[test]
    fn the_record_waits_for_what_is_durable() {
        let missed = StaleStripes::recorded(&[3, 5]);
        missed.has_caught_up(3);
        missed.has_caught_up(4);
        assert_eq!((missed.first_of(0..9, 9), missed.to_record()), (vec![5], vec![3, 5]));
        missed.has_caught_up(5);
        missed.add(5);
        missed.settle();
        assert!(missed.contains(5) && !missed.contains(3));
        assert_eq!((missed.count(), missed.to_record()), (1, vec![5]));
    }
}
