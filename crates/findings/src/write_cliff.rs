//! Write cliffs: lasting falls of a case's write rate.
//!
//! The series is cleaned of outliers, segmented by PELT on its logarithm (noise of arrays grows with the rate), and
//! every fall between two segments has to show that it is a step, neither noise nor slope, before it is reported
//! (`search`). What the fall means for the array is worked out here.

mod search;

use crate::finding::Finding;
use crate::observation::{Flow, Interval, ObservedCase, rate_over};
use crate::statistics::{mean, median, slope};
use crate::{Fall, NoWriteCliff, Recovery, WriteCliff};
use search::{Found, INTERVALS_LEAST, search};

pub(crate) fn of(case: &ObservedCase) -> Option<Finding> {
    if !case.writes() {
        return None;
    }
    let counted = case.counted();
    let rates: Vec<f64> = counted.iter().map(|interval| interval.write.bytes / interval.length_s()).collect();
    let none = |reason: String, visible: Option<f64>| {
        let length_s = counted.last().map_or(0.0, |last| last.end_s - counted[0].start_s);
        let fact =
            NoWriteCliff { reason, intervals: counted.len(), length_s, smallest_visible_percent: visible };
        Finding::of_case(case, fact.into(), None)
    };
    // A held rate says what was asked for, not what the array can do.
    if case.number("rate_iops").is_some() {
        return Some(none("the load holds a fixed rate, under which a fall cannot be told".into(), None));
    }
    // What is done to the target moves the rate by itself: those falls are disruptions, and limits.
    if case.is_disturbed() {
        let reason = "events, limits or loads that come and go change the rate while it runs, so a fall says nothing of a reserve";
        return Some(none(reason.into(), None));
    }
    if rates.len() < INTERVALS_LEAST {
        let reason = format!(
            "a level on either side of a fall takes {INTERVALS_LEAST} intervals, and the case has {}",
            rates.len()
        );
        return Some(none(reason, None));
    }
    Some(match search(&rates, scatter(&counted)) {
        Found::Nothing { reason, smallest_visible_percent } => none(reason, smallest_visible_percent),
        Found::Falls(falls) => describe(case, &counted, &falls),
    })
}

/// Relative scatter of rates that chance alone makes: of n I/Os in an interval it is 1 ÷ √n where none waits for another (Poisson), less
/// where they follow each other. Neighbours with the same few I/Os look as if there were none.
fn scatter(counted: &[Interval]) -> f64 {
    let ios = median(counted.iter().map(|interval| interval.write.ios));
    1.0 / ios.max(1.0).sqrt()
}

fn describe(case: &ObservedCase, counted: &[Interval], falls: &search::Falls) -> Finding {
    // Outliers are left out of the search alone: stalls are of a level as much as what lies between them.
    let over = |from: usize, to: usize, flow: fn(&Interval) -> Flow| rate_over(&counted[from..to], flow);
    let writes = |interval: &Interval| interval.write;
    let described: Vec<Fall> = falls
        .all
        .iter()
        .map(|fall| {
            let before = over(fall.level_from, fall.onset, writes);
            let after = over(fall.settled, fall.level_to, writes);
            let settled_s = counted[fall.settled].start_s;
            Fall {
                onset_s: counted[fall.onset].start_s,
                before,
                after,
                depth_percent: 100.0 * (1.0 - after.bw_bytes_per_s / before.bw_bytes_per_s),
                fall_s: settled_s - counted[fall.onset].start_s,
            }
        })
        .collect();
    let (first, last) = (&falls.all[0], &falls.all[falls.all.len() - 1]);
    let fall = &described[0];
    let bytes_written: f64 = case
        .intervals
        .iter()
        .filter(|interval| interval.end_s <= fall.onset_s + 1e-9)
        .map(|interval| interval.write.bytes)
        .sum();
    // The second half of what follows the last fall: garbage collection overshoots before it settles.
    let settled = last.settled + (counted.len() - last.settled) / 2;
    let sustained = over(settled, counted.len(), Interval::all);
    let is_mixed = case.result.read.as_ref().is_some_and(|read| read.ios > 0);
    let reads = |from, to| is_mixed.then(|| over(from, to, |interval| interval.read));
    let recovery = falls.recovery.map(|(from, to)| {
        let risen = over(from, to, writes);
        Recovery {
            at_s: counted[from].start_s,
            to: risen,
            share_percent: 100.0 * risen.bw_bytes_per_s / fall.before.bw_bytes_per_s,
        }
    });
    let recurs = falls.recovery.is_some() && described.len() > 1;
    let after: Vec<f64> =
        counted[last.settled..].iter().map(|interval| interval.write.bytes / interval.length_s()).collect();
    let drift = slope(&after) * (after.len() - 1) as f64 / mean(&after).max(f64::MIN_POSITIVE);
    let cliff = WriteCliff {
        onset_s: fall.onset_s,
        bytes_written,
        before: fall.before,
        after: fall.after,
        depth_percent: fall.depth_percent,
        fall_s: fall.fall_s,
        reads_before: reads(first.level_from, first.onset),
        reads_after: reads(first.settled, first.level_to),
        drift_after_percent: 100.0 * drift,
        recovery,
        recurs_every_s: recurs
            .then(|| (described[described.len() - 1].onset_s - fall.onset_s) / (described.len() - 1) as f64),
        reserve_bytes: (bytes_written - fall.after.bw_bytes_per_s * fall.onset_s).max(0.0),
        sustained,
        noise_percent: falls.noise_percent,
        step_standard_errors: first.standard_errors.min(1e6),
        further_falls: described[1..].to_vec(),
    };
    let span = (counted[first.level_from].start_s, counted[first.level_to - 1].end_s);
    Finding::of_case(case, cliff.into(), Some(span))
}
