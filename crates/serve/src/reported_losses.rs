//! Drive losses of the bytes of which the model knows, and drives as the model names them.

use crate::chains::chains_of;
use crate::live::LiveArray;
use serde_json::Value;
use std::sync::{Mutex, MutexGuard, PoisonError};
use volume::{DriveCondition, DriveStatus};

/// Losses that were reported to the model.
#[derive(Debug)]
pub(crate) struct ReportedLosses {
    /// Losses of each drive slot, by drive.
    by_drive: Mutex<Vec<u32>>,
}

impl ReportedLosses {
    /// Losses of a new model that begins as another one was left, to which so many of each drive were reported. Drives that
    /// were lost and replaced before, and hold everything, are not reported.
    pub(crate) fn left(live: &LiveArray, reported: &[u32]) -> ReportedLosses {
        let drives = live.volume().map_or_else(Vec::new, |volume| volume.status().drives);
        let by_drive = drives.iter().enumerate().map(|(index, drive)| match reported.get(index) {
            Some(&reported) if drive.condition != DriveCondition::Present => reported,
            _ => drive.generation,
        });
        ReportedLosses { by_drive: Mutex::new(by_drive.collect()) }
    }

    /// Losses that were reported, by drive.
    pub(crate) fn by_drive(&self) -> MutexGuard<'_, Vec<u32>> {
        self.by_drive.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns how often a drive of this place was lost: each replacement followed a loss.
pub(crate) fn losses(drive: &DriveStatus) -> u32 {
    drive.generation + u32::from(drive.condition.is_lost())
}

/// The drives that are lost, as the model names them.
pub(crate) fn lost_drives(live: &LiveArray) -> Vec<Value> {
    let Some(volume) = live.volume() else { return Vec::new() };
    let drives = volume.status().drives.into_iter();
    drives.filter(|drive| drive.condition.is_lost()).map(|drive| model_drive(live, drive.drive)).collect()
}

/// A drive as the model names it.
pub(crate) fn model_drive(live: &LiveArray, drive: u16) -> Value {
    let name = chains_of(&live.array).and_then(|array| array.node_drive_name(drive.into()));
    name.map_or_else(|| Value::from(drive), Value::from)
}
