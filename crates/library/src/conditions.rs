//! Conditions of a figure, and what makes two figures not comparable.

use crate::{Choice, FigureKind, Row};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// I/Os outstanding that differ by more than this factor are another load.
pub const IN_FLIGHT_FACTOR: f64 = 2.0;
/// A measurement of less than this share of the published length is another one: flash that has just been erased is faster.
const RUNTIME_SHARE: f64 = 0.5;
/// A sustained rate is one of a load of ten minutes or more.
const SUSTAINED_S: f64 = 600.0;

/// Settings that no published test of the library had, and that make a load another one.
const OWN_LOAD: [&str; 12] = [
    "rate_iops",
    "rate_iops_read",
    "rate_iops_write",
    "rate_percent",
    "rate_profile",
    "bssplit",
    "filesystem",
    "working_set",
    "verify",
    "fsync",
    "sync",
    "streams",
];

/// Reason that makes a declared figure comparable with no measured one: under which conditions it was reached, the vendor alone knows.
const DECLARED: &str = "declared by the vendor, not measured";

/// Conditions under which a figure was reached. What is `None` is not known.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conditions {
    /// True if a twin answered.
    pub is_simulated: bool,
    /// True if the figure is what a long load sustains.
    pub is_sustained: bool,
    /// True if addresses follow one another.
    pub is_sequential: bool,
    /// Block size.
    pub bs: Option<Choice>,
    /// Share of reads in percent.
    pub rwmixread: Option<u64>,
    /// Jobs times queue depth.
    pub outstanding: Option<u64>,
    /// Mean number of I/Os in flight by Little's law: rate times mean latency.
    pub in_flight: Option<f64>,
    /// Servers that issued the load.
    pub servers: Option<u64>,
    /// Length of the measurement.
    pub runtime_s: Option<f64>,
    /// `on` or `off`.
    pub write_cache: Option<String>,
    /// Conditions that no published figure of the library has: `cached`, `rate_iops is set`.
    pub special: Vec<String>,
}

/// Reason why two figures are not comparable.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The reason: `bs differs`.
    pub because: String,
    /// The condition of the first figure.
    pub own: Value,
    /// The condition of the second figure.
    pub other: Value,
}

/// Conditions of a published row.
pub fn of_row(row: &Row) -> Conditions {
    let depth = row.iodepth.as_ref().and_then(Choice::one);
    Conditions {
        is_simulated: false,
        is_sustained: row.figure == FigureKind::Sustained,
        is_sequential: !row.rw.starts_with("rand"),
        bs: row.bs.clone(),
        rwmixread: Some(row.rwmixread),
        outstanding: row.numjobs.zip(depth).map(|(jobs, depth)| jobs.saturating_mul(depth)),
        in_flight: in_flight(row.iops, row.mean_latency_ns()),
        servers: row.servers,
        runtime_s: row.runtime_s.map(|seconds| seconds as f64),
        write_cache: row.write_cache.clone(),
        special: if row.figure == FigureKind::Declared { vec![DECLARED.to_owned()] } else { Vec::new() },
    }
}

/// Little's law.
fn in_flight(iops: Option<f64>, latency_ns: Option<f64>) -> Option<f64> {
    Some(iops? * latency_ns? / 1e9)
}

impl Conditions {
    /// Conditions of a case: its settings, its rate and mean latency. Servers and the origin are the caller's to add.
    pub fn of_case(settings: &Map<String, Value>, iops: f64, latency_ns: Option<f64>) -> Conditions {
        let number = |name: &str| settings.get(name).and_then(Value::as_u64);
        let word = |name: &str| settings.get(name).and_then(Value::as_str);
        let rw = word("rw").unwrap_or_default();
        let is_trim = rw.contains("trim");
        let mut special = Vec::new();
        let mut note = |is: bool, words: &str| {
            if is {
                special.push(words.to_owned());
            }
        };
        note(is_trim, "trims");
        note(number("direct") == Some(0), "cached");
        for name in OWN_LOAD {
            note(settings.get(name).is_some_and(is_set), &format!("{name} is set"));
        }
        let distribution = word("random_distribution").unwrap_or("random");
        note(distribution != "random" && distribution != "uniform", "random_distribution differs");
        for name in ["buffer_compress_percentage", "dedupe_percentage"] {
            note(number(name).is_some_and(|share| share > 0), &format!("{name} is set"));
        }
        Conditions {
            is_sequential: !rw.starts_with("rand"),
            bs: number("bs").map(Choice::One),
            rwmixread: number("rwmixread").filter(|_| !is_trim),
            outstanding: number("numjobs").zip(number("iodepth")).map(|(a, b)| a.saturating_mul(b)),
            in_flight: in_flight(Some(iops), latency_ns),
            runtime_s: number("runtime").map(|seconds| seconds as f64),
            write_cache: word("write_cache").map(str::to_owned),
            special,
            ..Conditions::default()
        }
    }
}

/// Returns true if a setting changes anything: null, false, zero and `off` do not.
fn is_set(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !matches!(text.as_str(), "" | "off" | "none" | "raw"),
        _ => true,
    }
}

/// Everything that makes two figures not comparable; empty where they are. `with_simulated` lets a simulated figure stand
/// beside a measured one.
pub fn differences(own: &Conditions, other: &Conditions, with_simulated: bool) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut add = |because: &str, own: Value, other: Value| {
        found.push(Difference { because: because.to_owned(), own, other });
    };
    if own.is_simulated != other.is_simulated && !with_simulated {
        let word = |is_simulated| if is_simulated { "simulated" } else { "measured" };
        add("simulated beside measured", json!(word(own.is_simulated)), json!(word(other.is_simulated)));
    }
    if own.is_sequential != other.is_sequential {
        let word = |is_sequential| if is_sequential { "sequential" } else { "random" };
        add("rw differs", json!(word(own.is_sequential)), json!(word(other.is_sequential)));
    }
    match block_sizes(own.bs.as_ref(), other.bs.as_ref()) {
        Same::Yes => {}
        Same::No => add("bs differs", choice(own.bs.as_ref()), choice(other.bs.as_ref())),
        Same::Unknown => add("bs is not known", choice(own.bs.as_ref()), choice(other.bs.as_ref())),
    }
    if own.rwmixread != other.rwmixread {
        add("rwmixread differs", json!(own.rwmixread), json!(other.rwmixread));
    }
    if own.is_sustained != other.is_sustained {
        let word = |is_sustained| if is_sustained { "sustained" } else { "of a short load" };
        add("sustained beside a short load", json!(word(own.is_sustained)), json!(word(other.is_sustained)));
    }
    // After the write cliff the rate is that of garbage collection, whatever the depth.
    if !(own.is_sustained && other.is_sustained) {
        outstanding(own, other, &mut add);
    }
    if let (Some(own), Some(other)) = (own.servers, other.servers)
        && own != other
    {
        add("servers differ", json!(own), json!(other));
    }
    runtime(own, other, &mut add);
    if let (Some(own), Some(other)) = (&own.write_cache, &other.write_cache)
        && own != other
    {
        add("write_cache differs", json!(own), json!(other));
    }
    for special in own.special.iter().filter(|special| !other.special.contains(special)) {
        add(special, Value::Null, Value::Null);
    }
    for special in other.special.iter().filter(|special| !own.special.contains(special)) {
        add(special, Value::Null, Value::Null);
    }
    found
}

fn outstanding(own: &Conditions, other: &Conditions, add: &mut dyn FnMut(&str, Value, Value)) {
    let known = match (own.outstanding.zip(other.outstanding), own.in_flight.zip(other.in_flight)) {
        (Some((own, other)), _) => Some((own as f64, other as f64)),
        (None, in_flight) => in_flight,
    };
    let rounded = |value: f64| json!((value * 10.0).round() / 10.0);
    match known {
        None => add("outstanding I/Os are not known", json!(own.outstanding), json!(other.outstanding)),
        Some((own, other))
            if own <= 0.0 || other <= 0.0 || (own / other).max(other / own) > IN_FLIGHT_FACTOR =>
        {
            add("outstanding I/Os differ", rounded(own), rounded(other));
        }
        Some(_) => {}
    }
}

fn runtime(own: &Conditions, other: &Conditions, add: &mut dyn FnMut(&str, Value, Value)) {
    if own.is_sustained && other.is_sustained {
        let is_short = |runtime_s: Option<f64>| runtime_s.is_some_and(|seconds| seconds < SUSTAINED_S);
        if is_short(own.runtime_s) || is_short(other.runtime_s) {
            add("runtime differs", json!(own.runtime_s), json!(other.runtime_s));
        }
    } else if let (Some(own), Some(other)) = (own.runtime_s, other.runtime_s)
        && own.min(other) < own.max(other) * RUNTIME_SHARE
        && own < other
    {
        add("runtime differs", json!(own), json!(other));
    }
}

enum Same {
    Yes,
    No,
    Unknown,
}

fn block_sizes(own: Option<&Choice>, other: Option<&Choice>) -> Same {
    match (own, other) {
        (Some(Choice::One(one)), Some(choice)) | (Some(choice), Some(Choice::One(one))) => match choice {
            Choice::Words(_) => Same::Unknown,
            choice if choice.has(*one) => Same::Yes,
            _ => Same::No,
        },
        (Some(own), Some(other)) if own == other => Same::Yes,
        _ => Same::Unknown,
    }
}

fn choice(choice: Option<&Choice>) -> Value {
    match choice {
        None => Value::Null,
        Some(Choice::One(one)) => json!(one),
        Some(Choice::AnyOf(all)) => json!(all),
        Some(Choice::Words(words)) => json!(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(changes: &Value) -> Conditions {
        let mut settings = json!({"rw": "randread", "bs": 4096, "rwmixread": 100, "numjobs": 8, "iodepth": 32,
            "runtime": 60, "direct": 1, "ioengine": "libaio", "write_cache": "off"});
        let mut rate = 100_000.0;
        for (name, value) in changes.as_object().expect("an object") {
            if name == "iops" {
                rate = value.as_f64().expect("a rate");
            } else {
                settings[name] = value.clone();
            }
        }
        let settings = settings.as_object().expect("an object");
        Conditions { servers: Some(1), ..Conditions::of_case(settings, rate, Some(2_000_000.0)) }
    }

    fn because(own: &Conditions, other: &Conditions) -> Vec<String> {
        differences(own, other, false).into_iter().map(|difference| difference.because).collect()
    }

    /// Proves that twenty mismatches, each alone beside an otherwise equal figure, make it not comparable and are named.
    #[test]
    fn each_mismatch_is_named() {
        let base = case(&json!({}));
        assert_eq!(because(&base, &base), [""; 0]);
        let of_settings = [
            (json!({"bs": 8192}), "bs differs"),
            (json!({"bs": null}), "bs is not known"),
            (json!({"rwmixread": 99}), "rwmixread differs"),
            (json!({"rwmixread": 0, "rw": "randwrite"}), "rwmixread differs"),
            (json!({"rw": "read"}), "rw differs"),
            (json!({"iodepth": 1}), "outstanding I/Os differ"),
            (json!({"numjobs": 64}), "outstanding I/Os differ"),
            (json!({"direct": 0}), "cached"),
            (json!({"write_cache": "on"}), "write_cache differs"),
            (json!({"rate_iops": 10_000}), "rate_iops is set"),
            (json!({"runtime": 2}), "runtime differs"),
            (json!({"bssplit": "4k/50:8k/50"}), "bssplit is set"),
            (json!({"filesystem": "ext4"}), "filesystem is set"),
            (json!({"random_distribution": "zipf:1.1"}), "random_distribution differs"),
            (json!({"buffer_compress_percentage": 50}), "buffer_compress_percentage is set"),
            (json!({"dedupe_percentage": 30}), "dedupe_percentage is set"),
        ];
        for (changes, reason) in of_settings {
            assert_eq!(because(&case(&changes), &base), [reason], "{changes}");
        }
        let others = [
            (Conditions { is_simulated: true, ..base.clone() }, "simulated beside measured"),
            (Conditions { servers: Some(4), ..base.clone() }, "servers differ"),
            (Conditions { is_sustained: true, ..base.clone() }, "sustained beside a short load"),
            (
                Conditions { outstanding: None, in_flight: None, ..base.clone() },
                "outstanding I/Os are not known",
            ),
            (
                Conditions { special: vec!["an event disturbed it".into()], ..base.clone() },
                "an event disturbed it",
            ),
        ];
        for (other, reason) in others {
            assert_eq!(because(&other, &base), [reason]);
            assert_eq!(because(&base, &other), [reason]);
        }
        let simulated = Conditions { is_simulated: true, ..base.clone() };
        assert!(differences(&simulated, &base, true).is_empty());
    }

    /// Proves that I/Os in flight stand in where a publication does not give jobs and depth, and that a factor of two is alike.
    #[test]
    fn in_flight_stands_in_for_jobs_and_depth() {
        let base = case(&json!({}));
        let published =
            |in_flight| Conditions { outstanding: None, in_flight: Some(in_flight), ..base.clone() };
        assert_eq!(because(&base, &published(390.0)), [""; 0]);
        assert_eq!(because(&base, &published(410.0)), ["outstanding I/Os differ"]);
        assert_eq!(because(&base, &published(99.0)), ["outstanding I/Os differ"]);
    }

    /// Proves that sustained rates are compared whatever the depth, and only of loads of ten minutes or more.
    #[test]
    fn sustained_rates_need_ten_minutes() {
        let of =
            |runtime| Conditions { is_sustained: true, ..case(&json!({"runtime": runtime, "iodepth": 1})) };
        let published =
            Conditions { is_sustained: true, runtime_s: None, outstanding: None, ..case(&json!({})) };
        assert_eq!(because(&of(600), &published), [""; 0]);
        assert_eq!(because(&of(60), &published), ["runtime differs"]);
    }
}
