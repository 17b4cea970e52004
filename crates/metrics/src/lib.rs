//! A run that is under way, as Prometheus text over HTTP.
//!
//! [`MetricsServer`] answers `GET /metrics` with what a [`Source`] says at that moment. [`LiveRun`] is such a source:
//! whoever watches a campaign tells it what happens.

mod live;
mod names;
mod request;
mod server;

pub use live::{LiveRun, RunLabels, RunProgress};
pub use names::{Labels, counters, exposition, gauges, sums};
pub use server::{
    CONNECTIONS_LIMIT, Exposure, MetricsError, MetricsListener, MetricsServer, REQUEST_TIME_LIMIT,
};

/// Something that can be exposed.
pub trait Source: Send + Sync {
    /// Everything it has to say now, as OpenMetrics text, `# EOF` included.
    fn exposition(&self) -> String;
}
