//! Bottleneck facts of a case.

use crate::cited::Cited;
use serde::Serialize;

/// Bottleneck of a case.
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
    #[serde(serialize_with = "Cited::as_text")]
    pub because: Cited,
    /// The rate that is bounded.
    pub iops: f64,
    /// In bytes.
    pub bw_bytes_per_s: f64,
    /// Share of the counted time in intervals in which no I/O completed, in percent, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_percent: Option<f64>,
    /// Mean number of commands that wait for room in the controllers, where any do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_commands: Option<f64>,
    /// Use of every kind of part, in percent: the mean over like parts, the busiest first.
    pub uses: Vec<PartUse>,
}

/// Utilisation of like parts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartUse {
    /// The parts: `link`, `controller`, `module`, `disk`.
    pub part: String,
    /// Resource of the part that is busy: `to_host`, `read_path`, `%util`.
    pub resource: String,
    /// Mean over the parts that were used at all.
    pub mean_percent: f64,
    /// The busiest.
    pub largest_percent: f64,
    /// Number of parts.
    pub parts: usize,
}

/// Division of load over hosts that issue it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostBalance {
    /// The hosts, in the order of the run.
    pub hosts: Vec<String>,
    /// I/Os of each a second.
    pub iops: Vec<f64>,
    /// Each host's share of the I/Os, in percent.
    pub shares_percent: Vec<f64>,
    /// The host with the fewest.
    pub slowest: String,
    /// Largest share ÷ mean share.
    pub largest_over_mean: f64,
    /// Smallest share ÷ mean share.
    pub smallest_over_mean: f64,
}

/// Division of load over like paths.
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
