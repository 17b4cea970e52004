//! `watch`: a running campaign or a served array, again and again.

use super::results::table;
use super::run::catch_signals;
use super::status::in_words;
use crate::cli::WatchArgs;
use crate::failure::Failure;
use crate::output::{print, print_json_lines};
use std::io::IsTerminal as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use store::{CaseState, Run, RunReader, RunState, RunStatus, StoreError};

const EVERY: Duration = Duration::from_secs(1);
/// Interval at which an interruption is checked.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Back to the first line, and away with what was below it.
const CLEAR: &str = "\x1b[H\x1b[J";
/// Of the cases that have ended, the last so many of the plan's order.
const RESULTS_SHOWN: usize = 10;
/// Cells of the bar.
const BAR_CELLS: usize = 40;

/// `arraylab watch`
pub fn watch(arguments: &WatchArgs) -> Result<ExitCode, Failure> {
    let stop = catch_signals()?;
    let is_socket = std::fs::metadata(&arguments.what).is_ok_and(|found| found.file_type().is_socket());
    if is_socket { watch_array(arguments, &stop) } else { watch_run(arguments, &stop) }?;
    Ok(ExitCode::SUCCESS)
}

fn show(text: &str, is_first: bool) -> Result<(), Failure> {
    match (std::io::stdout().is_terminal(), is_first) {
        (true, _) => print(&format!("{CLEAR}{text}")),
        (false, true) => print(text),
        (false, false) => print(&format!("\n{text}")),
    }
}

fn watch_run(arguments: &WatchArgs, stop: &AtomicBool) -> Result<(), Failure> {
    let mut is_first = true;
    loop {
        let reader = Run::open_read_only(&arguments.what)?;
        let status = reader.status()?;
        if arguments.json {
            print_json_lines([&status])?;
        } else {
            show(&run_view(&reader, &status, &arguments.what)?, is_first)?;
        }
        is_first = false;
        if arguments.once || status.state != RunState::Running || !pause(stop) {
            return Ok(());
        }
    }
}

/// Describes a run: plan, target, progress and the last results.
fn run_view(reader: &RunReader, status: &RunStatus, run: &Path) -> Result<String, StoreError> {
    let manifest = reader.manifest();
    let targets: Vec<&str> = manifest.targets.iter().map(|target| target.spec.as_str()).collect();
    let ended: Vec<u32> = reader
        .cases()?
        .iter()
        .filter(|case| matches!(case.state, CaseState::Ended(_)))
        .map(|case| case.index)
        .collect();
    let share = ended.len() as f64 / f64::from(status.cases_total.max(1));
    let full = (share * BAR_CELLS as f64).round() as usize;
    let bar = format!("[{}{}]", "#".repeat(full), ".".repeat(BAR_CELLS - full.min(BAR_CELLS)));
    let mut text =
        format!("{} on {}\n{bar}\n{}", manifest.plan.name, targets.join(" "), in_words(status, run));
    let mut results = Vec::new();
    for &index in ended.iter().rev().take(RESULTS_SHOWN).rev() {
        results.extend(reader.result(index)?);
    }
    if !results.is_empty() {
        let more = ended.len() - results.len();
        let before = if more > 0 { format!(" (and {more} before)") } else { String::new() };
        text.push_str(&format!("\nlast results{before}:\n{}", table(&results)));
    }
    Ok(text)
}

/// The first view is there after a second: rates are of the time between two answers.
fn watch_array(arguments: &WatchArgs, stop: &AtomicBool) -> Result<(), Failure> {
    let ask = || serve::ctl(&arguments.what, &["status".to_owned()]);
    let mut before = (Instant::now(), ask()?);
    let mut is_first = true;
    while pause(stop) {
        let now = (Instant::now(), ask()?);
        if arguments.json {
            print_json_lines([&now.1])?;
        } else {
            let seconds = now.0.duration_since(before.0).as_secs_f64();
            show(&serve::view(&before.1, &now.1, seconds), is_first)?;
        }
        if arguments.once {
            break;
        }
        (before, is_first) = (now, false);
    }
    Ok(())
}

/// Waits for the next look; `false` where the user has seen enough.
fn pause(stop: &AtomicBool) -> bool {
    let until = Instant::now() + EVERY;
    while Instant::now() < until {
        if stop.load(Ordering::Acquire) {
            return false;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    true
}
