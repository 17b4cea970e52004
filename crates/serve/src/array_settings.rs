//! Settings of a served array: those of its model, their types, and refusals.

use crate::ServeError;
use serde_json::Value;
use twin::{ArrayDescription, Twin};

/// Chance acts on few parts of an array, and the same in every server.
pub(crate) const MODEL_SEED: u64 = 1;

/// Returns whether a setting is one of the array's model.
pub(crate) fn is_of_model(description: &ArrayDescription, key: &str) -> bool {
    Twin::settings(description).iter().any(|setting| setting.name == key)
}

/// A setting's value as plans type it; switches of a model are texts.
pub(crate) fn typed(name: &str, text: &str) -> Value {
    plan::setting(name).and_then(|setting| setting.parse(text).ok()).unwrap_or_else(|| Value::from(text))
}

pub(crate) fn refused(problem: String) -> ServeError {
    ServeError::Array {
        problem,
        hint: "settings of a served array: raid, layout, disks, segment, capacity (bytes of each drive), thin_unit and thin_size (thin volumes), and those of its model",
    }
}

pub(crate) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
