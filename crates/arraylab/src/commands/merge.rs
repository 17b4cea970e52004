//! `merge`: one run of those of all its shards.

use crate::cli::MergeArgs;
use crate::failure::Failure;
use crate::output::print_notice;
use std::process::ExitCode;
use units::human_count;

/// `arraylab merge`
pub fn merge(arguments: &MergeArgs) -> Result<ExitCode, Failure> {
    let command_line: Vec<String> = std::env::args().collect();
    let status = store::merge(&arguments.runs, &arguments.out, &command_line)?;
    let runs = human_count(arguments.runs.len() as u64, "run");
    let cases = human_count(u64::from(status.cases_total), "case");
    let directory = arguments.out.display();
    print_notice(&format!(
        "{runs} merged: {cases}, {} done; see `arraylab results {directory}` and `arraylab report {directory}`",
        status.done
    ));
    Ok(ExitCode::SUCCESS)
}
