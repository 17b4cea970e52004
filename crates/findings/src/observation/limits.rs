//! Limits that a plan sets for a load or changes while a case runs.
//!
//! A limit is an event whose action names a limit (`limit`, `set-limit`, `qos`) and whose arguments say `iops` or
//! `bw`; a missing or null value lifts it. In events of the run the same stands in `data` as `action` and `with`.

use super::LimitChange;
use plan::Plan;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use store::{Event, Selection};

type CasePath = (String, String);

/// The limits that the plan's events set, by stage and case.
pub(super) fn of_plan(plan: &Plan, selection: &Selection) -> BTreeMap<CasePath, Vec<LimitChange>> {
    let selection = plan::Selection {
        stages: selection.stages.clone(),
        only: selection.only.clone(),
        set: selection.set.clone(),
    };
    // A run of another version of the plan may select what this one has not; it then has no limits to compare with.
    let cases = plan::expand(plan, &selection).unwrap_or_default();
    let changes = |case: &plan::Case| {
        let events = case.events.iter();
        events.filter_map(|event| change(event.at_ns, &event.action, &event.arguments)).collect::<Vec<_>>()
    };
    cases.iter().map(|case| ((case.stage.clone(), case.name.clone()), changes(case))).collect()
}

/// The limits that the run itself recorded.
pub(super) fn of_events<'a>(events: impl Iterator<Item = &'a Event>) -> Vec<LimitChange> {
    let found = events.filter_map(|event| {
        let data = event.data.as_ref()?;
        let action = data.get("action")?.as_str()?;
        let arguments = data.get("with").and_then(Value::as_object)?;
        change(event.case_at_ns?, action, arguments)
    });
    found.collect()
}

fn change(at_ns: u64, action: &str, arguments: &Map<String, Value>) -> Option<LimitChange> {
    if !(action.contains("limit") || action.contains("qos")) {
        return None;
    }
    let number = |names: [&str; 3]| names.iter().find_map(|name| arguments.get(*name)).and_then(amount);
    let word = |name: &str| arguments.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(LimitChange {
        at_s: at_ns as f64 / 1e9,
        load: word("load"),
        iops: number(["iops", "limit_iops", "rate_iops"]),
        bw_bytes_per_s: number(["bw", "bw_bytes_per_s", "limit_bw"]),
    })
}

/// A number, or a size as plans write it (`100m`).
fn amount(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => units::parse_bytes(text).ok().map(|bytes| bytes as f64),
        _ => None,
    }
}
