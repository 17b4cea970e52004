//! Steady-state facts.

use serde::Serialize;

/// Steady state of a tracked variable by SNIA's definition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SteadyState {
    /// `iops`, `bw_bytes_per_s` or `mean_latency_ns`.
    pub variable: String,
    /// True if it was reached within 25 rounds.
    pub reached: bool,
    /// The round that completed the window, from 1; absent where it was not reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<usize>,
    /// Time at which it was reached, in seconds since the start of the case's load.
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
    /// True if the rounds after the window stayed within 20 % of its mean; absent where none followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<bool>,
    /// fio's `ss=iops` criterion on the same window: the largest distance from the mean, in percent.
    pub fio_deviation_percent: f64,
    /// fio's `ss=iops_slope` criterion on the same window: the slope of one sample, in percent of the mean.
    pub fio_slope_percent: f64,
}

/// Steady state of a stage's rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SteadyRounds {
    /// True if every tracked quantity was steady.
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

/// Kind of the event with which a run says that a stage needs no further round; its data are `stage` and `round`.
pub const STAGE_ENDED_EVENT: &str = "stage-ended";

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
