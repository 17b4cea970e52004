//! Falls of the write rate within a ramp, whose intervals nothing else counts.
//!
//! A cache or a reserve that is used up in the ramp leaves no fall in what is counted: without this finding "writes do not
//! fall" would be read of a target that has fallen already.

use std::ops::Range;

use crate::RampFall;
use crate::finding::Finding;
use crate::observation::{Interval, ObservedCase, rate_over};
use crate::statistics::variance;

/// The most intervals over which the level after is taken, from the ramp's end on.
pub(crate) const AFTER_INTERVALS_LIMIT: usize = 10;
/// The fewest.
const AFTER_INTERVALS_LEAST: usize = 3;
/// The least fall, in percent of the level before.
pub(crate) const DEPTH_LEAST_PERCENT: f64 = 20.0;
/// Standard deviations of the intervals after that the fall has to be: the highest of some intervals is high by chance, too.
pub(crate) const DEVIATIONS_LEAST: f64 = 5.0;
/// Share of the highest rate from which on neighbours are of its level.
const LEVEL_SHARE: f64 = 0.9;

fn bytes_per_s(interval: &Interval) -> f64 {
    interval.write.bytes / interval.length_s()
}

/// The highest of some rates with the neighbours that are of its level; `None` of none.
pub(crate) fn highest_level(rates: &[f64]) -> Option<Range<usize>> {
    let highest = (0..rates.len()).max_by(|&a, &b| rates[a].total_cmp(&rates[b]))?;
    let is_below = |rate: &f64| *rate < LEVEL_SHARE * rates[highest];
    let start = rates[..highest].iter().rposition(is_below).map_or(0, |last| last + 1);
    let end = rates[highest..].iter().position(is_below).map_or(rates.len(), |length| highest + length);
    Some(start..end)
}

pub(crate) fn of(case: &ObservedCase) -> Option<Finding> {
    // A held rate says what was asked for, not what the target can do.
    if !case.writes() || case.is_disturbed() || case.number("rate_iops").is_some() {
        return None;
    }
    let of_ramp = |interval: &&Interval| interval.is_ramp && interval.length_s() > 0.0;
    let ramp: Vec<Interval> = case.intervals.iter().filter(of_ramp).copied().collect();
    let counted = case.counted();
    let after = &counted[..counted.len().min(AFTER_INTERVALS_LIMIT)];
    if ramp.is_empty() || after.len() < AFTER_INTERVALS_LEAST {
        return None;
    }
    let Range { start: from, end: to } = highest_level(&ramp.iter().map(bytes_per_s).collect::<Vec<_>>())?;
    let of_writes = |intervals: &[Interval]| rate_over(intervals, |interval| interval.write);
    let (before, settled) = (of_writes(&ramp[from..to]), of_writes(after));
    let depth = before.bw_bytes_per_s - settled.bw_bytes_per_s;
    let depth_percent = 100.0 * depth / before.bw_bytes_per_s;
    let rates: Vec<f64> = after.iter().map(bytes_per_s).collect();
    if depth_percent < DEPTH_LEAST_PERCENT || depth < DEVIATIONS_LEAST * variance(&rates).sqrt() {
        return None;
    }
    let onset_s = ramp[to - 1].end_s;
    let is_before = |interval: &&Interval| interval.end_s <= onset_s + 1e-9;
    let fall = RampFall {
        onset_s,
        bytes_written: case.intervals.iter().filter(is_before).map(|interval| interval.write.bytes).sum(),
        before,
        after: settled,
        depth_percent,
    };
    Some(Finding::of_case(case, fall.into(), Some((ramp[from].start_s, counted[0].start_s))))
}
