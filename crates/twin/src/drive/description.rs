//! Errors of drive descriptions.

/// A value of a description that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {reason}")]
pub struct DescriptionError {
    /// The key, as written in the array's YAML.
    pub key: &'static str,
    /// Bound that it breaks, and its value.
    pub reason: String,
}

/// An error at `key` unless `holds`.
pub(crate) fn require(
    holds: bool,
    key: &'static str,
    reason: impl FnOnce() -> String,
) -> Result<(), DescriptionError> {
    if holds { Ok(()) } else { Err(DescriptionError { key, reason: reason() }) }
}
