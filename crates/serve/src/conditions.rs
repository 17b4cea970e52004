//! Conditions of parts that outlast a stop of the server: stopped services and slow drives, kept in
//! the array's record.

use crate::controlled::{Controlled, failed, refuse};
use crate::event_names::{DRIVE_SLOW, SERVICE_START, SERVICE_STOP};
use crate::live::LiveArray;
use crate::reported_losses::model_drive;
use crate::stopped_services::{STOPPED_SERVICES, drives_behind, service_of, stopped_services};
use diagnostic::full_text;
use driver::Settings;
use driver::protocol::{ErrorKind, ResponseError};
use serde_json::{Map, Value, json};
use std::sync::PoisonError;
use volume::{MappedVolume, Volume};

/// Key under which slow drives are kept.
const SLOW_DRIVES: &str = "slow_drives";

/// Drives that are slow, and how often each had been replaced when it became so.
fn slow_drives(volume: &Volume) -> Map<String, Value> {
    volume.kept(SLOW_DRIVES).as_ref().and_then(Value::as_object).cloned().unwrap_or_default()
}

/// Returns how many serving replicas the objects of a volume have; null where the layout keeps none.
pub(crate) fn redundancy(volume: &Volume, live: &LiveArray, mapped: &MappedVolume) -> Value {
    if mapped.runs.is_empty() {
        return Value::Null;
    }
    let mut objects = vec![0; live.tolerance() as usize + 2];
    for run in &mapped.runs {
        let found = volume.replicas_of(run);
        if found.is_empty() {
            return Value::Null;
        }
        objects.iter_mut().zip(found).for_each(|(sum, count)| *sum += count);
    }
    let wanted = objects.len() - 1;
    let least = objects.iter().position(|&count: &u64| count > 0).unwrap_or(wanted);
    let state = match least {
        0 => "down",
        least if least < wanted => "degraded",
        _ => "whole",
    };
    let degraded: u64 = objects[..wanted].iter().sum();
    json!({"state": state, "wanted": wanted, "least": least, "degraded_objects": degraded, "down_objects": objects[0]})
}

impl Controlled {
    /// A service of a node stops or starts: the bytes behind it do without those drives, or catch up, and the model's time
    /// is that of the drives that are left.
    pub(crate) fn run_service(&self, service: &str, runs: bool) -> Result<Value, ResponseError> {
        let array = &self.live.array;
        let found =
            service_of(array, service).map_err(|problem| refuse(ErrorKind::Refused, full_text(&problem)))?;
        let _alone = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let volume = self.live.volume().ok_or_else(|| refuse(ErrorKind::Failed, "the power is off"))?;
        let before = stopped_services(&volume);
        let mut stopped = before.clone();
        if runs {
            stopped.remove(&found.service);
        } else {
            stopped.insert(found.service.clone());
        }
        volume.set_stopped(&drives_behind(array, &stopped)).map_err(|error| failed(&error))?;
        let kept = if stopped.is_empty() { Value::Null } else { json!(stopped) };
        if let Err(error) = volume.keep(STOPPED_SERVICES, kept) {
            // If that fails as well, the next start does as the record says.
            let _ = volume.set_stopped(&drives_behind(array, &before));
            return Err(failed(&error));
        }
        self.live.wake();
        if self.pacer.is_none() {
            return Ok(json!({}));
        }
        let arguments = Settings::from_iter([("service".to_owned(), Value::from(found.service))]);
        self.act(if runs { SERVICE_START } else { SERVICE_STOP }, &arguments)
    }

    /// A drive takes so many times as long from now on.
    pub(crate) fn slow(&self, drive: u16, factor: f64) -> Result<Value, ResponseError> {
        self.slow_model(drive, factor)?;
        let volume = self.live.volume().ok_or_else(|| refuse(ErrorKind::Failed, "the power is off"))?;
        let _alone = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut slow = slow_drives(&volume);
        slow.remove(&drive.to_string());
        let status = volume.status();
        if let Some(found) = status.drives.get(usize::from(drive)).filter(|_| factor != 1.0) {
            slow.insert(drive.to_string(), json!({"factor": factor, "generation": found.generation}));
        }
        let kept = if slow.is_empty() { Value::Null } else { Value::Object(slow) };
        volume.keep(SLOW_DRIVES, kept).map_err(|error| failed(&error))?;
        Ok(json!({}))
    }

    fn slow_model(&self, drive: u16, factor: f64) -> Result<Value, ResponseError> {
        let arguments =
            [("drive".to_owned(), model_drive(&self.live, drive)), ("factor".to_owned(), factor.into())];
        self.act(DRIVE_SLOW, &Settings::from_iter(arguments))
    }

    /// The model learns what had happened to the array before the start.
    pub(crate) fn restore_model_conditions(&self) {
        self.report_losses();
        let Some(volume) = self.live.volume().filter(|_| self.pacer.is_some()) else { return };
        let drives = volume.status().drives;
        for (drive, slow) in slow_drives(&volume) {
            let known = drive.parse().ok().and_then(|drive: u16| drives.get(usize::from(drive)));
            // One that was replaced since is as described.
            let known =
                known.filter(|known| slow["generation"] == known.generation && !known.condition.is_lost());
            if let (Some(known), Some(factor)) = (known, slow["factor"].as_f64()) {
                self.note_refusal(self.slow_model(known.drive, factor));
            }
        }
        for service in stopped_services(&volume) {
            let arguments = Settings::from_iter([("service".to_owned(), Value::from(service))]);
            self.note_refusal(self.act(SERVICE_STOP, &arguments));
        }
    }

    fn note_refusal(&self, outcome: Result<Value, ResponseError>) {
        if let Err(error) = outcome {
            self.live.note(&error.message);
        }
    }
}
