//! Search for falls in a series of rates.

use std::ops::Range;

use crate::change_point::pelt;
use crate::ramp_fall::{AFTER_INTERVALS_LIMIT, DEPTH_LEAST_PERCENT, DEVIATIONS_LEAST, highest_level};
use crate::statistics::{autocorrelation, mean, median, noise_sigma, variance};
use crate::text::count;

/// Fewer intervals cannot have a level on both sides of a fall.
pub(super) const INTERVALS_LEAST: usize = 2 * SEGMENT_LEAST;

/// A level is at least so many intervals long; less is a dip.
const SEGMENT_LEAST: usize = 4;

/// The penalty of a change in units of σ²·ln n. The Bayesian information criterion has 2 for a level and a place;
/// 3 is stricter, because noise of arrays is not quite independent.
const PENALTY: f64 = 3.0;

/// A fall of less than this share of the level is no cliff.
const DEPTH_LEAST: f64 = 0.10;

/// The step has to be so many standard errors beyond a common slope.
const STEP_ERRORS_LEAST: f64 = 4.5;

/// Or, without a slope in the model, a step has to explain the window better than a straight line by so many σ².
const BETTER_THAN_LINE: f64 = 14.0;

/// Values further than this many σ from the median of their neighbours are outliers.
const OUTLIER_SIGMAS: f64 = 4.0;
/// Neighbours on each side. Runs of up to three outliers are a minority in seven values.
const OUTLIER_NEIGHBOURS: usize = 3;

/// A fall over several intervals has to explain better than one at once by so many squares of an interval's noise: the
/// best of some hundred ways to draw it does so by chance only below 2·ln 100.
const LONGER_FALL: f64 = 9.2;

/// The least noise of a logarithm that is assumed, so that a simulated series without any is not cut at every tremor.
const SIGMA_LEAST: f64 = 0.005;

/// A fall, as indices of intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FallIndex {
    /// First interval of the level before.
    pub level_from: usize,
    /// The first interval below it.
    pub onset: usize,
    /// The first interval at the level after.
    pub settled: usize,
    /// End of the level after.
    pub level_to: usize,
    /// The step in standard errors.
    pub standard_errors: f64,
}

/// Result of the search.
#[derive(Debug, Clone)]
pub(super) enum Found {
    Nothing { reason: String, smallest_visible_percent: Option<f64> },
    Falls(Falls),
}

/// All falls of a series, in order.
#[derive(Debug, Clone)]
pub(super) struct Falls {
    pub all: Vec<FallIndex>,
    /// Span in which the rate is back up by half or more of the first fall.
    pub recovery: Option<(usize, usize)>,
    pub noise_percent: f64,
}

/// Looks for falls in rates of equal intervals, whose noise is no less than `scatter`.
pub(super) fn search(rates: &[f64], scatter: f64) -> Found {
    let typical = median(rates.iter().copied());
    if typical <= 0.0 {
        let reason = "nothing was written in more than half of the intervals".to_owned();
        return Found::Nothing { reason, smallest_visible_percent: None };
    }
    // A stall is a rate of zero, which has no logarithm; a hundredth of the median is as much of an outlier.
    let logs: Vec<f64> = rates.iter().map(|rate| libm::log(rate.max(typical / 100.0))).collect();
    let (clean, outliers) = without_outliers(&logs, scatter);
    let mut sigma = noise_sigma(&clean).max(SIGMA_LEAST).max(scatter);
    let mut points = segment(&clean, sigma);
    let hanging = hanging_together(&clean, &points);
    if hanging > sigma {
        sigma = hanging;
        points = segment(&clean, sigma);
    }
    let levels: Vec<f64> = clean.iter().map(|log| libm::exp(*log)).collect();
    let mut edges = vec![0];
    edges.extend(&points);
    edges.push(levels.len());
    let mut all = falls(&levels, &edges, sigma);
    all.retain(|fall| is_carried(&outliers, fall) && falls_with_outliers(rates, fall));
    let noise_percent = 100.0 * sigma;
    if all.is_empty() {
        all.extend(leading_fall(rates, sigma));
    }
    if all.is_empty() {
        // A step in the middle of the series, beside a slope: its standard error is 2σ·√(4 ÷ n).
        let visible_log = STEP_ERRORS_LEAST * 2.0 * sigma * (4.0 / levels.len() as f64).sqrt();
        let smallest = 100.0 * (1.0 - libm::exp(-visible_log)).max(DEPTH_LEAST);
        let reason = format!(
            "no lasting fall of {smallest:.0} % or more in {} with {noise_percent:.1} % noise",
            count(levels.len(), "interval")
        );
        return Found::Nothing { reason, smallest_visible_percent: Some(smallest) };
    }
    let recovery = recovery(&levels, &edges, &all);
    bound_levels(&mut all, recovery, levels.len());
    Found::Falls(Falls { all, recovery, noise_percent })
}

fn segment(series: &[f64], sigma: f64) -> Vec<usize> {
    pelt(series, PENALTY * sigma * sigma * libm::log(series.len() as f64), SEGMENT_LEAST)
}

/// Replaces outliers by the median of their neighbours (Hampel's filter). The edge of a step is no outlier: of the
/// seven values around it four are at its own level.
fn without_outliers(series: &[f64], scatter: f64) -> (Vec<f64>, Vec<bool>) {
    let sigma = noise_sigma(series).max(4.0 * SIGMA_LEAST).max(scatter);
    let at = |index: usize| {
        let from = index.saturating_sub(OUTLIER_NEIGHBOURS);
        let to = (index + OUTLIER_NEIGHBOURS + 1).min(series.len());
        let middle = median(series[from..to].iter().copied());
        let is_outlier = (series[index] - middle).abs() > OUTLIER_SIGMAS * sigma;
        (if is_outlier { middle } else { series[index] }, is_outlier)
    };
    (0..series.len()).map(at).unzip()
}

/// The noise that independent values would need to make means as unsure as these, where neighbours hang together: the
/// deviation of the residuals, times √((1 + r) ÷ (1 − r)). Zero where they do not.
fn hanging_together(series: &[f64], points: &[usize]) -> f64 {
    let mut residuals = Vec::with_capacity(series.len());
    let mut edges = vec![0];
    edges.extend(points);
    edges.push(series.len());
    for edge in edges.windows(2) {
        let segment = &series[edge[0]..edge[1]];
        let level = mean(segment);
        residuals.extend(segment.iter().map(|value| value - level));
    }
    let r = autocorrelation(&residuals);
    if r <= 2.0 / (residuals.len() as f64).sqrt() {
        return 0.0;
    }
    let r = r.min(0.9);
    (variance(&residuals) * (1.0 + r) / (1.0 - r)).sqrt()
}

/// Three intervals on either side, at the least, that are no outliers.
fn is_carried(outliers: &[bool], fall: &FallIndex) -> bool {
    let sound = |from: usize, to: usize| outliers[from..to].iter().filter(|is_outlier| !**is_outlier).count();
    sound(fall.level_from, fall.onset) >= 3 && sound(fall.settled, fall.level_to) >= 3
}

/// Returns whether the rate falls with its outliers too: what stalls as often as it is fast may do no more than what is even.
fn falls_with_outliers(rates: &[f64], fall: &FallIndex) -> bool {
    let (before, after) = (&rates[fall.level_from..fall.onset], &rates[fall.settled..fall.level_to]);
    is_deep(mean(before), mean(after))
}

/// Returns whether a level is so far below another that it is a cliff.
fn is_deep(high: f64, low: f64) -> bool {
    low <= high * (1.0 - DEPTH_LEAST)
}

/// The fall from a level at the beginning that is too short for a segment, as that of a cache which fills within the first intervals, to
/// all that follows. What comes again later is no such level.
fn leading_fall(rates: &[f64], sigma: f64) -> Option<FallIndex> {
    let Range { start: level_from, end: onset } = highest_level(&rates[..SEGMENT_LEAST])?;
    if onset == SEGMENT_LEAST {
        return None;
    }
    let following = &rates[SEGMENT_LEAST..rates.len().min(SEGMENT_LEAST + AFTER_INTERVALS_LIMIT)];
    let (high, low) = (mean(&rates[level_from..onset]), mean(following));
    let has_settled = |rate: &f64| *rate <= low * libm::exp(DEVIATIONS_LEAST * sigma);
    let settled = onset + rates[onset..].iter().position(has_settled)?;
    let is_reached_again = rates[settled..].iter().any(|rate| rate * rate >= high * low);
    let distance = libm::log(high / low);
    let is_fall = settled <= SEGMENT_LEAST
        && low <= high * (1.0 - DEPTH_LEAST_PERCENT / 100.0)
        && distance >= DEVIATIONS_LEAST * sigma
        && !is_reached_again;
    let [before, after] = [onset - level_from, following.len()].map(|length| 1.0 / length as f64);
    let standard_errors = distance / (sigma * (before + after).sqrt());
    is_fall.then_some(FallIndex { level_from, onset, settled, level_to: rates.len(), standard_errors })
}

fn falls(levels: &[f64], edges: &[usize], sigma: f64) -> Vec<FallIndex> {
    let segments: Vec<(usize, usize)> = edges.windows(2).map(|edge| (edge[0], edge[1])).collect();
    let level = |segment: (usize, usize)| mean(&levels[segment.0..segment.1]);
    let mut found: Vec<FallIndex> = Vec::new();
    let mut first = 0;
    while first + 1 < segments.len() {
        // Short segments on the way down belong to the fall.
        let mut second = first + 1;
        while second + 1 < segments.len()
            && segments[second].1 - segments[second].0 < 2 * SEGMENT_LEAST
            && level(segments[second]) < level(segments[second - 1])
            && level(segments[second + 1]) < level(segments[second])
        {
            second += 1;
        }
        if let Some(fall) = fall_between(levels, segments[first], segments[second], sigma) {
            found.push(fall);
        }
        first = second;
    }
    found
}

/// The fall from one segment to another, if it is one.
fn fall_between(
    levels: &[f64],
    before: (usize, usize),
    after: (usize, usize),
    sigma: f64,
) -> Option<FallIndex> {
    let (high, low) = (mean(&levels[before.0..before.1]), mean(&levels[after.0..after.1]));
    if !is_deep(high, low) {
        return None;
    }
    let standard_errors = step_standard_errors(levels, before, after, sigma)?;
    let (onset, settled) = edge(levels, before, after);
    Some(FallIndex { level_from: before.0, onset, settled, level_to: after.1, standard_errors })
}

/// Size of the step between two segments, in standard errors; `None` where there is none.
fn step_standard_errors(
    levels: &[f64],
    before: (usize, usize),
    after: (usize, usize),
    sigma: f64,
) -> Option<f64> {
    let window: Vec<(f64, f64, f64)> = (before.0..before.1)
        .map(|at| (at as f64, 0.0, levels[at]))
        .chain((after.0..after.1).map(|at| (at as f64, 1.0, levels[at])))
        .collect();
    // Noise grows with the level: that of the mean of both.
    let noise = sigma * mean(&window.iter().map(|point| point.2).collect::<Vec<_>>());
    let fit = StepAndSlope::fit(&window)?;
    let with_slope = -fit.step / (noise * fit.step_error);
    let high = mean(&levels[before.0..before.1]);
    if with_slope >= STEP_ERRORS_LEAST && -fit.step >= DEPTH_LEAST * high {
        return Some(with_slope);
    }
    let gain = (fit.line_squares - fit.step_squares) / (noise * noise);
    let plain = fit.plain_step / (noise * fit.plain_error);
    (gain >= BETTER_THAN_LINE && -plain >= STEP_ERRORS_LEAST).then_some(-plain)
}

/// Least squares of a window by a line, by a step, and by both.
struct StepAndSlope {
    /// The step beside a common slope, and its standard error for noise of 1.
    step: f64,
    step_error: f64,
    /// The step without a slope.
    plain_step: f64,
    plain_error: f64,
    /// Squares left by a straight line, and by a step.
    line_squares: f64,
    step_squares: f64,
}

impl StepAndSlope {
    /// Fits points of time, side (0 before, 1 after) and value; `None` where they cannot tell.
    fn fit(points: &[(f64, f64, f64)]) -> Option<StepAndSlope> {
        let n = points.len() as f64;
        let sum = |f: &dyn Fn(&(f64, f64, f64)) -> f64| points.iter().map(f).sum::<f64>();
        let (t, d, y) = (sum(&|p| p.0) / n, sum(&|p| p.1) / n, sum(&|p| p.2) / n);
        let tt = sum(&|p| (p.0 - t) * (p.0 - t));
        let dd = sum(&|p| (p.1 - d) * (p.1 - d));
        let td = sum(&|p| (p.0 - t) * (p.1 - d));
        let ty = sum(&|p| (p.0 - t) * (p.2 - y));
        let dy = sum(&|p| (p.1 - d) * (p.2 - y));
        let yy = sum(&|p| (p.2 - y) * (p.2 - y));
        let determinant = tt * dd - td * td;
        if tt <= 0.0 || dd <= 0.0 || determinant <= 0.0 {
            return None;
        }
        Some(StepAndSlope {
            step: (dy * tt - ty * td) / determinant,
            step_error: (tt / determinant).sqrt(),
            plain_step: dy / dd,
            plain_error: 1.0 / dd.sqrt(),
            line_squares: yy - ty * ty / tt,
            step_squares: yy - dy * dy / dd,
        })
    }
}

/// Finds the beginning of a fall and where it has settled: of all ways to join the two levels by a straight fall of zero or more
/// intervals, the one with the least squares. A longer fall has to save more than chance would, so that a step stays a
/// step.
fn edge(levels: &[f64], before: (usize, usize), after: (usize, usize)) -> (usize, usize) {
    let reach = SEGMENT_LEAST * 2;
    let high = mean(&levels[before.0..before.1]);
    let low = mean(&levels[after.0..after.1]);
    let from = before.1.saturating_sub(reach).max(before.0 + 1);
    let to = (after.0 + reach).min(after.1 - 1);
    let scale = variance(&levels[after.0..after.1]).max(variance(&levels[before.0..before.1]));
    let cost = |onset: usize, settled: usize| -> f64 {
        (from..=to)
            .map(|at| {
                let model = if at < onset {
                    high
                } else if at >= settled {
                    low
                } else {
                    let share = (at - onset + 1) as f64 / (settled - onset + 1) as f64;
                    high + (low - high) * share
                };
                (levels[at] - model) * (levels[at] - model)
            })
            .sum()
    };
    let mut best = (f64::INFINITY, before.1, after.0);
    for onset in from..=to {
        for settled in onset..=to {
            let price = if settled == onset { 0.0 } else { LONGER_FALL * scale };
            let total = cost(onset, settled) + price;
            if total < best.0 {
                best = (total, onset, settled);
            }
        }
    }
    (best.1, best.2)
}

/// The first stretch after the first fall and before the next that is back up by half of the fall or more.
fn recovery(levels: &[f64], edges: &[usize], falls: &[FallIndex]) -> Option<(usize, usize)> {
    let first = falls.first()?;
    let next = falls.get(1).map_or(levels.len(), |fall| fall.onset);
    let high = mean(&levels[first.level_from..first.onset]);
    let low = mean(&levels[first.settled..first.level_to]);
    let is_up = |segment: (usize, usize)| mean(&levels[segment.0..segment.1]) >= f64::midpoint(high, low);
    edges
        .windows(2)
        .map(|edge| (edge[0], edge[1].min(next)))
        .find(|&(from, to)| from >= first.level_to && to > from && is_up((from, to)))
        .map(|(from, _)| (from, next))
}

/// A level after lasts until the next fall or the recovery, whatever segments it was cut into. A level before stays the
/// segment in front of its fall: what came earlier may be a cache filling.
fn bound_levels(falls: &mut [FallIndex], recovery: Option<(usize, usize)>, length: usize) {
    for index in 0..falls.len() {
        let next = falls.get(index + 1).map_or(length, |fall| fall.onset);
        let until = match recovery {
            Some((from, _)) if index == 0 => from.min(next),
            _ => next,
        };
        let fall = &mut falls[index];
        fall.level_to = until.max(fall.settled + 1);
    }
}
