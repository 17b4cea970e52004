//! Case records: a case before, during and after its measurement.

use crate::Settings;
use load::{Direction, DirectionSample, Extrapolation, Histogram, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A case of a new run, as the plan expanded it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewCase {
    /// Name of the plan.
    pub plan: String,
    /// Name of the stage.
    pub stage: String,
    /// Name of the case within its stage.
    pub name: String,
    /// All settings resolved, in the order in which results show them.
    pub settings: Map<String, Value>,
    /// Duration estimated from the plan.
    pub estimated_duration_ns: u64,
    /// Upper bound of the bytes written, from the plan.
    pub estimated_write_bytes: u64,
}

/// How a case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CaseStatus {
    /// Measured.
    Done,
    /// The target, the engine or the disk failed.
    Failed,
    /// The array or its driver refused the settings.
    Refused,
    /// Nobody could make the settings: the case never ran.
    NotSettable,
}

impl CaseStatus {
    /// The word in results and in the database.
    pub fn name(self) -> &'static str {
        match self {
            CaseStatus::Done => "done",
            CaseStatus::Failed => "failed",
            CaseStatus::Refused => "refused",
            CaseStatus::NotSettable => "not-settable",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<CaseStatus> {
        [CaseStatus::Done, CaseStatus::Failed, CaseStatus::Refused, CaseStatus::NotSettable]
            .into_iter()
            .find(|status| status.name() == name)
    }
}

/// State of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseState {
    /// No attempt has been made.
    Pending,
    /// An attempt was begun that has no outcome: it is under way, or its process died.
    Begun,
    /// The last attempt with an outcome ended so.
    Ended(CaseStatus),
}

/// A case of a run and how far it is.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseRecord {
    /// Its place in the run, from 0.
    pub index: u32,
    /// Name of the plan.
    pub plan: String,
    /// Name of the stage.
    pub stage: String,
    /// Name of the case within its stage.
    pub name: String,
    /// All settings resolved.
    pub settings: Settings,
    /// Duration estimated from the plan.
    pub estimated_duration_ns: u64,
    /// Upper bound of the bytes written, from the plan.
    pub estimated_write_bytes: u64,
    /// State of the case. A new attempt under way at a failed case does not hide the failure.
    pub state: CaseState,
    /// Number of attempts begun.
    pub attempts: u32,
    /// Reason why it failed, was refused or not settable.
    pub error: Option<String>,
}

/// Totals of one direction over the counted part of a case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DirectionTotals {
    /// Operations that completed without error.
    pub ios: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Completion latency; in open loop from the intended arrival.
    pub latency: Histogram,
    /// Service latency of an open loop, from issue to completion.
    pub service: Option<Histogram>,
}

impl DirectionTotals {
    /// Adds what happened in an interval.
    pub fn add(&mut self, sample: &DirectionSample) {
        self.count(sample.ios, sample.bytes, sample.errors);
        self.time(&sample.latency, sample.service.as_ref());
    }

    /// Adds the totals of another load.
    pub fn merge(&mut self, other: &DirectionTotals) {
        self.count(other.ios, other.bytes, other.errors);
        self.time(&other.latency, other.service.as_ref());
    }

    fn count(&mut self, ios: u64, bytes: u64, errors: u64) {
        self.ios += ios;
        self.bytes += bytes;
        self.errors += errors;
    }

    fn time(&mut self, latency: &Histogram, service: Option<&Histogram>) {
        self.latency.merge(latency);
        if let Some(service) = service {
            self.service.get_or_insert_with(Histogram::new).merge(service);
        }
    }
}

/// Totals of one load over the counted part of a case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadOutcome {
    /// The name under which its samples were appended.
    pub name: String,
    /// Its own target, where that is not the case's.
    pub target: Option<String>,
    /// Its own counted time, where that is not the case's.
    pub duration_ns: Option<u64>,
    /// Processor time that the engine spent on the counted I/Os, where it is known.
    pub cpu_ns: Option<u64>,
    /// Reads; `None` where none were issued.
    pub read: Option<DirectionTotals>,
    /// Writes; `None` where none were issued.
    pub write: Option<DirectionTotals>,
    /// Trims; `None` where none were issued.
    pub trim: Option<DirectionTotals>,
}

impl LoadOutcome {
    /// The totals of a load's samples; those of the ramp do not count.
    pub fn of_samples(name: &str, samples: &[Sample]) -> LoadOutcome {
        let mut totals = LoadOutcome { name: name.into(), ..LoadOutcome::default() };
        samples.iter().for_each(|sample| totals.add(sample));
        totals
    }

    /// The totals of one direction.
    pub fn direction(&self, direction: Direction) -> Option<&DirectionTotals> {
        match direction {
            Direction::Read => self.read.as_ref(),
            Direction::Write => self.write.as_ref(),
            Direction::Trim => self.trim.as_ref(),
        }
    }

    /// The totals of one direction, to fill in.
    pub fn direction_mut(&mut self, direction: Direction) -> &mut Option<DirectionTotals> {
        match direction {
            Direction::Read => &mut self.read,
            Direction::Write => &mut self.write,
            Direction::Trim => &mut self.trim,
        }
    }

    /// Adds what happened in an interval; intervals of the ramp are not counted.
    pub fn add(&mut self, sample: &Sample) {
        if sample.is_ramp {
            return;
        }
        for direction in Direction::ALL {
            let part = sample.direction(direction);
            if !part.is_empty() {
                self.direction_mut(direction).get_or_insert_default().add(part);
            }
        }
    }
}

/// Outcome and totals of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseOutcome {
    /// Status at the end.
    pub status: CaseStatus,
    /// Engine that issued the load: `sim`, `fio`, `ring`, `import`.
    pub engine: String,
    /// The target, as on the command line.
    pub target: String,
    /// The counted time, after the ramp; rates are means over it.
    pub duration_ns: u64,
    /// The totals of each load. Exact where the engine printed them; `Run::totals_from_samples` otherwise.
    pub loads: Vec<LoadOutcome>,
    /// Reason why it did not end as done.
    pub error: Option<String>,
    /// Warnings for the reader of the results.
    pub warnings: Vec<String>,
    /// Simulated share of the case, where windows represent the rest.
    pub extrapolation: Option<Extrapolation>,
}
