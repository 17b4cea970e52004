//! Rebuild into preservation capacity: what a lost drive of a pool, or of a replicated volume, held is made anew
//! in the free pieces of the others.

use crate::VolumeError;
use crate::drive::DriveCondition;
use crate::error::WhileDoing;
use crate::stripe::Moving;
use crate::upkeep::fill;
use crate::volume::{Volume, sync_drives};
use layout::{DriveIndex, DriveSet, Move};
use std::sync::atomic::{AtomicU64, Ordering};

/// How far the rehoming of lost drives' pieces is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct RehomeProgress {
    /// Pieces that found a new home in this step.
    pub moved_pieces: u64,
    /// Pieces that still wait for one.
    pub waiting_pieces: u64,
    /// Pieces for which there is no room on a drive that may take them; they stay lost until a drive is replaced.
    pub homeless_pieces: u64,
    /// Sectors of this step that could not be computed. They are errors until they are written again.
    pub lost_sectors: u64,
}

impl Volume {
    /// Moves up to `pieces_limit` pieces of failed and pulled drives to new homes, most endangered first, while
    /// others read and write. Nothing is done in RAID levels, where [`Volume::replace_drive`] is the way.
    pub fn rehome_step(&self, pieces_limit: u64) -> Result<RehomeProgress, VolumeError> {
        let mut progress = RehomeProgress::default();
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

    /// The most urgent move, how many there are, and for how many pieces there is no room.
    fn next_move(&self) -> (Option<Move>, u64, u64) {
        let array = self.array();
        let unwell: DriveSet = (0..array.drives.len() as DriveIndex)
            .filter(|&drive| array.drives[usize::from(drive)].condition != DriveCondition::Present)
            .collect();
        let (mut next, mut waiting, mut homeless) = (None, 0, 0);
        for drive in unwell.iter().filter(|&drive| !array.drives[usize::from(drive)].takes_writes()) {
            let rehoming = array.layout.plan_rehoming(drive, &unwell);
            waiting += rehoming.moves.len() as u64;
            homeless += rehoming.homeless.len() as u64;
            next = next.or(rehoming.moves.first().copied());
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
                .while_doing("clear a free piece")?;
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
