//! Array driver trait.

use crate::DriverError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Array settings of a case, by name, with the types of DESIGN's "Setting values".
pub type Settings = Map<String, Value>;

/// Sets an array. A driver either makes *all* the settings it is given, or says that it did not: an array that was
/// left unchanged is never reported under a setting that was not made. It is used by the thread that measures.
pub trait ArrayDriver: Send {
    /// Makes these settings. Nothing may hold the array's devices meanwhile; they may be deleted and made anew.
    fn set(&mut self, settings: &Settings) -> Result<SetOutcome, DriverError>;

    /// Returns the array's readiness for load. Polled until it is ready: [`crate::wait_until_ready`].
    fn ready(&mut self) -> Result<Readiness, DriverError>;

    /// Returns the array's own account of its state, for the run's record.
    fn status(&mut self) -> Result<Value, DriverError>;

    /// Makes something happen: an event of the plan, with its arguments.
    fn event(&mut self, name: &str, arguments: &Settings) -> Result<(), DriverError>;

    /// Puts away what it made, where the user asked for that, and says what has changed. Nothing may hold the array's devices, and
    /// no case follows.
    fn finish(&mut self) -> Result<Vec<Change>, DriverError> {
        Ok(Vec::new())
    }
}

/// Result of an attempt to make settings.
#[derive(Debug, Clone, PartialEq)]
pub enum SetOutcome {
    /// All settings were made.
    Made {
        /// The devices that were made for them, if the array's devices changed. The consent to the driver covers
        /// them, and no other device.
        devices: Vec<CreatedDevice>,
        /// Settings that were changed, for the report.
        changes: Vec<Change>,
        /// Notices to the user on how they were made, such as a size that the array rounds.
        notices: Vec<String>,
    },
    /// The array will not have them: the case is `refused`, the run goes on.
    Refused {
        /// Reason in the array's words.
        reason: String,
    },
}

/// A device that a driver made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreatedDevice {
    /// Where it is, for example `/dev/sdb`.
    pub path: PathBuf,
    /// What identifies it wherever it is: a WWN, an array's UUID, a volume's UUID.
    pub id: String,
}

/// A setting of the array or of the host that was changed or put back. The fields are those of a run's record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Scope of the setting: `array` or `host`.
    pub scope: &'static str,
    /// Its name or path.
    pub name: String,
    /// Its value before, where it could be read.
    pub before: Option<String>,
    /// Its value after.
    pub after: Option<String>,
}

impl Change {
    /// A changed setting of the array.
    pub fn array(name: impl Into<String>, before: Option<String>, after: Option<String>) -> Self {
        Change { scope: "array", name: name.into(), before, after }
    }

    /// A changed setting of the host.
    pub fn host(name: impl Into<String>, before: Option<String>, after: Option<String>) -> Self {
        Change { scope: "host", name: name.into(), before, after }
    }
}

/// Readiness of an array for load.
#[derive(Debug, Clone, PartialEq)]
pub enum Readiness {
    /// The array is ready.
    Ready,
    /// The array is still at work.
    Busy(Progress),
}

/// Progress of an array's current work.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    /// Progress in percent, where the array reports one.
    pub percent: Option<f64>,
    /// Current activity of the array, for people.
    pub message: String,
}

/// A setting's value as people write it.
pub(crate) fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
