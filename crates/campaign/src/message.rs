//! What workers tell the thread that keeps the run.

use load::Sample;
use store::CaseOutcome;

/// A counter of the host or of a twin's part, as a worker hands it over.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OwnedCounter {
    pub source: &'static str,
    pub entity: String,
    pub name: String,
    pub value: f64,
}

/// Something that happened to the target while a case ran.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CaseEvent {
    /// Since the start of the case's load.
    pub case_at_ns: u64,
    pub kind: String,
    pub text: String,
}

/// A worker's message. What belongs to a case comes in order, and before its end.
pub(crate) enum Message {
    /// An interval of a case, with what was counted beside it.
    Sample { case_index: u32, sample: Box<Sample>, counters: Vec<OwnedCounter>, events: Vec<CaseEvent> },
    /// How much of a case is done, 0 to 1.
    Progress { case_index: u32, share: f64 },
    /// Host counters, at a moment on the run's clock.
    HostCounters { at_ns: u64, counters: Vec<OwnedCounter> },
    /// A case ended; the worker is free for another.
    Ended { worker: usize, case_index: u32, ended: Ended },
}

/// How a case ended.
pub(crate) enum Ended {
    /// With an outcome, good or bad.
    Outcome(Box<CaseOutcome>),
    /// It was stopped, and will be measured again.
    Stopped,
}
