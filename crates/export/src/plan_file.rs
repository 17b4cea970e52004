//! Files of a plan: one for all cases, or one for each stage.

use crate::not_exported::{NotExported, NotExportedList};
use crate::plan_parts::list_plan_parts;
use crate::{ExportError, fio_file, vdbench_file};
use plan::{Case, Plan};

/// Formats of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanFormat {
    /// fio job files.
    Fio,
    /// vdbench parameter files.
    Vdbench,
}

/// Number of files of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileLayout {
    /// All cases in one file.
    OneFile,
    /// A file for each stage, and several for a stage that has more jobs than the tool takes.
    FilePerStage,
}

/// A file of an exported plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedFile {
    /// Its name: the stage's, with the tool's ending.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Result of a plan's export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanExport {
    /// Files, in the order of the plan.
    pub files: Vec<ExportedFile>,
    /// Parts of the plan that the files leave out.
    pub not_exported: Vec<NotExported>,
}

impl PlanFormat {
    fn tool(self) -> &'static str {
        match self {
            PlanFormat::Fio => "fio",
            PlanFormat::Vdbench => "vdbench",
        }
    }

    fn ending(self) -> &'static str {
        match self {
            PlanFormat::Fio => "fio",
            PlanFormat::Vdbench => "vdb",
        }
    }

    /// Returns the first character of a comment line.
    fn comment(self) -> char {
        match self {
            PlanFormat::Fio => '#',
            PlanFormat::Vdbench => '*',
        }
    }
}

/// Writes cases of a plan as files of a load generator. A stage without a case that can be written has no file.
pub fn export_plan(
    plan: &Plan,
    cases: &[Case],
    format: PlanFormat,
    layout: FileLayout,
) -> Result<PlanExport, ExportError> {
    let all: Vec<&Case> = cases.iter().collect();
    let mut files = Vec::new();
    let mut whole = NotExportedList::default();
    let count = |cases: &[&Case], stage: &str| cases.iter().filter(|case| case.stage == stage).count();
    let mut refused = None;
    for (name, cases) in groups(plan, &all, format, layout)? {
        let mut list = NotExportedList::default();
        list_plan_parts(plan, &cases, format.tool(), &mut list);
        let body = match format {
            PlanFormat::Fio => fio_file::body(plan, &cases, &mut list),
            PlanFormat::Vdbench => vdbench_file::body(plan, &cases, &mut list),
        };
        let of_file = list.into_entries(|stage| count(&cases, stage));
        match body {
            Ok(body) => {
                let text = format!("{}{body}", head(plan, &of_file, format));
                files.push(ExportedFile { name: format!("{name}.{}", format.ending()), text });
            }
            Err(error) => refused = refused.or(Some(error)),
        }
        // What holds for the whole plan stands in every file and is listed once.
        whole.merge(&of_file);
    }
    match refused {
        Some(error) if files.is_empty() => Err(error),
        _ if files.is_empty() => {
            Err(ExportError::NoCases { plan: plan.name.clone(), why: "none is selected".to_owned() })
        }
        _ => Ok(PlanExport { files, not_exported: whole.into_entries(|stage| count(&all, stage)) }),
    }
}

type Group<'a> = (String, Vec<&'a Case>);

/// The cases of each file.
fn groups<'a>(
    plan: &Plan,
    cases: &[&'a Case],
    format: PlanFormat,
    layout: FileLayout,
) -> Result<Vec<Group<'a>>, ExportError> {
    let limit = match format {
        PlanFormat::Fio => fio_file::JOBS_LIMIT,
        PlanFormat::Vdbench => u64::MAX,
    };
    if layout == FileLayout::OneFile {
        let jobs = cases.iter().map(|case| fio_file::job_count(case)).sum();
        if jobs > limit {
            return Err(ExportError::TooManyJobs { plan: plan.name.clone(), jobs, limit });
        }
        return Ok(if cases.is_empty() { Vec::new() } else { vec![(plan.name.clone(), cases.to_vec())] });
    }
    let mut groups: Vec<Group<'a>> = Vec::new();
    for stage in cases.chunk_by(|one, other| one.stage == other.stage) {
        let mut parts: Vec<Vec<&Case>> = Vec::new();
        let mut jobs = 0;
        for case in stage {
            let added = fio_file::job_count(case);
            match parts.last_mut() {
                Some(part) if jobs + added <= limit => part.push(*case),
                _ => {
                    parts.push(vec![*case]);
                    jobs = 0;
                }
            }
            jobs += added;
        }
        let stage_name = stage.first().map_or("", |case| case.stage.as_str());
        let is_one = parts.len() == 1;
        for (index, part) in parts.into_iter().enumerate() {
            let name = if is_one { stage_name.to_owned() } else { format!("{stage_name}-{:03}", index + 1) };
            groups.push((name, part));
        }
    }
    Ok(groups)
}

/// Comment lines: what the file is, how it is run, and what it does not say.
fn head(plan: &Plan, not_exported: &[NotExported], format: PlanFormat) -> String {
    let mut lines = vec![
        format!("{}: {}", plan.name, plan.title),
        format!("Exported by arraylab {} from the plan `{}`.", env!("CARGO_PKG_VERSION"), plan.name),
        match format {
            PlanFormat::Fio => fio_file::USE.to_owned(),
            PlanFormat::Vdbench => vdbench_file::USE.to_owned(),
        },
    ];
    lines.extend(not_exported.iter().map(|entry| format!("Not exported: {entry}")));
    let comment = format.comment();
    lines.iter().fold(String::new(), |text, line| {
        let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        format!("{text}{comment} {line}\n")
    }) + "\n"
}
