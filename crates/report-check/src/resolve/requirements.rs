//! Requirements of a plan, judged on the cases of a run.

use super::{Resolver, amount};
use crate::run::Case;
use serde_json::Value;

impl<'a> Resolver<'a> {
    /// For each requirement and each case that must keep it `pass`, `fail` or `not-shown`.
    pub fn requirements(&self) -> Vec<&'static str> {
        self.rows_of_requirements().into_iter().map(|row| row.0).collect()
    }

    /// Whether a case breaks a requirement.
    pub fn is_failing(&self, stage: &str, name: &str) -> bool {
        self.rows_of_requirements()
            .iter()
            .any(|(verdict, case, _)| *verdict == "fail" && case.stage == stage && case.name == name)
    }

    /// Verdict, case and quantity of each requirement and each case that must keep it.
    pub(super) fn rows_of_requirements(&self) -> Vec<(&'static str, &'a Case, &'a str)> {
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
            for case in cases {
                let path = format!("{stage}/{}/{quantity}", case.name);
                let measured = match self.value("result", &path, 0.0) {
                    Ok(value) => value,
                    Err(_) => {
                        verdicts.push(("not-shown", case, quantity));
                        continue;
                    }
                };
                let is_kept =
                    least.is_none_or(|least| measured >= least) && most.is_none_or(|most| measured <= most);
                verdicts.push((if is_kept { "pass" } else { "fail" }, case, quantity));
            }
        }
        verdicts
    }
}

/// Whether a case has reads, or writes, where a quantity is about them.
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

/// Whether a case has the settings that a requirement names.
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
