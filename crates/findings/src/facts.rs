//! The fields of each kind of finding, as they stand in JSON. `docs/findings.md` describes them for scripts.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A rate in both units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Rate {
    /// Operations a second.
    pub iops: f64,
    /// Bytes a second.
    pub bw_bytes_per_s: f64,
}

/// One direction of a level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DirectionLevel {
    /// Operations a second.
    pub iops: f64,
    /// Bytes a second.
    pub bw_bytes_per_s: f64,
    /// Mean completion latency.
    pub mean_latency_ns: f64,
}

/// The mean level of a case over its counted time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Level {
    /// Operations a second, all directions.
    pub iops: f64,
    /// Bytes a second, all directions.
    pub bw_bytes_per_s: f64,
    /// Reads, where there were any.
    pub read: Option<DirectionLevel>,
    /// Writes, where there were any.
    pub write: Option<DirectionLevel>,
    /// Mean completion latency over all operations.
    pub mean_latency_ns: f64,
    /// Standard deviation of the intervals' rates in percent of their mean; absent below two intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variation_percent: Option<f64>,
    /// 95 % confidence interval of the mean rate, from the intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iops_confidence_95: Option<[f64; 2]>,
    /// Rate × latency: what was outstanding on average (Little's law).
    pub outstanding: f64,
}

/// A fall of the write rate that lasted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fall {
    /// Where it begins, since the start of the case's load.
    pub onset_s: f64,
    /// Rate before and after it.
    pub before: Rate,
    /// Rate after it.
    pub after: Rate,
    /// How much of the level before is lost.
    pub depth_percent: f64,
    /// From the onset to the level after; 0 within one interval.
    pub fall_s: f64,
}

/// A rise after a fall.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recovery {
    /// Where the rate has risen again, since the start of the case's load.
    pub at_s: f64,
    /// The rate from there on.
    pub to: Rate,
    /// That rate as a share of the level before the fall.
    pub share_percent: f64,
}

/// A lasting fall of the write rate: the first, and what followed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WriteCliff {
    /// Where the first fall begins, since the start of the case's load (its ramp begins at 0).
    pub onset_s: f64,
    /// Bytes written until then, the ramp included.
    pub bytes_written: f64,
    /// Write rate before the first fall.
    pub before: Rate,
    /// Write rate after the first fall.
    pub after: Rate,
    /// How much of the level before is lost.
    pub depth_percent: f64,
    /// From the onset to the level after; 0 within one interval.
    pub fall_s: f64,
    /// Reads before and after, where the load is mixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads_before: Option<Rate>,
    /// Reads after the first fall.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads_after: Option<Rate>,
    /// The largest slow change after the last fall: fitted line from its start to its end, in percent of its mean.
    pub drift_after_percent: f64,
    /// Whether, and when, the rate rose again after the first fall.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// Falls after the first.
    pub further_falls: Vec<Fall>,
    /// Mean time from one onset to the next, where the rate recovered and fell again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recurs_every_s: Option<f64>,
    /// Bytes of host writes that a reserve took up until the onset: written less what the level after would have
    /// carried in the same time.
    pub reserve_bytes: f64,
    /// The level that lasts: all directions, after the last fall.
    pub sustained: Rate,
    /// Noise of one interval, in percent of the level, by the robust estimate.
    pub noise_percent: f64,
    /// How surely the step is none of noise or slope: its size in standard errors.
    pub step_standard_errors: f64,
}

/// Why no cliff is reported.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NoWriteCliff {
    /// In words.
    pub reason: String,
    /// Intervals that were looked at.
    pub intervals: usize,
    /// Length of the series.
    pub length_s: f64,
    /// The smallest fall that would have been found, in percent; absent where the series is too short for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest_visible_percent: Option<f64>,
}

/// Whether a tracked variable reached SNIA's steady state.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SteadyState {
    /// `iops`, `bw_bytes_per_s` or `mean_latency_ns`.
    pub variable: String,
    /// Whether it was reached within 25 rounds.
    pub reached: bool,
    /// The round that completed the window, from 1; absent where it was not reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<usize>,
    /// When that was, since the start of the case's load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_s: Option<f64>,
    /// Length of a round.
    pub round_s: f64,
    /// Rounds looked at.
    pub rounds: usize,
    /// Mean over the window; over the last window where it was not reached.
    pub average: f64,
    /// Largest less smallest, in percent of the mean; allowed is 20.
    pub range_percent: f64,
    /// Excursion of the fitted line over the window, in percent of the mean; allowed is 10.
    pub slope_percent: f64,
    /// Whether the rounds after the window stayed within 20 % of its mean; absent where none followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<bool>,
    /// fio's `ss=iops` criterion on the same window: the largest distance from the mean, in percent.
    pub fio_deviation_percent: f64,
    /// fio's `ss=iops_slope` criterion on the same window: the slope of one sample, in percent of the mean.
    pub fio_slope_percent: f64,
}

/// Whether the rounds of a stage reached steady state.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SteadyRounds {
    /// Whether every tracked quantity was steady.
    pub reached: bool,
    /// The round that completed the window; absent where it was not reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<u64>,
    /// Rounds that were run.
    pub rounds: u64,
    /// Rounds that the plan allows.
    pub at_most: u64,
    /// The rounds of the measurement window: the last five that were looked at.
    pub window_rounds: Vec<u64>,
    /// The tracked quantities.
    pub variables: Vec<RoundVariable>,
}

/// A quantity by which the steady state of a stage is judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoundVariable {
    /// Its path in results.
    pub quantity: String,
    /// The settings of its cases.
    pub of: String,
    /// Its values in the measurement window.
    pub window: Vec<f64>,
    /// Their mean.
    pub average: f64,
    /// Largest less smallest, in percent of the mean; allowed is 20.
    pub range_percent: f64,
    /// Excursion of the fitted line, in percent of the mean; allowed is 10.
    pub slope_percent: f64,
    /// Both within what is allowed.
    pub steady: bool,
    /// Round and value, of every round that was looked at.
    pub rounds: Vec<(u64, f64)>,
}

/// Where more load stops to give more.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Saturation {
    /// The setting that grows: `numjobs`, `iodepth`, `rate_iops`.
    pub setting: String,
    /// What all cases of the group have in common.
    pub of: Map,
    /// Whether the rate levels off within the values tested.
    pub reached: bool,
    /// The first value at which the rate has 90 % of the largest; absent where it does not level off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
    /// The rate there; at the last value where it does not level off.
    pub iops: f64,
    /// The largest rate.
    pub maximum_iops: f64,
    /// Mean latency there.
    pub mean_latency_ns: f64,
    /// The values with their rates.
    pub points: Vec<[f64; 2]>,
}

/// The settings that a group has in common.
pub type Map = serde_json::Map<String, Value>;

/// The highest rate of a group of cases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Maximum {
    /// `iops` or `bw_bytes_per_s`.
    pub quantity: String,
    /// What all cases of the group have in common.
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

/// The largest load under a bound, as the search of a case (`find: max-under-latency`) found it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundLoad {
    /// What was varied: `rate`, I/Os a second over all jobs and loads, or `iodepth`, of each job.
    pub over: String,
    /// Which latency is bounded: `mean`, `p99`, ….
    pub of: String,
    /// The bound.
    pub below_ns: u64,
    /// `found`, `never-holds`, `always-holds` or `points-used-up`.
    pub end: String,
    /// The largest load that holds, by the best estimate.
    pub load: f64,
    /// Where that load lies with 95 % confidence; null where no load or every load holds.
    #[serde(default)]
    pub confidence_95: Option<[f64; 2]>,
    /// How the interval was found: `sectioning`, or `bracket` where there was too little to say more.
    #[serde(default)]
    pub confidence_by: Option<String>,
    /// The largest load that was measured to hold.
    pub holds_at: f64,
    /// The smallest load that was measured not to; null where none was.
    pub breaks_at: Option<f64>,
    /// What was delivered at the largest load that was measured to hold.
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
    /// What was delivered.
    pub iops: f64,
    /// Whether that was the load.
    pub kept_up: bool,
    /// Whether the bound was kept, and the load delivered.
    pub holds: bool,
}

/// The highest rate with mean latency under a bound.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BoundedMaximum {
    /// The bound on mean latency.
    pub bound_ns: f64,
    /// What all cases of the group have in common.
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
    /// What all cases of the group have in common.
    pub of: Map,
    /// Mean latency over all operations.
    pub mean_latency_ns: f64,
    /// Operations a second at it.
    pub iops: f64,
    /// Values of `numjobs` whose latency is within 5 % of it.
    pub numjobs: Vec<u64>,
    /// Cases compared.
    pub among: usize,
}

/// Which block sizes suit the target.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BestBlockSize {
    /// What all cases of the group have in common.
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
    /// What all cases of the group have in common.
    pub of: Map,
    /// Whether they do, over three sizes or more.
    pub flattens: bool,
    /// The first size from which on bytes a second stay within 10 % of their mean.
    pub from_bs: Option<u64>,
    /// Their mean from there on.
    pub bw_bytes_per_s: f64,
    /// Largest distance from that mean.
    pub deviation_percent: f64,
}

/// What bounds the rate of a case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limit {
    /// `link`, `controller`, `drive`, `generator`, `rate`, `concurrency` or `unknown`.
    pub by: String,
    /// The part and what of it is busy: `module read_path`.
    pub part: String,
    /// Mean use over its parts, in percent, where counters tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub use_percent: Option<f64>,
    /// The reason, with its numbers.
    pub because: String,
    /// The rate that is bounded.
    pub iops: f64,
    /// In bytes.
    pub bw_bytes_per_s: f64,
    /// Use of every kind of part, in percent: the mean over like parts, the busiest first.
    pub uses: Vec<PartUse>,
}

/// How busy like parts are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartUse {
    /// The parts: `link`, `controller`, `module`, `disk`.
    pub part: String,
    /// What of them is busy: `to_host`, `read_path`, `%util`.
    pub resource: String,
    /// Mean over the parts that were used at all.
    pub mean_percent: f64,
    /// The busiest.
    pub largest_percent: f64,
    /// How many parts.
    pub parts: usize,
}

/// How load divides over like paths.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PathBalance {
    /// The paths: `link` of a twin, `port` of the host, `path of mpatha`.
    pub paths: String,
    /// Each path's share of the bytes, in percent.
    pub shares_percent: Vec<f64>,
    /// Largest share ÷ mean share.
    pub largest_over_mean: f64,
    /// Smallest share ÷ mean share.
    pub smallest_over_mean: f64,
}

/// Writes as a share of reads on the same set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WritePenalty {
    /// What both cases have in common.
    pub of: Map,
    /// RAID level.
    pub raid: u64,
    /// Drives of the set, where the plan says.
    pub disks: Option<u64>,
    /// Read IOPS.
    pub read_iops: f64,
    /// Write IOPS.
    pub write_iops: f64,
    /// Writes ÷ reads.
    pub ratio: f64,
    /// 95 % confidence interval of the ratio, from the intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_confidence_95: Option<[f64; 2]>,
    /// What the rule of thumb says: 1, 1/2, 1/4 and 1/6 for RAID 0, 10, 5 and 6.
    pub rule_of_thumb: f64,
}

/// What a change of one setting does, all others equal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// The setting.
    pub setting: String,
    /// Its value in the first of each pair.
    pub from: Value,
    /// Its value in the second.
    pub to: Value,
    /// `iops`, `mean_latency_ns`, `cliff_onset_s` or `sustained_iops`.
    pub on: String,
    /// Second ÷ first, the geometric mean over the pairs.
    pub ratio: f64,
    /// 95 % confidence interval: over pairs, or over the intervals of a single pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_confidence_95: Option<[f64; 2]>,
    /// True where the confidence interval leaves 1 out.
    pub beyond_noise: bool,
    /// Smallest and largest ratio of a pair.
    pub spread: [f64; 2],
    /// Pairs.
    pub pairs: usize,
}

/// A run of intervals that left the level before.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Excursion {
    /// Where it begins, since the start of the case's load.
    pub start_s: f64,
    /// How long it lasts.
    pub length_s: f64,
    /// Its most extreme interval, in percent of the level before: negative below, positive above.
    pub extreme_percent: f64,
    /// Its mean, in percent of the level before.
    pub mean_percent: f64,
    /// Operations that completed in it.
    pub ios: f64,
}

/// What an event did to the load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Disruption {
    /// The event, in words.
    pub event: String,
    /// When, since the start of the case's load.
    pub at_s: f64,
    /// Until the next event, or the end.
    pub until_s: f64,
    /// Rate before the first event.
    pub level_iops: f64,
    /// Latency before the first event.
    pub level_latency_ns: f64,
    /// Intervals with a rate below the level, beyond noise.
    pub dips: Vec<Excursion>,
    /// Intervals with latency above the level, beyond noise.
    pub latency_bumps: Vec<Excursion>,
    /// Median rate from the event to the next, in percent of the level before.
    pub iops_percent: f64,
    /// Median latency from the event to the next, in percent of the level before.
    pub latency_percent: f64,
    /// Operations that the level before would have completed in the dips, and that were not.
    pub ios_missing: f64,
    /// Operations that failed from the event to the next.
    pub errors: u64,
}

/// What a limit allowed and what was delivered, interval by interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Conformance {
    /// The load it binds, where the case has several.
    pub load: Option<String>,
    /// `iops` or `bw_bytes_per_s`.
    pub quantity: String,
    /// The limit.
    pub allowed: f64,
    /// From when, since the start of the case's load.
    pub from_s: f64,
    /// Until when.
    pub to_s: f64,
    /// Mean delivered.
    pub delivered: f64,
    /// The largest of an interval.
    pub largest: f64,
    /// Intervals that lie wholly in the span.
    pub intervals: usize,
    /// Those more than 2 % above the limit.
    pub intervals_above: usize,
    /// From the change of the limit to the first interval within it.
    pub takes_effect_s: Option<f64>,
}
