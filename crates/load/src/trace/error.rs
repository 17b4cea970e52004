//! Trace errors.

use diagnostic::Diagnostic;
use std::borrow::Cow;

/// A trace that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The text is not what the format says.
    #[error("{source_name}:{line}:{column}: {message}")]
    Text {
        /// The file's name.
        source_name: String,
        /// Line, from 1.
        line: u64,
        /// Column in bytes, from 1.
        column: usize,
        /// Error in the text.
        message: String,
        /// Suggested remedy.
        hint: String,
    },
    /// The file cannot be read.
    #[error("{source_name}: cannot be read")]
    Io {
        /// The file's name.
        source_name: String,
        /// Cause.
        source: std::io::Error,
    },
}

impl Diagnostic for TraceError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            TraceError::Text { hint, .. } => Some(hint.into()),
            TraceError::Io { .. } => None,
        }
    }
}

impl TraceError {
    pub(super) fn at(source_name: &str, line: u64, column: usize, message: &str, hint: &str) -> TraceError {
        TraceError::Text {
            source_name: source_name.to_owned(),
            line,
            column,
            message: message.to_owned(),
            hint: hint.to_owned(),
        }
    }
}
