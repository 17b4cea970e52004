//! `results`: one line a case.

use crate::cli::ResultsArgs;
use crate::failure::Failure;
use crate::output::{print, print_json_lines, print_notice};
use crate::table::{Align, render};
use std::process::ExitCode;
use store::{CaseResult, DirectionResult, Run, RunReader};
use units::{human_bandwidth, human_latency, human_rate};

/// `arraylab results`
pub fn results(arguments: &ResultsArgs) -> Result<ExitCode, Failure> {
    let results = results_of(&Run::open_read_only(&arguments.run)?)?;
    if arguments.json {
        print_json_lines(&results)?;
    } else if arguments.csv {
        print(&store::results_csv(&results))?;
    } else {
        print(&table(&results))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The results of a run, with the sustained level where one was found.
pub fn results_of(run: &RunReader) -> Result<Vec<CaseResult>, Failure> {
    let results = findings::results(run)?;
    // Results stand without what was found in them: a plan that can no longer be read (its published table is gone)
    // costs the sustained levels that were not kept, no more.
    if results.left_out.is_some() {
        print_notice("warning: the run's plan cannot be read any more; `sustained` is left out");
    }
    Ok(results.cases)
}

/// Results as a table for a terminal.
pub fn table(results: &[CaseResult]) -> String {
    let latency = |direction: &Option<DirectionResult>, value: fn(&DirectionResult) -> Option<f64>| {
        direction.as_ref().and_then(value).map_or_else(|| "–".into(), human_latency)
    };
    let rows: Vec<Vec<String>> = results
        .iter()
        .map(|result| {
            vec![
                result.stage.clone(),
                result.case.clone(),
                result.status.name().into(),
                human_rate(result.iops),
                human_bandwidth(result.bw_bytes_per_s),
                latency(&result.read, |read| Some(read.latency_ns.mean)),
                latency(&result.read, |read| read.latency_ns.p99.map(|ns| ns as f64)),
                latency(&result.write, |write| Some(write.latency_ns.mean)),
                latency(&result.write, |write| write.latency_ns.p99.map(|ns| ns as f64)),
            ]
        })
        .collect();
    let columns = [
        ("stage", Align::Left),
        ("case", Align::Left),
        ("status", Align::Left),
        ("IOPS", Align::Right),
        ("bandwidth", Align::Right),
        ("read mean", Align::Right),
        ("read p99", Align::Right),
        ("write mean", Align::Right),
        ("write p99", Align::Right),
    ];
    render(&columns, &rows)
}
