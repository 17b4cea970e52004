//! Results of other tools as a run directory.

mod fio_json;
mod vdbench_flatfile;
mod vdbench_rows;
mod vdbench_totals;

use crate::draft::{Draft, DraftStage, Settings, unique_name};
use crate::{FileKind, ImportError, ImportWarning, ImportedRun, NotCarried, file};
use load::Sample;
use plan::{Case, Selection};
use std::path::{Path, PathBuf};
use store::{
    CaseOutcome, CaseStatus, LoadOutcome, Manifest, ManifestTarget, NewCase, Run, RunEnd, SourceText,
};

/// The engine of imported runs.
const ENGINE: &str = "import";
/// The most cases of a file.
const CASES_LIMIT: usize = 20_000;

/// A file of results.
pub(crate) struct ResultFile {
    pub path: PathBuf,
    pub kind: FileKind,
    pub text: String,
}

/// Result of a case under one load.
#[derive(Debug, Default)]
struct MeasuredLoad {
    outcome: LoadOutcome,
    samples: Vec<Sample>,
}

/// A case of imported results.
#[derive(Debug, Default)]
struct MeasuredCase {
    name: String,
    settings: Settings,
    target: String,
    duration_ns: u64,
    loads: Vec<MeasuredLoad>,
    warnings: Vec<String>,
    error: Option<String>,
}

/// Contents of a result file.
#[derive(Debug, Default)]
struct Measured {
    cases: Vec<MeasuredCase>,
    not_carried: Vec<NotCarried>,
    warnings: Vec<ImportWarning>,
    interval_ns: Option<u64>,
}

/// Writes the results of all files as one run: a stage for each file.
pub(crate) fn import(files: &[ResultFile], directory: &Path) -> Result<ImportedRun, ImportError> {
    let mut imported = ImportedRun {
        directory: directory.to_owned(),
        sources: Vec::new(),
        cases: 0,
        not_carried: Vec::new(),
        warnings: Vec::new(),
    };
    let mut taken = Vec::new();
    let mut stages = Vec::new();
    let mut interval_ns = None;
    for file in files {
        let mut measured = read(&file.path, file.kind, &file.text)?;
        distinguish(&mut measured.cases);
        imported.sources.push((file.path.clone(), file.kind));
        imported.cases += measured.cases.len();
        imported.not_carried.append(&mut measured.not_carried);
        imported.warnings.append(&mut measured.warnings);
        interval_ns = interval_ns.or(measured.interval_ns);
        stages.push((unique_name(&file::stem(&file.path), "results", &mut taken), file, measured.cases));
    }
    imported.not_carried.sort();
    imported.not_carried.dedup();
    write(directory, &stages, interval_ns)?;
    Ok(imported)
}

/// Reads a file of results.
fn read(path: &Path, kind: FileKind, text: &str) -> Result<Measured, ImportError> {
    let measured = match kind {
        FileKind::VdbenchFlatfile => vdbench_flatfile::read(path, text)?,
        FileKind::VdbenchTotals => vdbench_totals::read(path, text)?,
        _ => fio_json::read(path, text)?,
    };
    if measured.cases.len() > CASES_LIMIT {
        return Err(invalid(path, 1, format!("more than {CASES_LIMIT} runs in one file")));
    }
    Ok(measured)
}

/// Counts the cases of a result file, without keeping them.
pub(crate) fn count(path: &Path, kind: FileKind, text: &str) -> Result<usize, ImportError> {
    read(path, kind, text).map(|measured| measured.cases.len())
}

fn invalid(path: &Path, line: usize, message: impl Into<String>) -> ImportError {
    ImportError::Invalid { path: path.to_owned(), line, column: 1, message: message.into(), hint: None }
}

/// Gives cases of the same name numbers.
fn distinguish(cases: &mut [MeasuredCase]) {
    let mut seen: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
    for case in cases {
        let count = seen.entry(case.name.clone()).or_insert(0);
        *count += 1;
        if *count > 1 {
            case.name = format!("{} #{count}", case.name);
        }
    }
}

type Stage<'a> = (String, &'a ResultFile, Vec<MeasuredCase>);

fn write(directory: &Path, stages: &[Stage<'_>], interval_ns: Option<u64>) -> Result<(), ImportError> {
    let plan_name = stages.first().map(|(name, ..)| name.clone()).unwrap_or_default();
    let mut new_cases = Vec::new();
    let mut draft = Draft {
        title: format!("Imported results: {}", names(stages)),
        notes: vec!["These results were measured by another tool and imported.".into()],
        ..Draft::default()
    };
    for (stage_name, file, cases) in stages {
        let mut include: Vec<Settings> = Vec::new();
        for case in cases {
            let settings = expanded(&file.path, &case.settings)?.settings;
            new_cases.push(NewCase {
                plan: plan_name.clone(),
                stage: stage_name.clone(),
                name: case.name.clone(),
                settings,
                estimated_duration_ns: case.duration_ns,
                estimated_write_bytes: 0,
            });
            if !include.contains(&case.settings) {
                include.push(case.settings.clone());
            }
        }
        draft.stages.push(DraftStage {
            name: stage_name.clone(),
            title: Some(format!("Imported from {}", file.path.display())),
            include,
            ..DraftStage::default()
        });
    }
    draft.stages.retain(|stage| !stage.include.is_empty());
    let first_path = stages.first().map(|(_, file, _)| file.path.as_path()).unwrap_or(Path::new(""));
    if new_cases.is_empty() {
        return Err(invalid(first_path, 1, "there are no results in it"));
    }
    let (text, _) = draft.checked_text(first_path, &plan_name)?;
    let mut targets: Vec<ManifestTarget> = Vec::new();
    for case in stages.iter().flat_map(|(.., cases)| cases) {
        if !targets.iter().any(|known| known.spec == case.target) {
            targets.push(ManifestTarget { spec: case.target.clone(), ..ManifestTarget::default() });
        }
    }
    let manifest = Manifest {
        arraylab_version: env!("CARGO_PKG_VERSION").to_owned(),
        plan: SourceText { name: plan_name, source: "import".into(), text },
        targets,
        engine: ENGINE.into(),
        interval_ns: interval_ns.unwrap_or(1_000_000_000),
        command_line: std::env::args().collect(),
        ..Manifest::default()
    };
    let mut run = Run::create(directory, &manifest, &new_cases)?;
    for (index, case) in stages.iter().flat_map(|(.., cases)| cases).enumerate() {
        keep(&mut run, index as u32, case)?;
    }
    run.end(&RunEnd::Done)?;
    Ok(())
}

fn names(stages: &[Stage<'_>]) -> String {
    let mut names: Vec<String> = stages
        .iter()
        .filter_map(|(_, file, _)| file.path.file_name().map(|name| name.to_string_lossy().into_owned()))
        .take(4)
        .collect();
    if stages.len() > names.len() {
        names.push(format!("and {} more", stages.len() - names.len()));
    }
    names.join(", ")
}

/// The case of these settings alone, as a plan that asks for it has it.
fn expanded(path: &Path, settings: &Settings) -> Result<Case, ImportError> {
    let stage = DraftStage { name: "case".into(), settings: settings.clone(), ..DraftStage::default() };
    let draft = Draft { title: "case".into(), stages: vec![stage], ..Draft::default() };
    let (_, plan) = draft.checked_text(path, "case")?;
    let cases = plan::expand(&plan, &Selection::default())
        .map_err(|source| ImportError::Plan { path: path.to_owned(), source: Box::new(source) })?;
    cases.into_iter().next().ok_or_else(|| invalid(path, 1, "its settings make no case"))
}

/// As in a run of our own, a case in which nothing was read, written or trimmed is not done.
fn has_no_ios(case: &MeasuredCase) -> bool {
    case.loads.iter().all(|load| {
        let LoadOutcome { read, write, trim, .. } = &load.outcome;
        [read, write, trim].into_iter().flatten().all(|direction| direction.ios == 0)
    })
}

fn keep(run: &mut Run, index: u32, case: &MeasuredCase) -> Result<(), ImportError> {
    run.begin_case(index)?;
    for load in &case.loads {
        run.append_samples(index, &load.outcome.name, &load.samples)?;
    }
    let error = match (&case.error, case.duration_ns) {
        (None, 0) => Some("the other tool shows no time in which it ran".to_owned()),
        (None, _) if has_no_ios(case) => Some("no I/O completed in it".to_owned()),
        (error, _) => error.clone(),
    };
    run.finish_case(
        index,
        &CaseOutcome {
            status: if error.is_none() { CaseStatus::Done } else { CaseStatus::Failed },
            engine: ENGINE.into(),
            target: case.target.clone(),
            duration_ns: case.duration_ns,
            loads: case.loads.iter().map(|load| load.outcome.clone()).collect(),
            error,
            warnings: case.warnings.clone(),
            extrapolation: None,
        },
    )?;
    Ok(())
}

/// Seconds or milliseconds, as plans read times.
fn time_text(duration_ns: u64) -> String {
    if duration_ns.is_multiple_of(1_000_000_000) {
        (duration_ns / 1_000_000_000).to_string()
    } else {
        format!("{}ms", (duration_ns / 1_000_000).max(1))
    }
}
