//! Workers of a campaign, and the jobs that the coordinator hands them.

use crate::message::{Ended, Message};
use hosts::Part;
use plan::Case;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::SyncSender;
use store::{CaseOutcome, CaseStatus};

/// The name of a case's only load in the run directory.
pub(crate) const ONLY_LOAD: &str = "load";

/// Worker: measures a case.
pub(crate) trait Worker: Sync {
    /// Measures a case, telling samples and progress on the way. Returns soon after `stop` is raised. The case stands in
    /// for the one of the order among its neighbours `cases`: a rate or a point of a search may be set in it.
    fn measure(
        &self,
        case: &Case,
        cases: &[Case],
        job: &CaseJob,
        tx: &SyncSender<Message>,
        stop: &AtomicBool,
    ) -> Ended;

    /// Puts back what was changed, when there are no more cases.
    fn close(&self, _tell: &SyncSender<Message>) {}
}

/// Job of a worker: one case to measure.
pub(crate) struct CaseJob {
    pub case_index: u32,
    /// Directory for the engine's files; `None` for a twin.
    pub directory: Option<PathBuf>,
    /// The cases that this one continues, the first of them first. Only for a twin, which keeps their state and passes
    /// the pauses in simulated time.
    pub predecessors: Vec<Predecessor>,
    /// Resolved case, where results of others give it its rate or its jobs and depth.
    pub resolved_case: Option<Box<Case>>,
    /// The part of its range that each load uses, where hosts divide it; empty where none do.
    pub parts: Vec<Option<Part>>,
}

/// A case before one that continues it.
#[derive(Debug, Clone)]
pub(crate) struct Predecessor {
    pub case_index: u32,
    /// Resolved case that was run in its place, where results of others gave it its load.
    pub resolved_case: Option<Box<Case>>,
    /// The pause after it.
    pub pause_ns: u64,
}

/// The outcome of a case that could not be begun.
pub(crate) fn failed(error: String) -> CaseOutcome {
    CaseOutcome {
        status: CaseStatus::Failed,
        engine: String::new(),
        target: String::new(),
        duration_ns: 0,
        loads: Vec::new(),
        error: Some(error),
        warnings: Vec::new(),
        extrapolation: None,
    }
}
