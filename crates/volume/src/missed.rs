//! The stripes of which a drive has missed writes while it was stopped.

use std::collections::BTreeSet;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

#[derive(Default)]
struct Stripes {
    /// They lack writes.
    missed: BTreeSet<u64>,
    /// They have them again, but that is not durable: the array's record still counts them as missed.
    settling: BTreeSet<u64>,
}

/// Of one drive. A stripe is added or taken away only under its lock.
#[derive(Default)]
pub(crate) struct Missed(RwLock<Stripes>);

impl Missed {
    /// As the array's record has it.
    pub(crate) fn recorded(stripes: &[u64]) -> Missed {
        Missed(RwLock::new(Stripes { missed: stripes.iter().copied().collect(), settling: BTreeSet::new() }))
    }

    pub(crate) fn contains(&self, stripe: u64) -> bool {
        self.read().missed.contains(&stripe)
    }

    /// Stripes that lack writes, in order.
    pub(crate) fn stripes(&self) -> Vec<u64> {
        self.read().missed.iter().copied().collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.read().missed.len()
    }

    /// What the array's record is to say.
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
        let missed = Missed::recorded(&[3, 5]);
        missed.has_caught_up(3);
        missed.has_caught_up(4);
        assert_eq!((missed.stripes(), missed.to_record()), (vec![5], vec![3, 5]));
        missed.has_caught_up(5);
        missed.add(5);
        missed.settle();
        assert!(missed.contains(5) && !missed.contains(3));
        assert_eq!((missed.count(), missed.to_record()), (1, vec![5]));
    }
}
