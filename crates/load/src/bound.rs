//! Search for the peak load under a latency bound, in few measurements.
//!
//! Latency rises without end towards a rate that is not known, so steps that suit one target waste points on another.
//! Near saturation, latency follows `a + b / (c - rate)` whatever the service times are (heavy traffic, Kingman 1961);
//! below it, 1 / latency of a target that serves many I/Os at once stays level for long and then falls ever more steeply. A chord
//! through the ends of the bracket then crosses the bound too early, and the line through the two largest loads that hold too late. So:
//! raise the rate until the bound is broken, then measure between the two crossings, and halve the bracket where they do not help.

use crate::bound_confidence::{
    BoundConfidence, ConfidenceMethod, by_regression, latency_of, sectioned_error,
};
use crate::bound_point::{Bound, BoundMeasurement, BoundPoint};

/// State of a load search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundSearch {
    /// The first load that is measured.
    pub start: f64,
    /// The smallest load that is measured: below it too few I/Os complete to tell a latency.
    pub least: f64,
    /// The largest load that is measured.
    pub limit: f64,
    /// Width of the final bracket, as a share of its middle.
    pub tolerance: f64,
    /// The most points that are measured.
    pub points_limit: u32,
    /// Loads are whole numbers, such as queue depths.
    pub is_whole: bool,
}

impl BoundSearch {
    /// A search over rates, in I/Os a second, in at most 12 points.
    pub fn over_rate(start_iops: f64) -> BoundSearch {
        BoundSearch {
            start: start_iops,
            least: 0.0,
            limit: 1e9,
            tolerance: 0.02,
            points_limit: 12,
            is_whole: false,
        }
    }

    /// A search over queue depths in closed loop, in at most 12 points.
    pub fn over_depth(limit: u32) -> BoundSearch {
        BoundSearch {
            start: 1.0,
            least: 1.0,
            limit: f64::from(limit),
            tolerance: 0.02,
            points_limit: 12,
            is_whole: true,
        }
    }
}

/// End of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundEnd {
    /// The bracket is as narrow as requested.
    Found,
    /// Even the smallest load breaks the bound.
    NeverHolds,
    /// The largest load allowed still holds.
    AlwaysHolds,
    /// The points were used up before the bracket was narrow enough.
    PointsUsedUp,
}

/// The answer: where the bound lies, with the points that it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundAnswer {
    /// End of the search: bracket narrow enough, no load or every load holds, or points used up.
    pub end: BoundEnd,
    /// The best estimate of the largest load that holds.
    pub load: f64,
    /// The largest load that was measured to hold and the smallest that was measured not to: the answer lies between.
    pub bracket: [f64; 2],
    /// 95 % confidence interval of the answer; `None` where there is none: no load, or every load holds.
    pub confidence: Option<BoundConfidence>,
    /// The rate delivered at the largest load that was measured to hold.
    pub delivered_iops: f64,
    /// Every point, in the order measured.
    pub points: Vec<BoundPoint>,
}

/// Searches for the largest load whose latency stays under a bound. `measure` issues one load over all jobs and targets
/// and says what came of it; an error ends the search.
pub fn max_under_latency<E>(
    bound: Bound,
    search: BoundSearch,
    measure: &mut dyn FnMut(f64) -> Result<BoundMeasurement, E>,
) -> Result<BoundAnswer, E> {
    let mut points: Vec<BoundPoint> = Vec::new();
    let mut take = |load: f64, points: &mut Vec<BoundPoint>| -> Result<bool, E> {
        let measured = measure(load)?;
        let latency_ns = latency_of(bound.measure, &measured.latency);
        let error = sectioned_error(bound.measure, &measured);
        let holds = measured.kept_up && latency_ns <= bound.latency_ns as f64;
        let BoundMeasurement { delivered_iops, kept_up, .. } = measured;
        points.push(BoundPoint { load, latency_ns, error, delivered_iops, kept_up, holds });
        Ok(holds)
    };
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut next = rounded(search.start.max(search.least).min(search.limit), search);
    while (points.len() as u32) < search.points_limit && !is_narrow(low, high, search) && high > search.least
    {
        if take(next, &mut points)? {
            low = next;
            if low >= search.limit {
                break;
            }
        } else {
            high = next;
        }
        next = rounded(propose(bound, search, low, high, &points), search);
    }
    let end = if is_narrow(low, high, search) && low > 0.0 {
        BoundEnd::Found
    } else if low >= search.limit {
        BoundEnd::AlwaysHolds
    } else if low == 0.0 {
        BoundEnd::NeverHolds
    } else {
        BoundEnd::PointsUsedUp
    };
    let (load, confidence) = match end {
        BoundEnd::AlwaysHolds => (low, None),
        BoundEnd::NeverHolds => (0.0, None),
        BoundEnd::Found | BoundEnd::PointsUsedUp => estimate(bound, search, [low, high], &points),
    };
    let delivered_iops = points
        .iter()
        .filter(|point| point.holds && point.load == low)
        .map(|point| point.delivered_iops)
        .next_back();
    let delivered_iops = delivered_iops.unwrap_or(0.0);
    Ok(BoundAnswer { end, load, bracket: [low, high], confidence, delivered_iops, points })
}

/// The best estimate within a bracket, and how surely it is known.
fn estimate(
    bound: Bound,
    search: BoundSearch,
    [low, high]: [f64; 2],
    points: &[BoundPoint],
) -> (f64, Option<BoundConfidence>) {
    let about = crossing(bound, low, high, points).unwrap_or(f64::midpoint(low, high.min(low * 2.0)));
    let bracket = high
        .is_finite()
        .then_some(BoundConfidence { interval_95: [low, high], method: ConfidenceMethod::Bracket });
    let Some((line, interval_95)) = by_regression(bound, about, points) else {
        return (if search.is_whole { low } else { about }, bracket);
    };
    let method = ConfidenceMethod::Sectioning;
    if search.is_whole {
        // The largest whole load below a border that lies anywhere in the interval.
        let interval_95 = interval_95.map(|end| end.floor().max(search.least));
        return (low, Some(BoundConfidence { interval_95, method }));
    }
    (line.clamp(low, high), Some(BoundConfidence { interval_95, method }))
}

fn is_narrow(low: f64, high: f64, search: BoundSearch) -> bool {
    let widest = if search.is_whole { 1.0 } else { search.tolerance * f64::midpoint(low, high) };
    high.is_finite() && high - low <= widest
}

fn rounded(load: f64, search: BoundSearch) -> f64 {
    if search.is_whole { load.round().max(1.0) } else { load }
}

/// A latency within this share of the least that was measured says that hardly anything waits.
const IDLE_RISE: f64 = 0.25;

/// The load to measure next.
fn propose(bound: Bound, search: BoundSearch, low: f64, high: f64, points: &[BoundPoint]) -> f64 {
    if high.is_infinite() {
        // Twice as much, or four times where the bound is far or the target near idle.
        let least_ns = points.iter().map(|point| point.latency_ns).fold(f64::INFINITY, f64::min);
        let is_far = |last: &BoundPoint| {
            last.latency_ns * 4.0 < bound.latency_ns as f64 || last.latency_ns <= least_ns * (1.0 + IDLE_RISE)
        };
        let factor = if points.last().is_some_and(is_far) { 4.0 } else { 2.0 };
        return (low * factor).min(search.limit);
    }
    if low == 0.0 {
        return (high / 4.0).max(search.least);
    }
    let middle = f64::midpoint(low, high);
    let width = high - low;
    let Some(estimate) = crossing(bound, low, high, points) else { return middle };
    // To one side of the estimate, alternately, by less than the tolerance: so both ends of the bracket close in.
    let step = search.tolerance * estimate * 0.4;
    let beyond = if estimate - low < high - estimate { estimate + step } else { estimate - step };
    if width < step { middle } else { beyond.clamp(low + width * 0.05, high - width * 0.05) }
}

/// Estimates the load at which latency crosses the bound: midway between the crossing of a chord, which is too low on a curve
/// that bends down, and that of a tangent, which is too high.
fn crossing(bound: Bound, low: f64, high: f64, points: &[BoundPoint]) -> Option<f64> {
    let chord = chord(bound, low, high, points)?;
    // What a target delivered that did not keep up is all that it can.
    let all =
        points.iter().filter(|point| point.load == high && !point.kept_up).map(|point| point.delivered_iops);
    let ceiling = all.fold(high, f64::min).max(chord);
    Some(f64::midpoint(chord, tangent(bound, points).unwrap_or(ceiling).clamp(chord, ceiling)))
}

/// Returns the load at which the line through the two largest loads that hold crosses the bound; `None` where the line does
/// not fall.
fn tangent(bound: Bound, points: &[BoundPoint]) -> Option<f64> {
    let mut holding: Vec<&BoundPoint> = points.iter().filter(|point| point.holds).collect();
    holding.sort_by(|a, b| b.load.total_cmp(&a.load));
    holding.dedup_by(|a, b| a.load == b.load);
    let [largest, second, ..] = holding[..] else { return None };
    let slope = (inverse(largest.latency_ns) - inverse(second.latency_ns)) / (largest.load - second.load);
    (slope < 0.0)
        .then(|| largest.load + (inverse(bound.latency_ns as f64) - inverse(largest.latency_ns)) / slope)
}

/// 1 / latency, which falls towards saturation.
fn inverse(latency_ns: f64) -> f64 {
    1.0 / latency_ns.max(1.0)
}

/// Returns the load at which the curve through the ends of the bracket crosses the bound.
///
/// 1 / latency falls in a straight line towards saturation, where queues make up the latency. A target that did not keep
/// up has a latency that grows with the time measured and says nothing; but what it delivered is where the line ends.
fn chord(bound: Bound, low: f64, high: f64, points: &[BoundPoint]) -> Option<f64> {
    let at = |load: f64| points.iter().rev().find(|point| point.load == load);
    let (below, above) = (at(low)?, at(high)?);
    let (end, inverse_end) =
        if above.kept_up { (high, inverse(above.latency_ns)) } else { (above.delivered_iops.min(high), 0.0) };
    let (inverse_start, inverse_bound) = (inverse(below.latency_ns), inverse(bound.latency_ns as f64));
    if end <= low || inverse_start <= inverse_bound || inverse_bound < inverse_end {
        return None;
    }
    let share = (inverse_start - inverse_bound) / (inverse_start - inverse_end);
    Some(low + share * (end - low))
}

#[cfg(test)]
mod tests;
