//! What the plan requires, as a sheet of PASS and FAIL.

use super::quantity::{self, Kind};
use super::{ReportError, Source};
use crate::model::{Column, Table};
use findings::{RequirementRow, RequirementVerdict};
use units::human_count;

/// A row for each limit and each case that must keep it; those that are not kept come first.
pub fn sheet(source: &Source<'_>) -> Result<Option<Table>, ReportError> {
    let Some(plan) = &source.plan else { return Ok(None) };
    let mut rows = findings::requirements(source.run, plan)?;
    let count = |wanted| rows.iter().filter(|row| row.verdict == wanted).count();
    let caption = format!(
        "{} kept, {} not kept, {} not shown",
        human_count(count(RequirementVerdict::Pass) as u64, "limit"),
        count(RequirementVerdict::Fail),
        count(RequirementVerdict::NotShown)
    );
    rows.sort_by_key(|row| match row.verdict {
        RequirementVerdict::Fail => 0,
        RequirementVerdict::NotShown => 1,
        RequirementVerdict::Pass => 2,
    });
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
        ],
        rows: rows.iter().map(cells).collect(),
    }))
}

fn cells(row: &RequirementRow) -> Vec<String> {
    let kind = Kind::of(row.quantity);
    let limit = match (row.at_least, row.at_most) {
        (Some(least), _) => format!("at least {}", kind.text(least)),
        (None, Some(most)) => format!("at most {}", kind.text(most)),
        (None, None) => String::new(),
    };
    // A sign beside the word, so that a sheet can be skimmed without colour.
    let verdict = match row.verdict {
        RequirementVerdict::Pass => "✓ PASS",
        RequirementVerdict::Fail => "✗ FAIL",
        RequirementVerdict::NotShown => "– not shown",
    };
    vec![
        verdict.to_owned(),
        row.says.clone(),
        row.stage.clone(),
        row.case.clone(),
        quantity::words(row.quantity),
        limit,
        row.measured.map(|measured| kind.text(measured)).unwrap_or_default(),
    ]
}
