//! Drive losses of the bytes, passed on to the model: those that a client asked for and those that the array found by itself.

use crate::control::Controlled;
use crate::live::LiveArray;
use crate::replicated::drive_name;
use diagnostic::text_with_causes;
use driver::Settings;
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
fn losses(drive: &DriveStatus) -> u32 {
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
    let system = live.array.twin.as_ref().and_then(|twin| twin.description.replicated.as_ref());
    system.map_or_else(|| Value::from(drive), |system| Value::from(drive_name(system, drive)))
}

impl Controlled {
    /// Reports the losses since the last call to the model.
    pub(crate) fn report_losses(&self) {
        let Some(volume) = self.live.volume().filter(|_| self.pacer.is_some()) else { return };
        let mut reported = self.reported_losses.by_drive();
        for (drive, reported) in volume.status().drives.iter().zip(reported.iter_mut()) {
            if losses(drive) > *reported {
                *reported = losses(drive);
                self.pass_to_model("drive-failure", drive.drive);
            }
        }
    }

    /// Passes an event of a drive to the model. Where the model's kind of array cannot have it, its time goes on unchanged.
    pub(crate) fn pass_to_model(&self, action: &'static str, drive: u16) {
        let Some(pacer) = &self.pacer else { return };
        let drive = model_drive(&self.live, drive);
        let arguments = Settings::from_iter([("drive".to_owned(), drive.clone())]);
        let requested = pacer.ask(move |paced| paced.model.act(paced.now_ns, action, &arguments));
        if let Ok(Err(problem)) | Err(problem) = requested {
            self.live.note(&format!(
                "the time of `{action}` of drive {drive} is not modelled: {}",
                text_with_causes(&problem)
            ));
        }
    }
}
