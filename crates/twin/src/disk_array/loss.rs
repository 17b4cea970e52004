//! Drive losses and rebuilds, onto a spare or into a pool's preservation capacity.

use layout::DriveIndex;

use super::Model;
use super::model_event::ModelEvent;
use crate::TwinNote;
use crate::availability::{Migrates, Migrating, Rebuilds, Refill, Refilling};
use crate::drive::Slowness;

impl Rebuilds for Model {
    fn rebuild_at(&mut self, at_ns: u64) {
        self.queue.push(at_ns, ModelEvent::Rebuild(()).pack());
    }

    fn rebuild_stripe(&mut self, stripe: u64) {
        self.begin_rebuild(stripe);
    }
}

impl Refill for Model {
    fn refilling(&mut self) -> Refilling<'_> {
        Refilling {
            now_ns: self.now_ns,
            recovery: &mut self.recovery,
            set: &self.arrangement.layout,
            plan: &mut self.plan,
            notes: &mut self.notes,
        }
    }

    fn fit_new(&mut self, _place: DriveIndex, number: u32) {
        self.drives.slow_down(number, Slowness::NONE);
    }
}

impl Migrates for Model {
    fn migrating(&mut self) -> Migrating<'_> {
        Migrating {
            now_ns: self.now_ns,
            recovery: &mut self.recovery,
            layout: &mut self.arrangement.layout,
            migration: &mut self.migration,
            plan: &mut self.plan,
            notes: &mut self.notes,
        }
    }
}

impl Model {
    pub(super) fn note(&mut self, says: String) {
        self.notes.push(TwinNote { at_ns: self.now_ns, says });
    }
}
