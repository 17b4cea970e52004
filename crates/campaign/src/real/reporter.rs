//! Messages of a case to the coordinator, and the reasons why a case stops.

use crate::message::{CaseEvent, Message};
use diagnostic::{Diagnostic, full_text};
use serde_json::Value;
use std::sync::mpsc::SyncSender;

/// Reason why a case ends without a measurement, or with a bad one.
#[derive(Debug)]
pub(crate) enum CaseStop {
    /// The target or the engine failed.
    Failed(String),
    /// The settings cannot be made.
    NotSettable(String),
    /// The array refuses its settings.
    Refused(String),
    /// Nothing after it can be measured either.
    GaveUp(String),
    /// The run is to stop.
    Stopped,
}

impl CaseStop {
    /// The target or the engine failed with an error.
    pub fn failed(error: &dyn Diagnostic) -> CaseStop {
        CaseStop::Failed(full_text(error))
    }

    /// An error after which nothing can be measured.
    pub fn gave_up(error: &dyn Diagnostic) -> CaseStop {
        CaseStop::GaveUp(full_text(error))
    }
}

/// A case's way to the thread that keeps the run.
#[derive(Debug)]
pub(crate) struct Reporter<'a> {
    pub case_index: u32,
    pub tx: &'a SyncSender<Message>,
}

impl Reporter<'_> {
    /// The coordinator receives until every worker has hung up.
    pub fn send(&self, message: Message) {
        let _ = self.tx.send(message);
    }

    pub fn waiting(&self, text: &str) {
        self.send(Message::Waiting { case_index: self.case_index, text: text.to_owned() });
    }

    pub fn happened(&self, case_at_ns: u64, kind: &str, text: &str, data: Option<Value>) {
        let event = CaseEvent { case_at_ns, kind: kind.to_owned(), text: text.to_owned(), data };
        self.send(Message::Happened { case_index: self.case_index, event });
    }

    pub fn sender(&self) -> &SyncSender<Message> {
        self.tx
    }
}
