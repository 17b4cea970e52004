//! Confidence of a load found by a search.
//!
//! Latencies of one queue hang together, so that n of them say far less than n independent ones. Each point is therefore
//! cut into sections: the mean, or the percentile, of each section varies about that of the whole, and that variation is
//! the error of the whole (sectioning: Asmussen and Glynn, Stochastic Simulation, 2007, III.5). Towards saturation
//! 1 / latency falls in a straight line, so a line is laid through the points near the answer; where it crosses the bound is the answer, and the delta method carries the errors over to the load (inverse
//! prediction). Points that scatter about the line by more than their errors widen it (the Birge ratio).

use crate::bound_point::{Bound, BoundMeasure, BoundMeasurement, BoundPoint, SectionedError};
use crate::{Histogram, bin_index, bin_width_ns};

/// Numbers of sections that a point may be cut into; the first that leaves enough I/Os in each is taken.
const SECTIONS: [usize; 3] = [20, 10, 5];
/// A section needs so many I/Os beyond its percentile, or so many for its mean.
const LEAST_IOS_BEYOND: f64 = 10.0;
/// Points this near to the answer lie on one line: a share of its load.
const NEAR: f64 = 0.25;
/// So many of the nearest points are taken wherever they lie.
const LEAST_POINTS: usize = 3;

/// Method of a confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfidenceMethod {
    /// Sections of the points, and a line through those near the answer.
    Sectioning,
    /// Bracket from the largest load that held to the smallest that did not: too few I/Os, or too few points that kept
    /// up, for a smaller interval.
    Bracket,
}

/// An interval that holds the answer with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundConfidence {
    /// Smallest and largest load of the interval.
    pub interval_95: [f64; 2],
    /// Method of its estimation.
    pub method: ConfidenceMethod,
}

pub(crate) fn latency_of(measure: BoundMeasure, latency: &Histogram) -> f64 {
    match measure {
        BoundMeasure::Mean => latency.mean_ns(),
        BoundMeasure::Percentile(millionths) => latency.percentile_by_rank_ns(millionths),
    }
}

/// The error of a point's latency; `None` where it has too few sections or I/Os to tell.
pub(crate) fn sectioned_error(measure: BoundMeasure, measured: &BoundMeasurement) -> Option<SectionedError> {
    let BoundMeasurement { latency, sections, simulated_share, .. } = measured;
    let beyond = match measure {
        BoundMeasure::Mean => 1.0,
        BoundMeasure::Percentile(millionths) => 1.0 - f64::from(millionths) / 1e6,
    };
    let ios = latency.count() as f64 * simulated_share;
    let is_enough =
        |parts: &usize| *parts <= sections.len() && ios * beyond / *parts as f64 >= LEAST_IOS_BEYOND;
    let parts = SECTIONS.into_iter().find(is_enough)?;
    let whole = latency_of(measure, latency);
    let bounds: Vec<usize> = (0..=parts).map(|part| part * sections.len() / parts).collect();
    let deviations = bounds.windows(2).map(|ends| {
        let mut part = Histogram::new();
        sections[ends[0]..ends[1]].iter().for_each(|section| part.merge(section));
        latency_of(measure, &part) - whole
    });
    let squares: f64 = deviations.map(|deviation| deviation * deviation).sum();
    let freedom = parts as u32 - 1;
    let variance = squares / (parts as f64 * f64::from(freedom)) / simulated_share;
    // Where in its bin a percentile lies is assumed, not known.
    let bin_ns = match measure {
        BoundMeasure::Mean => 0.0,
        BoundMeasure::Percentile(_) => bin_width_ns(bin_index(whole as u64)) as f64,
    };
    Some(SectionedError { standard_error_ns: (variance + bin_ns * bin_ns / 12.0).sqrt(), freedom })
}

/// The load at which the latency crosses the bound and its interval, by a line through the points near `about`.
pub(crate) fn by_regression(bound: Bound, about: f64, points: &[BoundPoint]) -> Option<(f64, [f64; 2])> {
    let mut near: Vec<(&BoundPoint, SectionedError)> = points
        .iter()
        .filter(|point| point.kept_up && point.latency_ns > 0.0)
        .filter_map(|point| Some((point, point.error?)))
        .collect();
    let distance = |point: &BoundPoint| (point.load - about).abs();
    near.sort_by(|a, b| distance(a.0).total_cmp(&distance(b.0)));
    let mut taken = 0;
    near.retain(|(point, _)| {
        taken += 1;
        taken <= LEAST_POINTS || distance(point) <= NEAR * about
    });
    let count = near.len() as f64;
    let sum = |of: &dyn Fn(f64, f64) -> f64| {
        near.iter().map(|(point, _)| of(point.load, 1.0 / point.latency_ns)).sum::<f64>()
    };
    let (mean_x, mean_y) = (sum(&|x, _| x) / count, sum(&|_, y| y) / count);
    let spread = sum(&|x, _| (x - mean_x) * (x - mean_x));
    let slope = sum(&|x, y| (x - mean_x) * (y - mean_y)) / spread;
    if near.len() < 2 || !slope.is_finite() || slope >= 0.0 {
        return None;
    }
    let above_mean = 1.0 / bound.latency_ns as f64 - mean_y;
    let load = mean_x + above_mean / slope;
    // One relative error for all: each point's own is as uncertain as it is small, and a weight by it would draw the line
    // towards the points that happened to be fast.
    let relative =
        |(point, error): &(&BoundPoint, SectionedError)| error.standard_error_ns / point.latency_ns;
    let of_one = mean_y * mean_y * near.iter().map(|one| relative(one).powi(2)).sum::<f64>() / count;
    let residuals = sum(&|x, y| (y - mean_y - slope * (x - mean_x)).powi(2));
    let birge =
        if near.len() > 2 && of_one > 0.0 { (residuals / of_one / (count - 2.0)).max(1.0) } else { 1.0 };
    let variance = birge * of_one * (1.0 / count + (above_mean / slope).powi(2) / spread) / (slope * slope);
    let freedom = near.iter().map(|(_, error)| error.freedom).sum();
    let half = t_quantile_975(freedom) * variance.sqrt();
    (load > 0.0 && half.is_finite()).then(|| (load, [(load - half).max(0.0), load + half]))
}

/// Student's t that is exceeded with a probability of 2.5 %: a table where few deviations are known, and from there on the
/// expansion about the normal distribution (Abramowitz and Stegun 26.7.5).
fn t_quantile_975(freedom: u32) -> f64 {
    const TABLE: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    const NORMAL: f64 = 1.959_964;
    if let Some(t) = (freedom as usize).checked_sub(1).and_then(|place| TABLE.get(place)) {
        return *t;
    }
    let (z, n) = (NORMAL, f64::from(freedom.max(1)));
    let (z3, z5) = (z.powi(3), z.powi(5));
    z + (z3 + z) / (4.0 * n) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * n * n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BoundSearch, Random, max_under_latency};
    use std::convert::Infallible;

    /// Proves quantiles against a printed table of Student's t.
    #[test]
    fn quantiles_are_those_of_the_table() {
        for (freedom, t) in
            [(1, 12.706), (4, 2.776), (9, 2.262), (19, 2.093), (57, 2.0025), (1_000_000, 1.960)]
        {
            assert!((t_quantile_975(freedom) - t).abs() < 1e-3, "{freedom}");
        }
    }

    /// A single server with Poisson arrivals and exponential services, customer by customer (Lindley's recursion): what a
    /// customer waits hangs together with what the one before it waited. The mean response is 1 / (mu - rate), and the
    /// response is exponential.
    fn measure(random: &mut Random, mu: f64, rate: f64, customers: usize) -> BoundMeasurement {
        let mut sections = vec![Histogram::new(); SECTIONS[0]];
        let mut wait_ns = 0.0;
        // Until the queue is as long as it will be.
        for customer in 0..customers + customers / 10 {
            let response_ns = wait_ns + random.exponential(1e9 / mu);
            wait_ns = (response_ns - random.exponential(1e9 / rate)).max(0.0);
            if let Some(counted) = customer.checked_sub(customers / 10) {
                sections[counted * SECTIONS[0] / customers].record(response_ns as u64);
            }
        }
        let mut latency = Histogram::new();
        sections.iter().for_each(|section| latency.merge(section));
        BoundMeasurement { latency, delivered_iops: rate, kept_up: rate < mu, sections, simulated_share: 1.0 }
    }

    /// Proves that the interval holds the exact answer of a queue about as often as it says, for a mean and a percentile,
    /// though waits hang together, and that it is no wider than it has to be.
    #[test]
    fn intervals_hold_the_answer_as_often_as_they_say() {
        const SEARCHES: u64 = 200;
        let mu = 10_000.0;
        for (of, factor) in [(BoundMeasure::Mean, 1.0), (BoundMeasure::Percentile(950_000), libm::log(20.0))]
        {
            let bound = Bound { measure: of, latency_ns: (3.0 * 1e9 / mu * factor) as u64 };
            let exact = mu * (1.0 - 1.0 / 3.0);
            let (mut held, mut width) = (0, 0.0);
            for seed in 0..SEARCHES {
                let mut random = Random::from_seed(seed);
                let answer = max_under_latency(bound, BoundSearch::over_rate(2000.0), &mut |rate| {
                    Ok::<_, Infallible>(measure(&mut random, mu, rate, 20_000))
                })
                .unwrap();
                let found = answer.confidence.unwrap();
                assert_eq!(found.method, ConfidenceMethod::Sectioning);
                let [low, high] = found.interval_95;
                held += u64::from((low..=high).contains(&exact));
                width += (high - low) / exact / SEARCHES as f64;
            }
            assert!((SEARCHES * 92 / 100..=SEARCHES).contains(&held), "{of:?}: {held} of {SEARCHES}");
            assert!(width < 0.07, "{of:?}: {width}");
        }
    }
}
