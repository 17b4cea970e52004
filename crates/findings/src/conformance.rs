//! Limit conformance: delivered against allowed rate in every interval.

use crate::Conformance;
use crate::finding::{Basis, Finding};
use crate::observation::{Interval, LimitChange, ObservedCase, counted};

/// So much above a limit is the granularity of tokens and intervals, not a breach.
const TOLERANCE: f64 = 0.02;

/// The rate of an interval that a limit is about.
type RateOf = fn(&Interval) -> f64;

pub(crate) fn of(case: &ObservedCase) -> Vec<Finding> {
    let mut found = Vec::new();
    for (number, change) in case.limits.iter().enumerate() {
        let intervals = match &change.load {
            Some(load) => match case.loads.iter().find(|(name, _)| name == load) {
                Some((_, intervals)) => counted(intervals),
                None => continue,
            },
            None => case.counted(),
        };
        let next = case.limits[number + 1..].iter().find(|later| later.load == change.load);
        let end_s = intervals.last().map_or(change.at_s, |last| last.end_s);
        let to_s = next.map_or(end_s, |next| next.at_s);
        let quantities: [(&str, Option<f64>, RateOf); 2] = [
            ("iops", change.iops, Interval::iops),
            ("bw_bytes_per_s", change.bw_bytes_per_s, Interval::bw_bytes_per_s),
        ];
        for (quantity, allowed, rate) in quantities {
            let Some(allowed) = allowed else { continue };
            let Some(fact) = conformance(change, quantity, allowed, &intervals, to_s, rate) else { continue };
            found.push(Finding {
                id: format!("conformance/{}/{number}/{quantity}", case.path()),
                stage: case.stage.clone(),
                case: Some(case.name.clone()),
                fact: fact.into(),
                rests_on: [Basis::span(case, change.at_s, to_s)].into(),
            });
        }
    }
    found
}

fn conformance(
    change: &LimitChange,
    quantity: &str,
    allowed: f64,
    intervals: &[Interval],
    to_s: f64,
    rate: RateOf,
) -> Option<Conformance> {
    let within: Vec<&Interval> = intervals
        .iter()
        .filter(|one| one.start_s >= change.at_s - 1e-6 && one.end_s <= to_s + 1e-6)
        .collect();
    let time_s: f64 = within.iter().map(|one| one.length_s()).sum();
    if within.is_empty() {
        return None;
    }
    let is_kept = |one: &&&Interval| rate(one) <= allowed * (1.0 + TOLERANCE);
    Some(Conformance {
        load: change.load.clone(),
        quantity: quantity.to_owned(),
        allowed,
        from_s: change.at_s,
        to_s,
        delivered: within.iter().map(|one| rate(one) * one.length_s()).sum::<f64>() / time_s,
        largest: within.iter().map(|one| rate(one)).fold(0.0, f64::max),
        intervals: within.len(),
        intervals_above: within.len() - within.iter().filter(is_kept).count(),
        takes_effect_s: within.iter().find(is_kept).map(|one| (one.start_s - change.at_s).max(0.0)),
    })
}
