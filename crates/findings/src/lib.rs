//! Facts drawn from samples, and what they say about published claims; never how they are shown.
//!
//! [`find`] reads a run and gives its [`Findings`]: each a fact with its numbers, a stable identifier and the samples
//! it rests on. On findings stand [`Findings::claims`] (what a published test concluded: holds, refuted or not
//! shown) and [`compare`] (two runs of the same cases). Fields, definitions and constants are described in `docs/findings.md`.

#![doc = include_str!("../README.md")]

mod bounds;
mod change_point;
mod cited;
mod claims;
mod compare;
mod conformance;
mod disruption;
mod facts;
mod find;
mod finding;
mod found_load;
mod groups;
mod host_balance;
mod kept_level;
mod kept_plan;
mod level;
mod limit;
mod missed_event;
mod observation;
mod over_time;
mod path_balance;
mod penalty;
mod ramp_fall;
mod requirements;
mod selection;
mod statistics;
mod steady_state;
mod sustained;
mod text;
mod too_short;
mod trend;
mod unwritten_reads;
mod validation;
mod words;
mod write_cliff;

pub use bounds::LATENCY_BOUND_NS;
pub use change_point::{binary_segmentation, pelt};
pub use cited::{Cited, Number, Quantity, Source, Unit, has_no_digit, placeholders};
pub use claims::{Claim, ClaimResult, Known, Origin, Reason, Verdict, claim, claims_of};
pub use compare::{
    Bounds, CaseComparison, Comparison, FALSE_ALARM, Judgement, Metric, MetricComparison, SMALLEST_CHANGE,
    compare,
};
pub use facts::*;
pub use find::{Findings, find};
pub use finding::{Basis, Fact, Finding, Kind};
pub use kept_level::{KnownLevel, LevelError, RunResults, SUSTAINED_METHOD, SustainedLevels, results};
pub use kept_plan::kept_plan;
pub use missed_event::{MISSED_EVENT, TakenActions};
pub use observation::{
    Busy, Flow, Interval, LimitChange, Missing, Moment, Observation, ObservedCase, PartResource,
    PartUtilisation, PathTraffic, ServiceCount, UsePoint,
};
pub use over_time::{BusiestSpan, LatencyColumn, LatencyOverTime, busiest, latency_over_time, utilisation};
pub use requirements::{RequirementRow, RequirementVerdict, RunVerdict, requirements, run_verdict};
pub use steady_state::{
    FioCriterion, FioSteadyState, ROUNDS_LIMIT, RoundLog, RoundsOver, SteadyStateDetector, WINDOW_ROUNDS,
    Window,
};
pub use sustained::add_sustained;
pub use trend::{
    BAND_CONFIDENCE, InventoryChange, Trend, TrendChange, TrendValue, inventory_changes, trends,
};
pub use unwritten_reads::UNWRITTEN_READS_EVENT;
pub use validation::{VALIDATION, ValidationRow, validation_rows};
pub use words::{case as case_words, workload as workload_words};
