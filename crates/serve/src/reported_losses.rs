//! Drives that the bytes have lost, and that the model loses them as well: whether somebody said so or the array found them
//! broken by itself.

use crate::control::Controlled;
use crate::live::LiveArray;
use crate::replicated::drive_name;
use driver::Settings;
use serde_json::Value;
use std::sync::{Mutex, PoisonError};
use volume::DriveStatus;

/// Losses that the model was told of.
#[derive(Debug)]
pub(crate) struct ReportedLosses {
    /// By drive: how often its place has lost a drive.
    by_drive: Mutex<Vec<u32>>,
}

impl ReportedLosses {
    /// Of a model that is new: it has lost nothing. What was lost and replaced before is nothing to tell of.
    pub(crate) fn none(live: &LiveArray) -> ReportedLosses {
        let drives = live.volume().map_or_else(Vec::new, |volume| volume.status().drives);
        ReportedLosses { by_drive: Mutex::new(drives.iter().map(|drive| drive.generation).collect()) }
    }
}

/// How often a drive of this place was lost: each replacement followed a loss.
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
    /// The model loses the drives that the bytes have lost since it was last told.
    pub(crate) fn tell_of_losses(&self) {
        let Some(volume) = self.live.volume().filter(|_| self.pacer.is_some()) else { return };
        let mut reported = self.told_losses.by_drive.lock().unwrap_or_else(PoisonError::into_inner);
        for (drive, reported) in volume.status().drives.iter().zip(reported.iter_mut()) {
            if losses(drive) > *reported {
                *reported = losses(drive);
                self.tell_model_of("drive-failure", drive.drive);
            }
        }
    }

    /// Something happens to a drive of the model as well, if its kind of array can: otherwise time goes on as if it had not.
    pub(crate) fn tell_model_of(&self, action: &'static str, drive: u16) {
        let Some(pacer) = &self.pacer else { return };
        let drive = model_drive(&self.live, drive);
        let arguments = Settings::from_iter([("drive".to_owned(), drive.clone())]);
        let requested = pacer.ask(move |paced| paced.model.act(paced.now_ns, action, &arguments));
        if let Ok(Err(problem)) | Err(problem) = requested {
            self.live.note(&format!("the time of `{action}` of drive {drive} is not modelled: {problem}"));
        }
    }
}
