//! Data of answers, and the ranges that a model's error gives them.

use crate::close;
use crate::histogram::Histogram;
use crate::run::{Case, Run};
use serde_json::Value;

/// Error of assumed parts: too high, too low.
const ASSUMED: [f64; 2] = [1.0, 0.5];
/// Largest error of a value that is too low.
const UNDER_LIMIT: f64 = 0.95;
/// Beyond their rate links carry by so much with smaller headers.
const SMALLER_HEADERS: f64 = 1.13;

/// Value at a path: `headroom_95.0`.
pub fn at<'a>(data: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(data, |value, step| match value {
        Value::Array(items) => {
            step.parse::<usize>().ok().and_then(|place| items.get(place)).unwrap_or(&Value::Null)
        }
        other => &other[step],
    })
}

/// A number; `None` where there is none.
pub fn number(data: &Value, path: &str) -> Option<f64> {
    at(data, path).as_f64()
}

/// A text, empty where there is none.
pub fn text<'a>(data: &'a Value, path: &str) -> &'a str {
    at(data, path).as_str().unwrap_or_default()
}

/// Returns true if a text, or one of a list of texts, is the one that is looked for.
pub fn holds(value: &Value, is_own: &dyn Fn(&str) -> bool) -> bool {
    let is_own = |value: &Value| value.as_str().is_some_and(is_own);
    match value {
        Value::Array(all) => all.iter().any(is_own),
        one => is_own(one),
    }
}

/// Range of a true value around a simulated one.
pub fn range(value: f64, over: f64, under: f64, sampling: f64) -> [f64; 2] {
    let both = |error: f64| (error * error + sampling * sampling).sqrt();
    [value / (1.0 + both(over)), value / (1.0 - both(under).min(UNDER_LIMIT))]
}

/// Most I/Os a second of a case's mix over links of so many bytes a second each way.
pub fn line_rate_iops(links_bytes_per_s: Option<f64>, case: &Case) -> f64 {
    let [read, write] = &case.totals;
    let bytes = read.bytes.max(write.bytes) as f64;
    let of_rate = |rate: f64| SMALLER_HEADERS * rate * (read.ios + write.ios) as f64 / bytes;
    links_bytes_per_s.filter(|_| bytes > 0.0).map_or(f64::INFINITY, of_rate)
}

/// Latency of a measure over a case: `p99`, `read.mean`.
pub fn latency_ns(case: &Case, measure: &str) -> f64 {
    let mut histogram = Histogram::default();
    let (sides, name): (&[usize], &str) = match measure.split_once('.') {
        Some(("read", name)) => (&[0], name),
        Some(("write", name)) => (&[1], name),
        _ => (&[0, 1], measure),
    };
    sides.iter().for_each(|side| histogram.merge(&case.totals[*side].latency));
    let millionths = match name {
        "p50" => 500_000,
        "p95" => 950_000,
        "p99" => 990_000,
        "p99.9" => 999_000,
        "p99.99" => 999_900,
        _ => return histogram.mean_ns(),
    };
    histogram.percentile_ns(millionths).unwrap_or(0) as f64
}

/// Array that an answer is about.
pub struct Subject<'a> {
    /// Its name.
    pub array: &'a str,
    /// Parts of it were changed or lost.
    pub is_other: bool,
}

/// Describes how an error of the model at a path differs from that of the published rows of these metrics; `None` where it does not.
pub fn error_differs(
    run: &Run,
    data: &Value,
    path: &str,
    subject: &Subject<'_>,
    metrics: &[&str],
) -> Option<String> {
    let arrays = run.manifest["arrays"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_shipped = arrays.iter().any(|one| one["name"] == subject.array && one["source"] == "shipped");
    let rows = run.validation.iter().filter(|row| {
        is_shipped && row["array"] == subject.array && metrics.iter().any(|metric| row["metric"] == *metric)
    });
    let worst = rows.clone().filter_map(|row| row["worst_error"].as_f64()).reduce(f64::max);
    let has_unseen = rows.clone().any(|row| row["set"] == "unseen");
    let (expected, basis) = match worst {
        None => (ASSUMED, "assumed"),
        Some(worst) if subject.is_other => ([2.0 * worst, (2.0 * worst).min(UNDER_LIMIT)], "fitted"),
        Some(worst) => ([worst, worst.min(UNDER_LIMIT)], if has_unseen { "unseen" } else { "fitted" }),
    };
    let own = ["over", "under"].map(|end| number(data, &format!("{path}.{end}")));
    let is_same = own.iter().zip(expected).all(|(own, expected)| own.is_some_and(|own| close(own, expected)));
    let is_its = is_same && text(data, &format!("{path}.validated")) == basis;
    (!is_its).then(|| format!("{path} is not that of the published rows, {basis}"))
}
