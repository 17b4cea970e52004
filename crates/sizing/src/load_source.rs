//! Loads of questions: a plan's case, fio's settings, a fio job file.

use crate::SizingError;
use crate::named_workload::{named_workload, named_workloads};
use crate::workload::{self, Workload, asked_iops};
use plan::{Case, PlanErrorKind, Selection};
use std::path::Path;

/// Runtime of a load that does not say how long it runs, in seconds of simulated time.
const RUNTIME_S: u64 = 60;
/// Prefix of settings in fio's words.
const FIO: &str = "fio:";

/// Load of a question.
#[derive(Debug, Clone)]
pub struct LoadSource {
    /// The text that named it.
    pub text: String,
    /// Title in words: the workload's, or the load's kind.
    pub title: String,
    /// The load as a plan's case.
    pub case: Case,
    /// Parts of its source that the case does not have.
    pub not_carried: Vec<String>,
    /// Bytes that the workload stores, where its file says so.
    pub capacity_bytes: Option<u64>,
    /// Bytes that it writes in a day, where its file says so.
    pub written_bytes_per_day: Option<u64>,
}

impl LoadSource {
    /// Reads `PLAN:STAGE/CASE`, `fio:rw=…,bs=…`, a workload file or its name, or `FILE.fio`, of which `FILE.fio:STAGE/CASE` names one of several
    /// loads.
    pub fn read(text: &str) -> Result<LoadSource, SizingError> {
        if let Some(settings) = text.strip_prefix(FIO) {
            return of_settings(text, settings);
        }
        let (source, case) = split(text);
        if source.ends_with(".fio") {
            return of_job_file(text, source, case);
        }
        if let Some(workload) = workload_of(source)? {
            let case = workload.case(source)?;
            return Ok(LoadSource {
                text: text.to_owned(),
                title: workload.title,
                case,
                not_carried: workload.not_known,
                capacity_bytes: workload.capacity_bytes,
                written_bytes_per_day: workload.written_bytes_per_day,
            });
        }
        let loaded = plan::load_plan(source).map_err(|error| match error.kind() {
            PlanErrorKind::UnknownName => unknown_load(text, source),
            _ => error.into(),
        })?;
        let Some(case) = case else {
            let cases = plan::expand(&loaded.plan, &Selection::default())?;
            let example = cases.first().map_or_else(String::new, path);
            return Err(SizingError::question(
                format!("`{text}` names no case of the plan"),
                format!("`{source}:{example}`; `arraylab expand {source}` lists all"),
            ));
        };
        let cases = plan::expand(&loaded.plan, &Selection::default())?;
        let case = named(text, &cases, case)?;
        Ok(LoadSource {
            text: text.to_owned(),
            title: format!("{}: {}", loaded.plan.title, in_words(&case)),
            case,
            not_carried: Vec::new(),
            capacity_bytes: None,
            written_bytes_per_day: None,
        })
    }

    /// Returns the settings of a load in fio's words as a plan has them, without braces; empty for a load from elsewhere.
    pub fn plan_settings(&self) -> String {
        let pairs = self.text.strip_prefix(FIO).unwrap_or_default().split(',');
        let settings: Vec<String> = pairs
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        settings.join(", ")
    }

    /// Refuses a load that goes as fast as storage lets it: there is no workload to be met.
    pub fn check_rate(&self) -> Result<(), SizingError> {
        if asked_iops(&self.case).is_some() {
            return Ok(());
        }
        Err(SizingError::question(
            format!("`{}` goes as fast as storage lets it: there is no workload to be met", self.text),
            "give its rate, as `fio:rw=randrw,bs=8k,rate_iops=20000,rate_process=poisson`, or a workload file",
        ))
    }
}

/// Workload in a file, or that ships under this name; `None` where it is neither.
fn workload_of(source: &str) -> Result<Option<Workload>, SizingError> {
    if !Path::new(source).is_file() {
        return named_workload(source).map(|named| Workload::parse(named.name, named.text)).transpose();
    }
    let text = plan::read_text(Path::new(source), plan::FILE_BYTES_LIMIT)?;
    let is_workload = plan::parse_yaml::<serde_json::Value>(source, &text)?.get("streams").is_some();
    if is_workload { Workload::parse(source, &text).map(Some) } else { Ok(None) }
}

/// Source, and after the last colon of its last part the case. A path may have colons before that.
fn split(text: &str) -> (&str, Option<&str>) {
    if Path::new(text).exists() {
        return (text, None);
    }
    match text.match_indices(':').map(|(at, _)| at).find(|&at| is_source(&text[..at])) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => text.split_once(':').map_or((text, None), |(source, case)| (source, Some(case))),
    }
}

fn is_source(text: &str) -> bool {
    Path::new(text).is_file() || plan::shipped_plans().iter().any(|shipped| shipped.name == text)
}

/// A text that names no load, with what was most likely meant.
fn unknown_load(text: &str, source: &str) -> SizingError {
    let workloads = named_workloads().iter().map(|workload| workload.name);
    let plans = plan::shipped_plans();
    let names = plans.iter().map(|shipped| shipped.name).chain(workloads);
    let hint = if source.contains('=') {
        let settings: Vec<&str> = text.split([' ', ',']).filter(|pair| !pair.is_empty()).collect();
        format!("settings of fio begin with `{FIO}` and have commas between: `{FIO}{}`", settings.join(","))
    } else {
        plan::did_you_mean(source, names).unwrap_or_default()
    };
    SizingError::question(format!("no workload or plan `{source}` ships, and no file has this name"), hint)
}

/// Kind of a case's load: `8K random reads, 16 jobs of depth 32`.
fn in_words(case: &Case) -> String {
    findings::case_words(&case.stage, &case.name, &case.settings).text().to_owned()
}

fn path(case: &Case) -> String {
    format!("{}/{}", case.stage, case.name)
}

/// The case of that path, or of that stage where it has one case.
fn named(text: &str, cases: &[Case], wanted: &str) -> Result<Case, SizingError> {
    if let Some(case) = cases.iter().find(|case| path(case) == wanted) {
        return usable(text, case.clone());
    }
    let of_stage: Vec<&Case> = cases.iter().filter(|case| case.stage == wanted).collect();
    if let [case] = of_stage[..] {
        return usable(text, case.clone());
    }
    let paths: Vec<String> = cases.iter().map(path).collect();
    let hint = match plan::nearest(wanted, paths.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            format!("for example `{}`; `arraylab expand` lists all", paths.first().map_or("", String::as_str))
        }
    };
    Err(SizingError::question(format!("`{text}`: there is no case `{wanted}`"), hint))
}

/// Refuses cases whose load is known only while a plan is carried out.
fn usable(text: &str, case: Case) -> Result<Case, SizingError> {
    let depends = [
        (case.find.is_some(), "searches for its load"),
        (case.rate_share.is_some(), "has a share of the rate of another case"),
        (case.load_of.is_some(), "takes its jobs and depth from another stage"),
        (case.continues, "begins in the state that another case left"),
    ];
    match depends.iter().find(|(is_so, _)| *is_so) {
        None => Ok(case),
        Some((_, why)) => Err(SizingError::question(
            format!("`{text}`: this case {why}"),
            "name a case with a load of its own, or write it as `fio:rw=…,bs=…`",
        )),
    }
}

fn of_settings(text: &str, settings: &str) -> Result<LoadSource, SizingError> {
    let mut set = serde_json::Map::new();
    for pair in settings.split(',').filter(|pair| !pair.is_empty()) {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(SizingError::question(
                format!("`{pair}` is no setting"),
                "settings are NAME=VALUE with commas between, as `fio:rw=randread,bs=4k,iodepth=32`",
            ));
        };
        let value = match plan::setting(name.trim()) {
            Some(setting) => setting.parse(value.trim())?,
            // The plan language says what is wrong with it.
            None => value.trim().into(),
        };
        set.insert(name.trim().to_owned(), value);
    }
    let is_open = set.contains_key("rate_process");
    let runtime_s = if is_open { workload::RUNTIME_S } else { RUNTIME_S };
    set.entry("runtime").or_insert_with(|| runtime_s.into());
    if is_open {
        // Arrivals that wait for one another's answers would be no arrivals.
        set.entry("iodepth").or_insert_with(|| workload::IODEPTH.into());
    }
    let document = serde_json::json!({ "title": "One load", "stages": { "load": { "settings": set } } });
    let plan = plan::parse_plan("load", text, &document.to_string())?;
    let cases = plan::expand(&plan, &Selection::default())?;
    let case =
        cases.into_iter().next().ok_or_else(|| SizingError::question("there is no load", "name one"))?;
    Ok(LoadSource {
        text: text.to_owned(),
        title: in_words(&case),
        case,
        not_carried: Vec::new(),
        capacity_bytes: None,
        written_bytes_per_day: None,
    })
}

fn of_job_file(text: &str, file: &str, case: Option<&str>) -> Result<LoadSource, SizingError> {
    let path = Path::new(file);
    let contents = plan::read_text(path, plan::FILE_BYTES_LIMIT)?;
    let imported = import::import_plan(path, &contents)?;
    let Some(plan_text) = imported.text else {
        return Err(SizingError::question(
            format!("no load of {file} can be expressed as a plan"),
            format!("`arraylab import {file}` says why, line by line"),
        ));
    };
    let plan = plan::parse_plan(&imported.name, file, &plan_text)?;
    let cases = plan::expand(&plan, &Selection::default())?;
    let case = match (case, &cases[..]) {
        (Some(case), _) => named(text, &cases, case)?,
        (None, [case]) => usable(text, case.clone())?,
        (None, _) => {
            let paths: Vec<String> = cases.iter().map(self::path).collect();
            return Err(SizingError::question(
                format!("{file} has {} loads", cases.len()),
                format!("name one: {file}:{}", paths.join(&format!(", {file}:"))),
            ));
        }
    };
    let not_carried = imported.not_carried.iter().map(ToString::to_string).collect();
    Ok(LoadSource {
        text: text.to_owned(),
        title: format!("{}: {}", imported.name, in_words(&case)),
        case,
        not_carried,
        capacity_bytes: None,
        written_bytes_per_day: None,
    })
}
