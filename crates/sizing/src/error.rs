//! Questions that cannot be answered.

use campaign::CampaignError;
use diagnostic::Diagnostic;
use import::ImportError;
use plan::PlanError;
use std::borrow::Cow;
use store::StoreError;

/// Most devices that a hint names.
const DEVICES_NAMED: usize = 16;

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

    /// A device that an output does not have; the hint names some of those that it has.
    pub(crate) fn no_device<'a>(
        name: &str,
        device: &str,
        known: impl Iterator<Item = &'a String>,
    ) -> SizingError {
        let known: Vec<&str> = known.take(DEVICES_NAMED).map(String::as_str).collect();
        let message = format!("{name}: there is no device `{device}`");
        SizingError::question(message, format!("it has {}", known.join(", ")))
    }
}
