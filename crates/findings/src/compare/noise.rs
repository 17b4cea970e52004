//! Noise of a difference: the spread between two runs of the same case.
//!
//! It is taken from the scatter of intervals, and n intervals whose neighbours correlate count for fewer. A course that a
//! load runs through (events; on a twin also a cache that fills, a cliff, a sag) is no noise: a difference between two
//! courses that is not the same throughout would else pass for scatter. So the scatter is that within phases, from one
//! event to the next; on twins, whose every course is the model's, also within the levels that PELT finds. On a device slow
//! changes stay noise: nobody knows what made them. Where time of a simulated run was extrapolated, the confidence that the
//! run claims is noise as well.

use super::Metric;
use crate::change_point::pelt;
use crate::observation::{Interval, ObservedCase};
use crate::statistics::{autocorrelation, effective_count, mean, noise_sigma, t_two_sided_p, variance};

/// A level is at least so many intervals long.
const LEVEL_LEAST: usize = 4;
/// The penalty of a change of level in units of σ²·ln n, as in the search for write cliffs.
const PENALTY: f64 = 3.0;
/// Standard errors in half a 95 % confidence interval.
const ERRORS_OF_95: f64 = 1.96;

/// A difference with its noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Test {
    pub difference: f64,
    pub standard_error: f64,
    pub freedom: f64,
}

impl Test {
    /// Probability of a difference this large by noise alone.
    pub fn p(&self) -> f64 {
        if self.standard_error > 0.0 {
            t_two_sided_p(self.difference / self.standard_error, self.freedom)
        } else if self.difference == 0.0 {
            1.0
        } else {
            0.0
        }
    }
}

/// The difference of a metric between two cases, second less first, and whether intervals were compared in pairs: where
/// both have the same, the test is on their differences, so that a shape that both share is no noise.
pub(super) fn test(metric: Metric, first: &ObservedCase, second: &ObservedCase) -> (Option<Test>, bool) {
    let (a, b) = (first.counted(), second.counted());
    let same_intervals = a.len() == b.len()
        && a.iter().zip(&b).all(|(a, b)| (a.length_s() - b.length_s()).abs() < 0.1 * a.length_s());
    let is_simulated = [first, second].into_iter().all(ObservedCase::is_simulated);
    let value = |interval: &Interval| metric.of(interval).map(|value| (interval.end_s, value));
    let found = if same_intervals {
        let differences: Vec<(f64, f64)> =
            a.iter().zip(&b).filter_map(|(a, b)| Some((a.end_s, metric.of(b)? - metric.of(a)?))).collect();
        Scatter::of(&differences, &[first, second], is_simulated).map(|scatter| Test {
            difference: scatter.mean,
            standard_error: scatter.standard_error,
            freedom: scatter.freedom,
        })
    } else {
        let of = |intervals: &[Interval], case| {
            let values: Vec<(f64, f64)> = intervals.iter().filter_map(value).collect();
            Scatter::of(&values, &[case], is_simulated)
        };
        of(&a, first).zip(of(&b, second)).map(|(a, b)| welch(&a, &b))
    };
    let claimed: f64 = [first, second]
        .into_iter()
        .filter_map(|case| {
            Some(metric.total(case)? * case.result.extrapolation?.confidence_95 / ERRORS_OF_95)
        })
        .map(|error| error * error)
        .sum();
    let found = found.map(|test| Test { standard_error: test.standard_error.max(claimed.sqrt()), ..test });
    (found, same_intervals)
}

/// Noise of a metric's mean within one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Within {
    pub standard_error: f64,
    pub freedom: f64,
}

/// The noise of a metric of one case by its own intervals, or what an extrapolated run claims, whichever is more; `None` where
/// neither tells.
pub(crate) fn within(metric: Metric, case: &ObservedCase) -> Option<Within> {
    let value = |interval: &Interval| metric.of(interval).map(|value| (interval.end_s, value));
    let values: Vec<(f64, f64)> = case.counted().iter().filter_map(value).collect();
    let scatter = Scatter::of(&values, &[case], case.is_simulated());
    let claimed = case.result.extrapolation.and_then(|extrapolation| {
        let standard_error = metric.total(case)? * extrapolation.confidence_95 / ERRORS_OF_95;
        Some(Within { standard_error, freedom: f64::from(u16::MAX) })
    });
    let own = scatter.map(|one| Within { standard_error: one.standard_error, freedom: one.freedom });
    match (own, claimed) {
        (Some(own), Some(claimed)) if claimed.standard_error > own.standard_error => Some(claimed),
        (own, claimed) => own.or(claimed),
    }
}

fn welch(a: &Scatter, b: &Scatter) -> Test {
    let (va, vb) = (a.standard_error.powi(2), b.standard_error.powi(2));
    let freedom = if va + vb > 0.0 {
        (va + vb).powi(2) / (va * va / a.freedom + vb * vb / b.freedom)
    } else {
        a.freedom + b.freedom
    };
    Test { difference: b.mean - a.mean, standard_error: (va + vb).sqrt(), freedom }
}

/// A mean with the noise that its intervals show.
struct Scatter {
    mean: f64,
    standard_error: f64,
    freedom: f64,
}

impl Scatter {
    /// Of values with the times at which their intervals end (that in which an event falls is of the phase after it); `None` where nothing is left to tell noise from.
    fn of(values: &[(f64, f64)], cases: &[&ObservedCase], is_simulated: bool) -> Option<Scatter> {
        let series: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        if series.len() < 2 {
            return None;
        }
        let mut edges: Vec<usize> = cases
            .iter()
            .flat_map(|case| &case.moments)
            .map(|moment| values.partition_point(|(end_s, _)| *end_s <= moment.at_s + 1e-9))
            .collect();
        if is_simulated {
            edges.extend(levels(&series));
        }
        edges.extend([0, series.len()]);
        edges.sort_unstable();
        let edges = not_too_short(&edges);
        let residuals = residuals(&series, &edges);
        let (count, phases) = (series.len() as f64, (edges.len() - 1) as f64);
        // Each phase has a level, and each after the first a place that was chosen.
        let free = count - 2.0 * phases + 1.0;
        let effective = effective_count(&residuals);
        Some(Scatter {
            mean: mean(&series),
            standard_error: (residuals.iter().map(|value| value * value).sum::<f64>() / free / effective)
                .sqrt(),
            freedom: (effective - 2.0 * phases + 1.0).max(1.0),
        })
    }
}

/// Edges with at least [`LEVEL_LEAST`] values between neighbours, from the first to the last.
fn not_too_short(edges: &[usize]) -> Vec<usize> {
    let last = edges[edges.len() - 1];
    let mut kept = vec![edges[0]];
    for &edge in edges {
        let before = kept[kept.len() - 1];
        if edge - before >= LEVEL_LEAST && last - edge >= LEVEL_LEAST {
            kept.push(edge);
        }
    }
    kept.push(last);
    kept
}

/// Finds the places where the level of a series changes.
fn levels(series: &[f64]) -> Vec<usize> {
    let segment = |sigma: f64| {
        let penalty = PENALTY * sigma * sigma * libm::log(series.len() as f64);
        if penalty > 0.0 { pelt(series, penalty, LEVEL_LEAST) } else { Vec::new() }
    };
    let sigma = noise_sigma(series);
    let points = segment(sigma);
    let edges: Vec<usize> = [0].into_iter().chain(points.iter().copied()).chain([series.len()]).collect();
    let residuals = residuals(series, &edges);
    let r = autocorrelation(&residuals);
    if r <= 2.0 / (series.len() as f64).sqrt() {
        return points;
    }
    let r = r.min(0.9);
    let hanging = (variance(&residuals) * (1.0 + r) / (1.0 - r)).sqrt();
    if hanging > sigma { segment(hanging) } else { points }
}

fn residuals(series: &[f64], edges: &[usize]) -> Vec<f64> {
    let mut residuals = Vec::with_capacity(series.len());
    for edge in edges.windows(2) {
        let level = mean(&series[edge[0]..edge[1]]);
        residuals.extend(series[edge[0]..edge[1]].iter().map(|value| value - level));
    }
    residuals
}
