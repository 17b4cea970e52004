//! Progress of a campaign and its remaining time.

use crate::Progress;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use store::{CaseRecord, CaseState};

/// Below this share of the work, or before this time, the pace says too little to judge the rest by.
const JUDGED_FROM_SHARE: f64 = 0.02;
const JUDGED_FROM: Duration = Duration::from_secs(2);

/// Keeps account of what is done, weighted by the time that the plan gives each case.
pub(crate) struct Pace {
    started: Instant,
    /// True where a second of the plan is a second of the clock.
    is_real_time: bool,
    cases_total: usize,
    cases_ended: usize,
    total_ns: u64,
    /// Weight of what was done before this process.
    before_ns: u64,
    /// Weight of what this process has done.
    done_ns: u64,
    under_way: BTreeMap<u32, (u64, f64)>,
}

impl Pace {
    pub fn new(cases: &[&CaseRecord], is_real_time: bool) -> Pace {
        let weight = |case: &&CaseRecord| case.estimated_duration_ns.max(1);
        let ended = |case: &&&CaseRecord| matches!(case.state, CaseState::Ended(store::CaseStatus::Done));
        Pace {
            started: Instant::now(),
            is_real_time,
            cases_total: cases.len(),
            cases_ended: cases.iter().filter(ended).count(),
            total_ns: cases.iter().map(weight).sum(),
            before_ns: cases.iter().filter(ended).map(weight).sum(),
            done_ns: 0,
            under_way: BTreeMap::new(),
        }
    }

    pub fn begin(&mut self, case: &CaseRecord) {
        self.under_way.insert(case.index, (case.estimated_duration_ns.max(1), 0.0));
    }

    pub fn advance(&mut self, case_index: u32, share: f64) {
        if let Some(case) = self.under_way.get_mut(&case_index) {
            case.1 = share.clamp(case.1, 1.0);
        }
    }

    /// Returns the progress of a case under way, 0 to 1.
    pub fn share_of(&self, case_index: u32) -> f64 {
        self.under_way.get(&case_index).map_or(0.0, |&(_, share)| share)
    }

    pub fn end(&mut self, case_index: u32) {
        if let Some((weight_ns, _)) = self.under_way.remove(&case_index) {
            self.done_ns += weight_ns;
            self.cases_ended += 1;
        }
    }

    pub fn progress(&self) -> Progress {
        let under_way_ns: f64 =
            self.under_way.values().map(|&(weight_ns, share)| weight_ns as f64 * share).sum();
        let done_ns = self.done_ns as f64 + under_way_ns;
        let own_ns = (self.total_ns - self.before_ns).max(1) as f64;
        let own_share = done_ns / own_ns;
        let elapsed = self.started.elapsed();
        let by_pace = (own_share >= JUDGED_FROM_SHARE && elapsed >= JUDGED_FROM)
            .then(|| elapsed.as_nanos() as f64 * (1.0 - own_share) / own_share);
        let by_plan = self.is_real_time.then_some(own_ns - done_ns);
        Progress {
            cases_total: self.cases_total,
            cases_ended: self.cases_ended,
            share: ((self.before_ns as f64 + done_ns) / self.total_ns.max(1) as f64).min(1.0),
            elapsed_ns: u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
            time_left_ns: by_pace.or(by_plan).map(|left_ns| left_ns.max(0.0) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(index: u32, seconds: u64, state: CaseState) -> CaseRecord {
        CaseRecord {
            index,
            plan: "p".into(),
            stage: "s".into(),
            name: format!("n={index}"),
            settings: store::Settings::default(),
            estimated_duration_ns: seconds * units::NANOS_PER_SECOND,
            estimated_write_bytes: 0,
            state,
            attempts: 0,
            error: None,
        }
    }

    /// Proves that shares are weighted by planned time, count what an earlier process did, and never go back.
    #[test]
    fn shares_are_weighted_by_planned_time() {
        let done = CaseState::Ended(store::CaseStatus::Done);
        let cases = [case(0, 10, done), case(1, 30, CaseState::Begun), case(2, 60, CaseState::Pending)];
        let mut pace = Pace::new(&cases.iter().collect::<Vec<_>>(), true);
        assert_eq!(pace.progress().share, 0.1);
        pace.begin(&cases[1]);
        pace.advance(1, 0.5);
        pace.advance(1, 0.2);
        let progress = pace.progress();
        assert!((progress.share - 0.25).abs() < 1e-9, "{progress:?}");
        assert_eq!(progress.time_left_ns, Some(75 * units::NANOS_PER_SECOND));
        pace.end(1);
        let progress = pace.progress();
        assert!((progress.share - 0.4).abs() < 1e-9);
        assert_eq!((progress.cases_ended, progress.cases_total), (2, 3));
    }
}
