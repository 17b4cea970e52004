//! `import`: other tools' files become plans and runs.

use crate::cli::ImportArgs;
use crate::failure::Failure;
use crate::output::{print, print_notice};
use diagnostic::Problem;
use import::{ImportError, ImportedPlan, ImportedRun};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use units::human_count;

/// `arraylab import`
pub fn import(arguments: &ImportArgs) -> Result<ExitCode, Failure> {
    let run_directory = match &arguments.out {
        Some(directory) => directory.clone(),
        None => PathBuf::from("runs").join(format!("import-{}", store::new_run_id())),
    };
    let imported = import::import(&arguments.files, &run_directory)?;
    if imported.plans.len() > 1 && arguments.out.is_none() {
        return Err(Failure::refused(
            "several files became several plans: name a directory for them with `--out`",
        ));
    }
    for plan in &imported.plans {
        keep_plan(plan, arguments.out.as_deref())?;
    }
    if let Some(run) = &imported.run {
        keep_run(run)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A single plan goes to stdout; with `--out` each goes into a file of that directory.
fn keep_plan(plan: &ImportedPlan, directory: Option<&Path>) -> Result<(), Failure> {
    for warning in &plan.warnings {
        print_notice(&format!("warning: {warning}"));
    }
    for lost in &plan.not_carried {
        print_notice(&format!("not carried over: {lost}"));
    }
    for target in &plan.targets {
        print_notice(&format!(
            "{}:{}: loads {}: give its target with --target",
            plan.source.display(),
            target.line,
            target.name
        ));
    }
    let Some(text) = &plan.text else {
        return Err(Failure::refused(format!(
            "{}: no load of it can be expressed in a plan",
            plan.source.display()
        )));
    };
    let Some(directory) = directory else { return print(text) };
    let path = directory.join(format!("{}.yaml", plan.name));
    let write = || {
        std::fs::create_dir_all(directory)?;
        std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()))
    };
    write().map_err(|error| {
        Failure::refused(Problem::new(format!("cannot write {}", path.display())).caused_by(error))
    })?;
    print(&format!("{}\n", path.display()))
}

fn keep_run(run: &ImportedRun) -> Result<(), Failure> {
    for warning in &run.warnings {
        print_notice(&format!("warning: {warning}"));
    }
    for lost in &run.not_carried {
        print_notice(&format!("not carried over: {lost}"));
    }
    let cases = human_count(run.cases as u64, "case");
    print_notice(&format!("{cases} from {}", human_count(run.sources.len() as u64, "file")));
    print(&format!("{}\n", run.directory.display()))
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Failure {
        match error {
            ImportError::Store(error) => error.into(),
            other => Failure::Refused(Box::new(other)),
        }
    }
}
