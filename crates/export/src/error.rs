//! Errors of an export.

use diagnostic::Diagnostic;
use std::borrow::Cow;
use store::StoreError;

/// Errors of an export.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The selection has no case that the format has.
    #[error("no case of the plan `{plan}` can be exported: {why}")]
    NoCases {
        /// The plan's name.
        plan: String,
        /// Reason why the first case is left out.
        why: String,
    },
    /// The file would have more jobs than fio takes.
    #[error(
        "the cases of the plan `{plan}` have {jobs} jobs together, and fio takes {limit} of one file at most"
    )]
    TooManyJobs {
        /// The plan's name.
        plan: String,
        /// Jobs of all cases together.
        jobs: u64,
        /// The most that fio takes.
        limit: u64,
    },
    /// The run cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The text cannot be written.
    #[error("cannot write the exported text")]
    Write(#[from] std::io::Error),
    /// The run has nothing to export.
    #[error("the run {run} has no case that ended")]
    NoResults {
        /// The run's directory.
        run: String,
    },
}

impl Diagnostic for ExportError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            ExportError::NoCases { plan, .. } => {
                Some(format!("`arraylab expand {plan}` lists its cases").into())
            }
            ExportError::TooManyJobs { .. } => {
                Some("`--out DIR` writes several files, `--stage NAME` chooses a stage".into())
            }
            ExportError::NoResults { run } => {
                Some(format!("`arraylab status {run}` says how far it is").into())
            }
            ExportError::Store(_) | ExportError::Write(_) => None,
        }
    }
}
