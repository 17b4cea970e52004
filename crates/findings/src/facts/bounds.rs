//! Saturation facts: the peak of a group of cases, and where it lies.

use super::Map;
use serde::{Deserialize, Serialize};

/// Saturation: the load beyond which the rate no longer grows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Saturation {
    /// The setting that grows: `numjobs`, `iodepth`, `rate_iops`.
    pub setting: String,
    /// Settings that all cases of the group have in common.
    pub of: Map,
    /// True if the rate levels off within the values tested.
    pub reached: bool,
    /// The first value at which the rate has 90 % of the largest; absent where it does not level off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
    /// That value, or the largest tested where the rate does not level off within them: it takes as much at least.
    pub at_least: f64,
    /// The rate there; at the last value where it does not level off.
    pub iops: f64,
    /// The largest rate.
    pub maximum_iops: f64,
    /// Mean latency there.
    pub mean_latency_ns: f64,
    /// The values with their rates.
    pub points: Vec<[f64; 2]>,
}

/// The highest rate of a group of cases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Maximum {
    /// `iops` or `bw_bytes_per_s`.
    pub quantity: String,
    /// Settings that all cases of the group have in common.
    pub of: Map,
    /// The rate.
    pub value: f64,
    /// Operations a second of that case.
    pub iops: f64,
    /// Bytes a second of that case.
    pub bw_bytes_per_s: f64,
    /// Its mean latency.
    pub mean_latency_ns: f64,
    /// Cases compared.
    pub among: usize,
}

/// Kind of the event with which a run keeps a [`FoundLoad`], as its data.
pub const FOUND_LOAD_EVENT: &str = "max-under-latency";
/// Kind of the event that holds the question of a sizing run.
pub const SIZE_QUESTION_EVENT: &str = "size-question";
/// Kind of the events that hold its answers, one for each design and state.
pub const SIZE_EVENT: &str = "size";
/// Kind of the event that holds the question of a run about changes of an array.
pub const WHAT_IF_QUESTION_EVENT: &str = "what-if-question";
/// Kind of the events that hold its answers: one for each change, then one for each step of the walk from limit to limit.
pub const WHAT_IF_EVENT: &str = "what-if";

/// The largest load under a bound, as the search of a case (`find: max-under-latency`) found it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundLoad {
    /// Quantity that was varied: `rate`, I/Os a second over all jobs and loads, or `iodepth`, of each job.
    pub over: String,
    /// Latency that is bounded: `mean`, `p99`, ….
    pub of: String,
    /// The bound.
    pub below_ns: u64,
    /// `found`, `never-holds`, `always-holds` or `points-used-up`.
    pub end: String,
    /// The largest load that holds, by the best estimate.
    pub load: f64,
    /// Interval of that load with 95 % confidence; null where no load or every load holds.
    #[serde(default)]
    pub confidence_95: Option<[f64; 2]>,
    /// Method of the interval: `sectioning`, or `bracket` where there was too little to say more.
    #[serde(default)]
    pub confidence_by: Option<String>,
    /// The largest load that was measured to hold.
    pub holds_at: f64,
    /// The smallest load that was measured not to; null where none was.
    pub breaks_at: Option<f64>,
    /// I/Os a second delivered at the largest load that was measured to hold.
    pub iops: f64,
    /// Every point, in the order measured.
    pub points: Vec<FoundPoint>,
}

/// One load that a search measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FoundPoint {
    /// The rate or depth.
    pub load: f64,
    /// The latency that is bounded.
    pub latency_ns: f64,
    /// Its standard error; null where too few I/Os were seen to tell.
    #[serde(default)]
    pub standard_error_ns: Option<f64>,
    /// I/Os a second delivered.
    pub iops: f64,
    /// True if the load was delivered.
    pub kept_up: bool,
    /// True if the bound was kept, and the load delivered.
    pub holds: bool,
}

/// The highest rate with mean latency under a bound.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BoundedMaximum {
    /// The bound on mean latency.
    pub bound_ns: f64,
    /// Settings that all cases of the group have in common.
    pub of: Map,
    /// Operations a second; absent where no case keeps the bound.
    pub iops: Option<f64>,
    /// Bytes a second.
    pub bw_bytes_per_s: Option<f64>,
    /// Mean latency of that case; of the fastest case where none keeps the bound.
    pub mean_latency_ns: f64,
    /// Cases compared.
    pub among: usize,
}

/// The lowest mean latency of a group of cases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MinimalLatency {
    /// Settings that all cases of the group have in common.
    pub of: Map,
    /// Mean latency over all operations: of a mix over both directions, which stand beside it.
    pub mean_latency_ns: f64,
    /// Mean latency of its reads, where it is a mix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_mean_latency_ns: Option<f64>,
    /// Mean latency of its writes, where it is a mix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_mean_latency_ns: Option<f64>,
    /// Operations a second at it.
    pub iops: f64,
    /// Values of `numjobs` whose latency is within 5 % of it.
    pub numjobs: Vec<u64>,
    /// Cases compared.
    pub among: usize,
}

/// Block sizes that suit the target.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BestBlockSize {
    /// Settings that all cases of the group have in common.
    pub of: Map,
    /// The largest block with at least 90 % of the largest IOPS: more bytes at no cost in operations.
    pub best_bs: u64,
    /// IOPS there as a share of the largest.
    pub iops_share_percent: f64,
    /// Bytes a second there.
    pub bw_bytes_per_s: f64,
    /// The smallest block with at least 90 % of the largest bytes a second.
    pub best_bs_for_bandwidth: u64,
    /// Block size, IOPS, bytes a second.
    pub points: Vec<[f64; 3]>,
}

/// From which block size on bytes a second stay constant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Flattening {
    /// Settings that all cases of the group have in common.
    pub of: Map,
    /// True if bytes a second stay constant, over three sizes or more.
    pub flattens: bool,
    /// The first size from which on bytes a second stay within 10 % of their mean.
    pub from_bs: Option<u64>,
    /// Their mean from there on.
    pub bw_bytes_per_s: f64,
    /// Largest distance from that mean.
    pub deviation_percent: f64,
}
