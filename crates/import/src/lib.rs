//! Plans and runs from the files of other tools.
//!
//! ```text
//! fio job file ─────────┐                ┌──▶ plan (YAML that `plan::parse_plan` takes)
//! vdbench parameter file┴─▶ draft ───────┤
//!                                        └──▶ what is not carried over, line by line
//! fio JSON, JSON+, logs ──────────┐
//! vdbench flatfile, totals ───────┴─────────▶ run directory (engine `import`)
//! ```
//!
//! Nothing is dropped silently: an option is carried over, named as not carried over, or changes nothing. No figure
//! is made up: results that hold no percentiles have none here.

#![doc = include_str!("../README.md")]

mod acceptable;
mod detect;
mod draft;
mod error;
mod file;
mod fio_jobs;
mod note;
mod options;
mod reasons;
mod results;
mod sizes;
mod vdbench;

pub use detect::FileKind;
pub use draft::unique_name;
pub use error::ImportError;
pub use note::{ImportWarning, NamedTarget, NotCarried};
pub use vdbench::{
    Loop, Parameters, Phase, Rate, Run, Seek, StorageDefinition, TransferSize, WorkloadDefinition,
    read_parameters,
};

use std::path::{Path, PathBuf};

/// The most files of one import.
const FILES_LIMIT: usize = 1000;

/// Result of an import.
#[derive(Debug, Default)]
pub struct Imported {
    /// One for each job file and parameter file, in their order.
    pub plans: Vec<ImportedPlan>,
    /// One for all results together, with a stage for each file.
    pub run: Option<ImportedRun>,
}

/// A plan made from another tool's file.
#[derive(Debug)]
pub struct ImportedPlan {
    /// The file.
    pub source: PathBuf,
    /// Kind of the file.
    pub kind: FileKind,
    /// A name for the plan: the file's, without its ending.
    pub name: String,
    /// The plan as YAML; `None` where no load of the file can be expressed.
    pub text: Option<String>,
    /// Targets of the file's loads, in order: the arguments of `--target`.
    pub targets: Vec<NamedTarget>,
    /// Parts of the file that the plan leaves out.
    pub not_carried: Vec<NotCarried>,
    /// Warnings of probable mistakes in the file.
    pub warnings: Vec<ImportWarning>,
}

/// A run made from another tool's results.
#[derive(Debug)]
pub struct ImportedRun {
    /// The run directory.
    pub directory: PathBuf,
    /// Files that were read with their kinds, in the order of the stages.
    pub sources: Vec<(PathBuf, FileKind)>,
    /// Number of cases.
    pub cases: usize,
    /// Options of the jobs that its settings do not show.
    pub not_carried: Vec<NotCarried>,
    /// Warnings of probable mistakes in the files.
    pub warnings: Vec<ImportWarning>,
}

/// Reads files of other tools. Job and parameter files become plans; results become one run in `run_directory`,
/// which is only touched where there are results.
pub fn import(paths: &[PathBuf], run_directory: &Path) -> Result<Imported, ImportError> {
    if paths.len() > FILES_LIMIT {
        return Err(ImportError::TooMany { count: paths.len(), limit: FILES_LIMIT });
    }
    let mut imported = Imported::default();
    let mut result_files = Vec::new();
    for path in paths {
        let text = file::read(path)?;
        let kind = detect::kind_of(&text).ok_or_else(|| ImportError::UnknownKind { path: path.clone() })?;
        match kind {
            FileKind::FioJobs => imported.plans.push(fio_jobs::import(path, &text)?),
            FileKind::VdbenchParameters => imported.plans.push(vdbench::import(path, &text)?),
            FileKind::FioJson | FileKind::VdbenchFlatfile | FileKind::VdbenchTotals => {
                result_files.push(results::ResultFile { path: path.clone(), kind, text });
            }
        }
    }
    if !result_files.is_empty() {
        imported.run = Some(results::import(&result_files, run_directory)?);
    }
    Ok(imported)
}

/// Makes a plan of the text of a job or parameter file. `name` stands for the file in messages, and is where
/// included files are looked for.
pub fn import_plan(name: &Path, text: &str) -> Result<ImportedPlan, ImportError> {
    match detect::kind_of(text) {
        Some(FileKind::FioJobs) => fio_jobs::import(name, text),
        Some(FileKind::VdbenchParameters) => vdbench::import(name, text),
        _ => Err(ImportError::UnknownKind { path: name.to_owned() }),
    }
}

/// Reads the text of a file of results and says how many cases it holds, without making a run of them. `name` stands for
/// the file in messages, and is where its logs are looked for.
pub fn count_results(name: &Path, text: &str) -> Result<usize, ImportError> {
    match detect::kind_of(text) {
        Some(kind @ (FileKind::FioJson | FileKind::VdbenchFlatfile | FileKind::VdbenchTotals)) => {
            results::count(name, kind, text)
        }
        _ => Err(ImportError::UnknownKind { path: name.to_owned() }),
    }
}
