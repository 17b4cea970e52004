//! Latency bounds, and the points measured in a search for the peak load under one.

use crate::Histogram;

/// Latency measure that must stay under the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundMeasure {
    /// The mean.
    Mean,
    /// A percentile, in millionths: 990,000 for p99.
    Percentile(u32),
}

/// Bound of a load search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// Latency measure that is bounded.
    pub measure: BoundMeasure,
    /// The largest latency allowed.
    pub latency_ns: u64,
}

/// Measurement at one load.
#[derive(Debug, Clone)]
pub struct BoundMeasurement {
    /// Latencies, from the intended arrival in open loop.
    pub latency: Histogram,
    /// The rate that was delivered.
    pub delivered_iops: f64,
    /// The load was delivered; where it was not, the load is too large whatever the latency says.
    pub kept_up: bool,
    /// The same latencies by equal parts of the time measured, in order: how they differ tells how sure the whole is.
    pub sections: Vec<Histogram>,
    /// Share of the time that was really measured; less than 1 where a simulation filled in the rest by what it had seen.
    pub simulated_share: f64,
}

/// One measured point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundPoint {
    /// The rate or depth.
    pub load: f64,
    /// The latency that is bounded.
    pub latency_ns: f64,
    /// Error of that latency; `None` where too few I/Os completed for an estimate.
    pub error: Option<SectionedError>,
    /// The rate that was delivered.
    pub delivered_iops: f64,
    /// The load was delivered.
    pub kept_up: bool,
    /// True if its latency was under the bound and the target kept up.
    pub holds: bool,
}

/// The standard error of a latency, and how many independent deviations it rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SectionedError {
    /// One standard error.
    pub standard_error_ns: f64,
    /// Sections less one.
    pub freedom: u32,
}
