//! Axes of a stage: settings that distinguish its cases, and the notation of their values.

use super::quantity::Kind;
use crate::chart::{Axis, Level, Scale, Series, TickFormat};
use findings::{Cited, Quantity, Source, Unit};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use units::human_count;

type Settings = Map<String, Value>;

/// The settings that vary, the leading ones first. A setting that follows from those before it (`rw` from
/// `rwmixread`) is none: it adds no case. One that a case has alone is an axis, or nothing would name the case.
pub fn varying<'a>(cases: &[&'a Settings], preferred: &[&str]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for settings in cases {
        for name in settings.keys() {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    // The plan's own axes lead, then numbers: a line says more than bars.
    let is_number =
        |name: &&str| cases.iter().all(|settings| settings.get(*name).is_none_or(Value::is_number));
    names.sort_by_cached_key(|name| {
        let place = preferred.iter().position(|wanted| wanted == name).unwrap_or(preferred.len());
        (place, !is_number(name))
    });
    let mut axes: Vec<&str> = Vec::new();
    // What the axes so far say of each case; a setting that takes two values under one key is an axis of its own.
    let mut keys: Vec<String> = vec![String::new(); cases.len()];
    for name in names {
        // Most settings are the same in all cases, and tell none apart.
        let first = cases.first().and_then(|settings| settings.get(name));
        if cases.iter().all(|settings| settings.get(name) == first) {
            continue;
        }
        let texts: Vec<String> = cases
            .iter()
            .map(|settings| settings.get(name).map(Value::to_string).unwrap_or_default())
            .collect();
        let mut known: BTreeMap<&str, &str> = BTreeMap::new();
        let follows = keys.iter().zip(&texts).all(|(key, text)| *known.entry(key).or_insert(text) == text);
        let is_nameless = |settings: &&&Settings| !axes.iter().any(|axis| settings.contains_key(*axis));
        let names_a_case = cases.iter().filter(is_nameless).any(|settings| settings.contains_key(name));
        if !follows || names_a_case {
            axes.push(name);
            keys.iter_mut().zip(&texts).for_each(|(key, text)| {
                key.push('\n');
                key.push_str(text);
            });
        }
    }
    axes
}

/// Different values of a setting, numbers in order of size, words in order of appearance.
pub fn values(cases: &[&Settings], name: &str) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    for value in cases.iter().filter_map(|settings| settings.get(name)) {
        if !found.contains(value) {
            found.push(value.clone());
        }
    }
    if found.iter().all(Value::is_number) {
        found.sort_by(|a, b| number(a).total_cmp(&number(b)));
    }
    found
}

pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// Names of RAID levels are numbers in the settings, but no quantity.
pub fn is_numeric(name: &str, values: &[Value]) -> bool {
    name != "raid" && values.iter().all(Value::is_number)
}

/// A setting's name as people say it, beside fio's word.
pub fn title(name: &str) -> String {
    match name {
        "bs" => "Block size (bs)".into(),
        "numjobs" => "Jobs (numjobs)".into(),
        "iodepth" => "Queue depth of a job (iodepth)".into(),
        "rwmixread" => "Share of reads (rwmixread, %)".into(),
        "rate_iops" => "Rate (rate_iops)".into(),
        "rw" => "Pattern (rw)".into(),
        "times" => "Times the load".into(),
        "raid" => "RAID level".into(),
        "disks" => "Disks".into(),
        "coverage" => "Coverage (%)".into(),
        "segment" => "Segment".into(),
        other => other.into(),
    }
}

fn is_size(name: &str) -> bool {
    matches!(name, "bs" | "segment" | "size" | "offset" | "cache" | "stripe")
}

/// One value, said so that it needs no name beside it.
pub fn value_text(name: &str, value: &Value) -> String {
    match (name, value) {
        (_, Value::Number(number)) if is_size(name) => {
            number.as_u64().map_or_else(|| number.to_string(), |bytes| units::Bytes(bytes).to_string())
        }
        ("raid", Value::Number(level)) => format!("RAID {level}"),
        ("rwmixread", Value::Number(share)) => format!("{share} % reads"),
        ("coverage", Value::Number(share)) => format!("{share} % covered"),
        ("numjobs", Value::Number(count)) => {
            count.as_u64().map_or_else(|| format!("{count} jobs"), |count| human_count(count, "job"))
        }
        ("iodepth", Value::Number(depth)) => format!("depth {depth}"),
        ("disks", Value::Number(count)) => {
            count.as_u64().map_or_else(|| format!("{count} disks"), |count| human_count(count, "disk"))
        }
        ("rw" | "ioengine" | "layout" | "volume" | "host", Value::String(text)) => text.clone(),
        (_, Value::String(text)) => format!("{name} {text}"),
        (_, other) => format!("{name} {other}"),
    }
}

/// One value of a case's setting in words, with its source; empty where the case does not have it.
pub fn cited(stage: &str, case: &str, settings: &Settings, name: &str) -> Cited {
    let Some(value) = settings.get(name) else { return Cited::default() };
    let (text, source) = (value_text(name, value), Source::setting(stage, case, name));
    match value.as_f64() {
        Some(number) if matches!(name, "rwmixread" | "coverage") => {
            Quantity::new(number, Unit::Ratio, source).of_percent().printed(text)
        }
        Some(number) if is_size(name) => Quantity::new(number, Unit::Bytes, source).printed(text),
        Some(number) => Quantity::new(number, Unit::Setting, source).printed(text),
        None => Cited::quote(text, source),
    }
}

/// The values of some settings of a case, in words with their sources.
pub fn cited_label(stage: &str, case: &str, settings: &Settings, names: &[&str]) -> Cited {
    let has = names.iter().filter(|name| settings.contains_key(**name));
    Cited::join(has.map(|name| cited(stage, case, settings, name)), ", ")
}

/// The values of some settings of a case, in words; settings that the case does not have are left out.
pub fn label(settings: &Settings, names: &[&str]) -> String {
    let words: Vec<String> =
        names.iter().filter_map(|name| settings.get(*name).map(|value| value_text(name, value))).collect();
    words.join(", ")
}

/// The axis of a numeric setting. Sizes, and numbers that mostly double, are spaced by powers of two.
pub fn axis(name: &str, values: &[Value]) -> Axis {
    let numbers: Vec<f64> = values.iter().map(number).collect();
    let doubles = numbers.windows(2).filter(|pair| pair[0] > 0.0 && pair[1] / pair[0] >= 1.9).count();
    let is_log = numbers.first().is_some_and(|first| *first > 0.0)
        && numbers.len() > 1
        && (is_size(name) || (numbers.len() > 2 && doubles * 2 > numbers.len() - 1));
    Axis {
        label: title(name),
        unit: String::new(),
        scale: if is_log { Scale::Log2 } else { Scale::Linear },
        format: if is_size(name) {
            TickFormat::Bytes
        } else if numbers.iter().all(|number| number.fract() == 0.0) {
            TickFormat::Whole
        } else {
            TickFormat::Number
        },
    }
}

/// The axis of a setting along which lines run, or under which bars stand.
pub fn along(name: &str, values: &[Value], is_bars: bool) -> Axis {
    if !is_bars {
        return axis(name, values);
    }
    let names = values.iter().map(|value| value_text(name, value)).collect();
    Axis {
        label: title(name),
        unit: String::new(),
        scale: Scale::Categories(names),
        format: TickFormat::Number,
    }
}

/// The axis of a quantity for some lines and levels, which are scaled to its unit.
pub fn upwards(kind: Kind, series: &mut [Series], levels: &mut [Level]) -> Axis {
    let of_lines = series.iter().flat_map(|line| line.points.iter().filter_map(|point| point.y));
    let raw: Vec<f64> = of_lines.chain(levels.iter().map(|level| level.y)).collect();
    let (axis, divisor) = kind.axis(&raw);
    for point in series.iter_mut().flat_map(|line| &mut line.points) {
        point.y = point.y.map(|y| y / divisor);
    }
    for level in levels {
        level.y /= divisor;
    }
    axis
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cases(values: &[Value]) -> Vec<&Settings> {
        values.iter().map(|value| value.as_object().unwrap()).collect()
    }

    /// Proves that a setting which follows from another is no axis, and that constants are none.
    #[test]
    fn settings_that_follow_are_no_axes() {
        let values = [
            json!({"rw": "randwrite", "rwmixread": 0, "bs": 8192}),
            json!({"rw": "randrw", "rwmixread": 50, "bs": 8192}),
            json!({"rw": "randread", "rwmixread": 100, "bs": 8192}),
        ];
        assert_eq!(varying(&cases(&values), &[]), ["rwmixread"]);
        assert_eq!(varying(&cases(&values), &["rw"]), ["rw"]);
        let values =
            [json!({"rw": "read", "bs": 1}), json!({"rw": "write", "bs": 1}), json!({"rw": "read", "bs": 2})];
        assert_eq!(varying(&cases(&values), &[]), ["bs", "rw"]);
    }

    /// Proves that a case which is told by a setting that no other has is named by it, though it is the only one left without a name.
    #[test]
    fn each_case_has_a_name() {
        let on = json!({"thin": "on", "mirror": "on", "replication": "on"});
        let values = [on, json!({"thin": "off"}), json!({"mirror": "off"}), json!({"replication": "off"})];
        assert_eq!(
            varying(&cases(&values), &["thin", "mirror", "replication"]),
            ["thin", "mirror", "replication"]
        );
    }

    /// Proves which scale each kind of setting gets.
    #[test]
    fn doubling_numbers_are_spaced_by_powers_of_two() {
        let scale =
            |name, values: &[u64]| axis(name, &values.iter().map(|v| json!(v)).collect::<Vec<_>>()).scale;
        assert_eq!(scale("bs", &[4096, 131_072]), Scale::Log2);
        assert_eq!(scale("numjobs", &[1, 2, 4, 8, 12]), Scale::Log2);
        assert_eq!(scale("rwmixread", &[0, 10, 20, 30]), Scale::Linear);
        assert_eq!(scale("disks", &[2, 3, 4, 5, 6]), Scale::Linear);
    }
}
