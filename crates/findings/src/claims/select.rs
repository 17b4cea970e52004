//! Selectors: numbers of intervals and findings, and conditions on them.

use crate::observation::Interval;
use plan::claim::{Comparator, Filter};
use serde_json::{Map, Value};

/// A quantity of an interval; times in seconds.
pub(super) fn of_interval(name: &str, interval: &Interval) -> Option<f64> {
    let latency = |flow: &crate::Flow| (flow.ios > 0.0).then(|| flow.latency_sum_ns / flow.ios / 1e9);
    match name {
        "iops" => Some(interval.iops()),
        "bw_bytes_per_s" => Some(interval.bw_bytes_per_s()),
        "read.iops" => Some(interval.read.ios / interval.length_s()),
        "write.iops" => Some(interval.write.ios / interval.length_s()),
        "read.latency_ns.mean" => latency(&interval.read),
        "write.latency_ns.mean" => latency(&interval.write),
        _ => None,
    }
}

/// The numbers at a path, each with its own path; lists on the way are opened.
pub(super) fn numbers_at(value: &Value, path: &str, at: &str, found: &mut Vec<(String, f64)>) {
    let below = |step: &str| if at.is_empty() { step.to_owned() } else { format!("{at}.{step}") };
    match value {
        Value::Array(list) => {
            for (place, one) in list.iter().enumerate() {
                numbers_at(one, path, &below(&place.to_string()), found);
            }
        }
        Value::Object(map) if !path.is_empty() => {
            let (name, rest) = path.split_once('.').unwrap_or((path, ""));
            if let Some(inner) = map.get(name) {
                numbers_at(inner, rest, &below(name), found);
            }
        }
        Value::Number(number) if path.is_empty() => {
            found.extend(number.as_f64().map(|number| (at.to_owned(), number)));
        }
        _ => {}
    }
}

/// Returns true if a setting or word is as a selector wants it; one that does not exist is not.
pub(super) fn passes(filter: &Filter, labels: &Map<String, Value>) -> bool {
    if filter.comparator == Comparator::Any {
        return true;
    }
    if let Some(other) = filter.setting {
        let of_other = Filter {
            values: labels.get(other).cloned().into_iter().collect(),
            setting: None,
            ..filter.clone()
        };
        return !of_other.values.is_empty() && passes(&of_other, labels);
    }
    let Some(value) = labels.get(&filter.name) else { return false };
    let text = |value: &Value| crate::groups::word(value).to_lowercase();
    let is_equal = |wanted: &Value| match (value.as_f64(), wanted.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => text(value) == text(wanted),
    };
    let order = |holds: fn(f64, f64) -> bool| {
        let wanted = filter.values.first().and_then(Value::as_f64);
        value.as_f64().zip(wanted).is_some_and(|(a, b)| holds(a, b))
    };
    match filter.comparator {
        Comparator::Any => true,
        Comparator::Equal => filter.values.iter().any(is_equal),
        Comparator::Unequal => !filter.values.iter().any(is_equal),
        Comparator::Less => order(|a, b| a < b),
        Comparator::AtMost => order(|a, b| a <= b),
        Comparator::Greater => order(|a, b| a > b),
        Comparator::AtLeast => order(|a, b| a >= b),
        Comparator::Near => filter.values.iter().any(|wanted| text(value).contains(&text(wanted))),
    }
}
