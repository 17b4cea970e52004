//! fio's JSON and JSON+, with the logs beside it.

use super::{Measured, MeasuredCase, MeasuredLoad, expanded, invalid, time_text};
use crate::draft::Settings;
use crate::options::{OptionLine, map_job};
use crate::{ImportError, ImportWarning, NotCarried, file};
use fio::{
    FioOutcome, HistogramLog, IntervalLog, Job, JobOption, Latency, LogKind, Report, read_back,
    read_histogram_log, read_interval_log, read_report,
};
use load::{Direction, Histogram, bin_index};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use store::{DirectionTotals, LoadOutcome};

const DIRECTIONS: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];
/// The percentiles of results. Where fio printed all of them, they are kept without bins.
const NEEDED_MILLIONTHS: [u32; 4] = [500_000, 950_000, 990_000, 999_000];
/// The longest runtime that is believed: 30 years.
const RUNTIME_LIMIT_MS: u64 = 1 << 40;

/// Reads a report: a case for each group of jobs that ran at once, a load for each job name.
pub(super) fn read(path: &Path, text: &str) -> Result<Measured, ImportError> {
    let report = read_report(text.as_bytes())
        .map_err(|source| ImportError::FioReport { path: path.to_owned(), source })?;
    let mut measured = Measured::default();
    let warn = |text: String| ImportWarning { file: path.to_owned(), line: 1, column: 1, text };
    if report.is_truncated {
        measured.warnings.push(warn("the output ends early; its last complete report was read".into()));
    }
    if report.report_count > 1 {
        let text = format!("{} reports of one run: the last one holds all", report.report_count);
        measured.warnings.push(warn(text));
    }
    let mut numbers = Vec::new();
    let mut next_number = 1usize;
    for job in &report.jobs {
        let numjobs = option(&report, job, "numjobs").and_then(|text| text.parse().ok()).unwrap_or(1usize);
        let is_group = option(&report, job, "group_reporting").is_some_and(|value| value != "0");
        let members = if is_group { numjobs.clamp(1, 4096) } else { 1 };
        numbers.push((next_number, members));
        next_number += members;
    }
    let mut groups: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (index, job) in report.jobs.iter().enumerate() {
        groups.entry(job.group_id).or_default().push(index);
    }
    let importer = Importer { path, report: &report, numbers: &numbers };
    for members in groups.values() {
        importer.group(members, &mut measured)?;
    }
    if measured.cases.is_empty() {
        return Err(invalid(path, 1, "none of its jobs reads or writes storage"));
    }
    Ok(measured)
}

/// An option of a job, its own or a global one.
fn option<'a>(report: &'a Report, job: &'a Job, name: &str) -> Option<&'a str> {
    job.options.get(name).or_else(|| report.global_options.get(name)).map(String::as_str)
}

struct Importer<'a> {
    path: &'a Path,
    report: &'a Report,
    /// Number in file names of each job, and how many numbers it takes.
    numbers: &'a [(usize, usize)],
}

/// The logs of a job.
type Logs = (Option<HistogramLog>, Option<IntervalLog>);

impl Importer<'_> {
    /// The case of jobs that ran at once.
    fn group(&self, members: &[usize], measured: &mut Measured) -> Result<(), ImportError> {
        let mut by_name: Vec<(&str, Vec<usize>)> = Vec::new();
        for &index in members {
            let name = self.report.jobs[index].name.as_str();
            match by_name.iter_mut().find(|(known, _)| *known == name) {
                Some((_, indexes)) => indexes.push(index),
                None => by_name.push((name, vec![index])),
            }
        }
        let mut case = MeasuredCase::default();
        let mut names = Vec::new();
        let mut targets: Vec<String> = Vec::new();
        for (name, indexes) in by_name {
            let Some(settings) = self.settings(indexes[0], &mut targets, measured) else { continue };
            let mut load = self.load(name, &indexes, &settings, &mut case.warnings, measured)?;
            let failed = indexes.iter().map(|&index| &self.report.jobs[index]).find(|job| job.error != 0);
            if let Some(job) = failed {
                let why = format!("job {}: {}", job.name, std::io::Error::from_raw_os_error(job.error));
                case.error.get_or_insert(why);
            }
            case.duration_ns = case.duration_ns.max(load.outcome.duration_ns.unwrap_or(0));
            load.outcome.name = name.to_owned();
            case.settings = if names.is_empty() { settings } else { in_common(&case.settings, &settings) };
            case.loads.push(load);
            names.push(name);
        }
        if names.is_empty() {
            return Ok(());
        }
        case.name = names.join("+").chars().take(120).collect();
        case.target = if targets.is_empty() { "(not said)".into() } else { targets.join(", ") };
        if case.settings.get("runtime").is_none() && case.duration_ns > 0 {
            case.settings.set("runtime", time_text(case.duration_ns));
        }
        measured.cases.push(case);
        Ok(())
    }

    /// The settings of a job; `None` where it is no load of storage.
    fn settings(&self, index: usize, targets: &mut Vec<String>, measured: &mut Measured) -> Option<Settings> {
        let job = &self.report.jobs[index];
        let place = NotCarried {
            file: self.path.to_owned(),
            line: 1,
            what: format!("job {}", job.name),
            why: String::new(),
        };
        let lines: Vec<OptionLine> = self
            .report
            .global_options
            .iter()
            .chain(&job.options)
            .map(|(name, value)| {
                let option = JobOption { name: name.clone(), value: None, file: None, line: 1 };
                OptionLine {
                    name: option.canonical_name().to_owned(),
                    value: Some(value.clone()).filter(|value| !value.is_empty()),
                    file: self.path.to_owned(),
                    line: 1,
                }
            })
            .collect();
        let mapped = map_job(&lines, place);
        // How a job ends is over when results are there.
        let of_the_past = |note: &NotCarried| note.what.starts_with("job ") && mapped.settings.is_some();
        measured.not_carried.extend(mapped.not_carried.iter().filter(|note| !of_the_past(note)).cloned());
        for target in mapped.targets {
            if !targets.contains(&target.path) {
                targets.push(target.path);
            }
        }
        let mut settings = mapped.settings?;
        settings.remove("io_size");
        if lines.is_empty() {
            self.settings_from_counts(job, &mut settings, measured);
        }
        Some(settings)
    }

    /// Derives settings from the counts of a job whose options fio did not print.
    fn settings_from_counts(&self, job: &Job, settings: &mut Settings, measured: &mut Measured) {
        let rw = match (job.read.ios, job.write.ios) {
            (_, 0) => "read",
            (0, _) => "write",
            _ => "rw",
        };
        settings.set("rw", rw);
        let (ios, bytes) =
            (job.read.ios.saturating_add(job.write.ios), job.read.bytes.saturating_add(job.write.bytes));
        let mean = bytes.checked_div(ios).unwrap_or(4096);
        settings.set("bs", (mean / 512 * 512).clamp(512, plan::BS_BYTES_LIMIT).to_string());
        measured.warnings.push(ImportWarning {
            file: self.path.to_owned(),
            line: 1,
            column: 1,
            text: format!(
                "job {}: fio printed no options; its order of addresses and its depth are not known",
                job.name
            ),
        });
    }

    /// One load: all jobs of a name.
    fn load(
        &self,
        name: &str,
        indexes: &[usize],
        settings: &Settings,
        warnings: &mut Vec<String>,
        measured: &mut Measured,
    ) -> Result<MeasuredLoad, ImportError> {
        let jobs: Vec<Job> = indexes.iter().map(|&index| self.report.jobs[index].clone()).collect();
        let runtime_ms = jobs.iter().map(runtime_ms).max().unwrap_or(0);
        let mut logs = Vec::new();
        for &index in indexes {
            logs.push(self.logs(index)?);
        }
        let have_all_logs = logs.iter().all(|(histograms, _)| histograms.is_some());
        let have_all_bins = jobs.iter().all(|job| {
            DIRECTIONS.iter().all(|&direction| {
                let completion = &job.direction(direction).completion;
                completion.count == 0 || completion.histogram.is_some()
            })
        });
        let ramp_ns = option(self.report, &jobs[0], "ramp_time")
            .and_then(|text| units::parse_nanos(text).ok())
            .unwrap_or(0);
        let logged_ms =
            option(self.report, &jobs[0], "log_hist_msec").and_then(|text| text.parse::<u64>().ok());
        let uses_logs = have_all_logs && have_all_bins && logged_ms.is_some_and(|ms| ms > 0);
        let interval_ms = logged_ms.filter(|_| uses_logs).unwrap_or(runtime_ms).max(1);
        if uses_logs {
            measured.interval_ns = Some(interval_ms * 1_000_000);
        } else {
            logs = indexes.iter().map(|_| (None, None)).collect();
        }
        // What the options ask for, with the times that were: reading back needs both.
        let mut spec = expanded(self.path, settings)?.load;
        spec.ramp_ns = ramp_ns;
        spec.runtime_ns = runtime_ms.max(1) * 1_000_000;
        spec.interval_ns = interval_ms * 1_000_000;
        let report = Report { jobs: jobs.clone(), text: Vec::new(), ..self.report.clone() };
        let mut outcome = read_back(report, logs, &spec);
        if !have_all_bins {
            self.add_latencies(&jobs, &mut outcome, warnings);
        } else {
            warnings.append(&mut outcome.warnings);
        }
        if !uses_logs {
            warnings.push(format!("load {name}: no histogram logs, so the whole run is one interval"));
        }
        let mut load = MeasuredLoad {
            outcome: LoadOutcome { duration_ns: Some(outcome.runtime_ns), ..LoadOutcome::default() },
            samples: outcome.samples.clone(),
        };
        for direction in DIRECTIONS {
            let part = outcome.direction(direction);
            if part.ios > 0 || part.errors > 0 {
                *load.outcome.direction_mut(direction) = Some(DirectionTotals {
                    ios: part.ios,
                    bytes: part.bytes,
                    errors: part.errors,
                    latency: part.latency.clone(),
                    service: None,
                });
            }
        }
        Ok(load)
    }

    /// Puts what fio printed instead of bins into the totals, and into the only interval.
    fn add_latencies(&self, jobs: &[Job], outcome: &mut FioOutcome, warnings: &mut Vec<String>) {
        let mut has_warned = false;
        for direction in DIRECTIONS {
            let mut all = Histogram::new();
            for job in jobs {
                let latency = &job.direction(direction).completion;
                all.merge(&match &latency.histogram {
                    Some(histogram) => histogram.clone(),
                    None => without_bins(latency, jobs.len() == 1),
                });
            }
            if all.count() > 0 && !has_warned {
                has_warned = true;
                warnings.push(if all.unbinned_count() == 0 {
                    "fio printed percentiles without bins: those are kept, and between them its bins are empty".to_owned()
                } else {
                    "fio printed no bins, so latencies have a mean and extremes, but no percentiles".to_owned()
                });
            }
            match direction {
                Direction::Read => outcome.read.latency = all.clone(),
                Direction::Write => outcome.write.latency = all.clone(),
                Direction::Trim => outcome.trim.latency = all.clone(),
            }
            if let [only] = outcome.samples.as_mut_slice() {
                only.direction_mut(direction).latency = all;
            }
        }
    }

    /// The histogram and bandwidth logs of a job, where they lie beside the report under the names that fio gives.
    fn logs(&self, index: usize) -> Result<Logs, ImportError> {
        let job = &self.report.jobs[index];
        let (number, members) = self.numbers[index];
        // Rows of several jobs cannot be taken from the bins of their group.
        if members > 1 {
            return Ok((None, None));
        }
        let find = |option_name: &str, ending: &str| -> Option<PathBuf> {
            let prefix = option(self.report, job, option_name)?;
            let prefix = if prefix.is_empty() || prefix == "1" { job.name.as_str() } else { prefix };
            // Wherever the log was written then: now it is looked for beside the report.
            let prefix = Path::new(prefix).file_name()?.to_str()?;
            let path = self.path.parent()?.join(format!("{prefix}_{ending}.{number}.log"));
            path.is_file().then_some(path)
        };
        let mut logs = (None, None);
        if let Some(path) = find("write_hist_log", "clat_hist") {
            let log = read_histogram_log(&file::read_bytes(&path)?);
            logs.0 = Some(log.map_err(|source| ImportError::FioLog { path, source })?);
        }
        if let Some(path) = find("write_bw_log", "bw") {
            let log = read_interval_log(&file::read_bytes(&path)?, LogKind::Bandwidth, None);
            logs.1 = Some(log.map_err(|source| ImportError::FioLog { path, source })?);
        }
        Ok(logs)
    }
}

/// The settings that two jobs share; `rw` and `bs`, which every case has, are those of the first.
fn in_common(first: &Settings, other: &Settings) -> Settings {
    let mut common = Settings::default();
    for (name, value) in first.iter() {
        if matches!(name, "rw" | "bs") || other.get(name) == Some(value) {
            common.set(name, value);
        }
    }
    common
}

/// The time that a job counted; `job_runtime` is a sum over the jobs of a group.
fn runtime_ms(job: &Job) -> u64 {
    let active = DIRECTIONS.iter().map(|&direction| job.direction(direction).runtime_ms).max().unwrap_or(0);
    (if active > 0 { active } else { job.runtime_ms }).min(RUNTIME_LIMIT_MS)
}

/// A latency whose bins fio did not print: its percentiles where they are all that a result shows and belong to one
/// job, else count, mean and extremes alone. Percentiles of several jobs cannot be put together.
fn without_bins(latency: &Latency, is_only: bool) -> Histogram {
    let mut histogram = Histogram::new();
    if latency.count == 0 {
        return histogram;
    }
    let mut percentiles = latency.percentiles.clone();
    percentiles.sort_unstable();
    let has = |wanted: &u32| percentiles.iter().any(|(millionths, _)| millionths == wanted);
    let is_rising = percentiles.windows(2).all(|pair| pair[0].1 <= pair[1].1);
    if !is_only || !is_rising || !NEEDED_MILLIONTHS.iter().all(has) || latency.min_ns > latency.max_ns {
        let known = |ns: u64| Some(ns).filter(|ns| *ns > 0);
        histogram.add_unbinned(latency.count, latency.sum_ns, known(latency.min_ns), known(latency.max_ns));
        return histogram;
    }
    let mut below = 0u64;
    for (millionths, ns) in percentiles {
        let until = (u128::from(latency.count) * u128::from(millionths))
            .div_ceil(1_000_000)
            .min(u128::from(latency.count));
        let until = until as u64;
        histogram.add_bin(bin_index(ns), until.saturating_sub(below));
        below = below.max(until);
    }
    histogram.add_bin(bin_index(latency.max_ns), latency.count - below);
    histogram.set_exact(latency.sum_ns, latency.min_ns, latency.max_ns);
    histogram
}
