//! Maintenance operations: faults, replacement, rebuild, scrub.

use crate::VolumeError;
use crate::checksums::SECTOR_BYTES;
use crate::drive::DriveCondition;
use crate::error::ErrorContext;
use crate::journal_record::Record;
use crate::opening::new_drive;
use crate::overlay::RUN_BYTES_LIMIT;
use crate::parity;
use crate::replay::sync_drives;
use crate::stale_stripes::StaleStripes;
use crate::stripe::{Array, Stripes};
use crate::volume::Volume;
use layout::{Place, Redundancy};
use std::sync::atomic::Ordering;

/// Places that one scrub report names; further ones are only counted.
pub const SCRUB_PLACES_LIMIT: usize = 1000;

/// A drive's condition, for people and programs.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct DriveStatus {
    /// Its number.
    pub drive: u16,
    /// Condition: whether it serves.
    pub condition: DriveCondition,
    /// Number of times that it was replaced.
    pub generation: u32,
    /// Of a replacement: stripes below this one are rebuilt.
    pub rebuilt_below_stripe: u64,
    /// Stripes that it has missed writes of while it was stopped.
    pub missed_stripes: u64,
}

/// An array's condition.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct VolumeStatus {
    /// Size of the volume.
    pub capacity_bytes: u64,
    /// Number of stripes.
    pub stripes: u64,
    /// Every drive.
    pub drives: Vec<DriveStatus>,
    /// Sectors found bad and put right since the start.
    pub repaired_sectors: u64,
    /// Bytes that are in memory and the journal, and not yet on the drives.
    pub overlay_bytes: u64,
}

/// Progress of a rebuild.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct RebuildProgress {
    /// Stripes below this one are rebuilt.
    pub done_stripes: u64,
    /// All stripes.
    pub stripes: u64,
    /// Sectors of this step that could not be computed. They are errors until they are written again.
    pub lost_sectors: u64,
    /// Nothing is left to rebuild.
    pub is_complete: bool,
}

/// A sector of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct SectorPlace {
    /// The drive.
    pub drive: u16,
    /// The sector's first byte in the drive's data.
    pub offset_bytes: u64,
}

/// Result of a scrub.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct ScrubReport {
    /// Stripes that hold something and were read.
    pub stripes_read: u64,
    /// Bad sectors put right.
    pub repaired_sectors: u64,
    /// Bad sectors for which too little was left.
    pub unrepairable_sectors: u64,
    /// Stripes whose parity did not fit their data although every checksum was right; their parity was made anew.
    pub parity_rewritten_stripes: u64,
    /// Stripes of which a drive is missing, so that only checksums were checked.
    pub degraded_stripes: u64,
    /// Places that it could not repair, at most [`SCRUB_PLACES_LIMIT`] of them.
    pub unrepairable: Vec<SectorPlace>,
}

impl Volume {
    /// The array's condition.
    pub fn status(&self) -> VolumeStatus {
        let array = self.array();
        let drives = array
            .drives
            .iter()
            .enumerate()
            .map(|(index, drive)| DriveStatus {
                drive: index as u16,
                condition: drive.condition,
                generation: drive.generation,
                rebuilt_below_stripe: drive.rebuilt_below_stripe.load(Ordering::Acquire),
                missed_stripes: drive.missed.count() as u64,
            })
            .collect();
        VolumeStatus {
            capacity_bytes: self.capacity_bytes(),
            stripes: array.layout.stripes(),
            drives,
            repaired_sectors: self.repaired_sectors.load(Ordering::Relaxed),
            overlay_bytes: self.overlay.size_bytes() as u64,
        }
    }

    /// Fails a drive: what it holds is given up. The volume goes on with what is left; stripes that have lost too
    /// much give errors.
    pub fn fail_drive(&self, drive: u16) -> Result<(), VolumeError> {
        self.lose_drive(drive, DriveCondition::Failed)
    }

    /// Pulls a drive out. It misses what is written from now on, so that only a replacement can take its place.
    pub fn pull_drive(&self, drive: u16) -> Result<(), VolumeError> {
        self.lose_drive(drive, DriveCondition::Pulled)
    }

    fn lose_drive(&self, drive: u16, condition: DriveCondition) -> Result<(), VolumeError> {
        let mut array = self.array_alone();
        let lost = array.drive_mut(drive)?;
        if lost.condition.is_lost() {
            return Err(VolumeError::Drive { drive, problem: "it has failed or was pulled already" });
        }
        let before = lost.condition;
        lost.condition = condition;
        // The record first: a drive that has missed a write must never come back as whole.
        if let Err(error) = self.write_record(&array) {
            array.drive_mut(drive)?.condition = before;
            return Err(error);
        }
        array.drive_mut(drive)?.block_store = None;
        array.drive_mut(drive)?.missed = StaleStripes::default();
        // What was on its way is computed again, perhaps to another drive.
        array.moving = None;
        array.is_whole = false;
        if array.drives.iter().any(|drive| drive.missed.is_settling()) {
            self.settle_locked(&mut array)?;
            return self.write_record(&array);
        }
        self.checkpoint_locked(&array)
    }

    /// Puts a new, empty drive in the place of one that failed or was pulled. [`Volume::rebuild_step`] fills it.
    pub fn replace_drive(&self, drive: u16) -> Result<(), VolumeError> {
        let mut array = self.array_alone();
        if !array.drive_mut(drive)?.condition.is_lost() {
            return Err(VolumeError::Drive { drive, problem: "it is not lost; fail or pull it first" });
        }
        if array.layout.redundancy() == Redundancy::Copies(1) {
            return Err(VolumeError::Drive {
                drive,
                problem: "nothing can rebuild it: this layout has no redundancy",
            });
        }
        // Nothing journalled for the old drive may reach the new one.
        self.checkpoint_locked(&array)?;
        array.moving = None;
        let lost = array.drive_mut(drive)?;
        let mut fresh = new_drive(&*self.store, self.id, drive, lost.generation + 1, lost.capacity_bytes)?;
        fresh.condition = DriveCondition::Rebuilding;
        *lost = fresh;
        self.write_record(&array)
    }

    /// Rebuilds up to `stripes_limit` stripes of all replacements and records how far it is, while others read and
    /// write. A rebuild interrupted goes on from there.
    pub fn rebuild_step(&self, stripes_limit: u64) -> Result<RebuildProgress, VolumeError> {
        let mut progress = RebuildProgress::default();
        let first = {
            let array = self.array();
            progress.stripes = array.layout.stripes();
            lowest_mark(&array)
        };
        let Some(first) = first else {
            progress.is_complete = true;
            progress.done_stripes = progress.stripes;
            return Ok(progress);
        };
        progress.done_stripes = progress.stripes.min(first.saturating_add(stripes_limit));
        for stripe in first..progress.done_stripes {
            // The array is let go after each stripe, so that whoever needs it alone waits for one only.
            progress.lost_sectors += self.rebuild_stripe(&self.array(), stripe)?;
        }
        let mut array = self.array_alone();
        // Before the mark is recorded, all it stands for must be durable: what was copied, and what it was
        // computed from, of which the newest part is in the journal.
        self.checkpoint_locked(&array)?;
        let stripes = array.layout.stripes();
        for drive in &mut array.drives {
            if drive.condition == DriveCondition::Rebuilding {
                drive.sync().context("flush a drive")?;
                if drive.rebuilt_below_stripe.load(Ordering::Acquire) >= stripes {
                    drive.condition = DriveCondition::Present;
                }
            }
        }
        array.look_whether_whole();
        self.write_record(&array)?;
        progress.is_complete = lowest_mark(&array).is_none();
        Ok(progress)
    }

    /// Fills the members of a stripe on replacements that have not reached it. Returns how many sectors could not be.
    fn rebuild_stripe(&self, array: &Array, stripe: u64) -> Result<u64, VolumeError> {
        let _alone = self.lock_stripe(stripe);
        let stripes = self.stripes(array);
        let waits = |drive: u16| {
            let drive = &array.drives[usize::from(drive)];
            drive.condition == DriveCondition::Rebuilding && !drive.serves(stripe)
        };
        let mut lost_sectors = 0;
        // A replacement is zero where nothing was written to it, as is a stripe that was never written.
        let is_allocated = stripes.is_allocated(stripe);
        for member in 0..array.layout.members() {
            let place = array.layout.place(stripe, member);
            if !is_allocated || !waits(place.drive) {
                continue;
            }
            lost_sectors += fill(&stripes, stripe, member, place)?;
        }
        for drive in array.drives.iter().filter(|drive| drive.condition == DriveCondition::Rebuilding) {
            // Only a mark that stands here moves: a drive replaced meanwhile starts from the beginning.
            let mark = &drive.rebuilt_below_stripe;
            let _ = mark.compare_exchange(stripe, stripe + 1, Ordering::AcqRel, Ordering::Acquire);
        }
        Ok(lost_sectors)
    }

    /// Reads the stripes `first..end`, checks every checksum and every parity, and repairs what it can, while others
    /// read and write. Adds what it finds to `report`.
    pub fn scrub(&self, first: u64, end: u64, report: &mut ScrubReport) -> Result<(), VolumeError> {
        let stripes = {
            let array = self.array();
            for drive in array.drives.iter().filter(|drive| drive.takes_writes()) {
                drive.forget_checksums().context("write a drive's checksums")?;
            }
            array.layout.stripes()
        };
        let repaired_before = report.repaired_sectors;
        for stripe in first..end.min(stripes) {
            // What it repairs is journalled as writes are.
            self.make_room()?;
            self.scrub_stripe(&self.array(), stripe, report)?;
        }
        // What is reported as repaired must not be found bad again after a power cut.
        if report.repaired_sectors > repaired_before { sync_drives(&self.array().drives) } else { Ok(()) }
    }

    fn scrub_stripe(&self, array: &Array, stripe: u64, report: &mut ScrubReport) -> Result<(), VolumeError> {
        let _alone = self.lock_stripe(stripe);
        let stripes = self.stripes(array);
        if !stripes.is_allocated(stripe) {
            return Ok(());
        }
        report.stripes_read += 1;
        let repaired_before = self.repaired_sectors.load(Ordering::Relaxed);
        let segment_bytes = array.layout.segment_bytes() as usize;
        let is_degraded = (0..array.layout.members()).any(|member| stripes.home(stripe, member).is_none());
        report.degraded_stripes += u64::from(is_degraded);
        let mut is_rewritten = false;
        let mut row = 0;
        while row < segment_bytes {
            let count = RUN_BYTES_LIMIT.min(segment_bytes - row);
            let mut members = vec![vec![0u8; count]; array.layout.members() as usize];
            let mut is_sound = !is_degraded;
            for (member, buffer) in members.iter_mut().enumerate() {
                let Some(place) = stripes.home(stripe, member as u32) else { continue };
                if stripes.read_rows(stripe, member as u32, row as u64, buffer).is_ok() {
                    continue;
                }
                is_sound = false;
                for index in 0..count / SECTOR_BYTES {
                    let within = row + index * SECTOR_BYTES;
                    let mut sector = [0; SECTOR_BYTES];
                    if stripes.read_rows(stripe, member as u32, within as u64, &mut sector).is_err() {
                        report.unrepairable_sectors += 1;
                        if report.unrepairable.len() < SCRUB_PLACES_LIMIT {
                            let offset_bytes = place.offset_bytes + within as u64;
                            report.unrepairable.push(SectorPlace { drive: place.drive, offset_bytes });
                        }
                    }
                }
            }
            if is_sound {
                is_rewritten |= self.make_redundancy_fit(array, stripe, row as u64, &members)?;
            }
            row += count;
        }
        report.parity_rewritten_stripes += u64::from(is_rewritten);
        // Exact, as long as the sectors repaired meanwhile by readers of other stripes are not counted twice:
        // they are repairs as well.
        report.repaired_sectors += self.repaired_sectors.load(Ordering::Relaxed) - repaired_before;
        Ok(())
    }

    /// Compares parity or copies with the data of a whole stripe; where they differ the data's checksums decide for the data.
    fn make_redundancy_fit(
        &self,
        array: &Array,
        stripe: u64,
        row: u64,
        members: &[Vec<u8>],
    ) -> Result<bool, VolumeError> {
        let data = array.layout.data_members() as usize;
        let mut expected = members.to_vec();
        match array.layout.redundancy() {
            // The tail is what readers see.
            Redundancy::Copies(copies) => {
                for column in expected.chunks_exact_mut(copies as usize) {
                    let (tail, others) = match column.split_last_mut() {
                        Some(split) => split,
                        None => continue,
                    };
                    others.iter_mut().for_each(|other| other.copy_from_slice(tail));
                }
            }
            Redundancy::Parity(1) => parity::recover(&mut expected, data, &[data]),
            Redundancy::Parity(_) => parity::recover(&mut expected, data, &[data, data + 1]),
        }
        let mut record = Record::images();
        for (member, (found, wanted)) in members.iter().zip(&expected).enumerate() {
            if found != wanted {
                let stripes = self.stripes(array);
                let homes = [stripes.home(stripe, member as u32), stripes.next_home(stripe, member as u32)];
                for place in homes.into_iter().flatten() {
                    record.push(place.drive, place.offset_bytes + row, wanted);
                }
            }
        }
        let differs = !record.is_empty();
        self.commit(array, record)?;
        Ok(differs)
    }

    /// Damages `sectors` sectors of a drive from `offset_bytes` of its data on, behind the checksums' back.
    pub fn corrupt_sectors(&self, drive: u16, offset_bytes: u64, sectors: u64) -> Result<(), VolumeError> {
        let array = self.array_alone();
        // What is still in the journal would be written over the damage.
        self.checkpoint_locked(&array)?;
        let target = array
            .drives
            .get(usize::from(drive))
            .ok_or(VolumeError::Drive { drive, problem: "there is no such drive" })?;
        let sector = SECTOR_BYTES as u64;
        let end = sectors.checked_mul(sector).and_then(|length| length.checked_add(offset_bytes));
        if !offset_bytes.is_multiple_of(sector) || end.is_none_or(|end| end > target.capacity_bytes) {
            return Err(VolumeError::Drive { drive, problem: "the sectors do not lie on it" });
        }
        for index in 0..sectors {
            target.corrupt(offset_bytes + index * sector).context("damage a drive")?;
        }
        Ok(())
    }
}

/// Reads or computes a member of a stripe and writes it to `target`. Returns how many sectors could not be computed; they
/// are made unreadable.
pub(crate) fn fill(
    stripes: &Stripes<'_>,
    stripe: u64,
    member: u32,
    target: Place,
) -> Result<u64, VolumeError> {
    let segment_bytes = stripes.array.layout.segment_bytes() as usize;
    let mut buffer = vec![0; segment_bytes.min(RUN_BYTES_LIMIT)];
    let drive = stripes.drive(target);
    let mut lost_sectors = 0;
    let mut row = 0;
    while row < segment_bytes {
        let count = buffer.len().min(segment_bytes - row);
        let run = &mut buffer[..count];
        let offset = target.offset_bytes + row as u64;
        if stripes.read_rows(stripe, member, row as u64, run).is_ok() {
            drive.write(offset, run).context("write to a replacement")?;
        } else {
            for (index, sector) in run.chunks_exact_mut(SECTOR_BYTES).enumerate() {
                let within = (index * SECTOR_BYTES) as u64;
                if stripes.read_rows(stripe, member, row as u64 + within, sector).is_ok() {
                    drive.write(offset + within, sector).context("write to a replacement")?;
                } else {
                    drive.poison(offset + within).context("write to a replacement")?;
                    lost_sectors += 1;
                }
            }
        }
        row += count;
    }
    Ok(lost_sectors)
}

fn lowest_mark(array: &Array) -> Option<u64> {
    array
        .drives
        .iter()
        .filter(|drive| drive.condition == DriveCondition::Rebuilding)
        .map(|drive| drive.rebuilt_below_stripe.load(Ordering::Acquire))
        .min()
}
