//! Questions that cannot be answered.

use campaign::CampaignError;
use diagnostic::Diagnostic;
use import::ImportError;
use plan::PlanError;
use std::borrow::Cow;
use store::StoreError;

/// Question that cannot be answered, or a twin that failed.
#[derive(Debug, thiserror::Error)]
pub enum SizingError {
    /// The plan, the array or a value of either cannot be used.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The twin cannot be built, or the load cannot be issued.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// The job file cannot be read.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The run directory cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The question is invalid.
    #[error("{message}")]
    Question {
        /// The obstacle.
        message: String,
        /// The way out.
        hint: String,
    },
}

impl Diagnostic for SizingError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            SizingError::Plan(error) => error.hint(),
            SizingError::Campaign(error) => error.hint(),
            SizingError::Import(error) => error.hint(),
            SizingError::Store(_) => None,
            SizingError::Question { hint, .. } => Some(hint.into()),
        }
    }
}

impl SizingError {
    pub(crate) fn question(message: impl Into<String>, hint: impl Into<String>) -> SizingError {
        SizingError::Question { message: message.into(), hint: hint.into() }
    }
}
