//! Change facts: effects of settings, events and limits.

use super::Map;
use serde::Serialize;
use serde_json::Value;

/// Writes as a share of reads on the same set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WritePenalty {
    /// Settings that both cases have in common.
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
    /// Ratio by the rule of thumb: 1, 1/2, 1/4 and 1/6 for RAID 0, 10, 5 and 6.
    pub rule_of_thumb: f64,
}

/// Effect of one setting, all others equal.
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
    /// Beginning, in seconds since the start of the case's load.
    pub start_s: f64,
    /// Length, in seconds.
    pub length_s: f64,
    /// Its most extreme interval, in percent of the level before: negative below, positive above.
    pub extreme_percent: f64,
    /// Its mean, likewise.
    pub mean_percent: f64,
    /// Operations in it.
    pub ios: f64,
    /// False where it lasts to the end of the case, too short to be a change of level.
    pub is_over: bool,
}

impl Excursion {
    /// End, in seconds since the start of the case's load.
    pub(crate) fn end_s(&self) -> f64 {
        self.start_s + self.length_s
    }
}

/// A level that changed and stayed so to the end of the case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RateChange {
    /// From when on, since the start of the case's load.
    pub from_s: f64,
    /// Time after the event for which the level held.
    pub held_s: f64,
    /// Median rate before.
    pub before_iops: f64,
    /// Median rate from then on, to the next event.
    pub after_iops: f64,
    /// After less before, in percent of before.
    pub change_percent: f64,
}

/// A mean latency that changed and stayed so to the end of the case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LatencyChange {
    /// From when on, since the start of the case's load.
    pub from_s: f64,
    /// Time after the event for which the level held.
    pub held_s: f64,
    /// Median of the intervals' mean latencies before.
    pub before_ns: f64,
    /// Median of the intervals' mean latencies from then on, to the next event.
    pub after_ns: f64,
    /// After less before, in percent of before.
    pub change_percent: f64,
}

/// Impact of an event on the load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Disruption {
    /// The event.
    pub event: String,
    /// Time of the event, in seconds since the start of the case's load.
    pub at_s: f64,
    /// The next event, or the end; an excursion that began before it may go on after it.
    pub until_s: f64,
    /// False where nothing left its level, nothing changed and nothing failed.
    pub has_effect: bool,
    /// Median rate of the level before: before the first event, or since a change of level by an earlier one.
    pub level_iops: f64,
    /// Median latency of the level before.
    pub level_latency_ns: f64,
    /// Dips of the rate; a fall that stays to the end of the case is no dip, but `rate_change`.
    pub dips: Vec<Excursion>,
    /// Bumps of latency; a rise that stays to the end of the case is no bump, but `latency_change`.
    pub latency_bumps: Vec<Excursion>,
    /// The rate's new level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_change: Option<RateChange>,
    /// The latency's new level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_change: Option<LatencyChange>,
    /// Median rate from the event to the next, in percent of the level before.
    pub iops_percent: f64,
    /// Median of the intervals' mean latencies from the event to the next, in percent of the level before.
    pub latency_percent: f64,
    /// Mean latency over all I/Os from the event to the next, in percent of the level before.
    pub mean_latency_percent: f64,
    /// Operations that the level before would have completed in the dips, and that were not.
    pub ios_missing: f64,
    /// Operations that failed from the event to the next.
    pub errors: u64,
}

impl Disruption {
    /// The extent of the change, for ordering: the area between the levels and what was measured.
    pub fn extent(&self) -> f64 {
        let area =
            |all: &[Excursion]| all.iter().map(|one| one.length_s * one.mean_percent.abs()).sum::<f64>();
        let persistent = |change: Option<(f64, f64)>| {
            change.map_or(0.0, |(from_s, percent)| (self.until_s - from_s).max(0.0) * percent.abs())
        };
        area(&self.dips)
            + area(&self.latency_bumps)
            + persistent(self.rate_change.map(|change| (change.from_s, change.change_percent)))
            + persistent(self.latency_change.map(|change| (change.from_s, change.change_percent)))
    }
}

/// Conformance to a limit: allowed and delivered rate, interval by interval.
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
