//! Drives that are lost: degraded reads and writes, and the rebuild onto a spare or a new drive.

use layout::{Condition, DriveIndex};
use load::Direction;

use super::Model;
use super::command::ModelEvent;
use crate::availability::{BackgroundRebuild, BackgroundSchedule, Refill, Refilling};

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

    fn fit_spare(&mut self, place: DriveIndex, number: u32) {
        self.drives.fit(place, number);
    }

    fn fit_new(&mut self, place: DriveIndex, number: u32) {
        self.drives.fit(place, number);
    }

    fn fit_filled(&mut self, place: DriveIndex, number: u32) {
        self.drives.fit_filled(place, number);
    }
}

impl BackgroundRebuild for Model {
    fn background_schedule(&mut self) -> BackgroundSchedule<'_> {
        BackgroundSchedule {
            own: &mut self.own,
            queue: &mut self.queue,
            payload_of: |index| ModelEvent::BackgroundTask(index).pack(),
        }
    }

    fn read_left(&mut self) -> u64 {
        self.drives.read(self.now_ns, self.plan.reads())
    }

    fn compute_lost(&mut self, stripe: u64) -> Option<u64> {
        Some(self.in_stripe(stripe, |array| {
            let bytes = |ios: &[layout::DriveIo]| ios.iter().map(|io| u64::from(io.length_bytes)).sum();
            let (read_bytes, written_bytes): (u64, u64) =
                (bytes(array.plan.reads()), bytes(array.plan.writes()));
            // Controllers share the stripes of a rebuild.
            let owner = (stripe % array.controllers.len() as u64) as u32;
            let parity_ns = array.timing.parity_ns(read_bytes + written_bytes, written_bytes);
            array.compute_parity(array.now_ns, owner, parity_ns)
        }))
    }

    fn write_lost(&mut self) -> u64 {
        let loss = &self.recovery.loss;
        let there = self.plan.writes().iter().filter(|io| !loss.is_empty_place(io.drive));
        self.drives.write(self.now_ns, there)
    }
}

impl Model {
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
            self.queue.push(done_ns, ModelEvent::ReadDone(index).pack());
            return;
        }
        let read_bytes: u64 = self.plan.reads().iter().map(|io| u64::from(io.length_bytes)).sum();
        self.note_parity_ns(index, self.timing.parity_ns(read_bytes + lost_bytes, lost_bytes));
        self.queue.push(done_ns, ModelEvent::OldRead(index).pack());
    }

    /// A command's data is lost: a host's ends in an error; what the cache holds for it has nowhere to go.
    #[cold]
    pub(super) fn lose(&mut self, index: u32) {
        let command = *self.commands.get(index);
        // A change of parity that was begun ends here as any other.
        let is_update = command.direction == Direction::Write && self.has_parity;
        if command.marks.is_cached() {
            self.queue.push(self.now_ns, ModelEvent::Destaged(index).pack());
            return;
        }
        self.commands.get_mut(index).marks.set_lost();
        if is_update && self.timing.limits_parity_updates {
            self.queue.push(self.now_ns, ModelEvent::Updated(index).pack());
        } else {
            self.answer(self.now_ns, index);
        }
    }
}
