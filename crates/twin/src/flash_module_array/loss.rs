//! Modules that are lost: degraded reads and writes, and the rebuild onto a hot spare or a new module.

use layout::{Condition, DriveIndex};

use super::Model;
use super::command::ModelEvent;
use crate::availability::{BackgroundRebuild, BackgroundSchedule, Refill, Refilling};
use crate::drive::Slowness;

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
        self.modules.fit(place, number);
    }

    fn fit_new(&mut self, place: DriveIndex, _number: u32) {
        self.modules.slow_down(u32::from(place), Slowness::NONE);
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
        self.read_planned(true)
    }

    fn write_lost(&mut self) -> u64 {
        let loss = &self.recovery.loss;
        let there = self.plan.writes().iter().filter(|io| !loss.is_empty_place(io.drive));
        self.modules.write_all(self.now_ns, there)
    }
}

impl Model {
    /// Reads what was planned; returns when all is there.
    fn read_planned(&mut self, is_sequential: bool) -> u64 {
        self.plan.reads().iter().fold(self.now_ns, |done_ns, io| {
            let bytes = u64::from(io.length_bytes);
            done_ns.max(self.modules.read(self.now_ns, u32::from(io.drive), bytes, is_sequential))
        })
    }

    /// A read while a module is lost: what lay on it is computed from all that is left of its stripes.
    #[cold]
    pub(super) fn read_degraded(&mut self, command: u32) {
        let extent = *self.commands.get(command);
        let (offset, length) = (extent.offset_bytes, u64::from(extent.length_bytes));
        let planned = self.set.read(offset, length, &self.recovery.loss, 0, &mut self.plan);
        let done_ns = match planned {
            Ok(()) => self.read_planned(extent.is_sequential),
            Err(_) => {
                self.ios[extent.tag as usize].is_lost = true;
                self.now_ns
            }
        };
        self.queue.push(done_ns, ModelEvent::ReadDone(command).pack());
    }

    /// The first phase of a write while a module is lost: what its new parity needs.
    #[cold]
    pub(super) fn read_before_degraded_write(&mut self, command: u32) {
        let planned = self.plan_degraded_write(command);
        let done_ns = if planned { self.read_planned(false) } else { self.now_ns };
        self.queue.push(done_ns, ModelEvent::Write(command).pack());
    }

    /// The second phase: data and parity go where there is still a module.
    #[cold]
    pub(super) fn write_degraded(&mut self, command: u32) {
        let extent = *self.commands.get(command);
        let mut done_ns = self.now_ns;
        if extent.is_sequential || !self.settings.parity {
            done_ns = self.write_gathered(command);
        } else if self.plan_degraded_write(command) {
            done_ns = self.modules.write_all(self.now_ns, self.plan.writes());
        }
        self.queue.push(done_ns, ModelEvent::WriteDone(command).pack());
    }

    fn plan_degraded_write(&mut self, command: u32) -> bool {
        let extent = *self.commands.get(command);
        let (offset, length) = (extent.offset_bytes, u64::from(extent.length_bytes));
        let is_planned = self.set.write(offset, length, &self.recovery.loss, &mut self.plan).is_ok();
        if !is_planned && !self.settings.write_cache {
            self.ios[extent.tag as usize].is_lost = true;
        }
        is_planned
    }

    /// Whole stripes are gathered, or there is no parity: nothing is read, and what lies on the lost module is left out.
    fn write_gathered(&mut self, command: u32) -> u64 {
        let extent = *self.commands.get(command);
        let (offset, length) = (extent.offset_bytes, u64::from(extent.length_bytes));
        let mut done_ns = self.now_ns;
        let (now_ns, modules, loss) = (self.now_ns, &mut self.modules, &self.recovery.loss);
        let (has_parity, segment_bytes) = (self.settings.parity, self.segment_bytes);
        self.set.for_each_covered(offset, length, |piece| {
            let parity_bytes = if has_parity && piece.ends_stripe { segment_bytes } else { 0 };
            for (drive, bytes) in
                [(piece.drive, u64::from(piece.length_bytes)), (piece.parity_drive, parity_bytes)]
            {
                if bytes > 0 && !loss.is_missing(piece.stripe, drive) {
                    done_ns = done_ns.max(modules.write(now_ns, u32::from(drive), bytes));
                }
            }
        });
        done_ns
    }
}
