//! Stopped drives, as after the failure of their service, and their catch-up.
//!
//! What a stopped drive holds stays. Which stripes it misses writes of is said in the journal with each write, so that a
//! crash forgets none, and in the array's record before the journal is emptied. A stripe that lacks writes is not read
//! from the drive until it has been copied from another replica.

use crate::VolumeError;
use crate::drive::DriveCondition;
use crate::error::ErrorContext;
use crate::map::Run;
use crate::replay::sync_drives;
use crate::stripe::Array;
use crate::upkeep::fill;
use crate::volume::Volume;
use layout::{DriveIndex, Redundancy};
use std::sync::atomic::Ordering;

/// Progress of restarted drives with the writes that they missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct ResyncProgress {
    /// Stripes of drives that were copied in this step.
    pub copied_stripes: u64,
    /// Stripes of drives that still lack writes.
    pub waiting_stripes: u64,
    /// Sectors of this step that no replica could give. They are errors until they are written again.
    pub lost_sectors: u64,
    /// No drive that runs lacks writes.
    pub is_complete: bool,
}

impl Volume {
    /// From now on exactly these drives are stopped: they are neither read nor written, and what they hold stays. The
    /// others run again; [`Volume::resync_step`] brings them what they have missed. Drives that are lost stay lost.
    ///
    /// # Errors
    /// [`VolumeError::Drive`] where there is no such drive, or where the layout keeps no replicas.
    pub fn set_stopped(&self, stopped: &[DriveIndex]) -> Result<(), VolumeError> {
        let mut array = self.array_alone();
        if let Some(&drive) = stopped.first()
            && !has_replicas(&array)
        {
            return Err(VolumeError::Drive { drive, problem: "only a drive of replicas can be stopped" });
        }
        if let Some(&drive) = stopped.iter().find(|&&drive| usize::from(drive) >= array.drives.len()) {
            return Err(VolumeError::Drive { drive, problem: "there is no such drive" });
        }
        let (before, after) = conditions(&array, stopped);
        if before == after {
            return Ok(());
        }
        // Nothing is on its way to a drive that stops, and no record is behind what the others serve.
        self.settle_locked(&mut array)?;
        let (before, after) = conditions(&array, stopped);
        for index in 0..array.drives.len() {
            if (before[index], after[index]) == (DriveCondition::Rebuilding, DriveCondition::Stopped) {
                miss_what_is_not_rebuilt(&array, index as DriveIndex);
            }
            array.drives[index].condition = after[index];
        }
        array.moving = None;
        if let Err(error) = self.write_record(&array) {
            array.drives.iter_mut().zip(before).for_each(|(drive, before)| drive.condition = before);
            return Err(error);
        }
        array.look_whether_whole();
        // Drives that did not give or take pieces may now.
        self.relocation_cursor.store(0, Ordering::Release);
        Ok(())
    }

    /// Copies up to `stripes_limit` stripes to drives that run again and lack writes, while others read and write. What no
    /// other drive can give at present waits. A step goes on where the last one stopped, and costs what it copies; the
    /// record, which is written whole, is written when it would be an eighth shorter, or when nothing is left to copy.
    pub fn resync_step(&self, stripes_limit: u64) -> Result<ResyncProgress, VolumeError> {
        let mut progress = ResyncProgress::default();
        let drives = self.array().drives.len();
        for drive in 0..drives {
            self.resync_drive(drive as DriveIndex, stripes_limit, &mut progress)?;
        }
        let is_at_the_end = progress.copied_stripes < stripes_limit;
        let is_due = self.array().drives.iter().any(|drive| {
            drive.condition == DriveCondition::CatchingUp
                && (drive.missed.count() == 0
                    || drive.missed.is_worth_a_record()
                    || (is_at_the_end && drive.missed.is_settling()))
        });
        if is_due {
            self.settle()?;
        }
        let array = self.array();
        let behind = array.drives.iter().filter(|drive| drive.condition == DriveCondition::CatchingUp);
        progress.waiting_stripes = behind.clone().map(|drive| drive.missed.count() as u64).sum();
        progress.is_complete = behind.count() == 0;
        Ok(progress)
    }

    /// Goes on with a drive where the last step has stopped, and once around.
    fn resync_drive(
        &self,
        drive: DriveIndex,
        stripes_limit: u64,
        progress: &mut ResyncProgress,
    ) -> Result<(), VolumeError> {
        let turn = self.array().drives[usize::from(drive)].missed.next_turn();
        for mut rest in [turn..u64::MAX, 0..turn] {
            loop {
                // The array is let go after each stripe, so that whoever needs it alone waits for one only.
                let array = self.array();
                let target = &array.drives[usize::from(drive)];
                if target.condition != DriveCondition::CatchingUp {
                    return Ok(());
                }
                let Some(&stripe) = target.missed.first_of(rest.clone(), 1).first() else { break };
                target.missed.turn_goes_on_at(stripe);
                if progress.copied_stripes == stripes_limit {
                    return Ok(());
                }
                if let Some(lost_sectors) = self.catch_up(&array, drive, stripe)? {
                    progress.copied_stripes += 1;
                    progress.lost_sectors += lost_sectors;
                }
                rest.start = stripe + 1;
            }
        }
        Ok(())
    }

    /// Makes durable what was copied to drives, and then records it.
    fn settle(&self) -> Result<(), VolumeError> {
        let mut array = self.array_alone();
        self.settle_locked(&mut array)?;
        array.look_whether_whole();
        self.relocation_cursor.store(0, Ordering::Release);
        self.write_record(&array)
    }

    /// Makes durable what was copied to drives; the record that the caller writes then no longer counts it as missed.
    /// Whoever takes a drive away does so first: what is written from then on may be on a drive alone that the record
    /// would have nobody read.
    pub(crate) fn settle_locked(&self, array: &mut Array) -> Result<(), VolumeError> {
        // What was copied may rest on bytes that are only in the journal.
        self.checkpoint_locked(array)?;
        sync_drives(&array.drives)?;
        for drive in &mut array.drives {
            if drive.condition == DriveCondition::CatchingUp {
                drive.missed.settle();
                if drive.missed.count() == 0 {
                    drive.condition = DriveCondition::Present;
                }
            }
        }
        Ok(())
    }

    /// Gives a drive's part of a stripe what it has missed; how many sectors nobody could give. Nothing where no other
    /// drive has the stripe at present.
    fn catch_up(&self, array: &Array, drive: DriveIndex, stripe: u64) -> Result<Option<u64>, VolumeError> {
        let _alone = self.lock_stripe(stripe);
        let target = &array.drives[usize::from(drive)];
        if target.condition != DriveCondition::CatchingUp || !target.missed.contains(stripe) {
            return Ok(None);
        }
        let stripes = self.stripes(array);
        let segment_bytes = u64::from(array.layout.segment_bytes());
        let own = (0..array.layout.members()).map(|member| (member, array.layout.place(stripe, member)));
        let own: Vec<_> = own.filter(|(_, place)| place.drive == drive).collect();
        let sources = |member: u32| replicas(array, member).filter_map(|other| stripes.home(stripe, other));
        if own.iter().any(|&(member, _)| sources(member).next().is_none()) {
            return Ok(None);
        }
        let mut lost_sectors = 0;
        for (member, place) in own {
            if sources(member).any(|source| stripes.place_is_allocated(source, 0, segment_bytes)) {
                lost_sectors += fill(&stripes, stripe, member, place)?;
            } else {
                target.zero(place.offset_bytes, segment_bytes).context("free a drive's space")?;
            }
        }
        target.missed.has_caught_up(stripe);
        Ok(Some(lost_sectors))
    }

    /// Returns how many objects of a range have no replica that serves, how many one, and so on to all. Empty where the
    /// layout keeps no replicas.
    pub fn replicas_of(&self, run: &Run) -> Vec<u64> {
        let array = self.array();
        if !has_replicas(&array) {
            return Vec::new();
        }
        let stripes = self.stripes(&array);
        let copies = array.copies();
        let mut objects = vec![0; copies as usize + 1];
        let (first, _) = array.layout.stripe_of(run.start_bytes);
        let end = (run.start_bytes + run.length_bytes).div_ceil(array.layout.stripe_bytes());
        for stripe in first..end.min(array.layout.stripes()) {
            let columns = (0..array.layout.members()).step_by(copies as usize);
            let serving = columns.map(|column| {
                (column..column + copies).filter(|&member| stripes.home(stripe, member).is_some()).count()
            });
            objects[serving.min().unwrap_or(0)] += 1;
        }
        objects
    }
}

/// Of each drive what it is, and what it is once exactly these are stopped.
fn conditions(array: &Array, stopped: &[DriveIndex]) -> (Vec<DriveCondition>, Vec<DriveCondition>) {
    let after = array.drives.iter().zip(0..).map(|(drive, index)| {
        match (drive.condition, stopped.contains(&index)) {
            (lost, _) if lost.is_lost() => lost,
            (_, true) => DriveCondition::Stopped,
            (DriveCondition::Stopped, false) if drive.missed.count() == 0 => DriveCondition::Present,
            (DriveCondition::Stopped, false) => DriveCondition::CatchingUp,
            (running, false) => running,
        }
    });
    (array.drives.iter().map(|drive| drive.condition).collect(), after.collect())
}

/// The other replicas of what a member holds.
fn replicas(array: &Array, member: u32) -> impl Iterator<Item = u32> + use<> {
    let copies = array.copies();
    let first = member / copies * copies;
    (first..first + copies).filter(move |&other| other != member)
}

fn has_replicas(array: &Array) -> bool {
    matches!(array.layout.redundancy(), Redundancy::Copies(copies) if copies > 1)
}

/// A replacement that stops before it is rebuilt lacks the rest.
fn miss_what_is_not_rebuilt(array: &Array, drive: DriveIndex) {
    let replacement = &array.drives[usize::from(drive)];
    let mark = replacement.rebuilt_below_stripe.load(Ordering::Acquire);
    for stripe in mark..array.layout.stripes() {
        let mut places = (0..array.layout.members()).map(|member| array.layout.place(stripe, member));
        if places.any(|place| place.drive == drive) {
            replacement.missed.add(stripe);
        }
    }
}
