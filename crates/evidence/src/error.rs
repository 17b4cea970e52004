//! Evidence errors.

use diagnostic::Diagnostic;
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

/// A bundle that cannot be written, or a file that is none.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// The run cannot be read.
    #[error(transparent)]
    Store(#[from] store::StoreError),
    /// The report cannot be made.
    #[error(transparent)]
    Report(#[from] report::ReportError),
    /// A file cannot be read or written.
    #[error("cannot {action} {}", .path.display())]
    Io {
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason of the system.
        source: io::Error,
    },
    /// A member is larger than any bundle may have.
    #[error("{member} has {size}, and a member of a bundle at most {limit}")]
    TooLarge {
        /// Its name.
        member: String,
        /// Its size.
        size: String,
        /// The limit.
        limit: String,
    },
    /// The file is no bundle.
    #[error("{} is no bundle: {because}", .path.display())]
    NoBundle {
        /// The file.
        path: PathBuf,
        /// The reason.
        because: String,
    },
}

impl Diagnostic for EvidenceError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            EvidenceError::TooLarge { .. } => Some("bundle a run of fewer cases".into()),
            EvidenceError::NoBundle { .. } => Some("name a file that `arraylab bundle RUN` wrote".into()),
            EvidenceError::Store(_) | EvidenceError::Report(_) | EvidenceError::Io { .. } => None,
        }
    }
}

pub(crate) fn io_error(action: &'static str, path: &Path, source: io::Error) -> EvidenceError {
    EvidenceError::Io { action, path: path.to_owned(), source }
}
