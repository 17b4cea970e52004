//! Checks of a description before a twin is built from it.

use super::Parameter;

/// The most hosts, links or controllers of an array.
pub(crate) const PART_LIMIT: u32 = 1024;
/// The most drives of an array.
pub(crate) const DRIVE_LIMIT: u32 = 4096;
/// The largest drive.
pub(crate) const CAPACITY_LIMIT_BYTES: u64 = 1 << 50;
/// The longest time of a single step, in microseconds: one second.
pub(crate) const STEP_LIMIT_US: f64 = 1e6;
/// The fastest path, in 10^6 bytes a second.
const RATE_LIMIT_MB_PER_S: f64 = 1e6;

/// A description that no array can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}`: {problem}; {hint}")]
pub struct DescriptionError {
    /// The key, from the top of the description, as in `drives.count`.
    pub path: String,
    /// Description of what is wrong with its value.
    pub problem: String,
    /// Remedy.
    pub hint: String,
}

impl DescriptionError {
    /// The same under a key further up.
    pub(crate) fn under(mut self, key: &str) -> Self {
        self.path = format!("{key}.{}", self.path);
        self
    }
}

/// Refuses a key's value.
pub(crate) fn refuse<T>(path: &str, problem: String, hint: impl Into<String>) -> Result<T, DescriptionError> {
    Err(DescriptionError { path: path.to_owned(), problem, hint: hint.into() })
}

/// Refuses a whole number out of its range.
pub(crate) fn whole<T>(
    path: &str,
    parameter: &Parameter<T>,
    least: u64,
    most: u64,
) -> Result<(), DescriptionError>
where
    T: Copy + Into<u64>,
{
    let value = parameter.get().into();
    if (least..=most).contains(&value) {
        return Ok(());
    }
    refuse(path, format!("{value} is out of range"), format!("it must be {least} to {most}"))
}

/// Refuses a number out of its range.
pub(crate) fn within(
    path: &str,
    parameter: &Parameter<f64>,
    least: f64,
    most: f64,
) -> Result<(), DescriptionError> {
    let value = parameter.get();
    // Written so that a value that is no number fails too.
    if value >= least && value <= most {
        return Ok(());
    }
    refuse(path, format!("{value} is out of range"), format!("it must be {least} to {most}"))
}

/// Refuses a rate that no path has.
pub(crate) fn rate(path: &str, parameter: &Parameter<f64>) -> Result<(), DescriptionError> {
    within(path, parameter, 0.001, RATE_LIMIT_MB_PER_S)
}
