//! Questions that cannot be answered.

use campaign::CampaignError;
use import::ImportError;
use plan::PlanError;

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
    /// The question is invalid.
    #[error("{message}\nhint: {hint}")]
    Question {
        /// The obstacle.
        message: String,
        /// The way out.
        hint: String,
    },
}

impl SizingError {
    pub(crate) fn question(message: impl Into<String>, hint: impl Into<String>) -> SizingError {
        SizingError::Question { message: message.into(), hint: hint.into() }
    }
}
