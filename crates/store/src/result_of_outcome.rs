//! Result of a case from its outcome, without a run directory.

use crate::result::{add_totals, seconds};
use crate::{
    CaseOutcome, CaseResult, ExtrapolationResult, LatencyConfidence, LoadOutcome, NewCase, Settings,
};
use load::{Direction, Extrapolation};

impl CaseResult {
    /// Returns the result that a run has of a case with this outcome.
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
            extrapolation: outcome.extrapolation.map(|one| extrapolation(&one, &outcome.loads)),
            cpu_ns_per_io: None,
            hosts: None,
        };
        add_totals(&mut result, &outcome.loads, outcome.duration_ns);
        result
    }
}

fn extrapolation(of: &Extrapolation, loads: &[LoadOutcome]) -> ExtrapolationResult {
    // A direction that did nothing has no latencies to be sure of.
    let of_direction = |direction: Direction, place: usize| {
        let did_any = loads.iter().filter_map(|load| load.direction(direction)).any(|totals| totals.ios > 0);
        did_any.then(|| LatencyConfidence {
            mean_confidence_95: of.latency_mean_confidence_95[place],
            p99_confidence_95: of.latency_p99_confidence_95[place],
        })
    };
    ExtrapolationResult {
        simulated_s: seconds(of.simulated_ns),
        carried_s: seconds(of.carried_ns),
        confidence_95: of.confidence_95,
        read: of_direction(Direction::Read, 0),
        write: of_direction(Direction::Write, 1),
    }
}
