//! Mean performance of a case.

use crate::finding::Finding;
use crate::observation::{Interval, ObservedCase};
use crate::statistics::{Estimate, variance};
use crate::{DirectionLevel, Level};
use store::DirectionResult;

/// The level of a case from its totals.
pub(crate) fn total(case: &ObservedCase) -> Level {
    let result = &case.result;
    let direction = |part: &Option<DirectionResult>| {
        part.as_ref().filter(|part| part.ios > 0).map(|part| DirectionLevel {
            iops: part.iops,
            bw_bytes_per_s: part.bw_bytes_per_s,
            mean_latency_ns: part.latency_ns.mean,
        })
    };
    let (read, write) = (direction(&result.read), direction(&result.write));
    let mean_latency_ns = mean_latency_ns(&read, &write);
    Level {
        iops: result.iops,
        bw_bytes_per_s: result.bw_bytes_per_s,
        read,
        write,
        mean_latency_ns,
        variation_percent: None,
        iops_confidence_95: None,
        outstanding: result.iops * mean_latency_ns / 1e9,
    }
}

pub(crate) fn of(case: &ObservedCase) -> Finding {
    let rates: Vec<f64> = case.counted().iter().map(Interval::iops).collect();
    let estimate = Estimate::of(&rates);
    let level = Level {
        variation_percent: estimate
            .filter(|estimate| estimate.mean > 0.0)
            .map(|estimate| 100.0 * variance(&rates).sqrt() / estimate.mean),
        iops_confidence_95: confidence_95(case, estimate.as_ref()),
        ..total(case)
    };
    Finding::of_case(case, level.into(), None)
}

/// From the intervals, or what an extrapolated run claims, whichever is wider.
fn confidence_95(case: &ObservedCase, estimate: Option<&Estimate>) -> Option<[f64; 2]> {
    let by_intervals = estimate.map(|estimate| estimate.interval(0.95));
    let Some(extrapolation) = case.result.extrapolation else { return by_intervals };
    let rate = case.result.iops;
    let claimed = [rate * (1.0 - extrapolation.confidence_95), rate * (1.0 + extrapolation.confidence_95)];
    by_intervals.filter(|[low, high]| high - low >= claimed[1] - claimed[0]).or(Some(claimed))
}

/// Over all operations: the directions weighted by how many there were.
fn mean_latency_ns(read: &Option<DirectionLevel>, write: &Option<DirectionLevel>) -> f64 {
    let parts = [read, write].into_iter().flatten();
    let (sum, iops) = parts
        .fold((0.0, 0.0), |(sum, iops), part| (sum + part.mean_latency_ns * part.iops, iops + part.iops));
    if iops > 0.0 { sum / iops } else { 0.0 }
}
