//! `expand`: the cases of a plan before anything runs.

use super::selection::selection;
use crate::cli::ExpandArgs;
use crate::failure::Failure;
use crate::output::{print, print_json_lines, print_notice};
use crate::table::{Align, render};
use std::process::ExitCode;
use units::{human_bytes, human_count, human_duration};

/// `arraylab expand`
pub fn expand(arguments: &ExpandArgs) -> Result<ExitCode, Failure> {
    let loaded = plan::load_plan(&arguments.plan)?;
    let cases = plan::expand(&loaded.plan, &selection(&arguments.selection)?)?;
    if arguments.json {
        print_json_lines(cases.iter().map(plan::Case::expanded_json))?;
    } else {
        let rows: Vec<Vec<String>> = cases
            .iter()
            .map(|case| {
                vec![
                    case.stage.clone(),
                    case.name.clone(),
                    human_duration(case.estimated_duration_ns),
                    human_bytes(case.estimated_write_bytes),
                ]
            })
            .collect();
        let columns = [
            ("stage", Align::Left),
            ("case", Align::Left),
            ("time", Align::Right),
            ("writes about", Align::Right),
        ];
        print(&render(&columns, &rows))?;
    }
    let duration_ns = cases.iter().map(|case| case.estimated_duration_ns).sum();
    let write_bytes = cases.iter().fold(0u64, |sum, case| sum.saturating_add(case.estimated_write_bytes));
    print_notice(&format!(
        "{}, {}, writes about {} (at most {} IOPS and {} are assumed)",
        human_count(cases.len() as u64, "case"),
        human_duration(duration_ns),
        human_bytes(write_bytes),
        units::human_rate(plan::ASSUMED_IOPS),
        units::human_bandwidth(plan::ASSUMED_BYTES_PER_S),
    ));
    Ok(ExitCode::SUCCESS)
}
