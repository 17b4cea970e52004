//! The value behind each source, from the run itself.

mod published;
mod requirements;
mod units;

pub use units::{amount, unit_of};

use crate::claims;
use crate::mismatch::Mismatch;
use crate::run::{Case, Run};
use serde_json::{Map, Value};
use std::cell::Cell;
use std::collections::BTreeMap;

/// Resolver of a text's sources to values of the run.
pub struct Resolver<'a> {
    run: &'a Run,
    findings: BTreeMap<&'a str, &'a Map<String, Value>>,
    claims: BTreeMap<&'a str, &'a Value>,
    row: Cell<usize>,
}

/// Constants of definitions: their names and values.
const CONSTANTS: [(&str, f64); 13] = [
    ("confidence", 0.95),
    ("knee-tolerance", 0.10),
    ("latency-bound", 1e6),
    ("whole", 1.0),
    ("steady-range", 0.20),
    ("steady-slope", 0.10),
    ("histogram-error", 1.0 / 128.0),
    ("megabyte", 1e6),
    ("four-k", 4096.0),
    ("percentile-tail", 1e-4),
    ("conformance-tolerance", 0.02),
    ("near-constant", 0.05),
    ("half", 0.5),
];

impl<'a> Resolver<'a> {
    /// Makes the resolver of a run and of the findings that its report repeats.
    pub fn new(run: &'a Run, report: &'a Value) -> Resolver<'a> {
        let all = report["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
        let findings = all
            .iter()
            .filter_map(Value::as_object)
            .filter_map(|finding| Some((finding.get("id")?.as_str()?, finding)))
            .collect();
        let claims = report["claims"].as_array().map(Vec::as_slice).unwrap_or_default();
        let claims = claims.iter().filter_map(|claim| Some((claim["id"].as_str()?, claim))).collect();
        Resolver { run, findings, claims, row: Cell::new(0) }
    }

    /// The finding of an identifier.
    pub fn finding(&self, id: &str) -> Option<&'a Map<String, Value>> {
        self.findings.get(id).copied()
    }

    /// The claim of an identifier, as the report repeats it.
    pub fn claim(&self, id: &str) -> Option<&'a Value> {
        self.claims.get(id).copied()
    }

    /// Every claim, as the report repeats it.
    pub fn claims(&self) -> impl Iterator<Item = &'a Value> + '_ {
        self.claims.values().copied()
    }

    /// A claim as the plan writes it.
    fn written_claim(&self, id: &str) -> Option<&'a Value> {
        self.run.claims.iter().find(|claim| claim["id"].as_str() == Some(id))
    }

    /// A field of a finding.
    pub fn field(&self, path: &str) -> Option<&'a Value> {
        let (id, field) = path.rsplit_once('/')?;
        let mut steps = field.split('.');
        let mut value = self.finding(id)?.get(steps.next()?)?;
        for step in steps {
            value = match value {
                Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
                other => other.get(step)?,
            };
        }
        Some(value)
    }

    /// The case and the last part of `STAGE/CASE/LAST`.
    pub fn case_of<'p>(&self, path: &'p str) -> Option<(&'a Case, &'p str)> {
        let (stage, rest) = path.split_once('/')?;
        let (name, last) = rest.rsplit_once('/')?;
        Some((self.run.case(stage, name)?, last))
    }

    /// The value of a source. `claimed` is what the report says, for what only the page knows.
    pub fn value(&self, kind: &str, path: &str, claimed: f64) -> Result<f64, Mismatch> {
        let none = || Mismatch::Missing(format!("{kind}:{path}"));
        let no_number = || Mismatch::Different(format!("{kind}:{path} is no number"));
        match kind {
            "finding" => {
                let value = self.field(path).ok_or_else(none)?;
                value.as_f64().ok_or_else(no_number)
            }
            "result" => {
                let (case, quantity) = self.case_of(path).ok_or_else(none)?;
                if case.state != "done" {
                    return Err(Mismatch::Different(format!("{path} is {}", case.state)));
                }
                match quantity.strip_prefix("sustained.") {
                    Some(what) => self.sustained(case, what).ok_or_else(none),
                    None => case.quantity(quantity).ok_or_else(none),
                }
            }
            "setting" => {
                let (case, name) = self.case_of(path).ok_or_else(none)?;
                let value = case.settings.get(name).ok_or_else(none)?;
                value.as_f64().ok_or_else(no_number)
            }
            "array" => {
                let origin = path.strip_prefix("origin/").ok_or_else(none)?;
                let text = self.run.manifest["array"]["text"].as_str().ok_or_else(none)?;
                // Where the values of parts stand resolved below the text, they count and not what the text says of some.
                let is_resolved = text.lines().any(|line| line.starts_with("# resolved "));
                let counted = text.lines().filter(|line| !is_resolved || line.starts_with("# resolved "));
                let word = format!("origin: {origin}");
                Ok(counted.map(|line| line.matches(&word).count()).sum::<usize>() as f64)
            }
            "validation" => {
                let mut parts = path.split('/');
                let wanted = ["array", "set", "metric"].map(|name| (name, parts.next().unwrap_or_default()));
                let field = parts.next().ok_or_else(none)?;
                let is_its =
                    |row: &&Value| wanted.iter().all(|(name, part)| row[*name].as_str() == Some(part));
                self.run.validation.iter().find(is_its).and_then(|row| row[field].as_f64()).ok_or_else(none)
            }
            "literal" => {
                let value: f64 = path.parse().map_err(|_| none())?;
                if claims::has_literal(&self.run.claims, value) { Ok(value) } else { Err(none()) }
            }
            "tolerance" => self.written_claim(path).and_then(claims::tolerance).ok_or_else(none),
            "needs" => self.written_claim(path).and_then(claims::needs).ok_or_else(none),
            "intervals" => {
                let (case, what) = self.case_of(path).ok_or_else(none)?;
                claims::of_intervals(case, what).ok_or_else(none)
            }
            "counter" => {
                let (case, counter) = self.case_of(path).ok_or_else(none)?;
                crate::facts::of_service(case, counter).ok_or_else(none)
            }
            "found" => {
                let (about, conditions) = path.rsplit_once('/').ok_or_else(none)?;
                let its = self.finding(about).filter(|finding| {
                    conditions.split('&').all(|condition| claims::fulfils(finding, condition))
                });
                Ok(if its.is_some() { 1.0 } else { 0.0 })
            }
            "cases" => self.cases(path).ok_or_else(none),
            "constant" => CONSTANTS.iter().find(|(name, _)| *name == path).map(|one| one.1).ok_or_else(none),
            "declared" => {
                let place: usize = path.parse().map_err(|_| none())?;
                amount(&self.run.plan["declared"][place.wrapping_sub(1)]["value"]).ok_or_else(none)
            }
            "requirement" => {
                let place: usize = path.parse().map_err(|_| none())?;
                let row = &self.run.plan["require"][place.wrapping_sub(1)];
                amount(&row["at_least"]).or_else(|| amount(&row["at_most"])).ok_or_else(none)
            }
            "requirements" => {
                let rows = self.rows_of_requirements();
                let is_tail = |row: &&(&'static str, Option<&Case>, &str)| {
                    row.0 == "pass" && row.2.contains("latency_ns.p") && row.1.is_some_and(is_constant)
                };
                Ok(match path {
                    "pass-near-constant" => rows.iter().filter(is_tail).count() as f64,
                    // A limit without a case was left out with a reason, or not selected.
                    "not-selected" => self.unselected_requirements() as f64,
                    "not-shown-selected" => {
                        let unseen = rows.iter().filter(|row| row.0 == "not-shown").count();
                        (unseen - self.unselected_requirements()) as f64
                    }
                    verdict => rows.iter().filter(|row| row.0 == verdict).count() as f64,
                })
            }
            "published" => {
                let found = self.published(path).ok_or_else(none)?;
                found.get(self.row.get() % found.len().max(1)).copied().ok_or_else(none)
            }
            "sizing" => crate::sizing::value(self.run, path).ok_or_else(none),
            "what-if" => crate::what_if::value(self.run, path).ok_or_else(none),
            "manifest" if path == "created_year" => {
                let created = self.run.manifest["created_utc"].as_str().unwrap_or_default();
                created.split('-').next().and_then(|year| year.parse().ok()).ok_or_else(none)
            }
            "manifest" if path == "interval" => {
                self.run.manifest["interval_ns"].as_f64().map(|ns| ns / 1e9).ok_or_else(none)
            }
            "warnings" => {
                let count = self.run.warnings.iter().filter(|text| *text == path).count();
                if count > 0 { Ok(count as f64) } else { Err(none()) }
            }
            "results" if path == "errors" => {
                let errors = self.run.done().flat_map(|case| &case.totals).map(|totals| totals.errors);
                Ok(errors.sum::<u64>() as f64)
            }
            "values" => {
                let (stage, axis) = path.split_once('/').ok_or_else(none)?;
                let mut values: Vec<&Value> = Vec::new();
                for case in self.run.cases.iter().filter(|case| case.stage == stage) {
                    let value = case.settings.get(axis).filter(|value| !values.contains(value));
                    values.extend(value);
                }
                Ok(values.len() as f64)
            }
            // What the page leaves out is no fact about the run; it is only allowed where that is told.
            "page" if claimed >= 1.0 && claimed.fract() == 0.0 => Ok(claimed),
            _ => Err(none()),
        }
    }

    /// The rate that lasts: of the write cliff, else from the window of steady state on, else, in `group-1`, of the second half.
    fn sustained(&self, case: &Case, what: &str) -> Option<f64> {
        let of = |kind: &str| self.finding(&format!("{kind}/{}/{}", case.stage, case.name));
        if let Some(cliff) = of("write-cliff") {
            return cliff.get("sustained")?.get(what)?.as_f64();
        }
        let counted = case.counted();
        let from_s = match of("steady-state").filter(|state| state.get("reached") == Some(&Value::Bool(true)))
        {
            Some(state) => state.get("rests_on")?.get(0)?.get("from_s")?.as_f64()?,
            None if case.stage == "group-1" => f64::midpoint(counted.first()?.start_s, counted.last()?.end_s),
            None => return None,
        };
        let rest = counted.iter().filter(|one| one.end_s > from_s + 1e-9);
        let (mut sum, mut time_s) = (0.0, 0.0);
        for one in rest {
            sum += if what == "iops" { one.all().ios } else { one.all().bytes };
            time_s += one.length_s();
        }
        (time_s > 0.0).then(|| sum / time_s)
    }

    fn cases(&self, which: &str) -> Option<f64> {
        let settled: Vec<&str> = self
            .run
            .events
            .iter()
            .filter(|event| event.kind == "stage-ended")
            .filter_map(|event| event.data["stage"].as_str())
            .collect();
        let is_needed = |case: &&Case| !(case.state == "pending" && settled.contains(&case.stage.as_str()));
        let is_over = |case: &&Case| !matches!(case.state.as_str(), "pending" | "begun");
        let all = || self.run.cases.iter();
        let count = match which {
            "all" => all().count(),
            "needed" => all().filter(is_needed).count(),
            "not-needed" => all().filter(|case| !is_needed(case)).count(),
            "unfinished" => all().filter(is_needed).filter(|case| !is_over(case)).count(),
            state @ ("done" | "failed" | "refused" | "not-settable" | "begun") => {
                all().filter(|case| case.state == state).count()
            }
            "near-constant" => self.run.done().filter(|case| is_constant(case)).count(),
            "pending" => all().filter(is_needed).filter(|case| case.state == "pending").count(),
            other => {
                let stage = other.strip_prefix("stage/")?;
                all().filter(|case| case.stage == stage).count()
            }
        };
        Some(count as f64)
    }
}

/// Returns true if a direction of a case has a 99.9th percentile within 5 % of its median.
fn is_constant(case: &Case) -> bool {
    ["read", "write"].iter().any(|direction| {
        let of = |name: &str| case.quantity(&format!("{direction}.latency_ns.{name}"));
        of("p50").zip(of("p99.9")).is_some_and(|(p50, tail)| p50 > 0.0 && tail <= 1.05 * p50)
    })
}
