//! Observation: finished cases of a run with intervals, utilisation, events and limits.
//!
//! Read once from the run directory and light enough to keep whole: intervals without histograms, counters reduced to
//! how busy each part was. Everything that finds facts works on this and never on the store.

mod counters;
mod limits;
mod of_samples;
mod read;

pub use counters::{PartUtilisation, UsePoint};
pub(crate) use counters::{is_read as is_counter_read, over_time as counters_over_time};
pub(crate) use limits::{of_case as limits_of_case, visit_cases_of};
pub(crate) use read::{needs_counters, rounds};

use crate::unwritten_reads::UNWRITTEN_MOST;
use crate::{FoundLoad, Rate};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;
use store::{CaseResult, Settings};

/// A run to draw findings from.
#[derive(Debug, Clone, Default)]
pub struct Observation {
    /// The plan's name.
    pub plan: String,
    /// Cases that are done, in the order of the plan.
    pub cases: Vec<ObservedCase>,
    /// Cases that are not, with why: stage, case, reason.
    pub missing: Vec<Missing>,
    /// Stages whose cases are rounds that go on from one another, in the order of the plan.
    pub rounds: Vec<(String, plan::Rounds)>,
}

/// The engine of results from a twin.
const SIMULATED: &str = "sim";

/// A case without measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The stage.
    pub stage: String,
    /// The case.
    pub case: String,
    /// Reason why there is no measurement.
    pub reason: String,
}

/// A case that was measured.
#[derive(Debug, Clone)]
pub struct ObservedCase {
    /// Its stage.
    pub stage: String,
    /// Its name.
    pub name: String,
    /// Its settings.
    pub settings: Settings,
    /// Its totals, which a report shares: a large campaign has as many as cases.
    pub result: Arc<CaseResult>,
    /// Its intervals, summed over its loads.
    pub intervals: Vec<Interval>,
    /// The intervals of each load, where there are several.
    pub loads: Vec<(String, Vec<Interval>)>,
    /// Utilisation of parts over the counted time.
    pub busy: Vec<Busy>,
    /// Bytes that paths transferred in the counted time.
    pub carried: Vec<PathTraffic>,
    /// Counters of the data services of a twin: growth over the counted time, and of levels the last value.
    pub services: Vec<ServiceCount>,
    /// Mean number of commands that waited for room in a twin's controllers.
    pub waiting_commands: f64,
    /// Share of its reads that were of unwritten addresses and read nothing.
    pub unwritten_share: f64,
    /// Events while it ran, in order of time.
    pub moments: Vec<Moment>,
    /// Limits that were set for it or while it ran, in order of time.
    pub limits: Vec<LimitChange>,
    /// Result of its search, where it is one.
    pub found_load: Option<FoundLoad>,
}

/// Counts of one direction in an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Flow {
    /// Operations that completed without error.
    pub ios: f64,
    /// Bytes that they moved.
    pub bytes: f64,
    /// Operations that failed.
    pub errors: u64,
    /// Sum of their latencies.
    pub latency_sum_ns: f64,
}

/// An interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Interval {
    /// Its start, since the start of the case's load.
    pub start_s: f64,
    /// Its end.
    pub end_s: f64,
    /// True in the ramp.
    pub is_ramp: bool,
    /// Reads.
    pub read: Flow,
    /// Writes.
    pub write: Flow,
}

/// Utilisation of one resource of one part, 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Busy {
    /// Name of the part's resource.
    pub of: Arc<PartResource>,
    /// The share of the counted time that it was busy.
    pub share: f64,
}

/// Counter of a data service over the counted time.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceCount {
    /// Name: the service, and its counter as the resource.
    pub of: Arc<PartResource>,
    /// Growth, or the last value of a level.
    pub value: f64,
}

/// Name of a resource of a part.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartResource {
    /// The kind of part: `link`, `controller`, `module`, `disk`, `cpu`.
    pub part: String,
    /// Identifier of the part among its kind.
    pub entity: String,
    /// Resource of the part.
    pub resource: String,
}

/// Names of parts, each kept once for all cases: a large campaign has the same ones in every case.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeSet<Arc<PartResource>>);

impl Names {
    /// The name as it is kept.
    fn get(&mut self, name: PartResource) -> Arc<PartResource> {
        if let Some(known) = self.0.get(&name) {
            return known.clone();
        }
        let new = Arc::new(name);
        self.0.insert(new.clone());
        new
    }
}

/// Traffic of one path.
#[derive(Debug, Clone, PartialEq)]
pub struct PathTraffic {
    /// The kind of path.
    pub paths: String,
    /// Identifier of the path among its kind.
    pub entity: String,
    /// Bytes, both directions.
    pub bytes: f64,
}

/// Event during a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Moment {
    /// Time, in seconds since the start of the case's load.
    pub at_s: f64,
    /// Description, in words.
    pub text: String,
}

/// A limit from a time on.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitChange {
    /// Time, in seconds since the start of the case's load.
    pub at_s: f64,
    /// The load it binds; all where `None`.
    pub load: Option<String>,
    /// Operations a second; `None` leaves them free.
    pub iops: Option<f64>,
    /// Bytes a second; `None` leaves them free.
    pub bw_bytes_per_s: Option<f64>,
}

impl ObservedCase {
    /// Returns true if it was simulated, not measured on a device.
    pub(crate) fn is_simulated(&self) -> bool {
        self.result.engine == SIMULATED
    }

    /// Returns true if so many reads were of unwritten addresses that its rate and latency say nothing of the target.
    pub(crate) fn reads_nothing(&self) -> bool {
        self.unwritten_share > UNWRITTEN_MOST
    }
}

impl Observation {
    /// Returns true if a simulated array was measured, not a device.
    pub(crate) fn is_of_twin(&self) -> bool {
        self.cases.first().is_some_and(ObservedCase::is_simulated)
    }
}

impl Flow {
    /// Adds another.
    pub fn add(&mut self, other: &Flow) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.latency_sum_ns += other.latency_sum_ns;
    }
}

impl Interval {
    /// Its length.
    pub fn length_s(&self) -> f64 {
        self.end_s - self.start_s
    }

    /// Both directions.
    pub fn all(&self) -> Flow {
        let mut all = self.read;
        all.add(&self.write);
        all
    }

    /// Operations a second.
    pub fn iops(&self) -> f64 {
        self.all().ios / self.length_s()
    }

    /// Bytes a second.
    pub fn bw_bytes_per_s(&self) -> f64 {
        self.all().bytes / self.length_s()
    }

    /// Mean latency; `None` where nothing completed.
    pub fn mean_latency_ns(&self) -> Option<f64> {
        let all = self.all();
        (all.ios > 0.0).then(|| all.latency_sum_ns / all.ios)
    }
}

impl Observation {
    /// True where a case is one of many rounds: too short for what is told from a course over time.
    pub(crate) fn is_round(&self, case: &ObservedCase) -> bool {
        self.rounds.iter().any(|(stage, _)| *stage == case.stage)
    }

    /// Stages of one case a round as one long case each, named by the stage: what shows over all rounds only.
    pub(crate) fn whole_stages(&self) -> Vec<ObservedCase> {
        self.rounds.iter().filter_map(|(stage, _)| self.whole_stage(stage)).collect()
    }

    fn whole_stage(&self, stage: &str) -> Option<ObservedCase> {
        let of_stage = || self.cases.iter().filter(|case| case.stage == stage);
        let first = of_stage().next()?;
        let is_alone = |case: &&ObservedCase| {
            of_stage().filter(|other| other.settings.get("repeat") == case.settings.get("repeat")).count()
                == 1
        };
        if of_stage().count() < 2 || !is_alone(&first) {
            return None;
        }
        let mut whole = first.clone();
        whole.name = stage.to_owned();
        let mut from_s = whole.intervals.last()?.end_s;
        for case in of_stage().skip(1) {
            whole.intervals.extend(case.intervals.iter().map(|interval| Interval {
                start_s: interval.start_s + from_s,
                end_s: interval.end_s + from_s,
                ..*interval
            }));
            from_s += case.intervals.last().map_or(0.0, |last| last.end_s);
        }
        Some(whole)
    }
}

impl ObservedCase {
    /// The intervals after the ramp, without a last one that is less than half as long as the others: its rate says
    /// little and its noise is another.
    pub fn counted(&self) -> Vec<Interval> {
        counted(&self.intervals)
    }

    /// Returns the counted time, in seconds.
    pub fn counted_s(&self) -> f64 {
        self.intervals.iter().filter(|interval| !interval.is_ramp).map(Interval::length_s).sum()
    }

    /// The value of a setting as a number.
    pub fn number(&self, setting: &str) -> Option<f64> {
        self.settings.get(setting).and_then(Value::as_f64)
    }

    /// The value of a setting as a word.
    pub fn word(&self, setting: &str) -> Option<&str> {
        self.settings.get(setting).and_then(Value::as_str)
    }

    /// True where it writes.
    pub fn writes(&self) -> bool {
        self.result.write.as_ref().is_some_and(|write| write.ios > 0)
    }

    /// Returns whether events, limits or loads that come and go change its rate.
    pub(crate) fn is_disturbed(&self) -> bool {
        let span = |series: &[Interval]| Some((series.first()?.start_s, series.last()?.end_s));
        let mut spans = self.loads.iter().map(|(_, series)| span(series));
        let come_and_go =
            spans.next().is_some_and(|first| first.is_none() || spans.any(|span| span != first));
        !self.moments.is_empty() || !self.limits.is_empty() || come_and_go
    }

    /// `stage/case`, the tail of identifiers.
    pub fn path(&self) -> String {
        format!("{}/{}", self.stage, self.name)
    }
}

/// Rate of one direction, or of both, over some intervals; 0 over none.
pub(crate) fn rate_over<'a>(
    intervals: impl IntoIterator<Item = &'a Interval>,
    flow: impl Fn(&Interval) -> Flow,
) -> Rate {
    let (mut total, mut time_s) = (Flow::default(), 0.0);
    for interval in intervals {
        total.add(&flow(interval));
        time_s += interval.length_s();
    }
    if time_s > 0.0 {
        Rate { iops: total.ios / time_s, bw_bytes_per_s: total.bytes / time_s }
    } else {
        Rate::default()
    }
}

pub(crate) fn counted(intervals: &[Interval]) -> Vec<Interval> {
    let mut counted: Vec<Interval> =
        intervals.iter().filter(|interval| !interval.is_ramp && interval.length_s() > 0.0).copied().collect();
    let typical_s = crate::statistics::median(counted.iter().map(Interval::length_s));
    if counted.len() > 1
        && let Some(last) = counted.last()
        && last.length_s() < typical_s / 2.0
    {
        counted.pop();
    }
    counted
}
