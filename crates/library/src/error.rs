//! Library errors, each with its hint.

use diagnostic::Diagnostic;
use std::borrow::Cow;

/// Wrong use of the library.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// No entry has this identifier.
    #[error("the library has no entry `{id}`")]
    UnknownEntry {
        /// As it was given.
        id: String,
        /// The nearest one, or all.
        hint: String,
    },
    /// A condition that is not `KEY=VALUE`.
    #[error("`{text}` is no condition")]
    NoCondition {
        /// As it was given.
        text: String,
        /// All keys.
        keys: String,
    },
    /// A key that entries and rows do not have.
    #[error("entries and rows have no `{key}`")]
    UnknownKey {
        /// As it was given.
        key: String,
        /// The nearest one, as a sentence with a blank behind, or nothing.
        hint: String,
        /// All keys.
        keys: String,
    },
    /// A value that its key cannot have.
    #[error("`{key}` is a number, and `{value}` is none")]
    NoNumber {
        /// The key.
        key: String,
        /// As it was given.
        value: String,
        /// A value that it can have.
        example: &'static str,
    },
    /// A file of the library that cannot be read: a mistake in the build.
    #[error(transparent)]
    File(#[from] plan::PlanError),
}

impl Diagnostic for LibraryError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        Some(match self {
            LibraryError::UnknownEntry { hint, .. } => hint.into(),
            LibraryError::NoCondition { keys, .. } => {
                format!("write KEY=VALUE, for example bs=4k; keys are {keys}").into()
            }
            LibraryError::UnknownKey { hint, keys, .. } => format!("{hint}keys are {keys}").into(),
            LibraryError::NoNumber { key, example, .. } => format!("for example {key}={example}").into(),
            LibraryError::File(error) => return error.hint(),
        })
    }
}
