//! Findings recomputed from samples by the definitions of `docs/findings.md`.

mod differences;
mod disruption;
mod extremes;
mod parts;
pub(crate) use parts::of_service;
mod steady;
mod write_cliff;

use crate::run::{Case, Interval, Run};
use differences::{Differences, EXACT, Fields, number, text};
use disruption::disruption;
use parts::{host_balance, idle, level_rate, path_balance, uses, waiting};
use serde_json::{Map, Value};
use steady::steady;
use write_cliff::ramp_fall;

/// Check of a run's findings against its samples.
pub struct Facts<'a> {
    /// The run.
    pub run: &'a Run,
}

impl Facts<'_> {
    /// Everything in a finding that its samples do not show.
    pub fn differences(&self, fields: &Fields) -> Vec<String> {
        let mut differences = Differences { fields, found: Vec::new() };
        let case = self.run.case(text(fields, "stage"), text(fields, "case"));
        let kind = text(fields, "kind");
        match (kind, case) {
            ("level", Some(case)) => level(&mut differences, case),
            ("write-cliff", _) => self.write_cliff(&mut differences),
            ("ramp-fall", Some(case)) => ramp_fall(&mut differences, case),
            ("no-write-cliff", _) => {
                let Some(case) = self.case_or_stage(fields) else {
                    return vec![format!("{}: about no case of the run", text(fields, "id"))];
                };
                let counted = case.counted();
                let length = counted.last().map_or(0.0, |last| last.end_s - counted[0].start_s);
                differences.expect("intervals", Some(counted.len() as f64), EXACT);
                differences.expect("length_s", Some(length), EXACT);
                differences.require(
                    case.intervals.iter().any(|one| one.flows[1].ios > 0.0),
                    "a case that writes nothing says nothing of write cliffs",
                );
            }
            ("maximum" | "maximum-under-latency" | "minimal-latency", Some(case)) => {
                self.extreme(&mut differences, kind, case);
            }
            ("saturation", Some(_)) => self.saturation(&mut differences),
            ("best-block-size" | "flattening", _) => self.blocks(&mut differences, kind),
            ("write-penalty", _) => self.penalty(&mut differences),
            ("disruption", Some(case)) => disruption(&mut differences, case),
            ("conformance", Some(case)) => conformance(&mut differences, case),
            ("limit", Some(case)) => {
                differences.expect("iops", Some(case.iops()), EXACT);
                differences.expect("bw_bytes_per_s", Some(case.bytes_per_s()), EXACT);
                idle(&mut differences, case);
                waiting(&mut differences, case);
                level_rate(&mut differences, case, self.run.done());
                uses(&mut differences, case);
            }
            ("steady-state", Some(case)) => steady(&mut differences, case),
            ("steady-rounds", _) => self.rounds(&mut differences),
            ("found-load", Some(case)) => found_load(&mut differences, case),
            ("path-balance", Some(case)) => path_balance(&mut differences, case),
            ("host-balance", Some(case)) => host_balance(&mut differences, case),
            // No sentence cites it.
            ("effect", _) => {}
            (other, None) => differences.require(false, &format!("{other} about no case of the run")),
            (other, _) => differences.require(false, &format!("unknown kind {other}")),
        }
        differences.found
    }

    /// The cases of a finding's stage with the settings of its group.
    fn group(&self, fields: &Fields) -> Vec<&Case> {
        let empty = Map::new();
        let of = fields.get("of").and_then(Value::as_object).unwrap_or(&empty);
        let stage = text(fields, "stage");
        let is_of = |case: &&Case| {
            case.stage == stage && of.iter().all(|(name, value)| case.settings.get(name) == Some(value))
        };
        self.run.done().filter(is_of).collect()
    }

    /// The cases that a finding rests on.
    fn rests_on(&self, fields: &Fields) -> Vec<&Case> {
        let all = fields.get("rests_on").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        all.iter().filter_map(|one| self.run.case(one["stage"].as_str()?, one["case"].as_str()?)).collect()
    }
}

fn level(differences: &mut Differences<'_>, case: &Case) {
    differences.expect("iops", Some(case.iops()), EXACT);
    differences.expect("bw_bytes_per_s", Some(case.bytes_per_s()), EXACT);
    differences.expect("mean_latency_ns", Some(case.mean_latency_ns()), EXACT);
    differences.expect("outstanding", Some(case.iops() * case.mean_latency_ns() / 1e9), EXACT);
    for (name, direction) in ["read", "write"].iter().zip(&case.totals) {
        let has_any = direction.ios > 0;
        let of = |value: f64| has_any.then_some(value);
        differences.expect(&format!("{name}.iops"), of(direction.ios as f64 / case.duration_s), EXACT);
        differences.expect(&format!("{name}.mean_latency_ns"), of(direction.latency.mean_ns()), EXACT);
        let bytes = of(direction.bytes as f64 / case.duration_s);
        differences.expect(&format!("{name}.bw_bytes_per_s"), bytes, EXACT);
    }
}

fn conformance(differences: &mut Differences<'_>, case: &Case) {
    let fields = differences.fields;
    let load = text(fields, "load");
    let intervals = match case.loads.iter().find(|(name, _)| name == load).filter(|_| case.loads.len() > 1) {
        Some((_, intervals)) => crate::run::counted(intervals),
        None => case.counted(),
    };
    let (Some(from_s), Some(to_s)) = (number(fields, "from_s"), number(fields, "to_s")) else { return };
    let rate = |one: &Interval| {
        let all = one.all();
        (if text(fields, "quantity") == "iops" { all.ios } else { all.bytes }) / one.length_s()
    };
    let within: Vec<&Interval> =
        intervals.iter().filter(|one| one.start_s >= from_s - 1e-6 && one.end_s <= to_s + 1e-6).collect();
    let allowed = number(fields, "allowed").unwrap_or(f64::NAN);
    let above = within.iter().filter(|one| rate(one) > allowed * 1.02).count();
    let time_s: f64 = within.iter().map(|one| one.length_s()).sum();
    differences.expect("intervals", Some(within.len() as f64), EXACT);
    differences.expect("intervals_above", Some(above as f64), EXACT);
    let delivered = within.iter().map(|one| rate(one) * one.length_s()).sum::<f64>() / time_s;
    differences.expect("delivered", Some(delivered), EXACT);
    let largest = within.iter().map(|one| rate(one)).fold(0.0, f64::max);
    differences.expect("largest", Some(largest), EXACT);
}

/// Checks the answer of a search, which is kept as an event's data; the last answer counts.
fn found_load(differences: &mut Differences<'_>, case: &Case) {
    let answer = case.moments.iter().rev().find(|moment| moment.kind == "max-under-latency");
    let Some(answer) = answer else {
        return differences.require(false, "the run kept no answer of a search");
    };
    for field in ["load", "below_ns", "holds_at", "iops", "confidence_95.0", "confidence_95.1"] {
        let (first, rest) = field.split_once('.').unwrap_or((field, ""));
        let value = &answer.data[first];
        let value = rest.parse::<usize>().map_or(value, |place| &value[place]);
        differences.expect(field, value.as_f64(), EXACT);
    }
}
