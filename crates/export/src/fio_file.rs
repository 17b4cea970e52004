//! fio job file of cases: a section for each load, each case behind a `stonewall`.

use crate::ExportError;
use crate::fio_option_list::FioOptions;
use crate::fio_options::{options, time_text};
use crate::left_out::LeftOut;
use crate::not_exported::{NotExportedList, WHOLE_CASE};
use crate::plan_parts::{case_title, labels, list_case_parts};
use plan::{Case, LoadTarget, NamedLoad, Plan, Preconditioning};
use std::fmt::Write;

/// Jobs that fio takes of one file (`FIO_MAX_JOBS`).
pub(crate) const JOBS_LIMIT: u64 = 4096;

/// Usage of the file, in its head.
pub(crate) const USE: &str = "Run with: TARGET=/dev/sdX fio --output-format=json --output=results.json FILE";

/// A section of a job file.
#[derive(Debug, Clone)]
struct Section {
    name: String,
    options: Vec<(&'static str, String)>,
}

/// Sections of some cases, as text, without its head.
pub(crate) fn body(plan: &Plan, cases: &[&Case], list: &mut NotExportedList) -> Result<String, ExportError> {
    let mut sections: Vec<Section> = Vec::new();
    let mut why = None;
    for case in cases {
        match case_sections(case, list) {
            Ok(added) => sections.extend(added),
            Err(reason) => {
                list.of_case(case, WHOLE_CASE, reason.0.clone());
                why.get_or_insert(reason.0);
            }
        }
    }
    if sections.is_empty() {
        let why = why.unwrap_or_else(|| "none is selected".to_owned());
        return Err(ExportError::NoCases { plan: plan.name.clone(), why });
    }
    list.of_plan(
        "watch.interval",
        "fio keeps no intervals: add `write_hist_log` and `log_hist_msec` for histograms over time",
    );
    Ok(text(sections))
}

/// The jobs of a case, as fio counts them.
pub(crate) fn job_count(case: &Case) -> u64 {
    let loads = case.loads.iter().map(|load| u64::from(load.load.numjobs));
    let jobs: u64 = if case.loads.is_empty() { u64::from(case.load.numjobs) } else { loads.sum() };
    jobs + u64::from(case.preconditioning.is_some())
}

/// The sections of a case, its preconditioning first; why there are none where fio has no such load.
fn case_sections(case: &Case, list: &mut NotExportedList) -> Result<Vec<Section>, LeftOut> {
    if case.load.shape.replay.is_some() {
        return Err(LeftOut(
            "replay: the trace is not part of the file; fio replays one with `read_iolog`".to_owned(),
        ));
    }
    let title = case_title(case);
    let description = labels(case);
    let whole = Whole { case, title: &title, description: description.as_deref() };
    let mut lost: Vec<(String, String)> = Vec::new();
    let mut sections = Vec::new();
    if case.loads.is_empty() {
        let written = options(&case.settings, Some(case.load.seed), case.find.as_ref());
        sections.push(whole.section(None, written, &mut lost)?);
    } else {
        for load in &case.loads {
            let mut written = options(&load.settings, Some(load.load.seed), None);
            if load.start_ns > 0 {
                late(&mut written, load);
            }
            if load.start_ns > 0 && load.ends_after.is_some() {
                written.lose("io_size", "a load that begins later ends by its runtime or its amount of I/O");
            }
            sections.push(whole.section(Some(load), written, &mut lost)?);
        }
    }
    for (what, why) in lost {
        list.of_case(case, &what, why);
    }
    list_case_parts(case, "fio", list);
    if case.pause_ns > 0 || case.pause_over.is_some() {
        list.of_case(case, "pause", "fio goes on at once: wait between the jobs where that matters");
    }
    if let Some(writes) = case.preconditioning.as_ref().filter(|writes| writes.times > 0) {
        sections.insert(0, precondition(writes, &title, case, list));
    }
    Ok(sections)
}

/// A load that begins after its case ends with it: fio counts a job's runtime from its own start.
fn late(written: &mut FioOptions, load: &NamedLoad) {
    written.options.retain(|(name, _)| !matches!(*name, "runtime" | "ramp_time"));
    written.set("startdelay", time_text(load.start_ns));
    written.set("runtime", time_text(load.load.runtime_ns));
}

struct Whole<'a> {
    case: &'a Case,
    title: &'a str,
    description: Option<&'a str>,
}

impl Whole<'_> {
    fn section(
        &self,
        load: Option<&NamedLoad>,
        written: FioOptions,
        lost: &mut Vec<(String, String)>,
    ) -> Result<Section, LeftOut> {
        if let Some((what, why)) = written.left_out {
            return Err(LeftOut(format!("{what}: {why}")));
        }
        lost.extend(written.not_exported);
        let mut options = Vec::new();
        // Loads of a case run at once, each with a report of its own.
        let is_first =
            load.is_none_or(|load| self.case.loads.first().is_some_and(|first| first.name == load.name));
        options.push((if is_first { "stonewall" } else { "new_group" }, String::new()));
        options.extend(self.description.map(|text| ("description", text.to_owned())));
        options.push(("filename", target_variable(load.and_then(|load| load.target.as_ref()))));
        options.extend(written.options);
        let name = match load {
            Some(load) => format!("{}/{}", self.title, load.name),
            None => self.title.to_owned(),
        };
        Ok(Section { name, options })
    }
}

/// The environment variable that names a target. fio refuses a file whose variable is not set.
pub(crate) fn target_variable(target: Option<&LoadTarget>) -> String {
    match target {
        None => "${TARGET}".to_owned(),
        Some(LoadTarget::Number(number)) => format!("${{TARGET{number}}}"),
        Some(LoadTarget::Name(name)) => {
            let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
            format!("${{TARGET_{}}}", name.chars().map(plain).collect::<String>())
        }
    }
}

/// The writes before a case, as one job over the whole target.
fn precondition(writes: &Preconditioning, title: &str, case: &Case, list: &mut NotExportedList) -> Section {
    let depth = u64::from(writes.numjobs) * u64::from(writes.iodepth);
    if writes.numjobs > 1 {
        list.of_case(
            case,
            "precondition",
            format!("one job of depth {depth} writes, not {} of depth {}", writes.numjobs, writes.iodepth),
        );
    }
    let mut options = vec![
        ("stonewall", String::new()),
        ("filename", target_variable(None)),
        ("ioengine", if depth == 1 { "psync" } else { "libaio" }.to_owned()),
        ("direct", "1".to_owned()),
        ("rw", writes.pattern.name().to_owned()),
        ("bs", units::Bytes(u64::from(writes.bs_bytes)).to_string()),
        ("iodepth", depth.to_string()),
    ];
    if writes.pattern.is_random() {
        options.push(("norandommap", "1".to_owned()));
    }
    if writes.times > 1 {
        options.push(("loops", writes.times.to_string()));
    }
    Section { name: format!("{title}/precondition"), options }
}

/// The sections as text; what all of them say stands in `[global]`.
fn text(mut sections: Vec<Section>) -> String {
    let mut text = String::from(
        "[global]\ngroup_reporting\n# A target that is missing must not become a new file.\nallow_file_create=0\n",
    );
    let common: Vec<(&'static str, String)> = match sections.split_first() {
        Some((first, others)) if !others.is_empty() => first
            .options
            .iter()
            .filter(|(name, _)| !matches!(*name, "stonewall" | "description"))
            .filter(|option| others.iter().all(|other| other.options.contains(option)))
            .cloned()
            .collect(),
        _ => Vec::new(),
    };
    for option in &common {
        line(&mut text, option);
    }
    for section in &mut sections {
        section.options.retain(|option| !common.contains(option));
        let _ = writeln!(text, "\n[{}]", section.name);
        for option in &section.options {
            line(&mut text, option);
        }
    }
    text
}

fn line(text: &mut String, (name, value): &(&'static str, String)) {
    let _ = if value.is_empty() { writeln!(text, "{name}") } else { writeln!(text, "{name}={value}") };
}
