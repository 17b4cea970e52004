//! Drive losses and rebuilds, onto a spare or into a pool's preservation capacity.

use layout::{DriveIndex, Layout, Move};

use super::Model;
use super::model_event::ModelEvent;
use crate::TwinNote;
use crate::availability::{Rebuilds, Refill, Refilling};
use crate::drive::Slowness;

/// Migration of a lost drive's pieces to other drives of a pool.
#[derive(Debug, Clone)]
pub(crate) struct Migration {
    pub is_pool: bool,
    stripes_per_group: u64,
    /// Lost drives with pieces still to migrate; the first is being migrated.
    drives: Vec<DriveIndex>,
    /// Lost drives that were replaced; the new drive is used once no piece of the lost one is missing.
    replaced: Vec<DriveIndex>,
    /// Moves of the first drive's pieces, in order, and the index of the current one.
    moves: Vec<Move>,
    current: usize,
}

impl Migration {
    pub fn new(layout: &Layout) -> Migration {
        let groups = layout.groups().count() as u64;
        Migration {
            is_pool: groups > 0,
            stripes_per_group: layout.stripes().checked_div(groups).unwrap_or(1),
            drives: Vec::new(),
            replaced: Vec::new(),
            moves: Vec::new(),
            current: 0,
        }
    }

    /// Move in progress.
    fn current(&self) -> Option<&Move> {
        self.moves.get(self.current)
    }

    /// Stripes of the move in progress.
    fn stripes(&self) -> Option<std::ops::Range<u64>> {
        let first = self.current()?.group * self.stripes_per_group;
        Some(first..first + self.stripes_per_group)
    }
}

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

impl Model {
    pub(super) fn note(&mut self, says: String) {
        self.notes.push(TwinNote { at_ns: self.now_ns, says });
    }

    /// Fails a drive. It completes the I/Os that it already has.
    pub(super) fn drive_fails(&mut self, drive: DriveIndex) {
        if !self.migration.is_pool {
            self.drive_is_lost(drive);
        } else if self.recovery.lose(self.now_ns, drive, &mut self.notes) {
            self.migration.replaced.retain(|&replaced| replaced != drive);
            self.migration.drives.push(drive);
            self.begin_migration();
        }
    }

    /// Replaces a lost drive.
    pub(super) fn drive_is_replaced(&mut self, drive: DriveIndex) {
        if !self.migration.is_pool {
            self.drive_is_new(drive);
        } else if self.recovery.take_new(self.now_ns, drive, &mut self.notes) {
            self.fit_new(drive, self.recovery.fitted()[usize::from(drive)]);
            self.migration.replaced.push(drive);
            self.use_replaced_drives();
        }
    }

    /// Begins the migration of the next lost drive of a pool; drives migrate one after another.
    fn begin_migration(&mut self) {
        let (recovery, migration) = (&mut self.recovery, &mut self.migration);
        migration.moves.clear();
        while let Some(drive) = migration.drives.first().copied() {
            let mut moves = self.arrangement.layout.plan_migration(drive, recovery.loss.failed()).moves;
            moves.retain(|movement| movement.group * migration.stripes_per_group < recovery.used_stripes);
            (migration.moves, migration.current) = (moves, 0);
            if !migration.moves.is_empty() {
                break;
            }
            migration.drives.remove(0);
        }
        let (Some(stripes), Some(failover)) = (migration.stripes(), &mut recovery.rebuild) else { return };
        if let Some(begins_ns) = failover.begin(self.now_ns, stripes) {
            self.queue.push(begins_ns, ModelEvent::Rebuild(()).pack());
        }
    }

    /// Adds replaced drives of a pool to its free capacity when no piece of their predecessors is missing. Pieces that had found
    /// no room may find it then.
    fn use_replaced_drives(&mut self) {
        let (recovery, migration) = (&mut self.recovery, &mut self.migration);
        let layout = &self.arrangement.layout;
        let before = migration.replaced.len();
        migration.replaced.retain(|&drive| {
            let rest = layout.plan_migration(drive, recovery.loss.failed());
            let is_used = |group: u64| group * migration.stripes_per_group < recovery.used_stripes;
            let is_missed = rest.moves.iter().any(|movement| is_used(movement.group))
                || rest.homeless.iter().any(|&group| is_used(group));
            if !is_missed {
                recovery.loss.is_back(drive);
            }
            is_missed
        });
        if migration.replaced.len() < before {
            let failed = recovery.loss.failed().iter();
            migration.drives = failed.collect();
            self.begin_migration();
        }
    }

    /// Plans a stripe of the rebuild; false if there is nothing to do or too much is lost.
    pub(super) fn plan_rebuild(&mut self, stripe: u64) -> bool {
        let layout = &self.arrangement.layout;
        match self.migration.current() {
            None => self.recovery.plan_stripe(stripe, layout, &mut self.plan),
            Some(movement) => {
                let retarget = |place| layout.retarget(movement, place);
                layout.rebuild(stripe, self.recovery.loss.failed(), retarget, &mut self.plan).is_ok()
            }
        }
    }

    /// Continues the rebuild after a stripe.
    pub(super) fn stripe_is_rebuilt(&mut self) {
        if let Some(movement) = self.migration.current().copied() {
            self.stripe_is_migrated(&movement);
            self.rebuild_on();
        } else {
            self.stripe_is_whole();
        }
    }

    /// Continues a migration after a stripe: with the next piece when all stripes of one have moved, and with the next lost drive
    /// when all pieces of one have.
    fn stripe_is_migrated(&mut self, movement: &Move) {
        let Some(failover) = &mut self.recovery.rebuild else { return };
        if !failover.stripe_is_whole() {
            return;
        }
        self.arrangement.layout.apply_move(movement);
        self.migration.current += 1;
        match self.migration.stripes() {
            Some(stripes) => failover.go_on_with(stripes),
            None => {
                failover.stop();
                self.migration.drives.remove(0);
                self.begin_migration();
                if self.migration.drives.is_empty() {
                    self.note("the rebuild is done".into());
                }
                self.use_replaced_drives();
            }
        }
    }
}
