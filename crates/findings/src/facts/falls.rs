//! Degradation facts: lasting falls of the write rate.

use super::Rate;
use serde::Serialize;

/// A fall of the write rate that lasted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fall {
    /// Beginning of the fall, in seconds since the start of the case's load.
    pub onset_s: f64,
    /// Rate before and after it.
    pub before: Rate,
    /// Rate after it.
    pub after: Rate,
    /// Share of the level before that is lost, in percent.
    pub depth_percent: f64,
    /// From the onset to the level after; 0 within one interval.
    pub fall_s: f64,
}

/// A rise after a fall.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recovery {
    /// Time at which the rate has risen again, in seconds since the start of the case's load.
    pub at_s: f64,
    /// The rate from there on.
    pub to: Rate,
    /// That rate as a share of the level before the fall.
    pub share_percent: f64,
}

/// A lasting fall of the write rate: the first, and what followed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WriteCliff {
    /// Beginning of the first fall, in seconds since the start of the case's load (its ramp begins at 0).
    pub onset_s: f64,
    /// Bytes written until then, the ramp included.
    pub bytes_written: f64,
    /// Write rate before the first fall.
    pub before: Rate,
    /// Write rate after the first fall.
    pub after: Rate,
    /// Share of the level before that is lost, in percent.
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
    /// Rise of the rate after the first fall; `None` where there is none.
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
    /// Sustained level: all directions, after the last fall.
    pub sustained: Rate,
    /// Noise of one interval, in percent of the level, by the robust estimate.
    pub noise_percent: f64,
    /// Size of the step in standard errors: how surely it is none of noise or slope.
    pub step_standard_errors: f64,
}

/// A fall of the write rate within the ramp, after which counting began.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RampFall {
    /// End of the level before, in seconds since the start of the case's load.
    pub onset_s: f64,
    /// Bytes written until then.
    pub bytes_written: f64,
    /// Highest write rate of the ramp.
    pub before: Rate,
    /// Write rate of the first intervals that are counted.
    pub after: Rate,
    /// Share of the level before that is lost, in percent.
    pub depth_percent: f64,
}

/// Reason why no cliff is reported.
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

impl NoWriteCliff {
    /// Returns true if a fall would have been seen, had there been one.
    pub fn could_show(&self) -> bool {
        self.smallest_visible_percent.is_some()
    }
}
