//! Results as `arraylab results --json` prints them. Scripts rely on every name and on their order: new fields go to
//! the end, and only where they have something to say.

use crate::case::{CaseStatus, DirectionTotals, LoadOutcome};
use crate::{HostTotals, RunReader, Settings, StoreError};
use load::{Direction, Histogram};
use rusqlite::OptionalExtension;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The result of one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseResult {
    /// Name of the plan.
    pub plan: String,
    /// Name of the stage.
    pub stage: String,
    /// Name of the case within its stage.
    pub case: String,
    /// All settings of the case: sizes in bytes, times in seconds, shares in percent.
    pub settings: Settings,
    /// What was measured, as on the command line.
    pub target: String,
    /// What issued the load.
    pub engine: String,
    /// How the case ended.
    pub status: CaseStatus,
    /// The counted time, after the ramp.
    pub duration_s: f64,
    /// Operations of all directions a second, mean over `duration_s`.
    pub iops: f64,
    /// Bytes of all directions a second, mean over `duration_s`.
    pub bw_bytes_per_s: f64,
    /// Reads; null where nothing was read.
    pub read: Option<DirectionResult>,
    /// Writes; null where nothing was written.
    pub write: Option<DirectionResult>,
    /// Sustained level, where a cliff or a steady state was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sustained: Option<Sustained>,
    /// The same for each load, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loads: Option<Vec<LoadResult>>,
    /// Trims, where there were any. Few results have them, and a large campaign keeps many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<Box<DirectionResult>>,
    /// Why the case did not end as done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the reader of the result should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Where a twin simulated windows of the load, each of which stands for the time after it too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extrapolation: Option<ExtrapolationResult>,
    /// Processor time that the engine spent on each I/O, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns_per_io: Option<f64>,
    /// The same for each host, where several hosts issued the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<HostResult>>,
}

/// The result of one host of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostResult {
    /// Name of the host.
    pub host: String,
    /// Its counted time, after the ramp.
    pub duration_s: f64,
    /// Operations of all directions a second.
    pub iops: f64,
    /// Bytes of all directions a second.
    pub bw_bytes_per_s: f64,
    /// Reads; null where nothing was read.
    pub read: Option<DirectionResult>,
    /// Writes; null where nothing was written.
    pub write: Option<DirectionResult>,
    /// Trims, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<DirectionResult>,
}

/// How much of a case was simulated, and how sure its rate is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExtrapolationResult {
    /// Time that was simulated, the ramp included.
    pub simulated_s: f64,
    /// Time that was taken to be like the windows before it.
    pub carried_s: f64,
    /// Half the width of the 95 % confidence interval of the mean rate of I/Os, as a share of it.
    pub confidence_95: f64,
    /// The same of the latencies of reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<LatencyConfidence>,
    /// The same of the latencies of writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<LatencyConfidence>,
}

/// How sure the latencies of a direction are: half the widths of 95 % confidence intervals, as shares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyConfidence {
    /// Of the mean.
    pub mean_confidence_95: f64,
    /// Of the 99th percentile.
    pub p99_confidence_95: f64,
}

/// The result of one of several loads of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadResult {
    /// Name of the load.
    pub load: String,
    /// What it was run on.
    pub target: String,
    /// The counted time, after the ramp.
    pub duration_s: f64,
    /// Operations of all directions a second.
    pub iops: f64,
    /// Bytes of all directions a second.
    pub bw_bytes_per_s: f64,
    /// Reads; null where nothing was read.
    pub read: Option<DirectionResult>,
    /// Writes; null where nothing was written.
    pub write: Option<DirectionResult>,
    /// Sustained level, where a cliff or a steady state was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sustained: Option<Sustained>,
    /// Trims, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<DirectionResult>,
}

/// One direction of a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionResult {
    /// Operations that completed without error.
    pub ios: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Operations a second, mean over the counted time.
    pub iops: f64,
    /// Bytes a second, mean over the counted time.
    pub bw_bytes_per_s: f64,
    /// Completion latency; in open loop from the intended arrival.
    pub latency_ns: LatencyResult,
    /// In open loop, from issue to completion. Few results have it, and a large campaign keeps many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_ns: Option<Box<LatencyResult>>,
}

/// Latencies in nanoseconds. A figure that the source of the measurement does not give is null: a tool that prints
/// means alone has no percentiles, and none are made up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyResult {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: Option<u64>,
    /// The 95th percentile.
    pub p95: Option<u64>,
    /// The 99th percentile.
    pub p99: Option<u64>,
    /// The 99.9th percentile.
    #[serde(rename = "p99.9")]
    pub p99_9: Option<u64>,
    /// The 99.99th percentile, where there are enough I/Os for one to lie beyond it.
    #[serde(rename = "p99.99", default)]
    pub p99_99: Option<u64>,
    /// The smallest.
    pub min: Option<u64>,
    /// The largest.
    pub max: Option<u64>,
}

/// I/Os of which one lies beyond the 99.99th percentile.
const LEAST_FOR_P99_99: u64 = 10_000;

/// Sustained level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sustained {
    /// Operations a second.
    pub iops: f64,
    /// Bytes a second.
    pub bw_bytes_per_s: f64,
}

/// The JSON Schema of one line of `results --json`.
pub fn results_schema() -> Value {
    schemars::schema_for!(CaseResult).to_value()
}

impl CaseResult {
    /// A quantity by its path in the JSON: `iops`, `read.latency_ns.p99.9`, `sustained.bw_bytes_per_s`. `None` where the
    /// case has none.
    pub fn quantity(&self, path: &str) -> Option<f64> {
        let found = match path.split_once('.') {
            None => match path {
                "iops" => Some(self.iops),
                "bw_bytes_per_s" => Some(self.bw_bytes_per_s),
                _ => None,
            },
            Some(("read", rest)) => self.read.as_ref()?.quantity(rest),
            Some(("write", rest)) => self.write.as_ref()?.quantity(rest),
            Some(("sustained", "iops")) => self.sustained.map(|sustained| sustained.iops),
            Some(("sustained", "bw_bytes_per_s")) => self.sustained.map(|sustained| sustained.bw_bytes_per_s),
            Some(_) => None,
        };
        found.filter(|value| value.is_finite())
    }
}

impl DirectionResult {
    fn quantity(&self, path: &str) -> Option<f64> {
        let latency = &self.latency_ns;
        match path {
            "iops" => Some(self.iops),
            "bw_bytes_per_s" => Some(self.bw_bytes_per_s),
            "errors" => Some(self.errors as f64),
            // A direction whose every operation failed has no latency.
            _ if self.ios == 0 => None,
            "latency_ns.mean" => Some(latency.mean),
            "latency_ns.p50" => latency.p50.map(|ns| ns as f64),
            "latency_ns.p95" => latency.p95.map(|ns| ns as f64),
            "latency_ns.p99" => latency.p99.map(|ns| ns as f64),
            "latency_ns.p99.9" => latency.p99_9.map(|ns| ns as f64),
            "latency_ns.p99.99" => latency.p99_99.map(|ns| ns as f64),
            "latency_ns.min" => latency.min.map(|ns| ns as f64),
            "latency_ns.max" => latency.max.map(|ns| ns as f64),
            _ => None,
        }
    }
}

impl LatencyResult {
    /// The figures of a histogram.
    pub fn of(histogram: &Histogram) -> LatencyResult {
        LatencyResult {
            mean: histogram.mean_ns(),
            p50: histogram.known_percentile_ns(500_000),
            p95: histogram.known_percentile_ns(950_000),
            p99: histogram.known_percentile_ns(990_000),
            p99_9: histogram.known_percentile_ns(999_000),
            min: histogram.known_min_ns(),
            max: histogram.known_max_ns(),
            p99_99: histogram.known_percentile_ns(999_900).filter(|_| histogram.count() >= LEAST_FOR_P99_99),
        }
    }
}

impl DirectionResult {
    fn of(totals: &DirectionTotals, duration_ns: u64) -> DirectionResult {
        DirectionResult {
            ios: totals.ios,
            bytes: totals.bytes,
            errors: totals.errors,
            iops: rate(totals.ios, duration_ns),
            bw_bytes_per_s: rate(totals.bytes, duration_ns),
            latency_ns: LatencyResult::of(&totals.latency),
            service_ns: totals.service.as_ref().map(|service| Box::new(LatencyResult::of(service))),
        }
    }
}

pub(crate) fn seconds(duration_ns: u64) -> f64 {
    duration_ns as f64 / 1e9
}

fn rate(count: u64, duration_ns: u64) -> f64 {
    if duration_ns == 0 { 0.0 } else { count as f64 / seconds(duration_ns) }
}

/// A row of `outcomes` with its case.
struct OutcomeRow {
    attempt_id: i64,
    case_index: u32,
    duration_ns: u64,
    result: CaseResult,
    settings: String,
    status: String,
}

impl RunReader {
    /// The results of all cases that came to an outcome, in the order of the plan. The same measurements give the
    /// same bytes: nothing in a result depends on when or where it was measured but the measurement itself.
    pub fn results(&self) -> Result<Vec<CaseResult>, StoreError> {
        Ok(self.indexed_results()?.into_iter().map(|(_, result)| result).collect())
    }

    /// Lists the results as [`RunReader::results`] does, each with the index of its case.
    pub fn indexed_results(&self) -> Result<Vec<(u32, CaseResult)>, StoreError> {
        self.select_results("", [])
    }

    /// The result of one case; `None` where it came to no outcome yet.
    pub fn result(&self, case_index: u32) -> Result<Option<CaseResult>, StoreError> {
        let found = self.select_results("WHERE cases.id = ?1", [case_index])?;
        Ok(found.into_iter().next().map(|(_, result)| result))
    }

    fn select_results(
        &self,
        condition: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<Vec<(u32, CaseResult)>, StoreError> {
        // Not over the view `result_attempts`, which SQLite makes anew for each case that is asked for.
        let mut statement = self.prepare(&format!(
            "SELECT outcomes.attempt_id, cases.id, cases.plan, cases.stage, cases.name, cases.settings,
                    outcomes.target, outcomes.engine, outcomes.status, outcomes.duration_ns, outcomes.error,
                    outcomes.simulated_ns, outcomes.carried_ns, outcomes.confidence_95
             FROM cases
             JOIN outcomes ON outcomes.attempt_id =
                 (SELECT max(attempt_id) FROM outcomes AS counted WHERE counted.case_id = cases.id)
             {condition}
             ORDER BY cases.id"
        ))?;
        // What few cases or none have is read once for all of them, or not at all.
        let has_confidences = self.has_rows("latency_confidences")?;
        let has_hosts = self.has_rows("case_hosts")?;
        let has_warnings = self.has_rows("warnings")?;
        let rows = statement.query_map(parameters, outcome_row).map_err(|error| self.failed(error))?;
        let mut results = Vec::new();
        for row in rows {
            let row = row.map_err(|error| self.failed(error))?;
            let loads = self.load_outcomes(row.attempt_id)?;
            let mut result = row.result;
            result.settings = self.parse_settings(row.case_index, &row.settings)?;
            result.status = self.parse_status(&row.status)?;
            if has_warnings {
                result.warnings = self.warnings_of(row.attempt_id)?;
            }
            if let Some(extrapolation) = &mut result.extrapolation
                && has_confidences
            {
                let known = |direction| self.latency_confidence(row.attempt_id, direction);
                (extrapolation.read, extrapolation.write) = (known("read")?, known("write")?);
            }
            add_totals(&mut result, &loads, row.duration_ns);
            if has_hosts {
                let hosts = self.host_totals_of(row.attempt_id)?;
                result.hosts = (!hosts.is_empty()).then(|| hosts.iter().map(host_result).collect());
            }
            results.push((row.case_index, result));
        }
        Ok(results)
    }

    /// Returns the confidence of a direction's latencies; `None` where the direction did nothing or the run has no
    /// confidence.
    fn latency_confidence(
        &self,
        attempt_id: i64,
        direction: &str,
    ) -> Result<Option<LatencyConfidence>, StoreError> {
        let did_any: Option<i64> = self.read_one(
            "SELECT 1 FROM totals WHERE attempt_id = ?1 AND direction = ?2 AND ios > 0 LIMIT 1",
            rusqlite::params![attempt_id, direction],
        )?;
        if did_any.is_none() {
            return Ok(None);
        }
        let mut statement = self.prepare(
            "SELECT mean_confidence_95, p99_confidence_95 FROM latency_confidences
             WHERE attempt_id = ?1 AND direction = ?2",
        )?;
        let found = statement.query_row(rusqlite::params![attempt_id, direction], |row| {
            Ok(LatencyConfidence { mean_confidence_95: row.get(0)?, p99_confidence_95: row.get(1)? })
        });
        found.optional().map_err(|error| self.failed(error))
    }

    /// The totals of each load of a case that came to an outcome, with their histograms.
    pub fn totals(&self, case_index: u32) -> Result<Vec<LoadOutcome>, StoreError> {
        match self.counted_attempt(case_index)? {
            Some(attempt_id) => self.load_outcomes(attempt_id),
            None => Ok(Vec::new()),
        }
    }

    fn load_outcomes(&self, attempt_id: i64) -> Result<Vec<LoadOutcome>, StoreError> {
        let mut statement = self.prepare(
            "SELECT case_loads.position, loads.name, case_loads.target, case_loads.duration_ns,
                    totals.direction, totals.ios, totals.bytes, totals.errors, latency.encoded, service.encoded,
                    case_loads.cpu_ns
             FROM case_loads
             JOIN loads ON loads.id = case_loads.load_id
             LEFT JOIN totals ON totals.attempt_id = case_loads.attempt_id AND totals.load_id = case_loads.load_id
             LEFT JOIN histograms AS latency ON latency.id = totals.latency_id
             LEFT JOIN histograms AS service ON service.id = totals.service_id
             WHERE case_loads.attempt_id = ?1
             ORDER BY case_loads.position",
        )?;
        let mut rows = statement.query([attempt_id]).map_err(|error| self.failed(error))?;
        let mut loads: Vec<LoadOutcome> = Vec::new();
        let mut current = None;
        while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
            let position: i64 = row.get(0).map_err(|error| self.failed(error))?;
            if current != Some(position) {
                let load = || -> rusqlite::Result<LoadOutcome> {
                    let (name, target, duration_ns) = (row.get(1)?, row.get(2)?, row.get(3)?);
                    Ok(LoadOutcome {
                        name,
                        target,
                        duration_ns,
                        cpu_ns: row.get(10)?,
                        ..LoadOutcome::default()
                    })
                };
                loads.push(load().map_err(|error| self.failed(error))?);
                current = Some(position);
            }
            if let (Some(load), Some((direction, part))) = (loads.last_mut(), self.direction_sample(row, 4)?)
            {
                *load.direction_mut(direction) = Some(DirectionTotals {
                    ios: part.ios,
                    bytes: part.bytes,
                    errors: part.errors,
                    latency: part.latency,
                    service: part.service,
                });
            }
        }
        Ok(loads)
    }

    fn warnings_of(&self, attempt_id: i64) -> Result<Vec<String>, StoreError> {
        let mut statement = self.prepare("SELECT text FROM warnings WHERE attempt_id = ?1 ORDER BY id")?;
        let rows = statement.query_map([attempt_id], |row| row.get(0)).map_err(|error| self.failed(error))?;
        rows.collect::<rusqlite::Result<_>>().map_err(|error| self.failed(error))
    }
}

fn outcome_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<OutcomeRow> {
    let duration_ns = row.get(9)?;
    Ok(OutcomeRow {
        attempt_id: row.get(0)?,
        case_index: row.get(1)?,
        duration_ns,
        settings: row.get(5)?,
        status: row.get(8)?,
        result: CaseResult {
            plan: row.get(2)?,
            stage: row.get(3)?,
            case: row.get(4)?,
            settings: Settings::default(),
            target: row.get(6)?,
            engine: row.get(7)?,
            status: CaseStatus::Done,
            duration_s: seconds(duration_ns),
            iops: 0.0,
            bw_bytes_per_s: 0.0,
            read: None,
            write: None,
            sustained: None,
            loads: None,
            trim: None,
            error: row.get(10)?,
            warnings: Vec::new(),
            extrapolation: extrapolation(row)?,
            cpu_ns_per_io: None,
            hosts: None,
        },
    })
}

fn extrapolation(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<ExtrapolationResult>> {
    let (simulated_ns, carried_ns, confidence_95): (Option<u64>, Option<u64>, Option<f64>) =
        (row.get(11)?, row.get(12)?, row.get(13)?);
    let (Some(simulated_ns), Some(carried_ns), Some(confidence_95)) =
        (simulated_ns, carried_ns, confidence_95)
    else {
        return Ok(None);
    };
    let (simulated_s, carried_s) = (seconds(simulated_ns), seconds(carried_ns));
    Ok(Some(ExtrapolationResult { simulated_s, carried_s, confidence_95, read: None, write: None }))
}

pub(crate) fn add_totals(result: &mut CaseResult, loads: &[LoadOutcome], duration_ns: u64) {
    let part = |direction| merged(loads, direction).map(|totals| DirectionResult::of(&totals, duration_ns));
    result.read = part(Direction::Read);
    result.write = part(Direction::Write);
    result.trim = part(Direction::Trim).map(Box::new);
    (result.iops, result.bw_bytes_per_s) = sums(loads, duration_ns);
    result.cpu_ns_per_io = cpu_ns_per_io(loads);
    if loads.len() > 1 {
        result.loads =
            Some(loads.iter().map(|load| load_result(load, &result.target, duration_ns)).collect());
    }
}

/// Totals of one direction over several loads.
fn merged(loads: &[LoadOutcome], direction: Direction) -> Option<DirectionTotals> {
    let mut totals: Option<DirectionTotals> = None;
    for part in loads.iter().filter_map(|load| load.direction(direction)) {
        totals.get_or_insert_default().merge(part);
    }
    totals
}

fn host_result(host: &HostTotals) -> HostResult {
    let part = |direction| {
        merged(&host.loads, direction).map(|totals| DirectionResult::of(&totals, host.duration_ns))
    };
    let (iops, bw_bytes_per_s) = sums(&host.loads, host.duration_ns);
    HostResult {
        host: host.host.clone(),
        duration_s: seconds(host.duration_ns),
        iops,
        bw_bytes_per_s,
        read: part(Direction::Read),
        write: part(Direction::Write),
        trim: part(Direction::Trim),
    }
}

fn load_result(load: &LoadOutcome, target: &str, duration_ns: u64) -> LoadResult {
    let duration_ns = load.duration_ns.unwrap_or(duration_ns);
    let part = |direction| load.direction(direction).map(|totals| DirectionResult::of(totals, duration_ns));
    let (iops, bw_bytes_per_s) = sums(std::slice::from_ref(load), duration_ns);
    LoadResult {
        load: load.name.clone(),
        target: load.target.clone().unwrap_or_else(|| target.to_owned()),
        duration_s: seconds(duration_ns),
        iops,
        bw_bytes_per_s,
        read: part(Direction::Read),
        write: part(Direction::Write),
        sustained: None,
        trim: part(Direction::Trim),
    }
}

/// Processor time of an I/O over all loads; `None` where one of them does not tell.
fn cpu_ns_per_io(loads: &[LoadOutcome]) -> Option<f64> {
    let cpu_ns = loads.iter().map(|load| load.cpu_ns).sum::<Option<u64>>()?;
    let totals = loads.iter().flat_map(|load| [&load.read, &load.write, &load.trim]);
    let ios: u64 = totals.flatten().map(|totals| totals.ios).sum();
    (ios > 0).then(|| cpu_ns as f64 / ios as f64)
}

fn sums(loads: &[LoadOutcome], duration_ns: u64) -> (f64, f64) {
    let mut ios = 0;
    let mut bytes = 0;
    for load in loads {
        for totals in [&load.read, &load.write, &load.trim].into_iter().flatten() {
            ios += totals.ios;
            bytes += totals.bytes;
        }
    }
    (rate(ios, duration_ns), rate(bytes, duration_ns))
}
