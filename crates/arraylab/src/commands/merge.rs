//! `merge`: one run of those of all its shards.

use crate::cli::MergeArgs;
use crate::failure::Failure;
use crate::output::{print_json_lines, print_notice};
use serde_json::json;
use std::process::ExitCode;
use store::StoreError;
use units::human_count;

/// `arraylab merge`
pub fn merge(arguments: &MergeArgs) -> Result<ExitCode, Failure> {
    let command_line: Vec<String> = std::env::args().collect();
    let merged = store::merge(&arguments.runs, &arguments.out, &command_line);
    if arguments.json
        && let Err(StoreError::ShardsDiffer { cases, missing, overlap, .. }) = &merged
    {
        print_json_lines([json!({ "cases": cases, "missing": missing, "overlap": overlap })])?;
    }
    let status = merged?;
    if arguments.json {
        let none: [u32; 0] = [];
        print_json_lines([json!({ "cases": status.cases_total, "missing": none, "overlap": none })])?;
    }
    let runs = human_count(arguments.runs.len() as u64, "run");
    let cases = human_count(u64::from(status.cases_total), "case");
    let directory = arguments.out.display();
    print_notice(&format!(
        "{runs} merged: {cases}, {} done; see `arraylab results {directory}` and `arraylab report {directory}`",
        status.done
    ));
    Ok(ExitCode::SUCCESS)
}
