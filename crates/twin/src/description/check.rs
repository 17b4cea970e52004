//! Checks of a description before a twin is built from it.

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
