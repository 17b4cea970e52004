//! Requirements of a plan, judged on the cases of a run.

use super::{Resolver, amount};
use crate::run::Case;
use serde_json::Value;

impl<'a> Resolver<'a> {
    /// Returns the verdict of each requirement for each case that must keep it: `pass`, `fail`, `not-shown` or `not-applicable`.
    pub fn requirements(&self) -> Vec<&'static str> {
        self.rows_of_requirements().into_iter().map(|row| row.0).collect()
    }

    /// Returns true if a case breaks a requirement.
    pub fn is_failing(&self, stage: &str, name: &str) -> bool {
        self.rows_of_requirements()
            .iter()
            .filter(|(verdict, ..)| *verdict == "fail")
            .filter_map(|(_, case, _)| *case)
            .any(|case| case.stage == stage && case.name == name)
    }

    /// Counts the requirements none of whose cases is in the run, though none was left out with a reason.
    pub(super) fn unselected_requirements(&self) -> usize {
        let is_unselected = |row: &&Value| {
            let about = |case: &Case| {
                Some(case.stage.as_str()) == row["stage"].as_str() && holds(&row["cases"], case)
            };
            !self.run.cases.iter().any(about)
                && !self.run.left_out().iter().any(|case| case["stage"] == row["stage"])
        };
        self.run.plan["require"].as_array().into_iter().flatten().filter(is_unselected).count()
    }

    /// Verdict, case and quantity of each requirement and each case that must keep it; no case where none is in the run.
    pub(super) fn rows_of_requirements(&self) -> Vec<(&'static str, Option<&'a Case>, &'a str)> {
        let mut verdicts = Vec::new();
        for row in self.run.plan["require"].as_array().into_iter().flatten() {
            let (least, most) = (amount(&row["at_least"]), amount(&row["at_most"]));
            let stage = row["stage"].as_str().unwrap_or_default();
            let quantity = row["quantity"].as_str().unwrap_or_default();
            let about = || {
                let of_stage = self.run.cases.iter().filter(|case| case.stage == stage);
                of_stage.filter(|case| holds(&row["cases"], case))
            };
            // A limit of one direction is about the cases that have it; about all where none has.
            let with: Vec<&Case> = about().filter(|case| has_direction(case, quantity)).collect();
            let cases = if with.is_empty() { about().collect() } else { with };
            // All cases that would show it were left out, or others selected.
            if cases.is_empty() {
                let does_apply = !self.run.is_without_part(stage);
                verdicts.push((if does_apply { "not-shown" } else { "not-applicable" }, None, quantity));
            }
            for case in cases {
                let path = format!("{stage}/{}/{quantity}", case.name);
                let measured = match self.value("result", &path, 0.0) {
                    Ok(value) => value,
                    Err(_) => {
                        verdicts.push(("not-shown", Some(case), quantity));
                        continue;
                    }
                };
                let is_kept =
                    least.is_none_or(|least| measured >= least) && most.is_none_or(|most| measured <= most);
                let verdict = match is_kept {
                    false => "fail",
                    true if lacks_event(case) => "not-shown",
                    true if case.reads_nothing()
                        && !quantity.starts_with("write.")
                        && !quantity.ends_with("errors") =>
                    {
                        "not-shown"
                    }
                    true if most.is_some_and(|most| is_too_short(case, quantity, most)) => "not-shown",
                    true => "pass",
                };
                verdicts.push((verdict, Some(case), quantity));
            }
        }
        verdicts
    }
}

/// Returns true if a planned event did not take place while the case ran, and no mark of the case names it.
fn lacks_event(case: &Case) -> bool {
    let mut marks: Vec<&str> =
        case.moments.iter().filter(|moment| moment.kind == "mark").map(|mark| mark.text.as_str()).collect();
    let missed = case.moments.iter().filter(|moment| moment.kind == "missed-event");
    missed.filter_map(|moment| moment.data["action"].as_str()).any(|action| {
        let place = marks.iter().position(|mark| mark.contains(action));
        place.map(|place| marks.remove(place)).is_none()
    })
}

/// Returns true if the case is too short for its latency to show that the limit is kept: fewer than 100 I/Os beyond a
/// percentile, a largest one in a case that lasts no longer than the limit, or more than 1 % of the I/Os of an open load of one
/// rate (and more than chance) still waiting at its end.
fn is_too_short(case: &Case, quantity: &str, limit_ns: f64) -> bool {
    let Some((direction, measure)) = quantity.split_once(".latency_ns.") else { return false };
    let ios = case.totals[usize::from(direction == "write")].ios as f64;
    if let Some(percent) = measure.strip_prefix('p').and_then(|percent| percent.parse::<f64>().ok())
        && ios * (100.0 - percent) / 100.0 < 100.0 - 1e-6
    {
        return true;
    }
    if measure == "max" && case.duration_s * 1e9 <= limit_ns {
        return true;
    }
    let has = |name: &str| case.settings.contains_key(name);
    let is_steady = !["rate_burst_iops", "rate_ramp_from", "rate_profile", "rwmixtrim"].into_iter().any(has);
    let is_open = has("rate_process") && is_steady && case.loads.is_empty();
    let Some(rate) = case.number("rate_iops").filter(|_| is_open) else { return false };
    let arrived = rate * case.number("numjobs").unwrap_or(1.0) * case.duration_s;
    let ended: u64 = case.totals.iter().map(|totals| totals.ios + totals.errors).sum();
    arrived - ended as f64 > (0.01 * arrived).max(5.0 * arrived.sqrt())
}

/// Returns true if a case has reads, or writes, where a quantity is about them.
fn has_direction(case: &Case, quantity: &str) -> bool {
    let rw = case.settings.get("rw").and_then(Value::as_str).unwrap_or_default();
    let share = case.number("rwmixread");
    let (reads, writes) = match rw {
        "read" | "randread" => (true, false),
        "write" | "randwrite" => (false, true),
        _ => (share.is_none_or(|share| share > 0.0), share.is_none_or(|share| share < 100.0)),
    };
    match quantity.split('.').next() {
        Some("read") => reads,
        Some("write") => writes,
        _ => true,
    }
}

/// Returns true if a case has the settings that a requirement names.
fn holds(condition: &Value, case: &Case) -> bool {
    let Some(wanted) = condition.as_object() else { return true };
    wanted.iter().all(|(name, values)| {
        let values = values.as_array().cloned().unwrap_or_else(|| vec![values.clone()]);
        let own = case.settings.get(name);
        values.iter().any(|value| {
            own == Some(value)
                || amount(value).is_some_and(|value| own.and_then(Value::as_f64) == Some(value))
        })
    })
}
