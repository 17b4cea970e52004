//! Result of a case from its outcome, without a run directory.

use crate::result::{add_totals, seconds};
use crate::{CaseOutcome, CaseResult, NewCase, Settings};

impl CaseResult {
    /// Returns the result that a run has of a case with this outcome, all of which was simulated or measured.
    pub fn of_outcome(case: &NewCase, outcome: &CaseOutcome) -> CaseResult {
        let mut result = CaseResult {
            plan: case.plan.clone(),
            stage: case.stage.clone(),
            case: case.name.clone(),
            settings: Settings::from(case.settings.clone()),
            target: outcome.target.clone(),
            engine: outcome.engine.clone(),
            status: outcome.status,
            duration_s: seconds(outcome.duration_ns),
            iops: 0.0,
            bw_bytes_per_s: 0.0,
            read: None,
            write: None,
            sustained: None,
            loads: None,
            trim: None,
            error: outcome.error.clone(),
            warnings: outcome.warnings.clone(),
            extrapolation: None,
            cpu_ns_per_io: None,
            hosts: None,
        };
        add_totals(&mut result, &outcome.loads, outcome.duration_ns);
        result
    }
}
