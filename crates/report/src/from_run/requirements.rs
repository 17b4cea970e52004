//! Requirements as a table of PASS and FAIL.

use super::quantity::{self, Kind};
use super::{ReportError, Source, case_name, percentile_words, stage_name};
use crate::model::{Column, Table};
use findings::{Cited, Quantity, RequirementRow, RequirementVerdict, cited};

/// A row for each limit and each case that must keep it; those that are not kept come first.
pub fn sheet(source: &Source<'_>) -> Result<Option<Table>, ReportError> {
    let Some(plan) = &source.plan else { return Ok(None) };
    let mut rows = findings::requirements(source.run, plan)?;
    let caption = super::verdict::counts(&rows);
    rows.sort_by_key(|row| match row.verdict {
        RequirementVerdict::Fail => 0,
        RequirementVerdict::NotShown => 1,
        RequirementVerdict::Pass => 2,
        RequirementVerdict::NotApplicable => 3,
    });
    let says_why = rows.iter().any(|row| row.because.is_some());
    Ok((!rows.is_empty()).then(|| Table {
        id: "required".into(),
        caption,
        columns: vec![
            Column::words("Verdict"),
            Column::words("Required"),
            Column::words("Stage"),
            Column::words("Case"),
            Column::words("Quantity"),
            Column::numbers("Limit"),
            Column::numbers("Measured"),
        ]
        .into_iter()
        .chain(says_why.then(|| Column::words("Not judged because")))
        .collect(),
        rows: rows.iter().map(|row| cells(source, plan, row, says_why)).collect(),
    }))
}

fn cells(source: &Source<'_>, plan: &plan::Plan, row: &RequirementRow, says_why: bool) -> Vec<Cited> {
    let kind = Kind::of(row.quantity);
    let is_its = |requirement: &plan::Requirement| {
        requirement.says == row.says
            && requirement.stage == row.stage
            && requirement.quantity.name() == row.quantity
    };
    let place = plan.requirements.iter().position(is_its).map_or(0, |place| place + 1);
    let bound =
        |value: f64| kind.print(Quantity::new(value, kind.base(), findings::Source::requirement(place)));
    let limit = match (row.at_least, row.at_most) {
        (Some(least), _) => cited!("at least {}", bound(least)),
        (None, Some(most)) => cited!("at most {}", bound(most)),
        (None, None) => Cited::default(),
    };
    // A sign beside the word, so that a sheet can be skimmed without colour.
    let verdict = match row.verdict {
        RequirementVerdict::Pass => "✓ PASS",
        RequirementVerdict::Fail => "✗ FAIL",
        RequirementVerdict::NotShown => "– not shown",
        RequirementVerdict::NotApplicable => "– not applicable",
    };
    // A figure that shows nothing is left to the results.
    let shown = row.measured.filter(|_| row.because.is_none());
    let measured = shown.map(|measured| {
        let from = findings::Source::result(&row.stage, &row.case, row.quantity);
        kind.print(Quantity::new(measured, kind.base(), from))
    });
    let why = says_why.then(|| {
        let why = row.because.as_deref().unwrap_or_default();
        Cited::quote(why, findings::Source::quote("requirement"))
    });
    // The names of a stage or case that is not in the run stand in the plan and the manifest alone.
    let is_in_run = source.cases.iter().any(|case| case.stage == row.stage && case.name == row.case);
    let (stage, case) = match is_in_run {
        true => (stage_name(&row.stage), case_name(&row.stage, &row.case)),
        false => (
            Cited::quote(&row.stage, findings::Source::quote("plan")),
            Cited::quote(&row.case, findings::Source::quote("manifest")),
        ),
    };
    let cells = [
        verdict.into(),
        Cited::quote(&row.says, findings::Source::quote("plan")),
        stage,
        case,
        percentile_words(&quantity::words(row.quantity)),
        limit,
        measured.unwrap_or_default(),
    ];
    cells.into_iter().chain(why).collect()
}
