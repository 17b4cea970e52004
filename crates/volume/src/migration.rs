//! Piece migration: relocation to target drives, and rebuild into preservation capacity.

use crate::VolumeError;
use crate::drive::DriveCondition;
use crate::error::ErrorContext;
use crate::map::Run;
use crate::replay::sync_drives;
use crate::stripe::{Array, Moving};
use crate::upkeep::fill;
use crate::volume::Volume;
use layout::{DriveIndex, DriveSet, Move};
use std::sync::atomic::{AtomicU64, Ordering};

/// Progress of migrating the pieces of lost drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct MigrationProgress {
    /// Pieces that found a new home in this step.
    pub moved_pieces: u64,
    /// Pieces that still wait for one.
    pub waiting_pieces: u64,
    /// Pieces for which there is no room on a drive that may take them; they stay lost until a drive is replaced.
    pub homeless_pieces: u64,
    /// Sectors of this step that could not be computed. They are errors until they are written again.
    pub lost_sectors: u64,
}

/// The cursor of a relocation that has nothing to do.
const SETTLED: u64 = u64::MAX;

/// The drives that do not hold all they should.
fn unwell(array: &Array) -> DriveSet {
    let drives = 0..array.drives.len() as DriveIndex;
    drives.filter(|&drive| array.drives[usize::from(drive)].condition != DriveCondition::Present).collect()
}

impl Volume {
    /// Moves up to `pieces_limit` pieces of failed and pulled drives to new homes, most endangered first, while
    /// others read and write. Nothing is done in RAID levels, where [`Volume::replace_drive`] is the way.
    pub fn migration_step(&self, pieces_limit: u64) -> Result<MigrationProgress, VolumeError> {
        let mut progress = MigrationProgress::default();
        loop {
            let (next, waiting, homeless) = self.next_move();
            (progress.waiting_pieces, progress.homeless_pieces) = (waiting, homeless);
            let Some(movement) = next else { return Ok(progress) };
            if progress.moved_pieces == pieces_limit {
                return Ok(progress);
            }
            let outcome = self.carry_move(movement);
            if outcome.is_err() {
                self.array_alone().moving = None;
            }
            match outcome? {
                Some(lost_sectors) => {
                    progress.moved_pieces += 1;
                    progress.lost_sectors += lost_sectors;
                }
                // A drive was lost or replaced meanwhile: what is to move is decided anew.
                None => continue,
            }
        }
    }

    /// From now on a range of the array is to lie on these drives, by replica. [`Volume::relocate_step`] moves it. Lasts until
    /// the volume is closed: whoever wants it says so again after [`Volume::open`].
    pub fn prefer_drives(&self, run: &Run, drives: &[Vec<DriveIndex>]) {
        let mut array = self.array_alone();
        let (first, _) = array.layout.stripe_of(run.start_bytes);
        let end = (run.start_bytes + run.length_bytes).div_ceil(array.layout.stripe_bytes());
        let end = end.min(array.layout.stripes());
        if first < end && array.layout.prefer(first..end, drives) {
            self.relocation_cursor.store(0, Ordering::Release);
        }
    }

    /// Moves up to `pieces_limit` pieces to drives that they are to lie on, while others read and write: each piece serves
    /// from where it was until all of it has arrived. `false` when there is nothing more to move, or no room.
    pub fn relocate_step(&self, pieces_limit: u64) -> Result<bool, VolumeError> {
        for _ in 0..pieces_limit {
            let from_group = self.relocation_cursor.load(Ordering::Acquire);
            if from_group == SETTLED {
                return Ok(false);
            }
            let planned = {
                let array = self.array();
                array.layout.plan_preferred(from_group, &unwell(&array))
            };
            let Some(movement) = planned else {
                let next = if from_group == 0 { SETTLED } else { 0 };
                // Whoever has asked for another place meanwhile begins anew.
                let _ = self.relocation_cursor.compare_exchange(
                    from_group,
                    next,
                    Ordering::AcqRel,
                    Ordering::Acquire,
                );
                continue;
            };
            let outcome = self.carry_move(movement);
            if outcome.is_err() {
                self.array_alone().moving = None;
            }
            if outcome?.is_some() {
                let _ = self.relocation_cursor.compare_exchange(
                    from_group,
                    movement.group,
                    Ordering::AcqRel,
                    Ordering::Acquire,
                );
                self.relocated_pieces.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(self.relocation_cursor.load(Ordering::Acquire) != SETTLED)
    }

    /// Pieces that were moved to drives they are to lie on since the volume was opened.
    pub fn relocated_pieces(&self) -> u64 {
        self.relocated_pieces.load(Ordering::Relaxed)
    }

    /// Returns how many pieces of a range each drive holds, drive by drive.
    pub fn pieces_of(&self, run: &Run) -> Vec<u64> {
        let array = self.array();
        let mut pieces = vec![0; array.drives.len()];
        let (first, _) = array.layout.stripe_of(run.start_bytes);
        let end = (run.start_bytes + run.length_bytes).div_ceil(array.layout.stripe_bytes());
        for stripe in first..end.min(array.layout.stripes()) {
            for member in 0..array.layout.members() {
                pieces[usize::from(array.layout.place(stripe, member).drive)] += 1;
            }
        }
        pieces
    }

    /// The most urgent move, how many there are, and for how many pieces there is no room.
    fn next_move(&self) -> (Option<Move>, u64, u64) {
        let array = self.array();
        let unwell = unwell(&array);
        let (mut next, mut waiting, mut homeless) = (None, 0, 0);
        for drive in unwell.iter().filter(|&drive| array.drives[usize::from(drive)].condition.is_lost()) {
            let migration = array.layout.plan_migration(drive, &unwell);
            waiting += migration.moves.len() as u64;
            homeless += migration.homeless.len() as u64;
            next = next.or(migration.moves.first().copied());
        }
        (next, waiting, homeless)
    }

    /// Carries one piece to its new home. `None`: the array changed under way, and nothing has moved.
    fn carry_move(&self, movement: Move) -> Result<Option<u64>, VolumeError> {
        let (first, end) = {
            let mut array = self.array_alone();
            if array.moving.is_some()
                || array.drives[usize::from(movement.to.drive)].condition != DriveCondition::Present
            {
                return Err(VolumeError::Drive {
                    drive: movement.to.drive,
                    problem: "another move is under way",
                });
            }
            // The free piece may hold what an interrupted move left there, also in the journal.
            self.checkpoint_locked(&array)?;
            let groups = array.layout.groups().count() as u64;
            let rows = array.layout.stripes() / groups;
            let segment_bytes = u64::from(array.layout.segment_bytes());
            let target = &array.drives[usize::from(movement.to.drive)];
            let piece_bytes = rows * segment_bytes;
            target
                .zero(u64::from(movement.to.slot) * piece_bytes, piece_bytes)
                .context("clear a free piece")?;
            let first = movement.group * rows;
            array.moving = Some(Moving { movement, arrived_below_stripe: AtomicU64::new(first) });
            (first, first + rows)
        };
        let mut lost_sectors = 0;
        for stripe in first..end {
            match self.move_stripe(&movement, stripe)? {
                Some(lost) => lost_sectors += lost,
                None => return Ok(None),
            }
        }
        let mut array = self.array_alone();
        if array.moving.as_ref().is_none_or(|moving| moving.movement != movement) {
            return Ok(None);
        }
        self.checkpoint_locked(&array)?;
        sync_drives(&array.drives)?;
        array.moving = None;
        if !array.layout.apply_move(&movement) {
            return Err(VolumeError::Drive { drive: movement.to.drive, problem: "its free piece was taken" });
        }
        self.moves().push(movement);
        self.write_record(&array)?;
        // Gives the space back; what cannot be given back now is cleared before it is used again.
        let source = &array.drives[usize::from(movement.from.drive)];
        if source.takes_writes() {
            let piece_bytes = (end - first) * u64::from(array.layout.segment_bytes());
            let _ = source.zero(u64::from(movement.from.slot) * piece_bytes, piece_bytes);
        }
        Ok(Some(lost_sectors))
    }

    fn move_stripe(&self, movement: &Move, stripe: u64) -> Result<Option<u64>, VolumeError> {
        let array = self.array();
        let Some(moving) = array.moving.as_ref().filter(|moving| moving.movement == *movement) else {
            return Ok(None);
        };
        let _alone = self.lock_stripe(stripe);
        let stripes = self.stripes(&array);
        let mut lost_sectors = 0;
        // A cleared piece is zero, as is a stripe that was never written.
        if stripes.is_allocated(stripe) {
            for member in 0..array.layout.members() {
                let place = array.layout.place(stripe, member);
                let target = array.layout.retarget(movement, place);
                if target != place {
                    lost_sectors += fill(&stripes, stripe, member, target)?;
                }
            }
        }
        moving.arrived_below_stripe.store(stripe + 1, Ordering::Release);
        Ok(Some(lost_sectors))
    }
}
