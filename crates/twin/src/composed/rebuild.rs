//! Drive losses and rebuilds of a set.

use layout::DriveIndex;

use super::Model;
use super::command::{ModelEvent, TaskKind};
use crate::availability::{Migrates, Migrating, Rebuilds, Refill, Refilling};

/// A set of the model, for the steps of its rebuild.
pub(crate) struct SetView<'a> {
    pub model: &'a mut Model,
    pub set: usize,
}

impl Rebuilds for SetView<'_> {
    fn rebuild_at(&mut self, at_ns: u64) {
        self.model.queue.push(at_ns, ModelEvent::RebuildDue(self.set as u32).pack());
    }

    fn rebuild_stripe(&mut self, stripe: u64) {
        // Controllers share the stripes of a rebuild; in a cluster those of the nodes do.
        let count = self.model.own_controllers as u64;
        let site = if self.set < self.model.own_sets { 0 } else { count };
        let turn = self.model.failover.current_owner((stripe % count) as u32);
        let controller = (site + u64::from(turn)) as u16;
        let index = self.model.background(TaskKind::Rebuild, self.set, stripe, controller);
        self.model.begin_write(index);
    }
}

impl Refill for SetView<'_> {
    fn refilling(&mut self) -> Refilling<'_> {
        let state = &mut self.model.sets[self.set];
        Refilling {
            now_ns: self.model.now_ns,
            recovery: &mut state.recovery,
            set: &state.set.layout,
            plan: &mut self.model.plan,
            notes: &mut self.model.notes,
        }
    }

    fn fit_spare(&mut self, place: DriveIndex, _number: u32) {
        self.replace(place, false);
    }

    fn fit_new(&mut self, place: DriveIndex, _number: u32) {
        self.replace(place, false);
    }

    fn fit_filled(&mut self, place: DriveIndex, _number: u32) {
        self.replace(place, true);
    }
}

impl Migrates for SetView<'_> {
    fn migrating(&mut self) -> Migrating<'_> {
        let state = &mut self.model.sets[self.set];
        Migrating {
            now_ns: self.model.now_ns,
            recovery: &mut state.recovery,
            layout: &mut state.set.layout,
            migration: &mut state.migration,
            plan: &mut self.model.plan,
            notes: &mut self.model.notes,
        }
    }
}

impl SetView<'_> {
    /// The drive that is fitted in a place is another.
    fn replace(&mut self, place: DriveIndex, is_filled: bool) {
        let drive = self.model.sets[self.set].drive_in(place);
        let (group, index) = self.model.groups.place(drive);
        self.model.groups.drives[group].replace(index, u32::from(place), is_filled);
    }
}

impl Model {
    /// A set, for the steps of its rebuild.
    pub(super) fn set_view(&mut self, set: usize) -> SetView<'_> {
        SetView { model: self, set }
    }

    /// A drive of the array is lost, to every set that it is in.
    pub(super) fn drive_is_gone(&mut self, drive: u32) {
        let mut is_in_set = false;
        for set in 0..self.sets.len() {
            if let Some(place) = self.sets[set].place_of(drive) {
                is_in_set = true;
                self.set_view(set).drive_fails(place);
            }
        }
        if !is_in_set {
            let entity = self.groups.entity(drive);
            self.note(format!("{entity} fails; it is a spare that holds no data"));
        }
        self.note_lack_of_room();
    }

    /// Notes that what was lost is not rebuilt, where no drive can take it.
    pub(super) fn note_lack_of_room(&mut self) {
        if (0..self.sets.len()).any(|set| self.set_view(set).has_no_room()) {
            self.note("nothing is rebuilt: no drive that may hold the lost pieces has room".into());
        }
    }

    /// A new drive takes the place of a lost one.
    pub(super) fn drive_is_there_again(&mut self, drive: u32) {
        for set in 0..self.sets.len() {
            if let Some(place) = self.sets[set].place_of(drive) {
                self.set_view(set).drive_is_replaced(place);
            }
        }
    }
}
