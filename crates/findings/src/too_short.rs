//! Cases that are too short for a limit on their latencies: what was measured keeps it, but a longer case might not.
//!
//! I/Os that have not ended when a case does are waited for and not counted, so that a case hides what takes longer than itself.

use plan::{Bound, Requirement};
use serde_json::Value;
use store::CaseResult;

/// I/Os that must lie beyond a percentile for it to be told.
const BEYOND_LEAST: f64 = 100.0;
/// Share of the I/Os which arrived in an open load that may wait at its end.
const WAITING_MOST: f64 = 0.01;
/// Standard deviations that the number of arrivals of a Poisson process may be off.
const ARRIVALS_OFF: f64 = 5.0;
/// Settings whose loads have rates that change while a case runs, or I/Os that are neither reads nor writes.
const UNKNOWN: [&str; 4] = ["rate_burst_iops", "rate_ramp_from", "rate_profile", "rwmixtrim"];

/// Reason why a limit that the result keeps is not shown by it; `None` where it is. Without digits, so that a report can repeat it.
pub(crate) fn why(requirement: &Requirement, result: &CaseResult) -> Option<&'static str> {
    let (direction, measure) = requirement.quantity.name().split_once(".latency_ns.")?;
    if requirement.bound != Bound::AtMost {
        return None;
    }
    let of_direction = if direction == "read" { &result.read } else { &result.write };
    let ios = of_direction.as_ref()?.ios as f64;
    let percentile = measure.strip_prefix('p').and_then(|percent| percent.parse::<f64>().ok());
    // A little less, because 100 − 99.9 is not quite 0.1.
    if percentile.is_some_and(|percent| ios * (100.0 - percent) / 100.0 < BEYOND_LEAST - 1e-6) {
        return Some("the case is too short: fewer than a hundred of its I/Os lie beyond the percentile");
    }
    if measure == "max" && result.duration_s * 1e9 <= requirement.value {
        return Some("the case is too short: an I/O that takes longer than the limit does not end in it");
    }
    waits_at_end(result)
        .then_some("I/Os still waited when the case ended, and their latencies are not in the figure")
}

/// Returns true if fewer I/Os ended in an open load of one rate than arrived.
fn waits_at_end(result: &CaseResult) -> bool {
    let Some(arrived) = arrivals(result) else { return false };
    let directions = [&result.read, &result.write].into_iter().flatten();
    let ended: u64 = directions.map(|direction| direction.ios + direction.errors).sum();
    arrived - ended as f64 > (WAITING_MOST * arrived).max(ARRIVALS_OFF * arrived.sqrt())
}

/// I/Os that arrive in an open load; `None` for a closed one, one of [`UNKNOWN`], and several loads.
fn arrivals(result: &CaseResult) -> Option<f64> {
    let settings = &result.settings;
    let number = |name: &str| settings.get(name).and_then(Value::as_f64);
    settings.get("rate_process")?;
    if UNKNOWN.iter().any(|name| settings.contains_key(*name)) || result.loads.is_some() {
        return None;
    }
    Some(number("rate_iops")? * number("numjobs").unwrap_or(1.0) * result.duration_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn requirement(quantity: &str, at_most: &str) -> Requirement {
        let text = format!(
            "title: t\nstages:\n  s:\n    settings: {{ rw: randread, bs: 4k, runtime: 10 }}\nrequire:\n  - {{ says: x, quantity: {quantity}, at_most: {at_most}, stage: s }}\n"
        );
        plan::parse_plan("t", "t.yaml", &text).unwrap().requirements.remove(0)
    }

    fn result(reads: u64, settings: &Value) -> CaseResult {
        let latency = json!({
            "mean": 1e6, "p50": 1_000_000, "p95": 1_000_000, "p99": 1_000_000, "p99.9": 1_000_000, "p99.99": null,
            "min": 1_000_000, "max": 1_000_000
        });
        let read = json!({ "ios": reads, "bytes": 0, "errors": 0, "iops": 1.0, "bw_bytes_per_s": 1.0, "latency_ns": latency });
        serde_json::from_value(json!({
            "plan": "t", "stage": "s", "case": "s", "settings": settings, "target": "twin:t", "engine": "sim", "status": "done",
            "duration_s": 10.0, "iops": 1.0, "bw_bytes_per_s": 1.0, "read": read, "write": null
        }))
        .unwrap()
    }

    /// Proves that a percentile needs 100 I/Os beyond it, whichever it is, and that a mean does not.
    #[test]
    fn a_percentile_needs_a_hundred_beyond_it() {
        for (quantity, enough) in
            [("p50", 200), ("p95", 2000), ("p99", 10_000), ("p99.9", 100_000), ("p99.99", 1_000_000)]
        {
            let limit = requirement(&format!("read.latency_ns.{quantity}"), "2ms");
            assert_eq!(why(&limit, &result(enough, &json!({}))), None, "{quantity}");
            assert!(why(&limit, &result(enough - 1, &json!({}))).is_some(), "{quantity}");
        }
        assert_eq!(why(&requirement("read.latency_ns.mean", "2ms"), &result(1, &json!({}))), None);
        assert_eq!(why(&requirement("read.errors", "0"), &result(1, &json!({}))), None);
    }

    /// Proves that a limit on the largest latency needs a case that lasts longer.
    #[test]
    fn a_largest_latency_needs_a_longer_case() {
        assert!(why(&requirement("read.latency_ns.max", "10s"), &result(100, &json!({}))).is_some());
        assert_eq!(why(&requirement("read.latency_ns.max", "9s"), &result(100, &json!({}))), None);
    }

    /// Proves that an open load whose I/Os still wait at its end shows no latency, that chance is not taken for waiting, and that a closed
    /// load with a rate is none.
    #[test]
    fn waiting_io_hides_its_latency() {
        let limit = requirement("read.latency_ns.mean", "2ms");
        let open = json!({ "rate_process": "poisson", "rate_iops": 1000, "numjobs": 2 });
        assert_eq!(why(&limit, &result(20_000, &open)), None);
        assert_eq!(why(&limit, &result(19_400, &open)), None);
        assert!(why(&limit, &result(19_200, &open)).is_some());
        assert_eq!(why(&limit, &result(9000, &json!({ "rate_iops": 1000, "numjobs": 2 }))), None);
    }
}
