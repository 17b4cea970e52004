//! Updates of the model's record: settings when they are made, faults as they change.

use crate::array_settings::text_of;
use crate::controlled::{Controlled, failed, refuse};
use crate::model_record::{FaultsWritten, MODEL_FAULTS, MODEL_SETTINGS, MadeSettings, ModelFaults, read};
use driver::protocol::{ErrorKind, ResponseError};
use serde_json::{Map, Value, json};
use std::sync::PoisonError;
use std::time::{Duration, Instant};
use volume::Volume;

/// Period at which the model is asked for its faults.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Period at which the record says how far a rebuild has come: writing it stops I/O for a moment.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);

impl Controlled {
    /// Settings of the model that were made just now last beyond the next start.
    pub(crate) fn write_settings(&self, made: &Map<String, Value>) -> Result<(), ResponseError> {
        let volume = self.live.volume().ok_or_else(|| refuse(ErrorKind::Failed, "the power is off"))?;
        let own = &self.live.array.settings;
        let mut left: MadeSettings = read(&volume, MODEL_SETTINGS);
        for (key, value) in made {
            left.given.remove(key);
            if own.get(key).is_some_and(|own| text_of(own) == text_of(value)) {
                left.settings.remove(key);
                continue;
            }
            left.settings.insert(key.clone(), value.clone());
            if let Some(given) = own.get(key) {
                left.given.insert(key.clone(), given.clone());
            }
        }
        let value = if left.settings.is_empty() { Value::Null } else { json!(left) };
        volume.keep(MODEL_SETTINGS, value).map_err(|error| failed(&error))
    }

    /// Writes the model's faults into the record, where they are others than it says: how far something has come only now
    /// and then.
    pub(crate) fn write_faults_now_and_then(&self, volume: &Volume) {
        let is_recent = |at: Option<Instant>, every: Duration| at.is_some_and(|at| at.elapsed() < every);
        let mut written = self.faults_written.lock().unwrap_or_else(PoisonError::into_inner);
        if is_recent(written.looked_at, LOOK_EVERY) {
            return;
        }
        written.looked_at = Some(Instant::now());
        let Some(faults) = self.model_faults() else { return };
        let is_same = written.written.losses == faults.losses
            && written.written.faults.are_at_the_step_of(&faults.faults);
        if !(is_same && is_recent(written.written_at, PROGRESS_EVERY)) {
            self.write(volume, &mut written, faults);
        }
    }

    /// Writes the model's faults into the record.
    pub(crate) fn write_faults(&self, volume: &Volume) {
        let mut written = self.faults_written.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(faults) = self.model_faults() {
            self.write(volume, &mut written, faults);
        }
    }

    fn write(&self, volume: &Volume, written: &mut FaultsWritten, faults: ModelFaults) {
        let value = if faults.faults.is_empty() { Value::Null } else { json!(faults) };
        // What is not written is written at the next look.
        match volume.keep(MODEL_FAULTS, value) {
            Ok(()) => (written.written, written.written_at) = (faults, Some(Instant::now())),
            Err(error) => self.live.note(&crate::live::export_error(&error).message),
        }
    }

    fn model_faults(&self) -> Option<ModelFaults> {
        let pacer = self.pacer.as_ref()?;
        // While they are held the model is told of no further losses.
        let losses = self.reported_losses.by_drive();
        let faults = pacer.ask(|paced| paced.model.faults()).ok()?;
        Some(ModelFaults { faults, losses: losses.clone() })
    }
}
