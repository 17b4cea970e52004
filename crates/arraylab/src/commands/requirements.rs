//! The sheet of what was promised: PASS or FAIL for each case, at the end of a run.

use crate::failure::Failure;
use crate::output::print_notice;
use crate::table::{Align, render};
use findings::{RequirementRow, RequirementVerdict};
use std::path::Path;
use store::Run;

/// Says the sheet where the plan has requirements, and returns false where one of those that the run was to judge is not kept or
/// could not be judged. Limits on stages that were not selected, and on parts that the array does not have, are named, and nothing was
/// asked about them.
pub fn say_sheet(directory: &Path) -> Result<bool, Failure> {
    let reader = Run::open_read_only(directory)?;
    let plan = findings::kept_plan(reader.manifest(), &reader.cases()?)?;
    let rows = findings::requirements(&reader, &plan)?;
    if rows.is_empty() {
        return Ok(true);
    }
    let lines: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                word(row.verdict).to_owned(),
                row.says.clone(),
                place(row),
                row.measured.map_or_else(|| "–".to_owned(), |measured| in_words(row, measured)),
                limit(row),
            ]
        })
        .collect();
    let columns = [
        ("", Align::Left),
        ("required", Align::Left),
        ("case", Align::Left),
        ("measured", Align::Right),
        ("limit", Align::Right),
    ];
    print_notice(render(&columns, &lines).trim_end());
    for row in &rows {
        if let Some(because) = &row.because {
            print_notice(&format!("{}: {} ({}): {because}", word(row.verdict), row.says, place(row)));
        }
    }
    let is_kept = |row: &RequirementRow| {
        matches!(row.verdict, RequirementVerdict::Pass | RequirementVerdict::NotApplicable)
    };
    Ok(rows.iter().filter(|row| row.is_selected).all(is_kept))
}

/// Stage and case; the stage alone where none of its cases was selected.
fn place(row: &RequirementRow) -> String {
    format!("{} {}", row.stage, row.case).trim_end().to_owned()
}

fn word(verdict: RequirementVerdict) -> &'static str {
    match verdict {
        RequirementVerdict::Pass => "PASS",
        RequirementVerdict::Fail => "FAIL",
        RequirementVerdict::NotShown => "not shown",
        RequirementVerdict::NotApplicable => "not applicable",
    }
}

fn limit(row: &RequirementRow) -> String {
    match (row.at_least, row.at_most) {
        (Some(least), _) => format!("at least {}", in_words(row, least)),
        (None, Some(most)) => format!("at most {}", in_words(row, most)),
        (None, None) => String::new(),
    }
}

fn in_words(row: &RequirementRow, value: f64) -> String {
    match plan::Quantity::named(row.quantity).map(plan::Quantity::unit) {
        Some("ns") => units::human_latency(value),
        Some("bytes/s") => units::human_bandwidth(value),
        Some("IOPS") => format!("{} IOPS", units::human_rate(value)),
        _ => value.to_string(),
    }
}
