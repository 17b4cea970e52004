//! Level facts: the mean performance of a case.

use serde::Serialize;

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
    /// 95 % confidence interval of the mean rate: from the intervals, or that which an extrapolated run claims where it is wider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iops_confidence_95: Option<[f64; 2]>,
    /// Rate × latency: what was outstanding on average (Little's law).
    pub outstanding: f64,
}
