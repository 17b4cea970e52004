//! Path balance: the spread of a case's load over its paths.

use crate::PathBalance;
use crate::finding::Finding;
use crate::observation::ObservedCase;

/// A device that carried less than this share of what the busiest one did says nothing about balance.
const IDLE: f64 = 0.1;

/// Division of the load over the paths of a case, where there are two or more of a kind: the links of a twin or the ports of
/// the host and, of all devices with several paths, the one whose load divides least evenly.
pub(crate) fn of(case: &ObservedCase) -> Vec<Finding> {
    let mut kinds: Vec<(&str, Vec<f64>)> = Vec::new();
    for one in &case.carried {
        match kinds.iter_mut().find(|(paths, _)| *paths == one.paths) {
            Some((_, bytes)) => bytes.push(one.bytes),
            None => kinds.push((&one.paths, vec![one.bytes])),
        }
    }
    let carried = |kind: &(&str, Vec<f64>)| kind.1.iter().sum::<f64>();
    kinds.retain(|kind| kind.1.len() >= 2 && carried(kind) > 0.0);
    let (devices, others): (Vec<_>, Vec<_>) =
        kinds.into_iter().partition(|(paths, _)| paths.starts_with("path"));
    let busiest = devices.iter().map(carried).fold(0.0, f64::max);
    let worst = devices
        .into_iter()
        .filter(|device| carried(device) >= IDLE * busiest)
        .map(|(paths, bytes)| shares(paths, &bytes))
        .reduce(|a, b| if b.largest_over_mean > a.largest_over_mean { b } else { a });
    let others = others.into_iter().map(|(paths, bytes)| shares(paths, &bytes));
    let mut found: Vec<Finding> = Vec::new();
    for fact in worst.into_iter().chain(others) {
        let paths = fact.paths.clone();
        let mut one = Finding::of_case(case, fact.into(), None);
        if !found.is_empty() {
            one.id = format!("{}/{paths}", one.id);
        }
        found.push(one);
    }
    found
}

fn shares(paths: &str, bytes: &[f64]) -> PathBalance {
    let all: f64 = bytes.iter().sum();
    let shares: Vec<f64> = bytes.iter().map(|one| 100.0 * one / all).collect();
    let mean = 100.0 / shares.len() as f64;
    PathBalance {
        paths: paths.to_owned(),
        largest_over_mean: shares.iter().copied().fold(0.0, f64::max) / mean,
        smallest_over_mean: shares.iter().copied().fold(f64::INFINITY, f64::min) / mean,
        shares_percent: shares,
    }
}
