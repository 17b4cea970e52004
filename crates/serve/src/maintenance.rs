//! Background tasks of a served array: it fails drives that refuse writes, puts spares in, rebuilds or
//! migrates, and scrubs on request. In small steps, so that clients are not held up.

use crate::controlled::Controlled;
use crate::live::LiveArray;
use layout::Redundancy;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use volume::{DriveCondition, RebuildProgress, ResyncProgress, Volume, VolumeError};

/// A step is made longer or shorter to take about this long.
const STEP_TARGET: Duration = Duration::from_millis(50);
const STEP_STRIPES_LIMIT: u64 = 1 << 16;
/// Period at which the array looks for something to do when nobody wakes it.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// After an error nothing is tried for so long.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(1);

/// Looks after the array until it is told to stop.
pub(crate) fn look_after(controlled: &Controlled, is_stopping: &AtomicBool) {
    let live = &*controlled.live;
    let mut upkeep =
        Maintenance { controlled, live, resync_stripes: 16, rebuild_stripes: 16, scrub_stripes: 16 };
    repeat(live, is_stopping, |volume| upkeep.step(volume));
}

/// Brings what was written to the drives, beside those who write, until it is told to stop.
pub(crate) fn destage(live: &LiveArray, is_stopping: &AtomicBool) {
    // It waits by itself for something to bring.
    repeat(live, is_stopping, |volume| volume.destage_for(LOOK_EVERY).map(|()| true));
}

/// Does one step after another; waits if there is no more to do, and after an error that no broken drive explains.
fn repeat(
    live: &LiveArray,
    is_stopping: &AtomicBool,
    mut step: impl FnMut(&Volume) -> Result<bool, VolumeError>,
) {
    while !is_stopping.load(Ordering::Acquire) {
        let Some(volume) = live.volume() else {
            live.wait(LOOK_EVERY);
            continue;
        };
        let broken_before = live.broken_drives();
        let pause = match step(&volume) {
            Ok(true) => None,
            Ok(false) => Some(LOOK_EVERY),
            Err(VolumeError::Io { .. }) if live.has_fewer_drives(&volume, broken_before) => None,
            Err(error) => {
                live.note(&crate::live::export_error(&error).message);
                Some(PAUSE_AFTER_ERROR)
            }
        };
        // Who cuts the power waits until nobody uses the volume.
        drop(volume);
        if let Some(pause) = pause {
            live.wait(pause);
        }
    }
}

struct Maintenance<'a> {
    controlled: &'a Controlled,
    live: &'a LiveArray,
    resync_stripes: u64,
    rebuild_stripes: u64,
    scrub_stripes: u64,
}

impl Maintenance<'_> {
    /// One step; `true` if there is more to do.
    fn step(&mut self, volume: &Volume) -> Result<bool, VolumeError> {
        self.live.fail_broken_drives(volume);
        // Whoever found a drive broken may have been a client's request.
        self.controlled.report_losses();
        self.controlled.write_faults_now_and_then(volume);
        self.put_spare_in(volume)?;
        let does_resync = self.resync(volume)?;
        let does_rebuild = self.rebuild(volume)?;
        let does_rehome = !does_rebuild && self.migrate(volume)?;
        let does_relocate = !does_rebuild && !does_rehome && volume.relocate_step(1)?;
        let does_scrub = self.scrub(volume)?;
        Ok(does_resync || does_rebuild || does_rehome || does_relocate || does_scrub)
    }

    /// A spare takes the place of a lost drive. Every replacement so far has used one up.
    fn put_spare_in(&self, volume: &Volume) -> Result<(), VolumeError> {
        if self.live.array.spares == 0 || self.live.tolerance() == 0 {
            return Ok(());
        }
        let status = volume.status();
        let used: u32 = status.drives.iter().map(|drive| drive.generation).sum();
        let lost = status.drives.iter().find(|drive| drive.condition.is_lost());
        match lost {
            Some(lost) if used < self.live.array.spares => volume.replace_drive(lost.drive),
            _ => Ok(()),
        }
    }

    /// Drives whose service has started again get what they have missed.
    fn resync(&mut self, volume: &Volume) -> Result<bool, VolumeError> {
        let drives = volume.status().drives;
        if !drives.iter().any(|drive| drive.condition == DriveCondition::CatchingUp) {
            return Ok(false);
        }
        let began = Instant::now();
        let progress = volume.resync_step(self.resync_stripes)?;
        adapt(&mut self.resync_stripes, began.elapsed());
        let mut background = self.live.background();
        let before = background.resync.filter(|before| !before.is_complete).unwrap_or_default();
        background.resync = Some(ResyncProgress {
            copied_stripes: before.copied_stripes + progress.copied_stripes,
            lost_sectors: before.lost_sectors + progress.lost_sectors,
            ..progress
        });
        Ok(progress.copied_stripes > 0 && !progress.is_complete)
    }

    fn rebuild(&mut self, volume: &Volume) -> Result<bool, VolumeError> {
        let is_needed =
            volume.status().drives.iter().any(|drive| drive.condition == DriveCondition::Rebuilding);
        if !is_needed {
            let mut background = self.live.background();
            if let Some(rebuild) = background.rebuild.as_mut().filter(|rebuild| !rebuild.is_complete) {
                // Its drive was lost, or the power.
                *rebuild = RebuildProgress { is_complete: true, ..*rebuild };
            }
            return Ok(false);
        }
        let began = Instant::now();
        let progress = volume.rebuild_step(self.rebuild_stripes)?;
        adapt(&mut self.rebuild_stripes, began.elapsed());
        let mut background = self.live.background();
        let lost_before = match &background.rebuild {
            Some(before) if !before.is_complete => before.lost_sectors,
            _ => 0,
        };
        background.rebuild =
            Some(RebuildProgress { lost_sectors: progress.lost_sectors + lost_before, ..progress });
        Ok(!progress.is_complete)
    }

    /// Pieces of lost drives go to preservation capacity.
    fn migrate(&self, volume: &Volume) -> Result<bool, VolumeError> {
        let is_table = self.live.array.spec.layout.groups().next().is_some();
        let is_lost = volume.status().drives.iter().any(|drive| drive.condition.is_lost());
        let has_redundancy = self.live.array.spec.layout.redundancy() != Redundancy::Copies(1);
        if !is_table || !is_lost || !has_redundancy {
            return Ok(false);
        }
        let progress = volume.migration_step(1)?;
        let moved = self.live.background().rehoming.map_or(0, |before| before.moved_pieces);
        self.live.background().rehoming =
            Some(volume::MigrationProgress { moved_pieces: moved + progress.moved_pieces, ..progress });
        Ok(progress.waiting_pieces > 0)
    }

    fn scrub(&mut self, volume: &Volume) -> Result<bool, VolumeError> {
        let (first, mut report) = match &self.live.background().scrub {
            Some(scrub) if scrub.is_running => (scrub.done_stripes, scrub.report.clone()),
            _ => return Ok(false),
        };
        let began = Instant::now();
        let outcome = volume.scrub(first, first + self.scrub_stripes, &mut report);
        let done = first + self.scrub_stripes;
        adapt(&mut self.scrub_stripes, began.elapsed());
        let stripes = self.live.array.spec.layout.stripes();
        let mut background = self.live.background();
        let Some(scrub) = background.scrub.as_mut() else { return Ok(false) };
        // Started anew meanwhile.
        if scrub.done_stripes != first {
            return outcome.map(|()| true);
        }
        scrub.report = report;
        outcome?;
        scrub.done_stripes = done.min(stripes);
        scrub.is_running = done < stripes;
        Ok(scrub.is_running)
    }
}

fn adapt(stripes: &mut u64, took: Duration) {
    if took < STEP_TARGET / 2 {
        *stripes = (*stripes * 2).min(STEP_STRIPES_LIMIT);
    } else if took > STEP_TARGET * 2 {
        *stripes = (*stripes / 2).max(1);
    }
}
