//! Requirements against measurements: PASS, FAIL, or not shown.

use crate::missed_event::MissedEvents;
use crate::unwritten_reads::UNWRITTEN_MOST;
use crate::{add_sustained, find, too_short, unwritten_reads};
use plan::{Bound, Plan, Requirement};
use serde::Serialize;
use std::collections::BTreeMap;
use store::{CaseRecord, CaseResult, CaseState, CaseStatus, Event, LeftOutCase, RunReader, StoreError};

/// Verdict on a case's requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequirementVerdict {
    /// It does.
    Pass,
    /// It does not.
    Fail,
    /// It was not measured, has no such quantity, or keeps it in a case that is too short to show that or in which a planned event
    /// did not take place.
    NotShown,
    /// It is about the loss of a part of which the array has none.
    NotApplicable,
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
    /// Quantity that the limit is about.
    pub quantity: &'static str,
    /// The least that is allowed, where the limit is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// The most that is allowed, where the limit is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// Measured figure.
    pub measured: Option<f64>,
    /// Verdict on the limit.
    pub verdict: RequirementVerdict,
    /// Reason why it is not shown, or does not apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// False where the run was told to leave out all cases that would show it (`--stage`, `--only`).
    pub is_selected: bool,
}

impl RequirementRow {
    /// A limit that a case does not show.
    fn not_shown(requirement: &Requirement, case: &str, because: Option<String>) -> RequirementRow {
        let (at_least, at_most) = match requirement.bound {
            Bound::AtLeast => (Some(requirement.value), None),
            Bound::AtMost => (None, Some(requirement.value)),
        };
        RequirementRow {
            says: requirement.says.clone(),
            stage: requirement.stage.clone(),
            case: case.to_owned(),
            quantity: requirement.quantity.name(),
            at_least,
            at_most,
            measured: None,
            verdict: RequirementVerdict::NotShown,
            because,
            is_selected: true,
        }
    }
}

/// Verdict on a run by all limits of its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunVerdict {
    /// Every limit that applies was judged and is kept.
    Pass,
    /// A limit is not kept.
    Fail,
    /// None can be given: the plan has no limits, or one could not be judged and none failed.
    None,
}

/// The verdict on a run: a limit that could not be judged is no pass, and one that does not apply is nothing.
pub fn run_verdict(rows: &[RequirementRow]) -> RunVerdict {
    let any = |wanted| rows.iter().any(|row| row.verdict == wanted);
    if any(RequirementVerdict::Fail) {
        RunVerdict::Fail
    } else if any(RequirementVerdict::Pass) && !any(RequirementVerdict::NotShown) {
        RunVerdict::Pass
    } else {
        RunVerdict::None
    }
}

/// Holds every limit of a plan against the cases of a run, in the order of the plan. Empty where it has none. A limit of one
/// direction is about the cases that have this direction.
pub fn requirements(run: &RunReader, plan: &Plan) -> Result<Vec<RequirementRow>, StoreError> {
    if plan.requirements.is_empty() {
        return Ok(Vec::new());
    }
    let mut results = run.results()?;
    if plan.requirements.iter().any(|requirement| requirement.quantity.name().starts_with("sustained.")) {
        add_sustained(&mut results, &find(run, plan)?);
    }
    let records = run.cases()?;
    let events = run.events()?;
    let missed = MissedEvents::of(&events);
    let share_of = |event: &Event| Some((event.case_index?, unwritten_reads::share(event)?));
    let unwritten: BTreeMap<u32, f64> = events.iter().filter_map(share_of).collect();
    let mut rows = Vec::new();
    for requirement in &plan.requirements {
        let cases = cases_of(requirement, plan, &records);
        if cases.is_empty() {
            rows.push(without_case(requirement, &run.manifest().left_out));
        }
        for case in cases {
            let is_its = |result: &&CaseResult| {
                result.stage == case.stage && result.case == case.name && result.status == CaseStatus::Done
            };
            let result = results.iter().find(is_its);
            let measured = result.and_then(|result| result.quantity(requirement.quantity.name()));
            let is_kept = measured.map(|measured| requirement.is_kept_by(measured));
            let because = match is_kept {
                None => Some(why_not_shown(requirement, case, result)),
                Some(true) => missed
                    .why(case.index)
                    .or_else(|| reads_nothing(requirement, unwritten.get(&case.index).copied()))
                    .or_else(|| {
                        result.and_then(|result| too_short::why(requirement, result)).map(str::to_owned)
                    }),
                Some(false) => None,
            };
            let verdict = match is_kept {
                Some(false) => RequirementVerdict::Fail,
                Some(true) if because.is_none() => RequirementVerdict::Pass,
                _ => RequirementVerdict::NotShown,
            };
            let row = RequirementRow::not_shown(requirement, &case.name, because);
            rows.push(RequirementRow { measured, verdict, ..row });
        }
    }
    Ok(rows)
}

/// The cases that a limit is about: those with its direction, or all where no case has it, so that it is never passed over.
fn cases_of<'a>(requirement: &Requirement, plan: &Plan, records: &'a [CaseRecord]) -> Vec<&'a CaseRecord> {
    let about = || records.iter().filter(|case| requirement.is_about(&case.stage, &case.settings));
    let has_direction =
        |case: &&CaseRecord| plan.has_direction(&case.stage, &case.settings, requirement.quantity);
    let with_direction: Vec<&CaseRecord> = about().filter(has_direction).collect();
    if with_direction.is_empty() { about().collect() } else { with_direction }
}

/// Reason why reads of unwritten addresses do not show a limit that they keep; limits on writes and on errors are no matter of them.
fn reads_nothing(requirement: &Requirement, unwritten_share: Option<f64>) -> Option<String> {
    let name = requirement.quantity.name();
    let is_of_reads = !name.starts_with("write.") && !name.ends_with("errors");
    let is_most = unwritten_share.is_some_and(|share| share > UNWRITTEN_MOST);
    (is_of_reads && is_most).then(|| "reads of the case were of unwritten units and read nothing".to_owned())
}

/// A limit none of whose cases is in the run, because all were left out or others selected: it is not passed over, unless it is about
/// a part of which the array has none.
fn without_case(requirement: &Requirement, left_out: &[LeftOutCase]) -> RequirementRow {
    match left_out.iter().find(|case| case.stage == requirement.stage) {
        Some(case) => {
            let because = Some(format!("the case was left out: {}", case.reason));
            let verdict = match case.is_without_part {
                true => RequirementVerdict::NotApplicable,
                false => RequirementVerdict::NotShown,
            };
            RequirementRow { verdict, ..RequirementRow::not_shown(requirement, &case.case, because) }
        }
        None => {
            let because = Some("none of its cases was selected for this run".to_owned());
            RequirementRow { is_selected: false, ..RequirementRow::not_shown(requirement, "", because) }
        }
    }
}

fn why_not_shown(requirement: &Requirement, case: &CaseRecord, result: Option<&CaseResult>) -> String {
    let Some(result) = result else {
        return match (&case.error, case.state) {
            (Some(error), _) => format!("the case was not measured: {error}"),
            (None, CaseState::Ended(status)) => format!("the case was not measured: {}", status.name()),
            (None, CaseState::Pending | CaseState::Begun) => "the case has not been measured yet".into(),
        };
    };
    let name = requirement.quantity.name();
    let direction = match name.split_once('.') {
        Some(("read", _)) => Some((&result.read, "read", "reads")),
        Some(("write", _)) => Some((&result.write, "write", "writes")),
        _ => None,
    };
    match direction {
        Some((None, _, many)) => format!("the case had no {many}"),
        Some((Some(done), one, _)) if done.ios == 0 => format!("no {one} was completed"),
        Some(_) => format!("the engine gives no {name}"),
        None if name.starts_with("sustained.") => "neither a cliff nor a steady state was found".into(),
        None => format!("the result has no {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(verdict: RequirementVerdict) -> RequirementRow {
        RequirementRow {
            says: "a limit".into(),
            stage: "one".into(),
            case: "one".into(),
            quantity: "iops",
            at_least: Some(1.0),
            at_most: None,
            measured: None,
            verdict,
            because: None,
            is_selected: true,
        }
    }

    /// Proves that a run passes only where every limit was judged and kept, and fails as soon as one is not.
    #[test]
    fn a_limit_that_was_not_judged_is_no_pass() {
        use RequirementVerdict::{Fail, NotShown, Pass};
        let of = |verdicts: &[RequirementVerdict]| {
            run_verdict(&verdicts.iter().map(|verdict| row(*verdict)).collect::<Vec<_>>())
        };
        assert_eq!(of(&[]), RunVerdict::None);
        assert_eq!(of(&[Pass, Pass]), RunVerdict::Pass);
        assert_eq!(of(&[Pass, NotShown]), RunVerdict::None);
        assert_eq!(of(&[NotShown, Fail, Pass]), RunVerdict::Fail);
    }
}
