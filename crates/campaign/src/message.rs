//! Messages from workers to the coordinator.

use driver::Change;
use load::Sample;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::mpsc::SyncSender;
use std::time::Instant;
use store::{CaseOutcome, CaseStatus, HostTotals};

/// A counter of the host or of a twin's part, as a worker hands it over.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OwnedCounter {
    pub source: Cow<'static, str>,
    pub entity: String,
    pub name: String,
    pub value: f64,
}

/// Event on the target during a case.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CaseEvent {
    /// Time since the start of the case's load, in nanoseconds.
    pub case_at_ns: u64,
    pub kind: String,
    pub text: String,
    pub data: Option<Value>,
}

/// A worker's message. What belongs to a case comes in order, and before its end.
pub(crate) enum Message {
    /// An interval of one of a case's loads, with what was counted beside it.
    Sample {
        case_index: u32,
        load: String,
        sample: Box<Sample>,
        counters: Vec<OwnedCounter>,
        events: Vec<CaseEvent>,
    },
    /// An interval of one host's part of a load.
    HostSample { case_index: u32, host: String, load: String, sample: Box<Sample> },
    /// Totals of a case by host, before its end.
    HostTotals { case_index: u32, hosts: Vec<HostTotals> },
    /// Something happened now.
    Happened { case_index: u32, event: CaseEvent },
    /// The case's loads have begun, or ended: host counters in between are counted under load.
    Loaded { case_index: u32, is_loaded: bool, at: Instant },
    /// Progress of a case, 0 to 1.
    Progress { case_index: u32, share: f64 },
    /// Text for people on what a case waits for.
    Waiting { case_index: u32, text: String },
    /// A setting of the array or the host was changed or put back.
    Changed { case_index: Option<u32>, change: Change },
    /// The reader of the run should know.
    Warning { text: String },
    /// Host counters, at a moment on the run's clock.
    HostCounters { at_ns: u64, counters: Vec<OwnedCounter> },
    /// A path to a device was lost or came back, at a moment on the run's clock.
    PathChanged { at_ns: u64, path: String, is_usable: bool, state: String },
    /// Something of the run happened now.
    RunEvent { kind: String, text: String, data: Option<Value> },
    /// Everything before it is to be dealt with; then the answer is given.
    Flush(SyncSender<()>),
    /// A case ended; the worker is free for another.
    Ended { worker: usize, case_index: u32, ended: Ended },
}

impl Message {
    /// An interval of a load, with nothing counted beside it.
    pub fn sample(case_index: u32, load: &str, sample: Sample) -> Message {
        let (load, sample) = (load.to_owned(), Box::new(sample));
        Message::Sample { case_index, load, sample, counters: Vec::new(), events: Vec::new() }
    }
}

/// End of a case.
pub(crate) enum Ended {
    /// Outcome, good or bad.
    Outcome(Box<CaseOutcome>),
    /// Stop of the case, which will be measured again.
    Stopped,
    /// Outcome after which the run cannot go on, with the reason.
    GaveUp(Box<CaseOutcome>, String),
}

impl Ended {
    /// Makes the end of a case without a result, with the reason.
    pub fn without_result(mut outcome: CaseOutcome, status: CaseStatus, why: String) -> Ended {
        (outcome.status, outcome.error) = (status, Some(why));
        Ended::Outcome(Box::new(outcome))
    }

    /// The same; where `gave_up`, the run cannot go on after it.
    pub fn gave_up_if(gave_up: bool, outcome: CaseOutcome, status: CaseStatus, why: String) -> Ended {
        match Ended::without_result(outcome, status, why.clone()) {
            Ended::Outcome(outcome) if gave_up => Ended::GaveUp(outcome, why),
            ended => ended,
        }
    }
}
