//! Drives that are lost: degraded reads and writes, and the rebuild onto a spare or a new drive.

use layout::{Condition, DriveIndex};
use load::Direction;

use super::Model;
use super::command::Happening;
use crate::course::{Own, Refill, Refilling};

impl Refill for Model {
    fn refilling(&mut self) -> Refilling<'_> {
        Refilling {
            now_ns: self.now_ns,
            recovery: &mut self.recovery,
            set: &self.set,
            plan: &mut self.plan,
            notes: &mut self.notes,
        }
    }

    fn rebuild_at(&mut self, at_ns: u64) {
        self.plan_own(at_ns, Own::Rebuild);
    }

    fn rebuild_stripe(&mut self, stripe: u64) {
        self.read_stripe(stripe);
    }

    fn fit_spare(&mut self, place: DriveIndex, number: u32) {
        self.drives.fit(place, number);
    }

    fn fit_new(&mut self, place: DriveIndex, number: u32) {
        self.drives.fit(place, number);
    }
}

impl Model {
    /// Something of the array's own happens at a moment.
    pub(super) fn plan_own(&mut self, at_ns: u64, own: Own) {
        let index = self.own.keep(own);
        self.queue.push(at_ns, Happening::Own(index).pack());
    }

    /// Something of the array's own happens now.
    pub(super) fn own_happens(&mut self, index: u32) {
        match self.own.take(index) {
            Own::DriveFails(drive) => self.drive_is_lost(drive),
            Own::DriveIsReplaced(drive) => self.drive_is_new(drive),
            Own::Rebuild => self.rebuild_is_due(),
            Own::StripeRead(stripe) => self.compute_stripe(stripe),
            Own::StripeComputed(stripe) => self.write_stripe(stripe),
            Own::StripeWritten => self.stripe_is_whole(),
        }
    }

    fn plan_stripe(&mut self, stripe: u64) -> bool {
        self.recovery.plan_stripe(stripe, &self.set, &mut self.plan)
    }

    fn read_stripe(&mut self, stripe: u64) {
        let mut done_ns = self.now_ns;
        if self.plan_stripe(stripe) {
            done_ns = self.drives.read(self.now_ns, self.plan.reads());
        }
        self.plan_own(done_ns, Own::StripeRead(stripe));
    }

    fn compute_stripe(&mut self, stripe: u64) {
        let mut done_ns = self.now_ns;
        if self.plan_stripe(stripe) {
            let bytes = |ios: &[layout::DriveIo]| ios.iter().map(|io| u64::from(io.length_bytes)).sum();
            let (read_bytes, written_bytes): (u64, u64) =
                (bytes(self.plan.reads()), bytes(self.plan.writes()));
            // Controllers share the stripes of a rebuild.
            let owner = (stripe % self.controllers.len() as u64) as u32;
            let parity_ns = self.timing.parity_ns(read_bytes + written_bytes, written_bytes);
            done_ns = self.compute_parity(self.now_ns, owner, parity_ns);
        }
        self.plan_own(done_ns, Own::StripeComputed(stripe));
    }

    fn write_stripe(&mut self, stripe: u64) {
        let mut done_ns = self.now_ns;
        if self.plan_stripe(stripe) {
            let loss = &self.recovery.loss;
            for io in self.plan.writes().iter().filter(|io| !loss.is_empty_place(io.drive)) {
                done_ns = done_ns.max(self.drives.write(self.now_ns, std::slice::from_ref(io)));
            }
        }
        self.plan_own(done_ns, Own::StripeWritten);
    }

    /// A read while a drive is lost: what lay on it is computed from all that is left of its stripes.
    #[cold]
    pub(super) fn read_degraded(&mut self, index: u32) {
        let command = *self.commands.get(index);
        let (offset_bytes, length_bytes) = (command.offset_bytes, u64::from(command.length_bytes));
        self.set.map(offset_bytes, length_bytes, &mut self.plan);
        let segment_bytes = u64::from(self.set.segment_bytes());
        let is_lost =
            |io: &&layout::DriveIo| self.recovery.loss.is_missing(io.offset_bytes / segment_bytes, io.drive);
        let lost_bytes: u64 =
            self.plan.reads().iter().filter(is_lost).map(|io| u64::from(io.length_bytes)).sum();
        if self.set.read(offset_bytes, length_bytes, &self.recovery.loss, 0, &mut self.plan).is_err() {
            return self.lose(index);
        }
        let done_ns = self.drives.read(self.now_ns, self.plan.reads());
        if lost_bytes == 0 {
            self.queue.push(done_ns, Happening::ReadDone(index).pack());
            return;
        }
        let read_bytes: u64 = self.plan.reads().iter().map(|io| u64::from(io.length_bytes)).sum();
        self.commands.get_mut(index).parity_ns = self.timing.parity_ns(read_bytes + lost_bytes, lost_bytes);
        self.queue.push(done_ns, Happening::OldRead(index).pack());
    }

    /// A command's data is lost: a host's ends in an error; what the cache holds for it has nowhere to go.
    #[cold]
    pub(super) fn lose(&mut self, index: u32) {
        let command = *self.commands.get(index);
        // A change of parity that was begun ends here as any other.
        let is_update = command.direction == Direction::Write && self.has_parity;
        if command.marks.is_cached() {
            self.queue.push(self.now_ns, Happening::Destaged(index).pack());
            return;
        }
        self.ios[command.tag as usize].is_lost = true;
        if is_update && self.timing.limits_parity_updates {
            self.queue.push(self.now_ns, Happening::Updated(index).pack());
        } else {
            self.answer(self.now_ns, index);
        }
    }
}
