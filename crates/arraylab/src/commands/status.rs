//! `status` and `mark`: a running campaign, from another shell.

use crate::cli::{MarkArgs, RunJsonArgs};
use crate::failure::Failure;
use crate::output::{print, print_json_lines};
use crate::progress::rounded;
use std::path::Path;
use std::process::ExitCode;
use store::{Run, RunState, RunStatus};
use units::human_duration;

/// `arraylab status`
pub fn status(arguments: &RunJsonArgs) -> Result<ExitCode, Failure> {
    let status = Run::open_read_only(&arguments.run)?.status()?;
    if arguments.json {
        print_json_lines([&status])?;
    } else {
        print(&in_words(&status, &arguments.run))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `arraylab mark`
pub fn mark(arguments: &MarkArgs) -> Result<ExitCode, Failure> {
    let at_ns = store::mark(&arguments.run, &arguments.text)?;
    print(&format!("marked at {} of the run\n", human_duration(at_ns)))?;
    Ok(ExitCode::SUCCESS)
}

/// Describes the progress of a run, in lines.
pub fn in_words(status: &RunStatus, run: &Path) -> String {
    let state = match status.state {
        RunState::Running => "running",
        RunState::Interrupted => "interrupted",
        RunState::Done => "done",
        RunState::Failed => "failed",
    };
    let mut text = format!("{state}: {} of {} cases done", status.done, status.cases_total);
    for (count, word) in
        [(status.failed, "failed"), (status.refused, "refused"), (status.not_settable, "not settable")]
    {
        if count > 0 {
            text.push_str(&format!(", {count} {word}"));
        }
    }
    if let Some(left_ns) = status.estimated_left_ns.filter(|_| status.state == RunState::Running) {
        text.push_str(&format!(", {} left", rounded(left_ns)));
    }
    text.push('\n');
    if let Some(current) = &status.current {
        let under_way = if status.state == RunState::Running { "under way" } else { "was under way" };
        text.push_str(&format!(
            "{under_way}: {} {} for {}\n",
            current.stage,
            current.name,
            human_duration(current.elapsed_ns / units::NANOS_PER_SECOND * units::NANOS_PER_SECOND)
        ));
    }
    if let Some(message) = &status.message {
        text.push_str(&format!("it said: {message}\n"));
    }
    if matches!(status.state, RunState::Interrupted | RunState::Failed) {
        text.push_str(&format!("go on with: arraylab run --resume {}\n", run.display()));
    }
    text
}
