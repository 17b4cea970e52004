//! Run as the JSON that `fio --output-format=json+` prints.
//!
//! One entry of `jobs` for each load of each case that ended, with fio's names and units. What a run does not hold has no
//! key: processor time, context switches, queue depths. `slat_ns` is empty, as fio's with `disable_slat`: arraylab's clock
//! starts when an I/O is handed over, so that submission is part of `clat_ns`, and `lat_ns` is the same.

use crate::ExportError;
use crate::fio_options::options;
use crate::load_settings::LoadSettings;
use load::{Direction, Histogram, bin_middle_ns};
use plan::SettingValues;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use store::{
    CaseRecord, CaseResult, CaseStatus, DirectionPoint, DirectionTotals, IntervalPoint, LoadOutcome,
    RunReader,
};

/// fio's own list of percentiles, in millionths.
const PERCENTILES: [u32; 17] = [
    10_000, 50_000, 100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000, 800_000, 900_000, 950_000,
    990_000, 995_000, 999_000, 999_500, 999_900,
];
/// Upper bounds of fio's coarse distribution of latencies, in its unit.
const COARSE_NANOS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
const COARSE_MILLIS: [u64; 11] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000];
/// EIO, which stands for whatever failed: fio ends a job with the number of an error.
const FAILED_ERRNO: i32 = 5;
const DIRECTIONS: [(Direction, &str); 3] =
    [(Direction::Read, "read"), (Direction::Write, "write"), (Direction::Trim, "trim")];

/// The results of a run as one JSON document.
pub fn fio_json(run: &RunReader) -> Result<String, ExportError> {
    let settings = load_settings(run)?;
    let mut jobs = Vec::new();
    let mut last_utc_ns = 0;
    for (index, result) in run.indexed_results()? {
        let start_utc_ns = run.attempt_start(index)?.map_or(0, |start| start.utc_ns);
        last_utc_ns = last_utc_ns.max(start_utc_ns + (result.duration_s * 1e9) as u64);
        let is_measured = matches!(result.status, CaseStatus::Done | CaseStatus::Failed);
        if !is_measured {
            continue;
        }
        let record = run.case(index)?;
        let series = run.series(index)?;
        let totals = run.totals(index)?;
        for outcome in &totals {
            let own = settings.get(&(record.index, outcome.name.clone())).unwrap_or(&record.settings);
            let is_only = totals.len() == 1;
            let points: Vec<&IntervalPoint> =
                series.iter().filter(|point| point.load == outcome.name && !point.is_ramp).collect();
            let job =
                JobText { record: &record, result: &result, outcome, settings: own, is_only, start_utc_ns };
            jobs.push(job.value(&points));
        }
    }
    if jobs.is_empty() {
        return Err(ExportError::NoResults { run: run.directory().display().to_string() });
    }
    let document = json!({
        "fio version": format!("arraylab-{}", run.manifest().arraylab_version),
        "timestamp": last_utc_ns / 1_000_000_000,
        "timestamp_ms": last_utc_ns / 1_000_000,
        "time": run.manifest().created_utc,
        "global options": {},
        "jobs": jobs,
        "disk_util": [],
    });
    let mut text = serde_json::to_string_pretty(&document).map_err(std::io::Error::other)?;
    text.push('\n');
    Ok(text)
}

/// Settings of the loads of cases that have several, from the plan that the run keeps.
fn load_settings(run: &RunReader) -> Result<BTreeMap<(u32, String), SettingValues>, ExportError> {
    let manifest = run.manifest();
    let records = run.cases()?;
    let kept = records.iter().map(|record| (record.stage.clone(), Map::clone(&record.settings))).collect();
    let selection = plan::Selection {
        stages: manifest.selection.stages.clone(),
        only: manifest.selection.only.clone(),
        set: manifest.selection.set.clone(),
    };
    let source = &manifest.plan;
    let expanded = plan::parse_kept_plan(&source.name, &source.source, &source.text, &kept)
        .and_then(|plan| plan::expand(&plan, &selection));
    // A plan that this version no longer reads leaves every load with the settings of its case.
    let mut settings = BTreeMap::new();
    for case in expanded.unwrap_or_default() {
        let record = records.iter().find(|record| record.stage == case.stage && record.name == case.name);
        for load in case.loads {
            if let Some(record) = record {
                settings.insert((record.index, load.name), load.settings);
            }
        }
    }
    Ok(settings)
}

/// A load of a case that ended.
struct JobText<'a> {
    record: &'a CaseRecord,
    result: &'a CaseResult,
    outcome: &'a LoadOutcome,
    settings: &'a SettingValues,
    is_only: bool,
    start_utc_ns: u64,
}

impl JobText<'_> {
    fn value(&self, points: &[&IntervalPoint]) -> Value {
        let duration_ns = self.outcome.duration_ns.unwrap_or((self.result.duration_s * 1e9).round() as u64);
        let runtime_ms = (duration_ns as f64 / 1e6).round() as u64;
        let ramp_ns = LoadSettings(self.settings).time_ns("ramp_time").unwrap_or(0);
        let title = if self.record.name == self.record.stage {
            self.record.stage.clone()
        } else {
            format!("{}/{}", self.record.stage, self.record.name)
        };
        let mut job = Map::new();
        let name = if self.is_only { title } else { format!("{title}/{}", self.outcome.name) };
        job.insert("jobname".into(), name.into());
        job.insert("groupid".into(), self.record.index.into());
        job.insert("job_start".into(), (self.start_utc_ns / 1_000_000).into());
        let is_done = self.result.status == CaseStatus::Done;
        job.insert("error".into(), if is_done { 0 } else { FAILED_ERRNO }.into());
        job.insert("eta".into(), 0.into());
        job.insert("elapsed".into(), (duration_ns.saturating_add(ramp_ns).div_ceil(1_000_000_000)).into());
        job.insert("job options".into(), self.job_options());
        let mut all = Histogram::new();
        let mut errors = 0;
        for (direction, name) in DIRECTIONS {
            let totals = self.outcome.direction(direction);
            let times = Times { duration_ns, runtime_ms, is_done };
            job.insert(name.into(), direction_value(totals, times, direction, points));
            if let Some(totals) = totals {
                all.merge(&totals.latency);
                errors += totals.errors;
            }
        }
        let empty = latency_value(&Histogram::new(), false);
        job.insert("sync".into(), json!({ "total_ios": 0, "lat_ns": empty }));
        job.insert("job_runtime".into(), runtime_ms.into());
        if errors > 0 {
            job.insert("total_err".into(), errors.into());
            job.insert("first_error".into(), FAILED_ERRNO.into());
        }
        coarse(&all, &mut job);
        if let Some(error) = &self.result.error {
            job.insert("desc".into(), error.as_str().into());
        }
        Value::Object(job)
    }

    fn job_options(&self) -> Value {
        let mut map = Map::new();
        let target = self.outcome.target.as_deref().unwrap_or(&self.result.target);
        // fio separates several names with colons.
        map.insert("filename".into(), target.replace(':', "\\:").into());
        for (name, value) in options(self.settings, None, None).options {
            map.insert(name.into(), value.into());
        }
        Value::Object(map)
    }
}

/// Counted time of a load, and whether it ended well.
#[derive(Clone, Copy)]
struct Times {
    duration_ns: u64,
    runtime_ms: u64,
    is_done: bool,
}

fn direction_value(
    totals: Option<&DirectionTotals>,
    times: Times,
    direction: Direction,
    points: &[&IntervalPoint],
) -> Value {
    let Times { duration_ns, runtime_ms, is_done } = times;
    let nothing = DirectionTotals::default();
    let totals = totals.unwrap_or(&nothing);
    let is_active = totals.ios + totals.errors > 0;
    let per_s = |count: u64| if duration_ns == 0 { 0.0 } else { count as f64 / (duration_ns as f64 / 1e9) };
    let bw_bytes = per_s(totals.bytes);
    let latency = latency_value(&totals.latency, true);
    let [bw, iops] = if is_active { spread(direction, points) } else { [Spread::default(); 2] };
    json!({
        "io_bytes": totals.bytes,
        "io_kbytes": totals.bytes / 1024,
        "bw_bytes": bw_bytes.round() as u64,
        "bw": (bw_bytes / 1024.0).round() as u64,
        "iops": per_s(totals.ios),
        "runtime": if is_active { runtime_ms } else { 0 },
        // A job that an error ends has the I/Os that failed among those it issued.
        "total_ios": totals.ios + if is_done { 0 } else { totals.errors },
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": latency_value(&Histogram::new(), false),
        "clat_ns": latency,
        "lat_ns": latency_value(&totals.latency, false),
        "bw_min": (bw.min / 1024.0) as u64,
        "bw_max": (bw.max / 1024.0) as u64,
        "bw_agg": if bw.count > 0 { 100.0 } else { 0.0 },
        "bw_mean": bw.mean / 1024.0,
        "bw_dev": bw.deviation / 1024.0,
        "bw_samples": bw.count,
        "iops_min": iops.min as u64,
        "iops_max": iops.max as u64,
        "iops_mean": iops.mean,
        "iops_stddev": iops.deviation,
        "iops_samples": iops.count,
    })
}

/// Figures of a latency; with `percentile` and `bins` where they are asked for and known.
fn latency_value(histogram: &Histogram, has_distribution: bool) -> Value {
    if histogram.count() == 0 {
        return json!({ "min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0 });
    }
    let mut latency = Map::new();
    if let Some(min_ns) = histogram.known_min_ns() {
        latency.insert("min".into(), min_ns.into());
    }
    if let Some(max_ns) = histogram.known_max_ns() {
        latency.insert("max".into(), max_ns.into());
    }
    latency.insert("mean".into(), histogram.mean_ns().into());
    let is_binned = histogram.unbinned_count() == 0;
    if is_binned {
        latency.insert("stddev".into(), deviation(histogram).into());
    }
    latency.insert("N".into(), histogram.count().into());
    if has_distribution && is_binned {
        let percentiles: Map<String, Value> = PERCENTILES
            .iter()
            .filter_map(|millionths| {
                let value = histogram.known_percentile_ns(*millionths)?;
                Some((format!("{:.6}", f64::from(*millionths) / 10_000.0), value.into()))
            })
            .collect();
        latency.insert("percentile".into(), Value::Object(percentiles));
        let bins: Map<String, Value> = histogram
            .filled_bins()
            .map(|(index, count)| (bin_middle_ns(index).to_string(), count.into()))
            .collect();
        latency.insert("bins".into(), Value::Object(bins));
    }
    Value::Object(latency)
}

/// Standard deviation of a histogram in nanoseconds, from the middles of its bins, which are within 1/128.
fn deviation(histogram: &Histogram) -> f64 {
    let mean_ns = histogram.mean_ns();
    let squares: f64 = histogram
        .filled_bins()
        .map(|(index, count)| (bin_middle_ns(index) as f64 - mean_ns).powi(2) * count as f64)
        .sum();
    let freedom = histogram.count().saturating_sub(1);
    if freedom == 0 { 0.0 } else { (squares / freedom as f64).sqrt() }
}

/// Spread of a rate over the intervals of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Spread {
    min: f64,
    max: f64,
    mean: f64,
    deviation: f64,
    count: usize,
}

impl Spread {
    fn of(rates: &[f64]) -> Spread {
        let Some(first) = rates.first() else { return Spread::default() };
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
        let freedom = rates.len() - 1;
        Spread {
            min: rates.iter().copied().fold(*first, f64::min),
            max: rates.iter().copied().fold(*first, f64::max),
            mean,
            deviation: if freedom == 0 { 0.0 } else { (squares / freedom as f64).sqrt() },
            count: rates.len(),
        }
    }
}

/// Bytes and I/Os a second over the intervals that are counted.
fn spread(direction: Direction, points: &[&IntervalPoint]) -> [Spread; 2] {
    let rates = |count: fn(&DirectionPoint) -> u64| -> Vec<f64> {
        let of = |point: &&IntervalPoint| {
            let part = match direction {
                Direction::Read => &point.read,
                Direction::Write => &point.write,
                Direction::Trim => &point.trim,
            };
            let seconds = point.end_ns.saturating_sub(point.start_ns) as f64 / 1e9;
            let count = part.as_ref().map_or(0, count);
            (seconds > 0.0).then_some(count as f64 / seconds)
        };
        points.iter().filter_map(of).collect()
    };
    [Spread::of(&rates(|part| part.bytes)), Spread::of(&rates(|part| part.ios))]
}

/// fio's coarse distribution of latencies in all directions, in percent.
fn coarse(histogram: &Histogram, job: &mut Map<String, Value>) {
    let mut bounds: Vec<(&str, String, u64)> = Vec::new();
    for (name, unit_ns) in [("latency_ns", 1), ("latency_us", 1000)] {
        bounds.extend(COARSE_NANOS.iter().map(|bound| (name, bound.to_string(), bound * unit_ns)));
    }
    bounds.extend(COARSE_MILLIS.iter().map(|bound| ("latency_ms", bound.to_string(), bound * 1_000_000)));
    bounds.push(("latency_ms", ">=2000".to_owned(), u64::MAX));
    let mut counts = vec![0u64; bounds.len()];
    for (index, count) in histogram.filled_bins() {
        let at = bounds.partition_point(|(.., bound_ns)| *bound_ns <= bin_middle_ns(index));
        counts[at.min(bounds.len() - 1)] += count;
    }
    if histogram.count() == 0 || histogram.unbinned_count() > 0 {
        return;
    }
    for ((name, bound, _), count) in bounds.iter().zip(counts) {
        let share = 100.0 * count as f64 / histogram.count() as f64;
        if let Value::Object(map) = job.entry(*name).or_insert_with(|| json!({})) {
            map.insert(bound.clone(), share.into());
        }
    }
}
