//! Writes on their way to the drives: what new parity needs is read, parity is made, both are written.

use layout::{Condition as _, Healthy, Place};
use load::Direction;

use super::Model;
use super::command::ModelEvent;
use crate::drive::flash::translation::Temperature;

impl Model {
    /// A write goes to the drives: where there is parity, what the new parity needs is read first.
    #[inline]
    pub(super) fn update(&mut self, at_ns: u64, index: u32) {
        if !self.has_parity {
            self.write(at_ns, index);
            return;
        }
        let controller = usize::from(self.commands.get(index).controller);
        if !self.timing.limits_parity_updates || self.controllers[controller].may_update(index) {
            self.begin_update(at_ns, index);
        }
    }

    #[inline]
    fn begin_update(&mut self, at_ns: u64, index: u32) {
        if !self.without_parity.is_empty() {
            self.claim_parity(index);
        }
        if let Some((places, length_bytes)) = self.modified_places(index) {
            self.commands.get_mut(index).marks.set_in_place();
            let [data_ns, parity_ns] = places.map(|place| self.drives.read_place(at_ns, place, length_bytes));
            let done_ns = data_ns.max(parity_ns);
            self.queue.push(self.lookahead.drives_seen_ns(done_ns), ModelEvent::OldRead(index).pack());
            return;
        }
        if !self.plan_write(index) {
            return self.lose(index);
        }
        let (mut moved_bytes, mut parity_bytes) = (0, 0);
        for io in self.plan.reads() {
            moved_bytes += u64::from(io.length_bytes);
        }
        for io in self.plan.writes() {
            let bytes = u64::from(io.length_bytes);
            moved_bytes += bytes;
            parity_bytes += if io.role == layout::Role::P { bytes } else { 0 };
        }
        self.note_parity_ns(index, self.timing.parity_ns(moved_bytes, parity_bytes));
        let done_ns = self.drives.read(at_ns, self.plan.reads());
        self.queue.push(self.lookahead.drives_seen_ns(done_ns), ModelEvent::OldRead(index).pack());
    }

    /// The data and the parity that a small write to a whole stripe changes, and how many bytes of each.
    #[inline]
    fn modified_places(&self, index: u32) -> Option<([Place; 2], u32)> {
        let command = self.commands.get(index);
        if !self.recovery.loss.is_whole() || command.marks.is_first() {
            return None;
        }
        let places = self.set.modified_places(command.offset_bytes, u64::from(command.length_bytes))?;
        Some((places, command.length_bytes))
    }

    /// A change of parity is in the drives: another may begin.
    #[inline]
    pub(super) fn end_update(&mut self, index: u32) {
        if !self.has_parity || !self.timing.limits_parity_updates {
            return;
        }
        let controller = usize::from(self.commands.get(index).controller);
        if let Some(next) = self.controllers[controller].updated() {
            self.begin_update(self.now_ns, next);
        }
    }

    /// Notes whether a write is the first to one of its stripes, and that they have parity from now on.
    fn claim_parity(&mut self, index: u32) {
        let command = self.commands.get_mut(index);
        let (first, _) = self.set.stripe_of(command.offset_bytes);
        let (last, _) = self.set.stripe_of(command.offset_bytes + u64::from(command.length_bytes) - 1);
        for stripe in first..=last {
            let (word, bit) = ((stripe / 64) as usize, 1 << (stripe % 64));
            if self.without_parity[word] & bit != 0 {
                command.marks.set_first();
            }
            self.without_parity[word] &= !bit;
        }
    }

    /// Plans a write; false where too much is lost for it.
    #[inline]
    fn plan_write(&mut self, index: u32) -> bool {
        let command = self.commands.get(index);
        let (offset_bytes, length_bytes) = (command.offset_bytes, u64::from(command.length_bytes));
        let planned = if !self.recovery.loss.is_whole() {
            self.set.write(offset_bytes, length_bytes, &self.recovery.loss, &mut self.plan)
        } else if command.marks.is_first() {
            let way = layout::ParityInitialisation::ReadAndCompute;
            self.set.first_write(offset_bytes, length_bytes, way, &mut self.plan)
        } else {
            self.set.write(offset_bytes, length_bytes, &Healthy, &mut self.plan)
        };
        planned.is_ok()
    }

    /// Notes what computing takes of the parity engine for a command whose size does not say so.
    pub(super) fn note_parity_ns(&mut self, index: u32, parity_ns: u64) {
        let index = index as usize;
        if index >= self.parity_ns.len() {
            self.parity_ns.resize(index + 1, 0);
        }
        self.parity_ns[index] = parity_ns;
    }

    /// Old data and old parity are there: the parity engine makes the new parity.
    #[inline]
    pub(super) fn make_parity(&mut self, at_ns: u64, index: u32) {
        let command = self.commands.get(index);
        let controller = u32::from(command.controller);
        let parity_ns = if command.marks.is_in_place() {
            // Data and parity are read and written.
            let bytes = u64::from(command.length_bytes);
            self.timing.parity_ns(4 * bytes, bytes)
        } else {
            self.parity_ns[index as usize]
        };
        let done_ns = self.compute_parity(at_ns, controller, parity_ns);
        match self.lookahead.until_drives(self.now_ns, done_ns) {
            None => self.is_computed(done_ns, index),
            Some(seen_ns) => self.queue.push(seen_ns, ModelEvent::ParityDone(index).pack()),
        }
    }

    /// The parity engine of a controller's current owner has so much to do from `at_ns` on; returns when it
    /// is done.
    #[inline]
    pub(super) fn compute_parity(&mut self, at_ns: u64, controller: u32, parity_ns: u64) -> u64 {
        let controller = &mut self.controllers[self.failover.current_owner(controller) as usize];
        controller.make_parity(at_ns, parity_ns, self.crowding)
    }

    /// Parity, or what a read had lost, is computed.
    #[inline]
    pub(super) fn is_computed(&mut self, at_ns: u64, index: u32) {
        if self.commands.get(index).direction == Direction::Write {
            self.write(at_ns, index);
        } else {
            self.read_done(at_ns, index);
        }
    }

    /// New data and new parity go to the drives.
    #[inline]
    fn write(&mut self, at_ns: u64, index: u32) {
        let done_ns = if self.has_parity
            && let Some(([data, parity], length_bytes)) = self.modified_places(index)
        {
            let data_ns = self.drives.write_place(at_ns, data, length_bytes, Temperature::Cold);
            data_ns.max(self.drives.write_place(at_ns, parity, length_bytes, Temperature::Hot))
        } else {
            if !self.plan_write(index) {
                return self.lose(index);
            }
            self.write_planned(at_ns)
        };
        if self.commands.get(index).marks.is_cached() {
            self.queue.push(done_ns, ModelEvent::Destaged(index).pack());
        } else if self.has_parity && self.timing.limits_parity_updates {
            self.queue.push(done_ns, ModelEvent::Updated(index).pack());
        } else {
            self.answer(done_ns + self.timing.write_answer_ns, index);
        }
    }

    /// Returns what is planned is written; returns when it is in the drives.
    fn write_planned(&mut self, at_ns: u64) -> u64 {
        let writes = self.plan.writes();
        if self.has_parity {
            return self.drives.write(at_ns, writes);
        }
        // RAID 5 with parity switched off still plans parity writes; they are left out.
        self.drives.write(at_ns, writes.iter().filter(|io| io.role == layout::Role::Data))
    }

    pub(super) fn updated(&mut self, index: u32) {
        self.end_update(index);
        self.answer(self.now_ns + self.timing.write_answer_ns, index);
    }
}
