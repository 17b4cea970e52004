//! fio's JSON and JSON+.
//!
//! What is read is decided by the keys that are present, not by the version: builds between releases and
//! distributions' patches make the version a bad guide. The layout: `reference/formats.md`.

use std::collections::BTreeMap;

use load::{Direction, Histogram, bin_index};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::logs::IO_LIMIT;

/// The longest output that is read. 4096 jobs with full histograms need about 250 MB.
const OUTPUT_LIMIT_BYTES: usize = 512 << 20;
/// A sum of latencies above this is none; below it, sums over all jobs do not overflow.
const SUM_LIMIT_NS: f64 = (1u128 << 96) as f64;
/// The most lines of text around the JSON that are kept.
const TEXT_LINE_LIMIT: usize = 200;
/// The longest such line that is kept, in bytes.
const TEXT_LINE_LENGTH_LIMIT: usize = 1000;

/// JSON report of a fio run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Version as printed, such as `fio-3.42-135-gf5344`; empty where it is missing.
    pub fio_version: String,
    /// Time of the report, in milliseconds since 1970.
    pub unix_ms: Option<u64>,
    /// fio's words before, between and after the JSON.
    pub text: Vec<String>,
    /// Options of the job file's `[global]` section.
    pub global_options: BTreeMap<String, String>,
    /// The jobs; with `group_reporting`, the groups. "All clients" is not among them: it is their sum.
    pub jobs: Vec<Job>,
    /// Block devices under the target.
    pub disks: Vec<DiskUse>,
    /// Number of reports in the output (`--status-interval` makes several); this is the last complete one.
    pub report_count: usize,
    /// True where the output ended inside a report.
    pub is_truncated: bool,
}

/// One job.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Job {
    /// `jobname`.
    pub name: String,
    /// The fio server that ran it, in client mode.
    pub hostname: Option<String>,
    /// `groupid`.
    pub group_id: u64,
    /// Error number of the operating system that ended the job; 0 for none.
    pub error: i32,
    /// Errors that `continue_on_error` let pass.
    pub total_errors: u64,
    /// Start in milliseconds since 1970 (fio 3.37 and newer).
    pub start_unix_ms: Option<u64>,
    /// `job_runtime`: time that was counted, without the ramp; with `group_reporting` the sum over the group's jobs.
    pub runtime_ms: u64,
    /// CPU time in user mode, in percent of the job's time.
    pub user_cpu_percent: f64,
    /// CPU time in the kernel, in percent of the job's time.
    pub system_cpu_percent: f64,
    /// Context switches.
    pub context_switches: u64,
    /// The job's own options.
    pub options: BTreeMap<String, String>,
    /// Reads.
    pub read: JobDirection,
    /// Writes.
    pub write: JobDirection,
    /// Trims.
    pub trim: JobDirection,
    /// Result of `steadystate`, where it was requested.
    pub steady_state: Option<SteadyState>,
}

/// One direction of a job.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobDirection {
    /// `total_ios`: I/Os that were issued, also those that failed.
    pub ios: u64,
    /// Bytes that were moved.
    pub bytes: u64,
    /// Time in which this direction was active.
    pub runtime_ms: u64,
    /// I/Os that moved fewer bytes than requested.
    pub short_ios: u64,
    /// I/Os that fio gave up.
    pub drop_ios: u64,
    /// Completion latency, from submission to completion (`clat_ns`).
    pub completion: Latency,
    /// Total latency, from before submission to completion (`lat_ns`).
    pub total: Latency,
}

/// One kind of latency of one direction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Latency {
    /// `N`: how many were counted. After a ramp this can exceed `total_ios` by what was in flight when it ended.
    pub count: u64,
    /// The sum, from mean × N; exact as long as N is below a million (the mean has six decimals).
    pub sum_ns: u128,
    /// The smallest.
    pub min_ns: u64,
    /// The largest.
    pub max_ns: u64,
    /// Percentiles by fio, as (millionths, nanoseconds), of the one kind of latency that was requested.
    pub percentiles: Vec<(u32, u64)>,
    /// All bins, in JSON+.
    pub histogram: Option<Histogram>,
}

/// fio's own steady state.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SteadyState {
    /// Criterion that was tested, such as `iops:10%`.
    pub kind: String,
    /// True if the steady state was reached.
    pub is_attained: bool,
    /// The limit, such as `10.000000%`.
    pub criterion: String,
    /// Seconds that had to be steady.
    pub duration_s: u64,
    /// The slope, in units a second.
    pub slope: f64,
    /// The largest deviation from the mean.
    pub max_deviation: f64,
    /// I/Os a second in each second of the window, oldest first.
    pub iops: Vec<u64>,
}

/// `/proc/diskstats` counts of a block device while fio ran, ramp included.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DiskUse {
    /// The kernel's name.
    pub name: String,
    /// Reads that the device completed.
    pub read_ios: u64,
    /// Writes that the device completed.
    pub write_ios: u64,
    /// Sectors of 512 bytes that were read.
    pub read_sectors: u64,
    /// Sectors of 512 bytes that were written.
    pub write_sectors: u64,
    /// Share of the time in which the device was busy, in percent.
    pub util_percent: f64,
}

/// Errors of fio's output.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The output is longer than what is read.
    #[error("fio's output has {length_bytes} bytes, more than the {OUTPUT_LIMIT_BYTES} that are read")]
    TooLong {
        /// Its length.
        length_bytes: usize,
    },
    /// There is no JSON in it.
    #[error("fio's output holds no JSON object{}", message(text))]
    NoJson {
        /// Text of the output.
        text: Vec<String>,
    },
    /// The JSON ends early.
    #[error("fio's output ends in the middle of its first report{}", message(text))]
    Truncated {
        /// fio's words before it.
        text: Vec<String>,
    },
    /// The JSON is none, or has other types than fio's.
    #[error("fio's output, from line {first_line} on")]
    Malformed {
        /// Line at which the object starts, from 1; positions of `source` count from there.
        first_line: usize,
        /// Error in the JSON.
        source: serde_json::Error,
    },
}

impl diagnostic::Diagnostic for ReportError {}

impl ReportError {
    /// Returns the text that fio printed instead of a report.
    pub fn text(&self) -> &[String] {
        match self {
            ReportError::NoJson { text } | ReportError::Truncated { text } => text,
            ReportError::TooLong { .. } | ReportError::Malformed { .. } => &[],
        }
    }
}

fn message(text: &[String]) -> String {
    if text.is_empty() { String::new() } else { format!("; it says: {}", text.join("; ")) }
}

impl Job {
    /// One direction.
    pub fn direction(&self, direction: Direction) -> &JobDirection {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
            Direction::Trim => &self.trim,
        }
    }
}

/// Reads fio's output: text, then one or several objects, text between them.
pub fn read_report(output: &[u8]) -> Result<Report, ReportError> {
    if output.len() > OUTPUT_LIMIT_BYTES {
        return Err(ReportError::TooLong { length_bytes: output.len() });
    }
    let output = String::from_utf8_lossy(output);
    let mut text = Vec::new();
    let mut last = None;
    let mut report_count = 0;
    let mut is_truncated = false;
    let mut position = 0;
    while let Some(start) = next_object(&output, position, &mut text) {
        match parse_object(&output[start..]) {
            Ok((raw, length)) => {
                last = Some(raw);
                report_count += 1;
                position = start + length;
            }
            Err(error) if is_at_end(&error, &output[start..]) => {
                is_truncated = true;
                break;
            }
            Err(source) => {
                let first_line = output[..start].bytes().filter(|&byte| byte == b'\n').count() + 1;
                return Err(ReportError::Malformed { first_line, source });
            }
        }
    }
    match last {
        Some(raw) => Ok(Report { text, report_count, is_truncated, ..raw.into_report() }),
        None if is_truncated => Err(ReportError::Truncated { text }),
        None => Err(ReportError::NoJson { text }),
    }
}

/// The start of the next line that is exactly `{`. Lines before it are fio's words; braces may occur in them.
fn next_object(output: &str, from: usize, text: &mut Vec<String>) -> Option<usize> {
    let mut position = from;
    for line in output[from..].split_inclusive('\n') {
        let words = line.trim();
        if line.trim_end_matches(['\r', '\n']) == "{" {
            return Some(position);
        }
        if !words.is_empty() && words != "," && text.len() < TEXT_LINE_LIMIT {
            let mut end = words.len().min(TEXT_LINE_LENGTH_LIMIT);
            while !words.is_char_boundary(end) {
                end -= 1;
            }
            text.push(words[..end].to_owned());
        }
        position += line.len();
    }
    None
}

/// True where an error comes from the end of the text. A number that is cut (`0.`) is no early end to serde_json.
fn is_at_end(error: &serde_json::Error, text: &str) -> bool {
    let mut rest = text.split('\n').skip(error.line().saturating_sub(1));
    let line = rest.next().unwrap_or_default();
    error.is_eof() || (rest.next().is_none() && error.column() >= line.len())
}

/// The first object of a text, and its length. fio prints C's `nan` and `inf`, which are no JSON: on an error these
/// are replaced, each by as many characters, and the object is read again.
fn parse_object(text: &str) -> Result<(RawReport, usize), serde_json::Error> {
    fn parse(text: &str) -> Result<(RawReport, usize), serde_json::Error> {
        let mut stream = serde_json::Deserializer::from_str(text).into_iter::<RawReport>();
        match stream.next() {
            Some(Ok(raw)) => Ok((raw, stream.byte_offset())),
            Some(Err(error)) => Err(error),
            None => Err(serde::de::Error::custom("no object")),
        }
    }
    parse(text).or_else(|error| match without_nan(text) {
        Some(text) => parse(&text),
        None => Err(error),
    })
}

fn without_nan(text: &str) -> Option<String> {
    let mut clean = text.to_owned();
    for (wrong, zero) in [(": -nan", ": 0   "), (": nan", ": 0  "), (": -inf", ": 0   "), (": inf", ": 0  ")]
    {
        clean = clean.replace(wrong, zero);
    }
    (clean != text).then_some(clean)
}

/// A number that fio prints as a whole number or as a float, depending on the version; negative ones become 0.
#[derive(Debug, Clone, Copy, Default)]
struct Count(u64);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        Ok(Count(number.as_u64().unwrap_or_else(|| number.as_f64().unwrap_or(0.0) as u64)))
    }
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct RawReport {
    #[serde(rename = "fio version")]
    fio_version: String,
    timestamp: Option<Count>,
    timestamp_ms: Option<Count>,
    /// An object, or in client mode an array of one for each job file.
    #[serde(rename = "global options")]
    global_options: Value,
    jobs: Vec<RawJob>,
    client_stats: Vec<RawJob>,
    disk_util: Vec<RawDisk>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawJob {
    jobname: String,
    hostname: Option<String>,
    groupid: Count,
    error: i64,
    total_err: Count,
    job_start: Option<Count>,
    job_runtime: Count,
    usr_cpu: f64,
    sys_cpu: f64,
    ctx: Count,
    #[serde(rename = "job options")]
    options: Map<String, Value>,
    read: RawDirection,
    write: RawDirection,
    trim: RawDirection,
    steadystate: Option<RawSteadyState>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawDirection {
    io_bytes: Count,
    io_kbytes: Option<Count>,
    runtime: Count,
    total_ios: Count,
    short_ios: Count,
    drop_ios: Count,
    clat_ns: Option<RawLatency>,
    lat_ns: Option<RawLatency>,
    /// Microseconds, before fio 3.0.
    clat: Option<RawLatency>,
    /// Microseconds, before fio 3.0.
    lat: Option<RawLatency>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawLatency {
    min: Count,
    max: Count,
    mean: f64,
    #[serde(rename = "N")]
    count: Option<Count>,
    percentile: Map<String, Value>,
    bins: Map<String, Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawSteadyState {
    ss: String,
    duration: Count,
    attained: Count,
    /// A number, or a text with a percent sign.
    criterion: Value,
    max_deviation: f64,
    slope: f64,
    data: RawSteadyStateData,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawSteadyStateData {
    iops: Vec<Count>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawDisk {
    name: String,
    read_ios: Count,
    write_ios: Count,
    read_sectors: Count,
    write_sectors: Count,
    util: f64,
}

impl RawReport {
    fn into_report(self) -> Report {
        let is_client = !self.client_stats.is_empty();
        let raw_jobs = if is_client { self.client_stats } else { self.jobs };
        let global_options = match self.global_options {
            Value::Object(options) => options,
            Value::Array(files) => files
                .into_iter()
                .filter_map(|file| if let Value::Object(options) = file { Some(options) } else { None })
                .flatten()
                .collect(),
            _ => Map::new(),
        };
        Report {
            fio_version: self.fio_version,
            unix_ms: self
                .timestamp_ms
                .map(|time| time.0)
                .or(self.timestamp.map(|time| time.0.saturating_mul(1000))),
            global_options: texts(global_options),
            jobs: raw_jobs
                .into_iter()
                .filter(|job| !(is_client && job.jobname == "All clients"))
                .map(RawJob::into_job)
                .collect(),
            disks: self.disk_util.into_iter().map(RawDisk::into_disk).collect(),
            ..Report::default()
        }
    }
}

fn texts(options: Map<String, Value>) -> BTreeMap<String, String> {
    let text = |value| if let Value::String(text) = value { text } else { value.to_string() };
    options.into_iter().map(|(name, value)| (name, text(value))).collect()
}

impl RawJob {
    fn into_job(self) -> Job {
        Job {
            name: self.jobname,
            hostname: self.hostname,
            group_id: self.groupid.0,
            error: i32::try_from(self.error).unwrap_or(i32::MAX),
            total_errors: self.total_err.0,
            start_unix_ms: self.job_start.map(|time| time.0),
            runtime_ms: self.job_runtime.0,
            user_cpu_percent: self.usr_cpu,
            system_cpu_percent: self.sys_cpu,
            context_switches: self.ctx.0,
            options: texts(self.options),
            read: self.read.into_direction(),
            write: self.write.into_direction(),
            trim: self.trim.into_direction(),
            steady_state: self.steadystate.map(RawSteadyState::into_steady_state),
        }
    }
}

impl RawDirection {
    fn into_direction(self) -> JobDirection {
        let latency = |ns: Option<RawLatency>, us: Option<RawLatency>| match (ns, us) {
            (Some(latency), _) => latency.into_latency(1, self.total_ios.0),
            (None, Some(latency)) => latency.into_latency(1000, self.total_ios.0),
            (None, None) => Latency::default(),
        };
        JobDirection {
            ios: self.total_ios.0,
            // Before fio 3.0, `io_bytes` was in KiB, and `io_kbytes` did not exist.
            bytes: if self.io_kbytes.is_some() {
                self.io_bytes.0
            } else {
                self.io_bytes.0.saturating_mul(1024)
            },
            runtime_ms: self.runtime.0,
            short_ios: self.short_ios.0,
            drop_ios: self.drop_ios.0,
            completion: latency(self.clat_ns, self.clat),
            total: latency(self.lat_ns, self.lat),
        }
    }
}

impl RawLatency {
    fn into_latency(self, unit_ns: u64, total_ios: u64) -> Latency {
        let count = self.count.map_or(total_ios, |count| count.0);
        let sum_ns = (self.mean.max(0.0) * unit_ns as f64 * count as f64).round().min(SUM_LIMIT_NS) as u128;
        let (min_ns, max_ns) = (self.min.0.saturating_mul(unit_ns), self.max.0.saturating_mul(unit_ns));
        let percentiles = self
            .percentile
            .iter()
            .filter_map(|(share, value)| {
                let millionths = (share.parse::<f64>().ok()? * 10_000.0).round();
                (0.0..=1e6).contains(&millionths).then_some(())?;
                Some((millionths as u32, count_of(value)?.saturating_mul(unit_ns)))
            })
            .collect();
        let mut histogram = None;
        for (middle, counted) in &self.bins {
            // fio 2 has the geometry among the bins; its keys are no numbers.
            let (Ok(middle), Some(counted)) = (middle.parse::<u64>(), count_of(counted)) else { continue };
            let histogram = histogram.get_or_insert_with(Histogram::new);
            let counted = counted.min(IO_LIMIT - histogram.count());
            histogram.add_bin(bin_index(middle.saturating_mul(unit_ns)), counted);
        }
        if let Some(histogram) = &mut histogram
            && histogram.count() > 0
        {
            histogram.set_exact(sum_ns, min_ns, max_ns.max(min_ns));
        }
        Latency { count, sum_ns, min_ns, max_ns, percentiles, histogram }
    }
}

fn count_of(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_f64().map(|float| float as u64))
}

impl RawSteadyState {
    fn into_steady_state(self) -> SteadyState {
        SteadyState {
            kind: self.ss,
            is_attained: self.attained.0 != 0,
            criterion: if let Value::String(text) = self.criterion {
                text
            } else {
                self.criterion.to_string()
            },
            duration_s: self.duration.0,
            slope: self.slope,
            max_deviation: self.max_deviation,
            iops: self.data.iops.into_iter().map(|count| count.0).collect(),
        }
    }
}

impl RawDisk {
    fn into_disk(self) -> DiskUse {
        DiskUse {
            name: self.name,
            read_ios: self.read_ios.0,
            write_ios: self.write_ios.0,
            read_sectors: self.read_sectors.0,
            write_sectors: self.write_sectors.0,
            util_percent: self.util,
        }
    }
}
