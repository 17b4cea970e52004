//! `record`, `workload`: loads of production hosts, as they are recorded and as they are asked about.

use crate::cli::{RecordArgs, WorkloadArgs};
use crate::commands::run::catch_signals;
use crate::failure::Failure;
use crate::output::{print, print_notice, write_new};
use crate::table::{Align, render};
use diagnostic::Problem;
use load::Trace;
use probe::{RecordError, RecordSettings};
use sizing::{
    NamedWorkload, Workload, is_tool_output, joined_workload, named_workload, named_workloads,
    workload_of_recording, workload_of_tool_output, workload_of_trace,
};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Longest recording.
const LENGTH_LIMIT: Duration = Duration::from_secs(31 * 24 * 3600);
/// Most sources of a workload.
const SOURCES_LIMIT: usize = 64;
/// Beginning of a source by which its kind is known.
const HEAD_BYTES: usize = 64 << 10;
/// Beginning of a recording.
const RECORDING: &[u8] = b"{\"recording\":";

/// `arraylab record`
pub fn record(arguments: &RecordArgs) -> Result<ExitCode, Failure> {
    let nanos = units::parse_nanos(&arguments.length).map_err(|error| Failure::refused(error.to_string()))?;
    let length = Duration::from_nanos(nanos);
    if length.is_zero() || length > LENGTH_LIMIT {
        let problem = Problem::new(format!("`--for {}` is out of range", arguments.length));
        return Err(Failure::refused(problem.with_hint("above 0, at most 31d")));
    }
    let out = &arguments.out;
    let settings = RecordSettings {
        devices: arguments.device.clone(),
        length,
        is_redacted: !arguments.names,
        proc: "/proc".into(),
        sysfs: "/sys".into(),
    };
    // A recording of a week outlives the terminal that began it.
    let is_over = catch_signals()?;
    let file = OpenOptions::new().write(true).create_new(true).open(out).map_err(|error| {
        let problem = Problem::new(format!("cannot create {}", out.display())).caused_by(error);
        Failure::refused(problem.with_hint("name a file that is not there yet"))
    })?;
    let mut file = BufWriter::new(file);
    let recorded = probe::record(&settings, &mut file, &|| is_over.load(Ordering::Relaxed));
    if let Err(error) = recorded {
        let is_refused = !matches!(error, RecordError::Write(_));
        if is_refused {
            // Nothing was recorded.
            let _ = std::fs::remove_file(out);
            return Err(Failure::Refused(Box::new(error)));
        }
        return Err(Failure::Failed(Box::new(error)));
    }
    print_notice(&format!("recorded; `arraylab workload {}` makes a workload of it", out.display()));
    Ok(ExitCode::SUCCESS)
}

/// `arraylab workload`
pub fn workload(arguments: &WorkloadArgs) -> Result<ExitCode, Failure> {
    if arguments.list {
        return list();
    }
    if arguments.from.len() > SOURCES_LIMIT {
        return Err(Failure::refused(format!("{} sources, at most {SOURCES_LIMIT}", arguments.from.len())));
    }
    let mut workloads = Vec::new();
    for source in &arguments.from {
        workloads.push(workload_of(source, arguments.unit.as_deref())?);
    }
    let Some(workload) = joined_workload(workloads) else {
        return Err(Failure::refused("there is no source"));
    };
    // One that ships keeps its comments: the sources of its numbers.
    let text = match &arguments.from[..] {
        [lone] => named(lone).map_or_else(|| workload.text(), |named| named.text.to_owned()),
        _ => workload.text(),
    };
    match &arguments.out {
        Some(file) => write_new(file, |out| out.write_all(text.as_bytes()).map_err(Failure::failed_by))?,
        None => print(&text)?,
    }
    for unknown in &workload.not_known {
        print_notice(&format!("not known: {unknown}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Names and titles of the workloads that ship.
fn list() -> Result<ExitCode, Failure> {
    let mut rows = Vec::new();
    for named in named_workloads() {
        let workload = Workload::parse(named.name, named.text)?;
        rows.push(vec![named.name.to_owned(), workload.title]);
    }
    print(&render(&[("name", Align::Left), ("workload", Align::Left)], &rows))?;
    Ok(ExitCode::SUCCESS)
}

/// Workload that ships, where there is no file of that name.
fn named(source: &Path) -> Option<&'static NamedWorkload> {
    if source.exists() { None } else { named_workload(source.to_str()?) }
}

fn workload_of(source: &Path, unit: Option<&str>) -> Result<Workload, Failure> {
    if let Some(named) = named(source) {
        return Ok(Workload::parse(named.name, named.text)?);
    }
    let unreadable = |error: std::io::Error| {
        Failure::refused(Problem::new(format!("cannot read {}", source.display())).caused_by(error))
    };
    let mut input = BufReader::with_capacity(HEAD_BYTES, File::open(source).map_err(unreadable)?);
    let name = source
        .file_name()
        .map_or_else(|| source.display().to_string(), |name| name.to_string_lossy().into_owned());
    if input.fill_buf().map_err(unreadable)?.starts_with(RECORDING) {
        return Ok(workload_of_recording(&name, &mut input)?);
    }
    if is_tool_output(input.fill_buf().map_err(unreadable)?) {
        return Ok(workload_of_tool_output(&name, &mut input, unit)?);
    }
    let trace = Trace::read(&name, &mut input, unit).map_err(|error| Failure::Refused(Box::new(error)))?;
    Ok(workload_of_trace(&name, &trace)?)
}
