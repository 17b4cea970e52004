//! The largest load whose latency stays under a bound, found in few measurements.
//!
//! Latency rises without end towards a rate that is not known, so steps that suit one target waste points on another.
//! Near saturation, latency follows `a + b / (c - rate)` whatever the service times are (heavy traffic, Kingman 1961);
//! below it, that curve is a good chord. So: double the rate until the bound is broken, then put the crossing of that
//! curve through the three nearest points between the bracket, and halve the bracket where the curve does not help.

use crate::Histogram;
use crate::bound_confidence::{
    BoundConfidence, ConfidenceMethod, SectionedError, by_regression, latency_of, sectioned_error,
};

/// What must stay under the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundMeasure {
    /// The mean.
    Mean,
    /// A percentile, in millionths: 990,000 for p99.
    Percentile(u32),
}

/// What is searched for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// Of what.
    pub measure: BoundMeasure,
    /// The largest latency allowed.
    pub latency_ns: u64,
}

/// How the search goes.
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

/// What was measured at one load.
#[derive(Debug, Clone)]
pub struct BoundMeasurement {
    /// Latencies, from the intended arrival in open loop.
    pub latency: Histogram,
    /// The rate that was delivered.
    pub delivered_iops: f64,
    /// The load was delivered; where it was not, the load is too large whatever the latency says.
    pub kept_up: bool,
    /// The same latencies by equal parts of the time measured, in order: how they differ tells how sure the whole is.
    pub sections: Vec<Histogram>,
    /// Share of the time that was really measured; less than 1 where a simulation filled in the rest by what it had seen.
    pub simulated_share: f64,
}

/// One measured point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundPoint {
    /// The rate or depth.
    pub load: f64,
    /// The latency that is bounded.
    pub latency_ns: f64,
    /// How surely that latency is known; `None` where too few I/Os were seen to tell.
    pub error: Option<SectionedError>,
    /// The rate that was delivered.
    pub delivered_iops: f64,
    /// The load was delivered.
    pub kept_up: bool,
    /// It was under the bound and kept up.
    pub holds: bool,
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundEnd {
    /// The bracket is as narrow as was asked for.
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
    /// How the search ended.
    pub end: BoundEnd,
    /// The best estimate of the largest load that holds.
    pub load: f64,
    /// The largest load that was measured to hold and the smallest that was measured not to: the answer lies between.
    pub bracket: [f64; 2],
    /// Where the answer lies with 95 % confidence; `None` where there is none: no load, or every load holds.
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
    let chord = crossing(bound, low, high, points).unwrap_or(f64::midpoint(low, high.min(low * 2.0)));
    let bracket = high
        .is_finite()
        .then_some(BoundConfidence { interval_95: [low, high], method: ConfidenceMethod::Bracket });
    let Some((line, interval_95)) = by_regression(bound, chord, points) else {
        return (if search.is_whole { low } else { chord }, bracket);
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

/// The load to measure next.
fn propose(bound: Bound, search: BoundSearch, low: f64, high: f64, points: &[BoundPoint]) -> f64 {
    if high.is_infinite() {
        // Twice as much, or up to four times where the bound is far.
        let factor = points
            .last()
            .map_or(2.0, |last| if last.latency_ns * 4.0 < bound.latency_ns as f64 { 4.0 } else { 2.0 });
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

/// Where the curve through the ends of the bracket crosses the bound.
///
/// 1 / latency falls in a straight line towards saturation, where queues make up the latency. A target that did not keep
/// up has a latency that grows with the time measured and says nothing; but what it delivered is where the line ends.
fn crossing(bound: Bound, low: f64, high: f64, points: &[BoundPoint]) -> Option<f64> {
    let at = |load: f64| points.iter().rev().find(|point| point.load == load);
    let (below, above) = (at(low)?, at(high)?);
    let inverse = |latency_ns: f64| 1.0 / latency_ns.max(1.0);
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
mod tests {
    use super::*;
    use crate::Random;
    use std::convert::Infallible;

    /// An M/M/1 queue: response times are exponential with mean 1 / (mu - lambda), so every bound has an exact answer.
    struct Queue {
        mu: f64,
        random: Random,
        samples: u32,
    }

    impl Queue {
        fn measure(&mut self, rate: f64) -> Result<BoundMeasurement, Infallible> {
            let mut latency = Histogram::new();
            if rate >= self.mu {
                // It falls behind more and more for a second.
                latency.record(((rate / self.mu - 1.0) * 1e9) as u64 + 1_000_000_000);
                return Ok(whole(latency, self.mu, false));
            }
            let mean_ns = 1e9 / (self.mu - rate);
            let mut sections = vec![Histogram::new(); 20];
            for sample in 0..self.samples {
                let response_ns = self.random.exponential(mean_ns) as u64;
                latency.record(response_ns);
                sections[sample as usize % 20].record(response_ns);
            }
            Ok(BoundMeasurement { sections, ..whole(latency, rate, true) })
        }
    }

    fn whole(latency: Histogram, delivered_iops: f64, kept_up: bool) -> BoundMeasurement {
        BoundMeasurement { latency, delivered_iops, kept_up, sections: Vec::new(), simulated_share: 1.0 }
    }

    /// Proves that on an M/M/1 queue, with the noise of 100,000 samples a point, the search is within 2 % of the exact
    /// answer in at most 12 points, for means and percentiles, bounds loose and tight, and starts far off on both sides.
    #[test]
    fn the_answer_of_a_known_queue_is_found() {
        for (mu, start) in [(10_000.0, 100.0), (10_000.0, 9_000.0), (250_000.0, 1_000.0), (500.0, 4_000.0)] {
            for times_service in [1.5, 3.0, 10.0, 50.0] {
                for (measure, factor) in [
                    (BoundMeasure::Mean, 1.0),
                    (BoundMeasure::Percentile(500_000), libm::log(2.0)),
                    (BoundMeasure::Percentile(950_000), libm::log(20.0)),
                    (BoundMeasure::Percentile(990_000), libm::log(100.0)),
                ] {
                    let latency_ns = (times_service * 1e9 / mu * factor) as u64;
                    let exact = mu * (1.0 - 1.0 / times_service);
                    let mut queue = Queue { mu, random: Random::from_seed(3), samples: 100_000 };
                    let answer = max_under_latency(
                        Bound { measure, latency_ns },
                        BoundSearch::over_rate(start),
                        &mut |rate| queue.measure(rate),
                    )
                    .unwrap();
                    let error = answer.load / exact - 1.0;
                    let loads: Vec<f64> = answer.points.iter().map(|point| point.load).collect();
                    assert!(answer.points.len() <= 12, "{loads:?}");
                    assert!(error.abs() < 0.02, "{measure:?} {times_service} of {mu}: {error} {loads:?}");
                }
            }
        }
    }

    /// Proves that a depth is found exactly, and that a bound that always or never holds is said to.
    #[test]
    fn depths_and_ends() {
        let closed = |depth: f64| {
            let mut latency = Histogram::new();
            latency.record((100_000.0 * depth.max(8.0) / 8.0) as u64);
            Ok::<_, Infallible>(whole(latency, depth.min(8.0) * 10_000.0, true))
        };
        let search = |latency_ns, limit| {
            let bound = Bound { measure: BoundMeasure::Mean, latency_ns };
            max_under_latency(bound, BoundSearch::over_depth(limit), &mut { closed }).unwrap()
        };
        let found = search(1_000_000, 1024);
        assert_eq!((found.end, found.load, found.delivered_iops), (BoundEnd::Found, 80.0, 80_000.0));
        assert_eq!(search(1_000_000, 32).end, BoundEnd::AlwaysHolds);
        let never = search(50_000, 32);
        assert_eq!((never.end, never.load), (BoundEnd::NeverHolds, 0.0));
    }

    /// Proves that an error of the measurement ends the search.
    #[test]
    fn errors_end_it() {
        let bound = Bound { measure: BoundMeasure::Mean, latency_ns: 1 };
        assert_eq!(max_under_latency(bound, BoundSearch::over_rate(1.0), &mut |_| Err("gone")), Err("gone"));
    }
}
