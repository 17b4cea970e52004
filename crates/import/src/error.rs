//! Import errors.

use diagnostic::Diagnostic;
use std::borrow::Cow;
use std::path::PathBuf;

/// Errors of an import.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// More files than are read at once.
    #[error("{count} files are more than the {limit} that are imported at once")]
    TooMany {
        /// Number of files given.
        count: usize,
        /// Largest number of files that is read.
        limit: usize,
    },
    /// A file could not be read.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// A file over its limit.
    #[error("{} has more than the {limit_bytes} bytes that are read", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The limit.
        limit_bytes: u64,
    },
    /// Nothing that is known.
    #[error("{} is no file of a kind that is imported", path.display())]
    UnknownKind {
        /// The file.
        path: PathBuf,
    },
    /// A mistake at a place of a file.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// Error in the file.
        message: String,
        /// Suggested remedy.
        hint: Option<String>,
    },
    /// fio's output could not be read.
    #[error("{}", path.display())]
    FioReport {
        /// The file.
        path: PathBuf,
        /// Error in the report.
        source: fio::ReportError,
    },
    /// A log beside fio's output could not be read.
    #[error("{}", path.display())]
    FioLog {
        /// The log.
        path: PathBuf,
        /// Error in the log.
        source: fio::LogError,
    },
    /// The plan reader refuses the plan that was made: the file has a value over a limit of plans.
    #[error("{} asks for what no plan may", path.display())]
    Plan {
        /// The file.
        path: PathBuf,
        /// Error of the plan reader.
        source: Box<plan::PlanError>,
    },
    /// The run directory could not be written.
    #[error(transparent)]
    Store(#[from] store::StoreError),
}

impl Diagnostic for ImportError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            ImportError::TooMany { .. } => Some("import them in parts".into()),
            ImportError::UnknownKind { .. } => Some(
                "known are fio job files, fio's JSON output, vdbench parameter files, and vdbench's flatfile.html and totals.html"
                    .into(),
            ),
            ImportError::Invalid { hint, .. } => hint.as_deref().map(Cow::Borrowed),
            ImportError::Plan { source, .. } => source.hint(),
            ImportError::Io { .. }
            | ImportError::TooLong { .. }
            | ImportError::FioReport { .. }
            | ImportError::FioLog { .. }
            | ImportError::Store(_) => None,
        }
    }
}
