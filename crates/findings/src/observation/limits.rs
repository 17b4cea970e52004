//! Rate limits that a plan changes while a case runs.
//!
//! A limit is an event with the action `limit`; its arguments say `iops` and `bw_bytes_per_s`, `none` lifts one, and one
//! that is not named stays. `volume` names whose limit it is: that of the load on this volume, where a case has
//! several. In events of the run the same stands in `data` as `action` and `with`.

use super::LimitChange;
use plan::{Case, Plan};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use store::{Event, Selection};

type CasePath = (String, String);

/// Limit change of an event.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LimitEvent {
    at_s: f64,
    load: Option<String>,
    iops: Option<Option<f64>>,
    bw_bytes_per_s: Option<Option<f64>>,
}

/// The limits that the plan's events set, by stage and case; cases without any are left out.
pub(super) fn of_plan(plan: &Plan, selection: &Selection) -> BTreeMap<CasePath, Vec<LimitChange>> {
    let mut limits = BTreeMap::new();
    visit_cases_of(plan, selection, |case| {
        let of_case = of_case(&case);
        if !of_case.is_empty() {
            limits.insert((case.stage, case.name), of_case);
        }
    });
    limits
}

/// The limits that the events of a case set.
pub(crate) fn of_case(case: &Case) -> Vec<LimitChange> {
    in_force(orders(case))
}

/// Goes through the cases of a run's plan. A large campaign's, all at once, take more memory than its findings.
pub(crate) fn visit_cases_of(plan: &Plan, selection: &Selection, visit: impl FnMut(Case)) {
    let selection = plan::Selection {
        stages: selection.stages.clone(),
        only: selection.only.clone(),
        set: selection.set.clone(),
    };
    // A run of another version of the plan may select what this one has not; it then has no limits to compare with.
    let _ = plan::visit_cases(plan, &selection, visit);
}

fn orders(case: &Case) -> Vec<LimitEvent> {
    let load_of = |volume: &str| {
        case.loads
            .iter()
            .find(|load| load.settings.get("volume").and_then(Value::as_str) == Some(volume))
            .map(|load| load.name.clone())
    };
    let events = case.events.iter();
    events.filter_map(|event| order(event.at_ns, &event.action, &event.arguments, &load_of)).collect()
}

/// The limits that the run itself recorded.
pub(super) fn of_events<'a>(events: impl Iterator<Item = &'a Event>) -> Vec<LimitChange> {
    let found = events.filter_map(|event| {
        let data = event.data.as_ref()?;
        let arguments = data.get("with").and_then(Value::as_object)?;
        order(event.case_at_ns?, data.get("action")?.as_str()?, arguments, &|_| None)
    });
    in_force(found.collect())
}

fn order(
    at_ns: u64,
    action: &str,
    arguments: &Map<String, Value>,
    load_of: &dyn Fn(&str) -> Option<String>,
) -> Option<LimitEvent> {
    if action != "limit" {
        return None;
    }
    let word = |name: &str| arguments.get(name).and_then(Value::as_str);
    Some(LimitEvent {
        at_s: at_ns as f64 / 1e9,
        load: word("load").map(str::to_owned).or_else(|| load_of(word("volume")?)),
        iops: arguments.get("iops").map(amount),
        bw_bytes_per_s: arguments.get("bw_bytes_per_s").map(amount),
    })
}

/// A number, or a size as plans write it (`100m`); anything else lifts the limit.
fn amount(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => units::parse_bytes(text).ok().map(|bytes| bytes as f64),
        _ => None,
    }
}

/// Returns the limits in force after each order: what it does not name stays as it was for that load.
fn in_force(orders: Vec<LimitEvent>) -> Vec<LimitChange> {
    let mut changes: Vec<LimitChange> = Vec::new();
    for order in orders {
        let before = changes.iter().rev().find(|change| change.load == order.load);
        let (iops, bw) = before.map_or((None, None), |change| (change.iops, change.bw_bytes_per_s));
        changes.push(LimitChange {
            at_s: order.at_s,
            iops: order.iops.unwrap_or(iops),
            bw_bytes_per_s: order.bw_bytes_per_s.unwrap_or(bw),
            load: order.load,
        });
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that limits follow one another as the shipped plan's events say: one replaces, one is lifted as the other
    /// is set, and the last leaves none; and that a neighbour's limit binds the load on its volume.
    #[test]
    fn limits_of_the_shipped_plan() {
        let plan = plan::load_plan("storpool").expect("ships").plan;
        let limits = of_plan(&plan, &Selection::default());
        let of = |stage: &str, case: &str| limits[&(stage.to_owned(), case.to_owned())].clone();
        let nvme = of("limits", "volume=nvme");
        let pairs: Vec<(Option<f64>, Option<f64>)> =
            nvme.iter().map(|change| (change.iops, change.bw_bytes_per_s)).collect();
        assert_eq!(pairs, [(Some(10_000.0), None), (Some(1000.0), None), (None, Some(2e6)), (None, None)]);
        let neighbour = of("neighbour", "neighbour");
        assert!(neighbour.iter().all(|change| change.load.as_deref() == Some("noisy")), "{neighbour:?}");
    }
}
