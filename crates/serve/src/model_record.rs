//! Record of the model: what was changed about it while the array was served, its settings and the faults of its parts.

use crate::array::ServedArray;
use crate::array_settings::is_of_model;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Instant;
use twin::Faults;
use volume::Volume;

/// Under these they are kept.
pub(crate) const MODEL_SETTINGS: &str = "model_settings";
pub(crate) const MODEL_FAULTS: &str = "model_faults";

/// Settings that were made while the array was served.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct MadeSettings {
    pub settings: Map<String, Value>,
    /// Words of the server's command line about each then, if any.
    pub given: Map<String, Value>,
}

/// Faults of the model, and of how many losses of each drive it was told by then.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ModelFaults {
    pub faults: Faults,
    pub losses: Vec<u32>,
}

/// Moment at which the faults were looked at and written last, and what was written.
#[derive(Debug, Default)]
pub(crate) struct FaultsWritten {
    pub looked_at: Option<Instant>,
    pub written_at: Option<Instant>,
    pub written: ModelFaults,
}

/// Reads what is kept under a key; nothing where it cannot be read.
pub(crate) fn read<T: Default + for<'a> Deserialize<'a>>(volume: &Volume, key: &str) -> T {
    let found = volume.kept(key).and_then(|value| serde_json::from_value(value).ok());
    found.unwrap_or_default()
}

/// Settings of the model as they were left, beside those that the command line gives. What the command line says
/// otherwise than when a setting was made counts.
pub(crate) fn settings_left(volume: &Volume, array: &ServedArray) -> Map<String, Value> {
    let MadeSettings { settings, given } = read(volume, MODEL_SETTINGS);
    let description = array.twin.as_ref().map(|twin| &twin.description);
    let counts = |key: &str| {
        description.is_some_and(|description| is_of_model(description, key))
            && given.get(key) == array.settings.get(key)
    };
    settings.into_iter().filter(|(key, _)| counts(key)).collect()
}

/// Faults of the model as they were left, of an array whose drives `lost` are lost: one that is there again has been replaced
/// meanwhile.
pub(crate) fn faults_left(volume: &Volume, lost: &[Value]) -> ModelFaults {
    let mut left: ModelFaults = read(volume, MODEL_FAULTS);
    left.faults.forget_replaced(|place| lost.contains(&Value::from(place)));
    left
}
