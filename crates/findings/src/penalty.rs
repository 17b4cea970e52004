//! Penalties and effects: pairs of cases that differ in one thing.

use crate::finding::{Basis, Fact, Finding};
use crate::groups::{by_all_but, varying, word};
use crate::level::total;
use crate::observation::{Interval, Observation, ObservedCase};
use crate::statistics::{Estimate, mean, t_quantile};
use crate::{Effect, WriteCliff, WritePenalty};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Settings whose effect is worth a finding of its own; what changes the load itself is under saturation and bounds.
const FACTORS: &[&str] = &[
    "write_cache",
    "read_cache",
    "read_ahead",
    "coverage",
    "raid",
    "layout",
    "segment",
    "disks",
    "rwmixread",
    "volume",
    "host",
    "filesystem",
    "pass",
];

/// With so many pairs the spread over them says more than that of the intervals of one.
const PAIRS_FOR_SPREAD: usize = 3;

fn rates(case: &ObservedCase) -> Option<Estimate> {
    Estimate::of(&case.counted().iter().map(Interval::iops).collect::<Vec<_>>())
}

/// Writes as a share of reads, for each set with a RAID level.
pub(crate) fn penalties(observation: &Observation) -> Vec<Finding> {
    let mut found = Vec::new();
    for group in by_all_but(&observation.cases, &["rw", "rwmixread"]) {
        let raid = group.common.get("raid").and_then(Value::as_u64);
        let Some((raid, rule_of_thumb)) = raid.and_then(|raid| Some((raid, rule_of_thumb(raid)?))) else {
            continue;
        };
        // Of several loads at once each has a mix of its own, which the settings of the case are not.
        let is_pure =
            |case: &ObservedCase, share| case.loads.is_empty() && case.number("rwmixread") == Some(share);
        let pure = |share| group.cases.iter().copied().find(|case| is_pure(case, share));
        let (Some(reads), Some(writes)) = (pure(100.0), pure(0.0)) else { continue };
        if reads.result.iops <= 0.0 {
            continue;
        }
        let confidence = rates(reads)
            .zip(rates(writes))
            .and_then(|(reads, writes)| reads.ratio_to(&writes, 0.95))
            .map(|(_, interval)| interval);
        let fact = WritePenalty {
            of: group.common.clone(),
            raid,
            disks: group.common.get("disks").and_then(Value::as_u64),
            read_iops: reads.result.iops,
            write_iops: writes.result.iops,
            ratio: writes.result.iops / reads.result.iops,
            ratio_confidence_95: confidence,
            rule_of_thumb,
        };
        found.push(Finding {
            id: group.id(crate::Kind::WritePenalty, ""),
            stage: group.stage.to_owned(),
            case: None,
            fact: fact.into(),
            rests_on: [Basis::of(reads), Basis::of(writes)].into(),
        });
    }
    found
}

/// Small random writes as a share of reads: RAID 10 writes twice; RAID 5 reads and writes data and parity; RAID 6 has two
/// parities.
fn rule_of_thumb(raid: u64) -> Option<f64> {
    match raid {
        0 => Some(1.0),
        1 | 10 => Some(1.0 / 2.0),
        5 => Some(1.0 / 4.0),
        6 => Some(1.0 / 6.0),
        _ => None,
    }
}

/// A pair of cases that differ in one setting.
type Pair<'a> = (&'a ObservedCase, &'a ObservedCase);

/// Write cliffs by stage and case.
type Cliffs<'a> = HashMap<(&'a str, &'a str), &'a WriteCliff>;

/// The effect of each factor in each stage: its first value against each other.
pub(crate) fn effects(observation: &Observation, cliffs: &[Finding]) -> Vec<Finding> {
    let cliffs: Cliffs<'_> = cliffs
        .iter()
        .rev()
        .filter_map(|finding| match &finding.fact {
            Fact::WriteCliff(cliff) => Some(((finding.stage.as_str(), finding.case.as_deref()?), &**cliff)),
            _ => None,
        })
        .collect();
    let varying = varying(&observation.cases);
    // Each case stands in a pair of nearly every step.
    let mut bases: HashMap<*const ObservedCase, Basis> = HashMap::new();
    let mut found = Vec::new();
    for factor in FACTORS.iter().filter(|factor| varying.values().any(|names| names.contains(*factor))) {
        let without: &[&str] = if *factor == "rwmixread" { &["rwmixread", "rw"] } else { &[factor] };
        let mut steps: Vec<FactorChange<'_>> = Vec::new();
        let mut places: HashMap<(&str, String, String), usize> = HashMap::new();
        let groups = by_all_but(&observation.cases, without);
        for group in groups.iter().filter(|group| group.cases.len() > 1) {
            let first = group.cases[0];
            let Some(from) = first.settings.get(*factor) else { continue };
            for case in &group.cases[1..] {
                let Some(to) = case.settings.get(*factor).filter(|to| *to != from) else { continue };
                // JSON, not words: `"4"` and 4 are two values.
                let place =
                    *places.entry((group.stage, from.to_string(), to.to_string())).or_insert_with(|| {
                        steps.push(FactorChange { stage: group.stage, from, to, pairs: Vec::new() });
                        steps.len() - 1
                    });
                steps[place].pairs.push((first, case));
            }
        }
        for FactorChange { stage, from, to, pairs } in steps {
            // The same pairs show the effect on each quantity.
            let mut basis =
                |case| bases.entry(std::ptr::from_ref(case)).or_insert_with(|| Basis::of(case)).clone();
            let rests_on: Arc<[Basis]> = pairs.iter().flat_map(|(a, b)| [basis(a), basis(b)]).collect();
            for on in ["iops", "mean_latency_ns", "cliff_onset_s", "sustained_iops"] {
                let Some(effect) = effect(factor, from, to, on, &pairs, &cliffs) else { continue };
                found.push(Finding {
                    id: format!("effect/{stage}/{factor}={}..{}/{on}", word(from), word(to)),
                    stage: stage.to_owned(),
                    case: None,
                    fact: effect.into(),
                    rests_on: rests_on.clone(),
                });
            }
        }
    }
    found
}

/// Change from one value of a factor to another, with the pairs of cases that take it.
struct FactorChange<'a> {
    stage: &'a str,
    from: &'a Value,
    to: &'a Value,
    pairs: Vec<Pair<'a>>,
}

fn effect(
    factor: &str,
    from: &Value,
    to: &Value,
    on: &str,
    pairs: &[Pair<'_>],
    cliffs: &Cliffs<'_>,
) -> Option<Effect> {
    let of_cliff = |case: &ObservedCase, value: fn(&WriteCliff) -> f64| {
        cliffs.get(&(case.stage.as_str(), case.name.as_str())).map(|cliff| value(cliff))
    };
    let value = |case: &ObservedCase| match on {
        "iops" => Some(case.result.iops),
        "mean_latency_ns" => Some(total(case).mean_latency_ns),
        "cliff_onset_s" => of_cliff(case, |cliff| cliff.onset_s),
        _ => of_cliff(case, |cliff| cliff.sustained.iops),
    };
    let ratios: Vec<f64> = pairs
        .iter()
        .filter_map(|(a, b)| Some((value(a)?, value(b)?)))
        .filter(|(a, b)| *a > 0.0 && *b > 0.0)
        .map(|(a, b)| b / a)
        .collect();
    if ratios.is_empty() {
        return None;
    }
    let logs: Vec<f64> = ratios.iter().map(|ratio| libm::log(*ratio)).collect();
    let ratio = libm::exp(mean(&logs));
    let confidence = if logs.len() >= PAIRS_FOR_SPREAD {
        // Pairs are other cases, not neighbours in time: their order means nothing.
        let error = (crate::statistics::variance(&logs) / logs.len() as f64).sqrt();
        let half = t_quantile(0.95, (logs.len() - 1) as f64) * error;
        Some([ratio * libm::exp(-half), ratio * libm::exp(half)])
    } else if let ([(a, b)], "iops") = (pairs, on) {
        rates(a).zip(rates(b)).and_then(|(a, b)| a.ratio_to(&b, 0.95)).map(|(_, interval)| interval)
    } else {
        None
    };
    let [smallest, largest] =
        ratios.iter().fold([f64::INFINITY, 0.0], |[low, high], one| [low.min(*one), f64::max(high, *one)]);
    Some(Effect {
        setting: factor.to_owned(),
        from: from.clone(),
        to: to.clone(),
        on: on.to_owned(),
        ratio,
        ratio_confidence_95: confidence,
        beyond_noise: confidence.is_some_and(|[low, high]| low > 1.0 || high < 1.0),
        spread: [smallest, largest],
        pairs: ratios.len(),
    })
}
