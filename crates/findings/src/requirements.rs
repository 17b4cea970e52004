//! What was promised, beside what was measured: PASS, FAIL, or not shown.

use crate::{add_sustained, find};
use plan::{Bound, Plan};
use serde::Serialize;
use store::{CaseResult, CaseStatus, RunReader, StoreError};

/// Whether a case keeps a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequirementVerdict {
    /// It does.
    Pass,
    /// It does not.
    Fail,
    /// It was not measured, or has no such quantity.
    NotShown,
}

/// A limit and a case that must keep it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequirementRow {
    /// The limit in words.
    pub says: String,
    /// The stage of the case.
    pub stage: String,
    /// The case.
    pub case: String,
    /// Which quantity the limit is about.
    pub quantity: &'static str,
    /// The least that is allowed, where the limit is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// The most that is allowed, where the limit is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// What was measured.
    pub measured: Option<f64>,
    /// Whether it keeps the limit.
    pub verdict: RequirementVerdict,
}

/// Holds every limit of a plan against the cases of a run, in the order of the plan. Empty where it has none.
pub fn requirements(run: &RunReader, plan: &Plan) -> Result<Vec<RequirementRow>, StoreError> {
    if plan.requirements.is_empty() {
        return Ok(Vec::new());
    }
    let mut results = run.results()?;
    if plan.requirements.iter().any(|requirement| requirement.quantity.name().starts_with("sustained.")) {
        add_sustained(&mut results, &find(run, plan)?);
    }
    let records = run.cases()?;
    let mut rows = Vec::new();
    for requirement in &plan.requirements {
        for case in records.iter().filter(|case| requirement.is_about(&case.stage, &case.settings)) {
            let is_its = |result: &&CaseResult| {
                result.stage == case.stage && result.case == case.name && result.status == CaseStatus::Done
            };
            let result = results.iter().find(is_its);
            let measured = result.and_then(|result| result.quantity(requirement.quantity.name()));
            let (at_least, at_most) = match requirement.bound {
                Bound::AtLeast => (Some(requirement.value), None),
                Bound::AtMost => (None, Some(requirement.value)),
            };
            rows.push(RequirementRow {
                says: requirement.says.clone(),
                stage: case.stage.clone(),
                case: case.name.clone(),
                quantity: requirement.quantity.name(),
                at_least,
                at_most,
                measured,
                verdict: match measured {
                    Some(measured) if requirement.is_kept_by(measured) => RequirementVerdict::Pass,
                    Some(_) => RequirementVerdict::Fail,
                    None => RequirementVerdict::NotShown,
                },
            });
        }
    }
    Ok(rows)
}
