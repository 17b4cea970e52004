//! `export`: plans and runs as other tools' files.

use super::selection::selection;
use crate::cli::{ExportArgs, ExportFormat};
use crate::failure::Failure;
use crate::output::{print, print_notice, write_new};
use diagnostic::Problem;
use export::{ExportError, FileLayout, PlanFormat, export_plan, fio_json, write_open_metrics};
use std::path::Path;
use std::process::ExitCode;
use store::{CaseRecord, CaseState, CaseStatus, Run, RunReader, StoreError};
use units::human_count;

/// `arraylab export`
pub fn export(arguments: &ExportArgs) -> Result<ExitCode, Failure> {
    let path = Path::new(&arguments.source);
    if path.join("manifest.json").is_file() {
        export_run(path, arguments)?;
    } else {
        match arguments.format {
            ExportFormat::Fio => export_plan_files(arguments, PlanFormat::Fio)?,
            ExportFormat::Vdbench => export_plan_files(arguments, PlanFormat::Vdbench)?,
            _ if path.is_dir() => return Err(Failure::from(StoreError::NotARun { directory: path.into() })),
            _ => {
                let problem =
                    Problem::new(format!("{} is a plan, and this format is of a run", arguments.source));
                return Err(Failure::refused(problem.with_hint(
                    "a plan is exported with --format fio or vdbench; of a run name the directory",
                )));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A plan goes to stdout in one file; with `--out` each stage goes into a file of that directory.
fn export_plan_files(arguments: &ExportArgs, format: PlanFormat) -> Result<(), Failure> {
    let loaded = plan::load_plan(&arguments.source)?;
    let cases = plan::expand(&loaded.plan, &selection(&arguments.selection)?)?;
    let layout = if arguments.out.is_some() { FileLayout::FilePerStage } else { FileLayout::OneFile };
    let exported = export_plan(&loaded.plan, &cases, format, layout)?;
    for entry in &exported.not_exported {
        print_notice(&format!("not exported: {entry}"));
    }
    let Some(directory) = &arguments.out else {
        let text: String = exported.files.iter().map(|file| file.text.as_str()).collect();
        return print(&text);
    };
    let failed = |error: std::io::Error| {
        Failure::refused(Problem::new(format!("cannot write {}", directory.display())).caused_by(error))
    };
    std::fs::create_dir_all(directory).map_err(failed)?;
    let paths: Vec<_> = exported.files.iter().map(|file| directory.join(&file.name)).collect();
    // Looked at before the first is written: either all are, or none.
    if let Some(taken) = paths.iter().find(|path| path.symlink_metadata().is_ok()) {
        let problem = Problem::new(format!("{} exists", taken.display()));
        return Err(Failure::refused(problem.with_hint("name another directory, or remove that file first")));
    }
    for (file, path) in exported.files.iter().zip(&paths) {
        write_new(path, |out| {
            out.write_all(file.text.as_bytes()).map_err(|error| Failure::from(ExportError::Write(error)))
        })?;
        print(&format!("{}\n", path.display()))?;
    }
    Ok(())
}

fn export_run(directory: &Path, arguments: &ExportArgs) -> Result<(), Failure> {
    let chosen = &arguments.selection;
    if !chosen.stages.is_empty() || !chosen.only.is_empty() || !chosen.set.is_empty() {
        return Err(Failure::refused(
            "a run is exported whole: --stage, --only and --set choose cases of a plan",
        ));
    }
    let run = Run::open_read_only(directory)?;
    match arguments.format {
        ExportFormat::FioJson => {
            note_cases_left_out(&run)?;
            let text = fio_json(&run)?;
            keep(arguments, &mut |out| Ok(out.write_all(text.as_bytes()).map_err(ExportError::Write)?))
        }
        ExportFormat::Openmetrics => keep(arguments, &mut |out| Ok(write_open_metrics(&run, out)?)),
        ExportFormat::Csv => export_tables(&run, tables_directory(arguments)?),
        ExportFormat::Parquet => {
            let directory = tables_directory(arguments)?;
            super::python_package::run(
                "export --format parquet",
                &["export-parquet".into(), (&arguments.source).into(), directory.into()],
                "pip install \"arraylab[frames]\"; --format csv needs nothing",
            )
        }
        ExportFormat::Fio | ExportFormat::Vdbench => {
            let problem =
                Problem::new(format!("{} is a run, and this format is of a plan", arguments.source));
            Err(Failure::refused(problem.with_hint(
                "a run is exported with --format csv, parquet, fio-json or openmetrics; of a plan give the name or file",
            )))
        }
    }
}

fn tables_directory(arguments: &ExportArgs) -> Result<&Path, Failure> {
    arguments.out.as_deref().ok_or_else(|| {
        let problem = Problem::new("several tables go into a directory");
        Failure::refused(problem.with_hint("name one with --out; `arraylab results RUN --csv` prints one"))
    })
}

/// Results, samples, counters and events as files of a new directory.
fn export_tables(run: &RunReader, directory: &Path) -> Result<(), Failure> {
    if directory.symlink_metadata().is_ok() {
        let problem = Problem::new(format!("{} exists", directory.display()));
        return Err(Failure::refused(problem.with_hint("name another directory")));
    }
    let failed = |error: std::io::Error| {
        Failure::refused(Problem::new(format!("cannot write {}", directory.display())).caused_by(error))
    };
    let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent).map_err(failed)?;
    // Gone with whatever is in it where something fails.
    let part = tempfile::Builder::new().prefix(".arraylab-").tempdir_in(parent).map_err(failed)?;
    let inner = part.path().join("tables");
    std::fs::create_dir(&inner).map_err(failed)?;
    frame::write_csv_files(run, &super::results::results_of(run)?, &inner)?;
    std::fs::rename(&inner, directory).map_err(failed)?;
    print(&format!("{}\n", directory.display()))
}

/// Cases without measurements, which fio's JSON has no place for.
fn note_cases_left_out(run: &RunReader) -> Result<(), Failure> {
    let is_measured =
        |case: &&CaseRecord| matches!(case.state, CaseState::Ended(CaseStatus::Done | CaseStatus::Failed));
    let cases = run.cases()?;
    let left_out = cases.len() - cases.iter().filter(is_measured).count();
    if left_out > 0 {
        let left_out = human_count(left_out as u64, "case");
        print_notice(&format!("not exported: {left_out} without measurements"));
    }
    Ok(())
}

/// To the file of `--out`, which must not be there yet, or to stdout.
fn keep(
    arguments: &ExportArgs,
    write: &mut dyn FnMut(&mut dyn std::io::Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    match &arguments.out {
        Some(path) => {
            write_new(path, |out| write(out))?;
            print(&format!("{}\n", path.display()))
        }
        None => {
            let mut bytes = Vec::new();
            write(&mut bytes)?;
            print(&String::from_utf8_lossy(&bytes))
        }
    }
}

impl From<frame::FileError> for Failure {
    fn from(error: frame::FileError) -> Failure {
        match error {
            frame::FileError::Store(error) => error.into(),
            other => Failure::refused_by(other),
        }
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Failure {
        match error {
            ExportError::Store(error) => error.into(),
            other => Failure::Refused(Box::new(other)),
        }
    }
}
