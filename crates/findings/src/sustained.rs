//! Sustained level for `results --json`.

use crate::finding::{Fact, Finding};
use crate::observation::{Interval, ObservedCase};
use crate::{Findings, Kind, Rate};
use std::sync::Arc;
use store::{CaseResult, Sustained};

/// The stage of long loads, whose question is the level that they sustain.
pub(crate) const LONG_LOADS: &str = "group-1";

/// Sets `sustained` of each result: the level after the last fall where there was a cliff, else the mean from the
/// window in which steady state was reached. In the long loads of `group-1`, whose question it is, the second half of
/// a case stands in where neither was found.
pub fn add_sustained<'a>(results: impl IntoIterator<Item = &'a mut CaseResult>, findings: &Findings) {
    for result in results {
        if let Some(found) = findings.result(&result.stage, &result.case) {
            result.sustained = found.sustained;
        }
    }
}

/// Sets `sustained` of the results that findings themselves hold.
pub(crate) fn add_to(findings: &mut Findings) {
    let rates: Vec<Option<Rate>> = findings.observation.cases.iter().map(|case| of(findings, case)).collect();
    for (case, rate) in findings.observation.cases.iter_mut().zip(rates) {
        let sustained = rate.map(|rate| Sustained { iops: rate.iops, bw_bytes_per_s: rate.bw_bytes_per_s });
        Arc::make_mut(&mut case.result).sustained = sustained;
    }
}

/// The level that a case sustains.
pub(crate) fn of(findings: &Findings, case: &ObservedCase) -> Option<Rate> {
    let about = |kind| findings.about(kind, &case.stage, &case.name);
    level(case, about(Kind::WriteCliff), about(Kind::SteadyState))
}

/// The level that a case sustains, by what was found of its write cliff and its steady state.
pub(crate) fn level(case: &ObservedCase, cliff: Option<&Finding>, steady: Option<&Finding>) -> Option<Rate> {
    if let Some(Fact::WriteCliff(cliff)) = cliff.map(|finding| &finding.fact) {
        return Some(cliff.sustained);
    }
    let counted = case.counted();
    let steady = steady.and_then(|finding| {
        let Fact::SteadyState(state) = &finding.fact else { return None };
        let from_s = finding.rests_on.first()?.from_s?;
        state.reached.then(|| rate_from(&counted, from_s)).flatten()
    });
    steady.or_else(|| {
        if case.stage != LONG_LOADS {
            return None;
        }
        match (counted.first(), counted.last()) {
            (Some(first), Some(last)) => rate_from(&counted, f64::midpoint(first.start_s, last.end_s)),
            _ => Some(Rate { iops: case.result.iops, bw_bytes_per_s: case.result.bw_bytes_per_s }),
        }
    })
}

fn rate_from(counted: &[Interval], from_s: f64) -> Option<Rate> {
    let rest = counted.iter().filter(|interval| interval.end_s > from_s + 1e-9);
    let (mut ios, mut bytes, mut time_s) = (0.0, 0.0, 0.0);
    for interval in rest {
        ios += interval.all().ios;
        bytes += interval.all().bytes;
        time_s += interval.length_s();
    }
    (time_s > 0.0).then(|| Rate { iops: ios / time_s, bw_bytes_per_s: bytes / time_s })
}
