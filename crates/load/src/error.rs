//! Refusal of a load that cannot be issued.

/// A load that cannot be issued.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SpecError {
    /// A setting out of its range.
    #[error("`{setting}` is {value}, but must be {allowed}")]
    OutOfRange {
        /// fio's name of the setting.
        setting: &'static str,
        /// Value that was given.
        value: String,
        /// Values that are allowed.
        allowed: String,
    },
}

/// Refusal of a setting's value, with the values that are allowed.
#[expect(clippy::needless_pass_by_value, reason = "callers hand over literals and formatted text alike")]
pub(crate) fn out_of_range(
    setting: &'static str,
    value: impl ToString,
    allowed: impl Into<String>,
) -> SpecError {
    SpecError::OutOfRange { setting, value: value.to_string(), allowed: allowed.into() }
}
