//! A run as its directory holds it: cases, their intervals and counters, events and warnings, and the plan's own text.

mod read;

use crate::histogram::Histogram;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Everything that is recomputed from.
#[derive(Debug, Default)]
pub struct Run {
    /// `manifest.json`.
    pub manifest: Value,
    /// The text of the manifest.
    pub manifest_text: String,
    /// The plan, read from the text that the run keeps.
    pub plan: Value,
    /// The text of the plan.
    pub plan_text: String,
    /// Claims of the plan as written; of a run whose plan has none, those of the shipped plan of its name.
    pub claims: Vec<Value>,
    /// Every case, in the order of the plan.
    pub cases: Vec<Case>,
    /// Texts of events.
    pub events: Vec<Event>,
    /// Texts of warnings that count, each as often as it was given.
    pub warnings: Vec<String>,
    /// Texts of settings that were changed.
    pub changes: Vec<String>,
    /// Errors of models, line by line of the reference that the report repeats.
    pub validation: Vec<Value>,
    /// Published tables by name, as rows of cells.
    pub published: BTreeMap<String, Vec<BTreeMap<String, String>>>,
}

/// A case with what was measured.
#[derive(Debug, Default, Clone)]
pub struct Case {
    /// Its stage.
    pub stage: String,
    /// Its name.
    pub name: String,
    /// Its settings.
    pub settings: Map<String, Value>,
    /// `done`, `failed`, …; `begun` or `pending` without an outcome.
    pub state: String,
    /// Reason of its failure.
    pub error: Option<String>,
    /// The counted time.
    pub duration_s: f64,
    /// Reads and writes over the counted time.
    pub totals: [Totals; 2],
    /// Intervals over all loads, those of the ramp included.
    pub intervals: Vec<Interval>,
    /// The intervals of each load, where there are several.
    pub loads: Vec<(String, Vec<Interval>)>,
    /// I/Os a second of each host, where several hosts issued the load.
    pub hosts: Vec<(String, f64)>,
    /// Counters.
    pub counters: Vec<Counter>,
    /// Events while it ran, in order.
    pub moments: Vec<Event>,
}

/// Totals of one direction over the counted time.
#[derive(Debug, Default, Clone)]
pub struct Totals {
    /// I/Os without error.
    pub ios: u64,
    /// Bytes.
    pub bytes: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// Completion latency.
    pub latency: Histogram,
}

/// Counts of one direction in an interval.
#[derive(Debug, Default, Clone, Copy)]
pub struct Flow {
    /// I/Os without error.
    pub ios: f64,
    /// Bytes.
    pub bytes: f64,
    /// I/Os that failed.
    pub errors: f64,
    /// Sum of latencies.
    pub latency_sum_ns: f64,
}

/// An interval.
#[derive(Debug, Default, Clone, Copy)]
pub struct Interval {
    /// Start and end since the load began.
    pub start_s: f64,
    /// End.
    pub end_s: f64,
    /// True if it is part of the ramp.
    pub is_ramp: bool,
    /// Reads and writes.
    pub flows: [Flow; 2],
}

/// A counter's values while a case ran.
#[derive(Debug, Default, Clone)]
pub struct Counter {
    /// `twin`, `cpu`, `disk`, ….
    pub source: String,
    /// Entity that it belongs to.
    pub entity: String,
    /// Name of the counter.
    pub name: String,
    /// Time since the load began, and value.
    pub points: Vec<(Option<f64>, f64)>,
}

/// An event.
#[derive(Debug, Default, Clone)]
pub struct Event {
    /// Its kind.
    pub kind: String,
    /// Its text.
    pub text: String,
    /// Time since the case's load began, in seconds.
    pub at_s: Option<f64>,
    /// Its data.
    pub data: Value,
}

impl Interval {
    /// Its length.
    pub fn length_s(&self) -> f64 {
        self.end_s - self.start_s
    }

    /// Both directions.
    pub fn all(&self) -> Flow {
        let [a, b] = self.flows;
        Flow {
            ios: a.ios + b.ios,
            bytes: a.bytes + b.bytes,
            errors: a.errors + b.errors,
            latency_sum_ns: a.latency_sum_ns + b.latency_sum_ns,
        }
    }

    /// I/Os a second.
    pub fn iops(&self) -> f64 {
        self.all().ios / self.length_s()
    }

    /// Mean latency, where anything completed.
    pub fn latency_ns(&self) -> Option<f64> {
        let all = self.all();
        (all.ios > 0.0).then(|| all.latency_sum_ns / all.ios)
    }
}

impl Case {
    /// The intervals that count: after the ramp, without a last one that is less than half as long as the others.
    pub fn counted(&self) -> Vec<Interval> {
        counted(&self.intervals)
    }

    /// I/Os of both directions a second.
    pub fn iops(&self) -> f64 {
        self.totals.iter().map(|one| one.ios).sum::<u64>() as f64 / self.duration_s
    }

    /// Bytes of both directions a second.
    pub fn bytes_per_s(&self) -> f64 {
        self.totals.iter().map(|one| one.bytes).sum::<u64>() as f64 / self.duration_s
    }

    /// Mean latency over all I/Os.
    pub fn mean_latency_ns(&self) -> f64 {
        let ios: u64 = self.totals.iter().map(|one| one.ios).sum();
        if ios == 0 {
            return 0.0;
        }
        self.totals.iter().map(|one| one.latency.mean_ns() * one.ios as f64).sum::<f64>() / ios as f64
    }

    /// Returns true if more than 1 % of its reads were of unwritten addresses: what it shows is of a map, not of an array.
    pub fn reads_nothing(&self) -> bool {
        let records = self.moments.iter().filter(|moment| moment.kind == "unwritten-reads");
        records.filter_map(|moment| moment.data["share"].as_f64()).any(|share| share > 0.01)
    }

    /// A number among its settings.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.settings.get(name).and_then(Value::as_f64)
    }

    /// A quantity of `results --json`.
    pub fn quantity(&self, path: &str) -> Option<f64> {
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        let of = match first {
            "iops" => return Some(self.iops()),
            "bw_bytes_per_s" => return Some(self.bytes_per_s()),
            "duration_s" => return Some(self.duration_s),
            "read" => &self.totals[0],
            "write" => &self.totals[1],
            _ => return None,
        };
        let latency = &of.latency;
        match rest {
            _ if of.ios == 0 && of.errors == 0 => None,
            "iops" => Some(of.ios as f64 / self.duration_s),
            "bw_bytes_per_s" => Some(of.bytes as f64 / self.duration_s),
            "errors" => Some(of.errors as f64),
            _ if of.ios == 0 => None,
            "latency_ns.mean" => Some(latency.mean_ns()),
            "latency_ns.min" => latency.min_ns().map(|ns| ns as f64),
            "latency_ns.max" => latency.max_ns().map(|ns| ns as f64),
            "latency_ns.p50" => latency.percentile_ns(500_000).map(|ns| ns as f64),
            "latency_ns.p95" => latency.percentile_ns(950_000).map(|ns| ns as f64),
            "latency_ns.p99" => latency.percentile_ns(990_000).map(|ns| ns as f64),
            "latency_ns.p99.9" => latency.percentile_ns(999_000).map(|ns| ns as f64),
            // With fewer none would lie beyond it.
            "latency_ns.p99.99" if latency.count() < 10_000 => None,
            "latency_ns.p99.99" => latency.percentile_ns(999_900).map(|ns| ns as f64),
            _ => None,
        }
    }
}

/// The intervals after the ramp, without a short last one.
pub fn counted(intervals: &[Interval]) -> Vec<Interval> {
    let mut counted: Vec<Interval> =
        intervals.iter().filter(|one| !one.is_ramp && one.length_s() > 0.0).copied().collect();
    let mut lengths: Vec<f64> = counted.iter().map(Interval::length_s).collect();
    lengths.sort_by(f64::total_cmp);
    let typical_s = crate::expression::median(&lengths);
    if counted.len() > 1 && counted.last().is_some_and(|last| last.length_s() < typical_s / 2.0) {
        counted.pop();
    }
    counted
}

impl Run {
    /// The case of this stage and name.
    pub fn case(&self, stage: &str, name: &str) -> Option<&Case> {
        self.cases.iter().find(|case| case.stage == stage && case.name == name)
    }

    /// Cases that are done.
    pub fn done(&self) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(|case| case.state == "done")
    }

    /// Cases that were left out with a reason.
    pub fn left_out(&self) -> &[Value] {
        self.manifest["left_out"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns true if a stage was left out because the array has none of the parts that it takes away.
    pub fn is_without_part(&self, stage: &str) -> bool {
        self.left_out().iter().any(|case| case["stage"] == stage && case["is_without_part"] == true)
    }
}
