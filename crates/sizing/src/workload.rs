//! Workload: what an application asks of storage at its peak, as streams that arrive whether or not storage keeps up.

use crate::SizingError;
use load::{DirectionRates, LoadSpec, RateCurve};
use plan::{Case, Selection};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use twin::Twin;

/// Most streams of a workload: as many as a stage of a plan has loads.
const STREAMS_LIMIT: usize = 1_024;
/// I/Os that may be under way in a job of a stream, or as many as all loads at once may have: enough that storage, not the stream, is what queues.
pub(crate) const IODEPTH: u32 = 1024;
/// Jobs of a stream that does not say how many issue it.
const JOBS: u32 = 8;
/// Simulated time of a workload, in seconds, unless its level is known before: a cache of tens of gigabytes takes so long to fill.
pub(crate) const RUNTIME_S: u64 = 3600;

/// Workload file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Title in one line.
    pub title: String,
    /// Source of its figures.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Facts that the source does not show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_known: Vec<String>,
    /// Bytes that are stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_bytes: Option<u64>,
    /// Bytes that it writes in a day, for the endurance of drives; without it the peak is taken to last all day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes_per_day: Option<u64>,
    /// Streams, all at once.
    pub streams: Vec<Stream>,
}

/// Stream of a workload. The plan language refuses settings that it does not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// Its name.
    pub name: String,
    /// I/Os a second at the peak.
    pub iops: f64,
    /// Even or Poisson arrivals (`linear`, `poisson`).
    #[serde(default = "poisson")]
    pub rate_process: String,
    /// Jobs that issue it.
    #[serde(default = "jobs")]
    pub numjobs: u32,
    /// Other settings in fio's words: `rw`, `bs` or `bssplit`, `rwmixread`, `size` of the working set, `random_distribution`.
    #[serde(flatten)]
    pub settings: Map<String, Value>,
}

fn poisson() -> String {
    "poisson".into()
}

fn jobs() -> u32 {
    JOBS
}

impl Stream {
    /// Stream of a rate with Poisson arrivals.
    pub fn new(name: String, iops: f64, settings: Map<String, Value>) -> Stream {
        Stream { name, iops, rate_process: poisson(), numjobs: JOBS, settings }
    }
}

impl Workload {
    /// Workload of what a source shows; its streams get names as loads of plans have them, each its own.
    pub(crate) fn of_source(
        title: String,
        source: String,
        not_known: Vec<String>,
        mut streams: Vec<Stream>,
    ) -> Workload {
        name_streams(&mut streams);
        Workload { title, source, not_known, capacity_bytes: None, written_bytes_per_day: None, streams }
    }

    /// Returns the text of a workload file; texts are quoted as in JSON, which YAML reads.
    pub fn text(&self) -> String {
        let quoted = |text: &str| Value::from(text).to_string();
        let mut text = format!("title: {}\n", quoted(&self.title));
        if !self.source.is_empty() {
            text.push_str(&format!("source: {}\n", quoted(&self.source)));
        }
        if !self.not_known.is_empty() {
            text.push_str("not_known:\n");
            self.not_known.iter().for_each(|one| text.push_str(&format!("  - {}\n", quoted(one))));
        }
        if let Some(bytes) = self.capacity_bytes {
            text.push_str(&format!("capacity_bytes: {bytes}\n"));
        }
        if let Some(bytes) = self.written_bytes_per_day {
            text.push_str(&format!("written_bytes_per_day: {bytes}\n"));
        }
        text.push_str("streams:\n");
        for stream in &self.streams {
            let mut pairs = vec![format!("name: {}", quoted(&stream.name)), format!("iops: {}", stream.iops)];
            pairs.push(format!("rate_process: {}", quoted(&stream.rate_process)));
            pairs.push(format!("numjobs: {}", stream.numjobs));
            pairs.extend(stream.settings.iter().map(|(name, value)| format!("{name}: {value}")));
            text.push_str(&format!("  - {{ {} }}\n", pairs.join(", ")));
        }
        text
    }

    /// Reads a workload file.
    pub fn parse(name: &str, text: &str) -> Result<Workload, SizingError> {
        let workload: Workload = plan::parse_yaml(name, text)?;
        let wrong =
            |message: String, hint: &str| Err(SizingError::question(format!("{name}: {message}"), hint));
        if workload.streams.is_empty() || workload.streams.len() > STREAMS_LIMIT {
            return wrong(
                format!("{} streams", workload.streams.len()),
                &format!("give 1 to {STREAMS_LIMIT} under `streams:`"),
            );
        }
        let mut names = BTreeSet::new();
        for stream in &workload.streams {
            if !(stream.iops > 0.0 && stream.iops <= plan::RATE_IOPS_LIMIT as f64) {
                return wrong(
                    format!("stream `{}`: `iops` is {}", stream.name, stream.iops),
                    "above 0, at most 10^9",
                );
            }
            if stream.numjobs == 0 {
                return wrong(format!("stream `{}`: `numjobs` is 0", stream.name), "at least 1");
            }
            // Each is a load of its name in a plan: of two with one name the first would be lost.
            if !names.insert(&stream.name) {
                return wrong(
                    format!("two streams are called `{}`", stream.name),
                    "give each a name of its own",
                );
            }
        }
        Ok(workload)
    }

    /// I/Os a second of all streams.
    pub fn iops(&self) -> f64 {
        self.streams.iter().map(|stream| stream.iops).sum()
    }

    /// The workload as a plan's case.
    pub fn case(&self, name: &str) -> Result<Case, SizingError> {
        let jobs: u64 = self.streams.iter().map(|stream| u64::from(stream.numjobs)).sum();
        let depth = (load::OUTSTANDING_LIMIT / jobs.max(1)).clamp(1, u64::from(IODEPTH));
        let settings = |stream: &Stream| {
            let mut settings = stream.settings.clone();
            settings.entry("rw").or_insert_with(|| "randrw".into());
            settings.insert("iodepth".into(), depth.into());
            settings.insert("numjobs".into(), stream.numjobs.into());
            settings.insert("rate_iops".into(), json!(stream.iops / f64::from(stream.numjobs)));
            settings.insert("rate_process".into(), stream.rate_process.clone().into());
            settings
        };
        let stage = match &self.streams[..] {
            [stream] => {
                let mut own = settings(stream);
                own.insert("runtime".into(), RUNTIME_S.into());
                json!({ "settings": own })
            }
            streams => {
                let loads: Map<String, Value> = streams
                    .iter()
                    .map(|stream| (stream.name.clone(), json!({ "settings": settings(stream) })))
                    .collect();
                // A case has settings that its loads override; what they are is of no meaning here.
                json!({ "settings": { "rw": "randrw", "bs": 4096, "runtime": RUNTIME_S }, "loads": loads })
            }
        };
        let document = json!({ "title": self.title, "stages": { "workload": stage } });
        let plan = plan::parse_plan("workload", name, &document.to_string())?;
        let cases = plan::expand(&plan, &Selection::default())?;
        cases.into_iter().next().ok_or_else(|| SizingError::question("there is no load", "give a stream"))
    }
}

/// Gives streams names as loads of plans have them (disks have names such as `0 C:`), each its own.
pub(crate) fn name_streams(streams: &mut [Stream]) {
    let mut taken = Vec::new();
    for stream in streams {
        stream.name = import::unique_name(&stream.name, "stream", &mut taken);
    }
}

/// I/Os a second that a case asks for; `None` where a load of it has no rate.
pub(crate) fn asked_iops(case: &Case) -> Option<f64> {
    match case.loads.is_empty() {
        true => load_iops(&case.load),
        false => case.loads.iter().map(|load| load_iops(&load.load)).sum(),
    }
}

/// Loads of a case with their first jobs and volumes.
pub(crate) fn loads(case: &Case) -> Vec<(&LoadSpec, u32, String)> {
    if case.loads.is_empty() {
        return vec![(&case.load, 0, String::new())];
    }
    let volume =
        |load: &plan::NamedLoad| load.settings.get("volume").map_or_else(String::new, ToString::to_string);
    let first = load::first_jobs(case.loads.iter().map(|load| &load.load));
    case.loads.iter().zip(first).map(|(load, job)| (&load.load, job, volume(load))).collect()
}

/// Bytes of the ranges of loads: several on one range have the same.
pub(crate) fn distinct_bytes<'a>(
    loads: impl IntoIterator<Item = &'a (&'a LoadSpec, u32, String)>,
    twin: &Twin,
) -> u64 {
    let range = |(spec, first_job, volume): &'a (&'a LoadSpec, u32, String)| {
        let bytes = spec.working_set_bytes(twin.capacity_of_job_bytes(*first_job));
        (volume, spec.offset_bytes, bytes)
    };
    let ranges: BTreeSet<_> = loads.into_iter().map(range).collect();
    ranges.iter().map(|(_, _, bytes)| bytes).sum()
}

/// Share of a load's I/Os that are writes, of those that are no trims.
pub(crate) fn write_share(spec: &LoadSpec) -> f64 {
    f64::from(100 - spec.pattern.fixed_read_share().unwrap_or(spec.rwmixread).min(100)) / 100.0
}

/// I/Os a second that one load asks for; `None` where it has no rate, or one that changes.
pub(crate) fn load_iops(load: &LoadSpec) -> Option<f64> {
    match load.shape.arrival.as_ref().map(|arrival| &arrival.rate) {
        Some(RateCurve::Constant { iops }) => Some(*iops),
        Some(_) => None,
        None => load.rate_iops,
    }
}

/// Returns true if a case keeps as many I/Os outstanding all the time: one load, for which no rate or trace says when they are issued.
pub(crate) fn is_closed_loop(case: &Case) -> bool {
    let shape = &case.load.shape;
    case.loads.is_empty()
        && case.load.rate_iops.is_none()
        && shape.arrival.is_none()
        && shape.rates == DirectionRates::default()
        && shape.replay.is_none()
}

/// Returns the case at a multiple of its rate.
pub(crate) fn times(case: &Case, factor: f64) -> Case {
    let mut case = case.clone();
    for load in case.loads.iter_mut().map(|load| &mut load.load).chain([&mut case.load]) {
        load.rate_iops = load.rate_iops.map(|rate| rate * factor);
        if let Some(arrival) = &mut load.shape.arrival
            && let RateCurve::Constant { iops } = &mut arrival.rate
        {
            *iops *= factor;
        }
    }
    case
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "title: A database\nstreams:\n  - { name: data, rw: randrw, rwmixread: 70, bs: 8k, iops: 9000 }\n  - { name: log, rw: write, bs: 16k, iops: 1000, rate_process: linear, numjobs: 1 }\n";

    /// Proves that a workload becomes a case with the rates it asks for, all times over as well.
    #[test]
    fn a_workload_is_a_case_with_its_rates() {
        let workload = Workload::parse("w.yaml", FILE).unwrap();
        let case = workload.case("w.yaml").unwrap();
        assert_eq!(case.loads.len(), 2);
        assert!((asked_iops(&case).unwrap() - 10_000.0).abs() < 1e-6);
        assert!((asked_iops(&times(&case, 2.5)).unwrap() - 25_000.0).abs() < 1e-6);
    }

    /// Proves that a workload that cannot be is refused with its reason.
    #[test]
    fn wrong_workloads_are_refused() {
        for (text, expected) in [
            ("title: a\nstreams: []\n", "0 streams"),
            ("title: a\nstreams:\n  - { name: x, iops: 0 }\n", "above 0"),
            ("title: a\nstreams:\n  - { name: x, iops: 5, numjobs: 0 }\n", "at least 1"),
            ("title: a\nstreams:\n  - { name: x }\n", "iops"),
            (
                "title: a\nstreams:\n  - { name: x, iops: 5 }\n  - { name: x, iops: 6 }\n",
                "two streams are called `x`",
            ),
            ("title: a\nstrems:\n  - { name: x, iops: 5 }\n", "strems"),
        ] {
            let refused = diagnostic::full_text(&Workload::parse("w.yaml", text).unwrap_err());
            assert!(refused.contains(expected), "{refused}");
        }
        let misspelt =
            Workload::parse("w.yaml", "title: a\nstreams:\n  - { name: x, iops: 5, blocksize: 4k }\n")
                .unwrap();
        let refused = diagnostic::full_text(&misspelt.case("w.yaml").unwrap_err());
        assert!(refused.contains("`bs`"), "{refused}");
    }
}
