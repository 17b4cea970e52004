//! Differences between a report and its sources.

use std::fmt;

/// Reason why a number or a text of a report is not what its source holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// The source does not exist; the text names it.
    Missing(String),
    /// The source exists, and says something else.
    Different(String),
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Missing(source) => write!(f, "no {source}"),
            Mismatch::Different(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Mismatch {}
