//! Progress events of a campaign for its watcher.

use load::Sample;
use store::{CaseRecord, CaseResult, Counter};

/// Progress of a campaign.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Cases of the run.
    pub cases_total: usize,
    /// Cases that have an outcome, also from before a resume.
    pub cases_ended: usize,
    /// Share of all cases' time that is done, 0 to 1.
    pub share: f64,
    /// Time since this process began the campaign.
    pub elapsed_ns: u64,
    /// Estimated time left; `None` while there is nothing to estimate from.
    pub time_left_ns: Option<u64>,
}

/// Hears what happens. All calls come from the thread that called [`crate::run_campaign`].
pub trait Watcher {
    /// A case begins.
    fn case_started(&mut self, _case: &CaseRecord, _progress: &Progress) {}
    /// A case is under way; `share` is how much of it is done, 0 to 1.
    fn case_progress(&mut self, _case: &CaseRecord, _share: f64, _progress: &Progress) {}
    /// A case waits for something before its load: an array that initialises, writes that must precede it.
    fn case_waiting(&mut self, _case: &CaseRecord, _text: &str, _progress: &Progress) {}
    /// An interval of one of a case's loads, or of the writes before them, has ended.
    fn sample(&mut self, _case: &CaseRecord, _load: &str, _sample: &Sample) {}
    /// An interval of one host's part of a load has ended.
    fn host_sample(&mut self, _case: &CaseRecord, _host: &str, _load: &str, _sample: &Sample) {}
    /// Counters of the host, the array or a twin were read.
    fn counters(&mut self, _counters: &[Counter<'_>]) {}
    /// A case has its outcome.
    fn case_ended(&mut self, _case: &CaseRecord, _result: &CaseResult, _progress: &Progress) {}
    /// Something that the user should know and that is no result.
    fn notice(&mut self, _text: &str) {}
}

/// A watcher that hears nothing.
impl Watcher for () {}
