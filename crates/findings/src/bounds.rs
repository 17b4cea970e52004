//! Saturation of groups of cases: peak rate, knee, and the best block size.

use crate::finding::{Basis, Fact, Finding};
use crate::groups::{Group, by_all_but};
use crate::level::total;
use crate::observation::{Observation, ObservedCase};
use crate::{
    BestBlockSize, BoundedMaximum, DirectionLevel, Flattening, Kind, Maximum, MinimalLatency, Saturation,
};
use std::collections::HashSet;

/// Settings that only change how much is outstanding and how it is issued.
const LOAD: &[&str] = &["numjobs", "iodepth", "ioengine", "rate_iops"];

/// From this share of the largest rate on, more load brings little: the knee.
const KNEE: f64 = 0.90;

/// A rate still rises where the last step gains this share or more.
const STILL_RISING: f64 = 0.10;

/// The latency bound of the published tables.
pub const LATENCY_BOUND_NS: f64 = 1e6;

/// Block sizes flatten where bytes a second stay within this share of their mean.
const FLAT: f64 = 0.10;

pub(crate) fn of(observation: &Observation) -> Vec<Finding> {
    let mut found = Vec::new();
    for setting in ["numjobs", "iodepth", "rate_iops"] {
        for group in by_all_but(&observation.cases, &[setting]) {
            found.extend(saturation(&group, setting));
        }
    }
    for group in by_all_but(&observation.cases, LOAD) {
        found.extend(extremes(&group));
    }
    for group in by_all_but(&observation.cases, &["bs"]) {
        found.extend(blocks(&group));
    }
    found
}

fn finding(group: &Group<'_>, more: &str, case: Option<&ObservedCase>, fact: Fact) -> Finding {
    let rests_on = match case {
        Some(case) => [Basis::of(case)].into(),
        None => group.cases.iter().map(|case| Basis::of(case)).collect(),
    };
    Finding {
        id: group.id(fact.kind(), more),
        stage: group.stage.to_owned(),
        case: case.map(|case| case.name.clone()),
        fact,
        rests_on,
    }
}

/// The cases of a group by the value of a numeric setting, each value once.
fn along<'a>(group: &Group<'a>, setting: &str) -> Vec<(f64, &'a ObservedCase)> {
    let mut points: Vec<(f64, &ObservedCase)> =
        group.cases.iter().filter_map(|case| Some((case.number(setting)?, *case))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by(|a, b| a.0 == b.0);
    points
}

fn saturation(group: &Group<'_>, setting: &str) -> Option<Finding> {
    let points = along(group, setting);
    if points.len() < 3 {
        return None;
    }
    let maximum = points.iter().map(|(_, case)| case.result.iops).fold(0.0, f64::max);
    let (last, before_last) = (points[points.len() - 1].1, points[points.len() - 2].1);
    let rising =
        last.result.iops >= maximum && last.result.iops > before_last.result.iops * (1.0 + STILL_RISING);
    let knee = points.iter().find(|(_, case)| case.result.iops >= KNEE * maximum)?;
    let (at, case) = if rising { (None, last) } else { (Some(knee.0), knee.1) };
    let fact = Saturation {
        setting: setting.to_owned(),
        of: group.common.clone(),
        reached: !rising,
        at,
        at_least: at.unwrap_or(points[points.len() - 1].0),
        iops: case.result.iops,
        maximum_iops: maximum,
        mean_latency_ns: total(case).mean_latency_ns,
        points: points.iter().map(|(value, case)| [*value, case.result.iops]).collect(),
    };
    Some(Finding {
        rests_on: points.iter().map(|(_, case)| Basis::of(case)).collect(),
        ..finding(group, setting, Some(case), fact.into())
    })
}

fn largest<'a>(cases: &[&'a ObservedCase], value: impl Fn(&ObservedCase) -> f64) -> Option<&'a ObservedCase> {
    // Of equals the first, in the order of the plan.
    cases.iter().copied().rev().max_by(|a, b| value(a).total_cmp(&value(b)))
}

/// A rate of a case.
type RateOf = fn(&ObservedCase) -> f64;

fn extremes(group: &Group<'_>) -> Vec<Finding> {
    let cases: Vec<&ObservedCase> =
        group.cases.iter().copied().filter(|case| case.result.iops > 0.0 && !case.reads_nothing()).collect();
    let among = cases.len();
    let mut found = Vec::new();
    let quantities: [(&str, RateOf); 2] =
        [("iops", |case| case.result.iops), ("bw_bytes_per_s", |case| case.result.bw_bytes_per_s)];
    // A case alone is no maximum of anything, but its latency is one of those of the run.
    for (quantity, value) in quantities.into_iter().filter(|_| among >= 2) {
        let Some(case) = largest(&cases, value) else { continue };
        let fact = Maximum {
            quantity: quantity.to_owned(),
            of: group.common.clone(),
            value: value(case),
            iops: case.result.iops,
            bw_bytes_per_s: case.result.bw_bytes_per_s,
            mean_latency_ns: total(case).mean_latency_ns,
            among,
        };
        found.push(finding(group, quantity, Some(case), fact.into()));
    }
    let latency = |case: &ObservedCase| total(case).mean_latency_ns;
    let within: Vec<&ObservedCase> =
        cases.iter().copied().filter(|case| latency(case) <= LATENCY_BOUND_NS).collect();
    let fastest = largest(&cases, |case| -latency(case));
    let bounded = largest(&within, |case| case.result.iops);
    if let Some(case) = bounded.or(fastest) {
        let fact = BoundedMaximum {
            bound_ns: LATENCY_BOUND_NS,
            of: group.common.clone(),
            iops: bounded.map(|case| case.result.iops),
            bw_bytes_per_s: bounded.map(|case| case.result.bw_bytes_per_s),
            mean_latency_ns: latency(case),
            among,
        };
        found.push(finding(group, "", Some(case), fact.into()));
    }
    if let Some(case) = fastest {
        let least = latency(case);
        let mut numjobs: Vec<u64> = cases
            .iter()
            .filter(|case| latency(case) <= 1.05 * least)
            .filter_map(|case| case.number("numjobs"))
            .map(|jobs| jobs as u64)
            .collect();
        numjobs.sort_unstable();
        numjobs.dedup();
        let level = total(case);
        let is_mix = level.read.is_some() && level.write.is_some();
        let direction =
            |part: Option<DirectionLevel>| part.filter(|_| is_mix).map(|part| part.mean_latency_ns);
        let fact = MinimalLatency {
            of: group.common.clone(),
            mean_latency_ns: least,
            read_mean_latency_ns: direction(level.read),
            write_mean_latency_ns: direction(level.write),
            iops: case.result.iops,
            numjobs,
            among,
        };
        found.push(finding(group, "", Some(case), fact.into()));
    }
    found
}

fn blocks(group: &Group<'_>) -> Vec<Finding> {
    let points = along(group, "bs");
    if points.len() < 3 || points.iter().any(|(_, case)| case.result.iops <= 0.0) {
        return Vec::new();
    }
    let most =
        |value: fn(&ObservedCase) -> f64| points.iter().map(|(_, case)| value(case)).fold(0.0, f64::max);
    let (most_iops, most_bytes) = (most(|case| case.result.iops), most(|case| case.result.bw_bytes_per_s));
    let best = points.iter().rev().find(|(_, case)| case.result.iops >= KNEE * most_iops);
    let for_bytes = points.iter().find(|(_, case)| case.result.bw_bytes_per_s >= KNEE * most_bytes);
    let (Some((bs, case)), Some((bs_for_bytes, _))) = (best, for_bytes) else { return Vec::new() };
    let fact = BestBlockSize {
        of: group.common.clone(),
        best_bs: *bs as u64,
        iops_share_percent: 100.0 * case.result.iops / most_iops,
        bw_bytes_per_s: case.result.bw_bytes_per_s,
        best_bs_for_bandwidth: *bs_for_bytes as u64,
        points: points.iter().map(|(bs, case)| [*bs, case.result.iops, case.result.bw_bytes_per_s]).collect(),
    };
    let bytes: Vec<f64> = points.iter().map(|(_, case)| case.result.bw_bytes_per_s).collect();
    let deviation = |tail: &[f64]| {
        let mean = crate::statistics::mean(tail);
        (mean, tail.iter().map(|value| (value - mean).abs() / mean).fold(0.0, f64::max))
    };
    let flat_from = (0..=bytes.len() - 3).find(|&from| deviation(&bytes[from..]).1 <= FLAT);
    let (mean, off) = deviation(&bytes[flat_from.unwrap_or(bytes.len() - 3)..]);
    let flattening = Flattening {
        of: group.common.clone(),
        flattens: flat_from.is_some(),
        from_bs: flat_from.map(|from| points[from].0 as u64),
        bw_bytes_per_s: mean,
        deviation_percent: 100.0 * off,
    };
    vec![finding(group, "", None, fact.into()), finding(group, "", None, flattening.into())]
}

/// The cases whose limit is worth knowing: those with the largest rate of their group, and of their stage.
pub(crate) fn maxima<'a>(observation: &'a Observation, found: &[Finding]) -> Vec<&'a ObservedCase> {
    let maxima: HashSet<(&str, &str)> = found
        .iter()
        .filter(|finding| finding.kind() == Kind::Maximum)
        .filter_map(|finding| Some((finding.stage.as_str(), finding.case.as_deref()?)))
        .collect();
    // A case that no other of its group can be compared with is the largest of it.
    let alone: HashSet<*const ObservedCase> = by_all_but(&observation.cases, LOAD)
        .into_iter()
        .filter(|group| group.cases.len() == 1)
        .map(|group| std::ptr::from_ref(group.cases[0]))
        .collect();
    let is_maximum = |case: &&ObservedCase| {
        maxima.contains(&(case.stage.as_str(), case.name.as_str()))
            || alone.contains(&std::ptr::from_ref(*case))
    };
    observation.cases.iter().filter(is_maximum).collect()
}
