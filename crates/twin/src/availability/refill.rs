//! Rebuild steps of an array, the same for every kind of drive.

use layout::{DriveIndex, IoList, Layout};

use super::rebuild::RebuildStep;
use super::recovery::Recovery;
use crate::TwinNote;
use crate::faults::SetFaults;

/// State of a rebuild, borrowed from its array.
pub(crate) struct Refilling<'a> {
    pub now_ns: u64,
    pub recovery: &'a mut Recovery,
    pub set: &'a Layout,
    pub plan: &'a mut IoList,
    pub notes: &'a mut Vec<TwinNote>,
}

/// Steps that a rebuild requires of an array.
pub(crate) trait Rebuilds {
    /// Asks for [`Refill::rebuild_is_due`] at a moment.
    fn rebuild_at(&mut self, at_ns: u64);

    /// Begins the rebuild of a stripe; [`Refill::stripe_is_whole`] is for its end.
    fn rebuild_stripe(&mut self, stripe: u64);
}

/// An array of drives in a set that is filled again when drives were lost.
pub(crate) trait Refill: Rebuilds {
    /// Its own.
    fn refilling(&mut self) -> Refilling<'_>;

    /// The hot spare with this number comes into a place of the set.
    fn fit_spare(&mut self, _place: DriveIndex, _number: u32) {}

    /// A new drive with the number of the lost one comes into a place of the set.
    fn fit_new(&mut self, _place: DriveIndex, _number: u32) {}

    /// A drive is lost; a spare takes its place where there is one.
    fn drive_is_lost(&mut self, place: DriveIndex) {
        let Refilling { now_ns, recovery, notes, .. } = self.refilling();
        if !recovery.lose(now_ns, place, notes) {
            return;
        }
        if let Some(spare) = recovery.take_spare(place) {
            self.fit_spare(place, spare);
        }
        self.fill_places(0);
    }

    /// A new drive takes the place of one that is lost.
    fn drive_is_new(&mut self, place: DriveIndex) {
        let Refilling { now_ns, recovery, notes, .. } = self.refilling();
        if recovery.take_new(now_ns, place, notes) {
            let number = recovery.fitted()[usize::from(place)];
            self.fit_new(place, number);
            self.fill_places(0);
        }
    }

    /// A spare had come into a place of the set and was filled, in another model of the array.
    fn fit_filled(&mut self, _place: DriveIndex, _number: u32) {}

    /// Begins with what had become of the drives in another model of the array, and continues its rebuild; false, and nothing
    /// is changed, where they cannot be this one's.
    fn begin_set_with(&mut self, faults: &SetFaults) -> bool {
        let recovery = self.refilling().recovery;
        if !recovery.can_begin_with(faults) {
            return false;
        }
        recovery.begin_with(faults);
        for (place, &number) in faults.fitted.iter().enumerate() {
            let place = place as DriveIndex;
            let is_spare = number != u32::from(place);
            match (faults.rebuilding.contains(&place), is_spare) {
                (true, true) => self.fit_spare(place, number),
                (true, false) => self.fit_new(place, number),
                (false, true) => self.fit_filled(place, number),
                (false, false) => {}
            }
        }
        if !faults.rebuilding.is_empty() {
            let first_stripe = self.refilling().recovery.loss.filled_below_stripe();
            self.fill_places(first_stripe);
        }
        true
    }

    /// Begins to fill the places that were taken, from a stripe on.
    fn fill_places(&mut self, first_stripe: u64) {
        let Refilling { now_ns, recovery, set, plan, notes } = self.refilling();
        if let Some(begins_ns) = recovery.fill_places(now_ns, first_stripe, set, plan, notes) {
            self.rebuild_at(begins_ns);
        }
    }

    /// The rebuild may go on: its moment has come.
    fn rebuild_is_due(&mut self) {
        if let Some(failover) = &mut self.refilling().recovery.rebuild {
            failover.timer_is_due();
        }
        self.rebuild_on();
    }

    /// A stripe that was begun is whole again.
    fn stripe_is_whole(&mut self) {
        let Refilling { now_ns, recovery, notes, .. } = self.refilling();
        recovery.stripe_is_whole(now_ns, notes);
        self.rebuild_on();
    }

    /// Begins as many stripes as may be under way now.
    fn rebuild_on(&mut self) {
        loop {
            let Refilling { now_ns, recovery, .. } = self.refilling();
            let Some(failover) = &mut recovery.rebuild else { return };
            match failover.turn(now_ns) {
                RebuildStep::Stripe(stripe) => self.rebuild_stripe(stripe),
                RebuildStep::At(at_ns) => return self.rebuild_at(at_ns),
                RebuildStep::Rest => return,
            }
        }
    }
}
