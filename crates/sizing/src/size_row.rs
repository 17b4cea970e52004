//! Answer about one design in one state.

use crate::headroom::TIMES_LIMIT;
use crate::requirement::Requirement;
use crate::state::State;
use crate::{Configuration, ModelError, PartBusy, Validated, model_error};
use array::Bill;
use load::Sample;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Verdict about an array in a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SizeVerdict {
    /// The whole range of the headroom is at least 1.
    Meets,
    /// The range has 1 inside.
    TooCloseToCall,
    /// The whole range is below 1, or data is lost or out of reach.
    Fails,
    /// The simulation did not settle.
    NotShown,
    /// The model does not have the state.
    NotModelled,
}

impl SizeVerdict {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            SizeVerdict::Meets => "meets",
            SizeVerdict::TooCloseToCall => "too-close-to-call",
            SizeVerdict::Fails => "fails",
            SizeVerdict::NotShown => "not-shown",
            SizeVerdict::NotModelled => "not-modelled",
        }
    }
}

/// Grounds on which a design cannot be better than one that costs no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LeftOut {
    /// Its ceilings.
    Arithmetic,
    /// One simulated multiple of the workload, which it does not carry.
    Simulation,
    /// Each of its I/Os demands at least as much of every part, and it was no faster in a short simulation.
    Comparison,
}

/// Simulated multiple of the workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SizePoint {
    /// Times the workload.
    pub times: f64,
    /// I/Os a second that were delivered.
    pub iops: f64,
    /// Mean latency, in nanoseconds.
    pub mean_ns: f64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// The rate was delivered.
    pub kept_up: bool,
    /// The level no longer changed when the simulation ended.
    pub is_steady: bool,
    /// The latencies that the requirements bound, in their order.
    pub required: Vec<RequiredLatency>,
    /// The part that is busy for the largest share of the time, and that share.
    #[serde(skip)]
    pub busiest: Option<PartBusy>,
    /// Its intervals, those of the warm-up as a ramp.
    #[serde(skip)]
    pub samples: Vec<Sample>,
}

/// Latency that a requirement bounds, at a simulated multiple.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RequiredLatency {
    /// The latency.
    pub latency_ns: f64,
    /// Range of that: 95 %, model and sampling together.
    pub latency_ns_95: [f64; 2],
    /// Relative half-width of the 95 % interval from sampling alone.
    pub sampling_95: f64,
}

/// Error of the model in a quantity, with its basis.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct QuantityError {
    /// The error.
    #[serde(flatten)]
    pub error: ModelError,
    /// Its basis.
    pub validated: Validated,
}

impl QuantityError {
    /// Error of a configuration's model in one of these quantities.
    pub(crate) fn of(configuration: &Configuration, metrics: &[&str]) -> QuantityError {
        let (error, validated) = model_error(configuration, metrics);
        QuantityError { error, validated }
    }
}

/// Errors of the model that the ranges of an answer have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SizeErrors {
    /// Of rates.
    pub iops: QuantityError,
    /// Of the latencies that the requirements bound, in their order.
    pub required: Vec<QuantityError>,
}

impl SizeErrors {
    pub(crate) fn of(design: &Configuration, state: State, requirements: &[Requirement]) -> SizeErrors {
        let design = state.mark(design);
        SizeErrors {
            iops: QuantityError::of(&design, &["iops"]),
            required: requirements.iter().map(|one| QuantityError::of(&design, one.metrics())).collect(),
        }
    }
}

/// Workload itself, simulated once, beside the requirement whose range reaches furthest towards its bound or beyond.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AtPeak {
    /// The requirement.
    pub requirement: String,
    /// Its bound, in nanoseconds.
    pub limit_ns: u64,
    /// The latency that it bounds.
    pub latency_ns: f64,
    /// Range of that: 95 %, model and sampling together.
    pub latency_ns_95: [f64; 2],
    /// I/Os a second that were delivered.
    pub iops: f64,
}

/// Answer about one design in one state.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeRow {
    /// The array.
    pub array: String,
    /// Keys of the space with their values.
    pub design: Map<String, Value>,
    /// The state.
    pub state: State,
    /// The verdict.
    pub verdict: SizeVerdict,
    /// Its reason where no headroom is.
    pub because: String,
    /// Times the workload that are carried.
    pub headroom: Option<f64>,
    /// Range of that.
    pub headroom_95: Option<[f64; 2]>,
    /// Bytes a second that the links carry each way at their line rate, which ends that range; `None` where that is not known.
    pub links_bytes_per_s: Option<f64>,
    /// First year, from 1, in which growth exceeds the headroom.
    pub breaks_in_year: Option<u32>,
    /// The same at both ends of the headroom's range: at worst and at best.
    pub breaks_in_year_95: Option<[Option<u32>; 2]>,
    /// Usable bytes; `None` where a kind of array does not say.
    pub usable_bytes: Option<u64>,
    /// First year in which what is stored exceeds the usable bytes.
    pub full_in_year: Option<u32>,
    /// Drives of all groups.
    pub drives: Option<u64>,
    /// Price and power of all parts; `None` where a kind of array does not say.
    pub bill: Option<Bill>,
    /// Bytes that drives are given for a byte that the workload writes.
    pub write_amplification: Option<f64>,
    /// Flash units that are programmed for one that a drive is given.
    pub flash_write_amplification: Option<f64>,
    /// Years until the drives have taken their rated writes.
    pub endurance_years: Option<f64>,
    /// Seconds of the rebuild of a lost drive: simulated in the state `rebuilding`, otherwise at the described rate.
    pub rebuild_s: Option<f64>,
    /// No other design has at most its cost and at least its headroom, and more of either. The cost is the price where all designs
    /// have one, otherwise the number of drives.
    pub pareto: bool,
    /// Reason why a search of a space did not determine its headroom; `None` where it did.
    pub left_out: Option<LeftOut>,
    /// Times the workload that it does not carry, where its headroom was not looked for.
    pub headroom_below: Option<f64>,
    /// Basis of the range.
    pub validated: Validated,
    /// Errors of the model in the ranges.
    pub model_error: SizeErrors,
    /// The workload itself; `None` where it was not simulated.
    pub at_peak: Option<AtPeak>,
    /// Simulated points, by rising multiple.
    pub points: Vec<SizePoint>,
}

impl SizeRow {
    /// Returns true if all multiples of the workload that were tried were carried: the headroom is at least the largest.
    pub fn carries_all(&self) -> bool {
        self.headroom.is_some_and(|headroom| headroom >= TIMES_LIMIT)
    }

    /// The array with the values of its design.
    pub fn name(&self) -> String {
        let texts = crate::change_texts(&self.design);
        std::iter::once(self.array.clone()).chain(texts).collect::<Vec<_>>().join(" ")
    }

    /// Name of the case of a point within its state.
    pub fn case_name(&self, point: &SizePoint) -> String {
        format!("array={},times={:.4}", self.name().replace([' ', '/'], "_"), point.times)
    }

    /// The busiest part of the smallest multiple that is not carried; of the largest, where all are.
    fn first_full(&self) -> Option<Value> {
        let over = |point: &&SizePoint| self.headroom.is_some_and(|headroom| point.times > headroom);
        let point = self.points.iter().find(over).or(self.points.last())?;
        let busiest = point.busiest?;
        let case = format!("{}/{}", self.state.name(), self.case_name(point));
        Some(json!({ "part": busiest.part, "share": busiest.share, "case": case }))
    }

    /// Price of all parts in US dollars; `None` where a part has none.
    pub fn cost_usd(&self) -> Option<f64> {
        self.bill.as_ref().and_then(|bill| bill.price_usd)
    }

    /// The line as `arraylab size --json` prints it.
    pub fn json(&self) -> Value {
        let cases: Vec<String> = self
            .points
            .iter()
            .map(|point| format!("{}/{}", self.state.name(), self.case_name(point)))
            .collect();
        json!({
            "array": self.array,
            "design": self.design,
            "state": self.state,
            "verdict": self.verdict,
            "because": self.because,
            "headroom": self.headroom,
            "headroom_95": self.headroom_95,
            "links_bytes_per_s": self.links_bytes_per_s,
            "breaks_in_year": self.breaks_in_year,
            "breaks_in_year_95": self.breaks_in_year_95,
            "usable_bytes": self.usable_bytes,
            "full_in_year": self.full_in_year,
            "drives": self.drives,
            "cost": self.cost_usd(),
            "without_price": self.bill.as_ref().map(|bill| &bill.without_price),
            "watts": self.bill.as_ref().and_then(|bill| bill.watts),
            "without_watts": self.bill.as_ref().map(|bill| &bill.without_watts),
            "write_amplification": self.write_amplification,
            "flash_write_amplification": self.flash_write_amplification,
            "endurance_years": self.endurance_years,
            "rebuild_s": self.rebuild_s,
            "pareto": self.pareto,
            "left_out": self.left_out,
            "headroom_below": self.headroom_below,
            "validated": self.validated,
            "model_error": self.model_error,
            "cases": cases,
            "points": self.points,
            "at_peak": self.at_peak,
            "first_full": self.first_full(),
        })
    }
}
