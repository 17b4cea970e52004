//! Claims of which it is known why they are refuted: the publication contradicts them itself, or the twin's model lacks
//! what makes them.

use plan::claim::{Claim, Reason};
use serde::Serialize;

/// Known reason for a refuted claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Known {
    /// Of what kind the reason is.
    pub reason: Reason,
    /// The reason.
    pub says: String,
}

impl Known {
    /// The kind of the reason in words.
    pub(super) fn words(&self) -> &'static str {
        match self.reason {
            Reason::PublishedInconsistency => "published inconsistency",
            Reason::LimitOfTheModel => "limit of the model",
        }
    }
}

/// Returns the reason why a claim is refuted on a run, where that is known.
pub(super) fn reason(claim: &Claim, is_of_twin: bool) -> Option<Known> {
    let (reason, says) = claim.known.clone()?;
    (is_of_twin || reason == Reason::PublishedInconsistency).then_some(Known { reason, says })
}
