//! Planned events of a case that did not take place.

use crate::message::CaseEvent;
use findings::MISSED_EVENT;
use serde_json::json;

/// A planned event that did not take place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissedEvent {
    /// The action of the plan.
    pub action: String,
    /// The reason, as a warning for people.
    pub why: String,
}

impl MissedEvent {
    /// An event whose condition never held while its case ran.
    pub fn never_due(action: &str) -> MissedEvent {
        let why = format!("the event `{action}` did not take place: its condition has never held");
        MissedEvent { action: action.to_owned(), why }
    }

    /// Its record among the events of its case: what the case shows is no evidence of a target after the event.
    pub fn record(&self) -> CaseEvent {
        CaseEvent {
            case_at_ns: 0,
            kind: MISSED_EVENT.to_owned(),
            text: self.why.clone(),
            data: Some(json!({ "action": self.action })),
        }
    }
}
