//! Migration of a lost drive's pieces to other drives of a pool, and what it has in common with the rebuild of a RAID level.

use layout::{DriveIndex, IoList, Layout, Move};

use super::recovery::Recovery;
use super::refill::Refill;
use crate::TwinNote;

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

    /// Share of the lost drive's pieces that have moved; `None` where none moves.
    pub fn moved_share(&self, recovery: &Recovery) -> Option<f64> {
        let stripes = self.stripes()?;
        let whole_below = recovery.rebuild.as_ref()?.whole_below();
        let own = whole_below.saturating_sub(stripes.start) as f64 / self.stripes_per_group.max(1) as f64;
        Some((self.current as f64 + own) / self.moves.len() as f64)
    }

    /// Number of pieces in use on lost drives for which no other drive has room.
    fn homeless_pieces(&self, recovery: &Recovery, layout: &Layout) -> usize {
        let failed = recovery.loss.failed();
        let of_drive = |drive| layout.plan_migration(drive, failed).homeless;
        let is_used = |group: &u64| group * self.stripes_per_group < recovery.used_stripes;
        failed.iter().flat_map(of_drive).filter(is_used).count()
    }

    /// Lost drives whose data is neither on others nor on its way there: of a RAID level those without a spare or a new drive, of a pool
    /// those that wait for their turn.
    pub fn unrebuilt_drives(&self, recovery: &Recovery) -> usize {
        match self.is_pool {
            true => self.drives.len().saturating_sub(1),
            false => {
                recovery.loss.failed().iter().filter(|&place| recovery.loss.is_empty_place(place)).count()
            }
        }
    }

    /// Returns how long what is left of a rebuild, of a pool of the first lost drive, takes at its present pace; `None` where none
    /// runs, 0 while its pace is not known.
    pub fn rebuild_left_ns(&self, recovery: &Recovery) -> Option<u64> {
        let rebuild = recovery.rebuild.as_ref().filter(|rebuild| rebuild.is_running())?;
        let later_moves = self.moves.len().saturating_sub(self.current + 1) as u64;
        let stripes = rebuild.left() + later_moves * self.stripes_per_group;
        Some(rebuild.pace.time_for_ns(stripes).unwrap_or(0))
    }

    /// Numbers in groups of the stripes of the move in progress.
    fn stripes(&self) -> Option<std::ops::Range<u64>> {
        let first = self.current()?.group * self.stripes_per_group;
        Some(first..first + self.stripes_per_group)
    }
}

/// State of a rebuild or a migration, borrowed from its array.
pub(crate) struct Migrating<'a> {
    pub now_ns: u64,
    pub recovery: &'a mut Recovery,
    pub layout: &'a mut Layout,
    pub migration: &'a mut Migration,
    pub plan: &'a mut IoList,
    pub notes: &'a mut Vec<TwinNote>,
}

/// Array whose drives lie under a RAID level, which is rebuilt onto spares and new drives, or in a pool, whose lost pieces migrate.
pub(crate) trait Migrates: Refill {
    /// Its own.
    fn migrating(&mut self) -> Migrating<'_>;

    /// Fails a drive. It completes the I/Os that it already has.
    fn drive_fails(&mut self, drive: DriveIndex) {
        let Migrating { now_ns, recovery, migration, notes, .. } = self.migrating();
        if !migration.is_pool {
            self.drive_is_lost(drive);
        } else if recovery.lose(now_ns, drive, notes) {
            migration.replaced.retain(|&replaced| replaced != drive);
            migration.drives.push(drive);
            self.begin_migration();
        }
    }

    /// Returns whether pieces of lost drives in use cannot be rebuilt, and none is: no other drive has room for any.
    fn has_no_room(&mut self) -> bool {
        let Migrating { recovery, layout, migration, .. } = self.migrating();
        let is_over = recovery.rebuild.is_some() && migration.drives.is_empty();
        migration.is_pool && is_over && migration.homeless_pieces(recovery, layout) > 0
    }

    /// Replaces a lost drive.
    fn drive_is_replaced(&mut self, drive: DriveIndex) {
        let Migrating { now_ns, recovery, migration, notes, .. } = self.migrating();
        if !migration.is_pool {
            self.drive_is_new(drive);
        } else if recovery.take_new(now_ns, drive, notes) {
            let number = recovery.fitted()[usize::from(drive)];
            migration.replaced.push(drive);
            self.fit_new(drive, number);
            self.use_replaced_drives();
        }
    }

    /// Begins the migration of the next lost drive of a pool; drives migrate one after another.
    fn begin_migration(&mut self) {
        let Migrating { now_ns, recovery, layout, migration, .. } = self.migrating();
        migration.moves.clear();
        while let Some(drive) = migration.drives.first().copied() {
            let mut moves = layout.plan_migration(drive, recovery.loss.failed()).moves;
            moves.retain(|movement| movement.group * migration.stripes_per_group < recovery.used_stripes);
            (migration.moves, migration.current) = (moves, 0);
            if !migration.moves.is_empty() {
                break;
            }
            migration.drives.remove(0);
        }
        let (Some(stripes), Some(rebuild)) = (migration.stripes(), &mut recovery.rebuild) else { return };
        if let Some(begins_ns) = rebuild.begin(now_ns, stripes) {
            self.rebuild_at(begins_ns);
        }
    }

    /// Adds replaced drives of a pool to its free capacity when no piece of their predecessors is missing. Pieces that had found
    /// no room may find it then.
    fn use_replaced_drives(&mut self) {
        let Migrating { recovery, layout, migration, .. } = self.migrating();
        let before = migration.replaced.len();
        let stripes_per_group = migration.stripes_per_group;
        migration.replaced.retain(|&drive| {
            let rest = layout.plan_migration(drive, recovery.loss.failed());
            let is_used = |group: u64| group * stripes_per_group < recovery.used_stripes;
            let is_missed = rest.moves.iter().any(|movement| is_used(movement.group))
                || rest.homeless.iter().any(|&group| is_used(group));
            if !is_missed {
                recovery.loss.is_back(drive);
            }
            is_missed
        });
        if migration.replaced.len() < before {
            migration.drives = recovery.loss.failed().iter().collect();
            self.begin_migration();
        }
    }

    /// Continues a rebuild by what it does in time that is not simulated. Its last stripe, of a pool that of a lost drive, is left:
    /// its end is simulated. Stripes under way end as those of the move that is then in progress.
    fn skip_rebuild(&mut self, duration_ns: u64) {
        let Migrating { recovery, layout, migration, .. } = self.migrating();
        let Some(rebuild) = recovery.rebuild.as_mut().filter(|rebuild| rebuild.is_running()) else { return };
        let mut stripes = rebuild.pace.stripes_in(duration_ns);
        while stripes >= rebuild.left()
            && let Some(movement) = migration.current().copied()
            && migration.current + 1 < migration.moves.len()
        {
            stripes -= rebuild.left();
            layout.apply_move(&movement);
            migration.current += 1;
            if let Some(next) = migration.stripes() {
                rebuild.go_on_with(next);
            }
        }
        rebuild.skip(stripes.min(rebuild.left().saturating_sub(1)));
        if !migration.is_pool {
            recovery.loss.filled_below(rebuild.whole_below());
        }
    }

    /// Plans a stripe of the rebuild, a pool's by its number in groups; false if there is nothing to do or too much is lost.
    fn plan_rebuild(&mut self, stripe: u64) -> bool {
        let Migrating { recovery, layout, migration, plan, .. } = self.migrating();
        match migration.current() {
            None => recovery.plan_stripe(stripe, layout, plan),
            Some(movement) => {
                let retarget = |place| layout.retarget(movement, place);
                layout.rebuild(layout.stripe_at(stripe), recovery.loss.failed(), retarget, plan).is_ok()
            }
        }
    }

    /// Continues the rebuild after a stripe.
    fn stripe_is_rebuilt(&mut self) {
        if let Some(movement) = self.migrating().migration.current().copied() {
            self.stripe_is_migrated(&movement);
            self.rebuild_on();
        } else {
            self.stripe_is_whole();
        }
    }

    /// Continues a migration after a stripe: with the next piece when all stripes of one have moved, and with the next lost drive
    /// when all pieces of one have.
    fn stripe_is_migrated(&mut self, movement: &Move) {
        let Migrating { recovery, layout, migration, .. } = self.migrating();
        let Some(rebuild) = &mut recovery.rebuild else { return };
        if !rebuild.stripe_is_whole() {
            return;
        }
        layout.apply_move(movement);
        migration.current += 1;
        match migration.stripes() {
            Some(stripes) => rebuild.go_on_with(stripes),
            None => {
                rebuild.stop();
                migration.drives.remove(0);
                self.begin_migration();
                let Migrating { now_ns, recovery, layout, migration, notes, .. } = self.migrating();
                if migration.drives.is_empty() {
                    let says = match migration.homeless_pieces(recovery, layout) {
                        0 => "the rebuild is done".into(),
                        1 => "the rebuild ends without 1 piece: no drive that may hold it has room".into(),
                        count => format!(
                            "the rebuild ends without {count} pieces: no drive that may hold them has room"
                        ),
                    };
                    notes.push(TwinNote { at_ns: now_ns, says });
                }
                self.use_replaced_drives();
            }
        }
    }
}
