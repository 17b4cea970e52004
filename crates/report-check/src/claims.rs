//! Sources of claims: text of the plan and values of intervals.

use crate::expression::median;
use crate::run::{Case, Interval, counted};
use serde_json::Value;

/// Units that may stand behind a number of an expression, and what one of it is.
const UNITS: [(&str, f64); 12] = [
    ("%", 0.01),
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
];

/// Returns true if the text of claims has a number, in one of its units.
pub fn has_literal(claims: &[Value], wanted: f64) -> bool {
    claims.iter().any(|claim| match claim {
        Value::String(text) => text_has(text, wanted),
        Value::Number(number) => number.as_f64() == Some(wanted),
        Value::Array(items) => has_literal(items, wanted),
        Value::Object(fields) => fields.values().any(|one| has_literal(std::slice::from_ref(one), wanted)),
        _ => false,
    })
}

fn text_has(text: &str, wanted: f64) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '_' | '.');
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let from = &rest[start..];
        // Two dots are a range.
        let end = from.find("..").into_iter().chain(from.find(|c| !is_part(c))).min().unwrap_or(from.len());
        let (digits, after) = from.split_at(end);
        if let Ok(number) = digits.replace('_', "").parse::<f64>() {
            let unit = after.trim_start();
            let scaled =
                UNITS.iter().filter(|(name, _)| unit.starts_with(name)).map(|(_, scale)| number * scale);
            if scaled.chain([number]).any(|one| crate::close(one, wanted)) {
                return true;
            }
        }
        rest = after;
    }
    false
}

/// The share by which values may differ and count as equal.
pub fn tolerance(claim: &Value) -> Option<f64> {
    let text = claim["tolerance"].as_str();
    let of_text = text.and_then(|text| match text.trim().strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
        None => text.trim().parse().ok(),
    });
    of_text.or_else(|| claim["tolerance"].as_f64())
}

/// The time in seconds, or the number of intervals, that a claim needs.
pub fn needs(claim: &Value) -> Option<f64> {
    let text = claim["needs"].as_str()?.trim();
    let text = text.trim_end_matches("under load").trim_end_matches("intervals").trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let scale = match unit.trim() {
        "" => 1.0,
        unit => UNITS.iter().find(|(name, _)| *name == unit).map(|one| one.1)?,
    };
    Some(number.parse::<f64>().ok()? * scale)
}

/// A value of a case's intervals: `iops@10..20#victim`.
pub fn of_intervals(case: &Case, what: &str) -> Option<f64> {
    let (what, load) = what.split_once('#').unwrap_or((what, ""));
    let series: &[Interval] = match load {
        "" => &case.intervals,
        load => &case.loads.iter().find(|(name, _)| name == load)?.1,
    };
    let after_ramp = || series.iter().filter(|one| !one.is_ramp);
    if let Some((quantity, span)) = what.split_once('@') {
        let (from, to) = span.split_once("..")?;
        let (from_s, to_s): (f64, f64) = (from.parse().ok()?, to.parse().ok()?);
        let mut values: Vec<f64> = after_ramp()
            .filter(|one| one.start_s >= from_s - 1e-6 && one.end_s <= to_s + 1e-6)
            .filter_map(|one| of_interval(one, quantity))
            .collect();
        values.sort_by(f64::total_cmp);
        return (!values.is_empty()).then(|| median(&values));
    }
    Some(match what {
        "duration_s" => after_ramp().map(Interval::length_s).sum(),
        "stalled_intervals" => after_ramp().filter(|one| one.all().ios <= 0.0).count() as f64,
        "begins_s" => series.iter().find(|one| one.all().ios > 0.0)?.start_s,
        "counted_s" => counted(series).iter().map(Interval::length_s).sum(),
        "load_s" => counted(series).last().map_or(0.0, |last| last.end_s),
        "intervals" => counted(series).len() as f64,
        _ => return None,
    })
}

/// A quantity of one interval, latencies in seconds.
fn of_interval(one: &Interval, quantity: &str) -> Option<f64> {
    let (direction, name) = quantity.split_once('.').unwrap_or(("", quantity));
    let flow = match direction {
        "read" => one.flows[0],
        "write" => one.flows[1],
        _ => one.all(),
    };
    match name {
        "iops" => Some(flow.ios / one.length_s()),
        "bw_bytes_per_s" => Some(flow.bytes / one.length_s()),
        "latency_ns.mean" if flow.ios > 0.0 => Some(flow.latency_sum_ns / flow.ios / 1e9),
        _ => None,
    }
}

/// Returns true if a finding fulfils a condition of a selector: `by!=link|unknown`.
pub fn fulfils(finding: &serde_json::Map<String, Value>, condition: &str) -> bool {
    let Some(at) = condition.find(['!', '<', '>', '=', '~']) else { return condition.is_empty() };
    let (name, rest) = condition.split_at(at);
    let sign = ["!=", "<=", ">=", "<", ">", "=", "~"].into_iter().find(|sign| rest.starts_with(sign));
    let (Some(sign), Some(value)) = (sign, finding.get(name)) else { return false };
    let wanted = &rest[sign.len()..];
    let own = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let is_equal = |wanted: &str| match (own.parse::<f64>(), wanted.parse::<f64>()) {
        (Ok(a), Ok(b)) => a == b,
        _ => own.eq_ignore_ascii_case(wanted),
    };
    let order = own.parse::<f64>().ok().zip(wanted.parse::<f64>().ok());
    match sign {
        "=" => wanted.split('|').any(is_equal),
        "!=" => !wanted.split('|').any(is_equal),
        "~" => wanted.split('|').any(|one| own.to_lowercase().contains(&one.to_lowercase())),
        "<" => order.is_some_and(|(a, b)| a < b),
        "<=" => order.is_some_and(|(a, b)| a <= b),
        ">" => order.is_some_and(|(a, b)| a > b),
        _ => order.is_some_and(|(a, b)| a >= b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Proves that numbers of expressions are found in their units, that the ends of a range are two numbers, and that a number which
    /// does not stand there is not found.
    #[test]
    fn literals_stand_in_the_plan() {
        let claims = [json!({"check": "a / 3_200 MB/s in 90%..1.05 and b > 250us", "tolerance": "2%"})];
        for there in [3.2e9, 0.9, 1.05, 250e-6, 0.02] {
            assert!(has_literal(&claims, there), "{there}");
        }
        for other in [3.3e9, 0.95, 1.5, 250e-9] {
            assert!(!has_literal(&claims, other), "{other}");
        }
        assert_eq!(needs(&json!({"needs": "2m under load"})), Some(120.0));
        assert_eq!(needs(&json!({"needs": "20 intervals"})), Some(20.0));
    }
}
