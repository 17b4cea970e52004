//! What can be set on a twin: array settings of the plans, and its mechanisms, each of which can be switched off
//! so that a reader sees what causes what. Each kind of array has its own table.

use serde_json::Value;

use crate::TwinError;

/// A part that a value names by its number, of so many.
pub(crate) fn numbered(value: &Value, count: u32) -> Option<u32> {
    value.as_u64().filter(|&number| number < u64::from(count)).map(|number| number as u32)
}

/// One thing that can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Its key in a plan or after `twin:NAME,`.
    pub name: &'static str,
    /// The values that it takes.
    pub takes: &'static str,
    /// What it does.
    pub says: &'static str,
}

impl Setting {
    /// A mechanism that is on unless switched off.
    pub(crate) const fn switch(name: &'static str, says: &'static str) -> Setting {
        Setting { name, takes: "on or off", says }
    }
}

/// Reads `on` or `off`.
pub(crate) fn on_or_off(name: &str, value: &Value) -> Result<bool, TwinError> {
    match value {
        Value::String(text) if text == "on" => Ok(true),
        Value::String(text) if text == "off" => Ok(false),
        // YAML 1.1 readers turn `on` and `off` into these.
        Value::Bool(switch) => Ok(*switch),
        other => Err(bad(name, other, "on or off")),
    }
}

/// A value that a setting cannot take.
pub(crate) fn bad(name: &str, value: &Value, takes: &str) -> TwinError {
    TwinError::BadSetting { name: name.to_owned(), value: value.to_string(), allowed: takes.to_owned() }
}

/// A setting that a table does not have.
pub(crate) fn unknown(name: &str, known: &[Setting]) -> TwinError {
    let known: Vec<_> = known.iter().map(|setting| setting.name).collect();
    TwinError::UnknownSetting { name: name.to_owned(), known: known.join(", ") }
}
