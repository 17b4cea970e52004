//! HTTP server for a live view: Prometheus text for scrapers and a page for people.
//!
//! [`MetricsServer`] answers `GET /metrics`, `GET /` and `GET /state.json` with what a [`Source`] says at that moment,
//! and hands it the commands of whoever has the [`Token`]. [`LiveRun`] is such a source: whoever watches a campaign
//! tells it what happens. A served array is another.

mod answer;
mod cached_snapshot;
mod connection;
mod connection_slots;
mod live;
mod names;
mod request;
mod responder;
mod server;
mod token;

pub use connection::PENDING_CONNECTIONS_LIMIT;
pub use connection_slots::CONNECTIONS_LIMIT;
pub use live::{LiveRun, RunLabels, RunProgress};
pub use names::{Labels, counters, exposition, gauges, sums};
pub use request::{RequestKind, decode_head};
pub use server::{AccessScope, MetricsError, MetricsListener, MetricsServer, REQUEST_TIME_LIMIT};
pub use token::{Token, TokenError};

/// Something that can be exposed.
pub trait Source: Send + Sync {
    /// Everything it has to say now, as OpenMetrics text, `# EOF` included.
    fn exposition(&self) -> String;

    /// What the page shows now: a JSON object whose `kind` is `array` or `run`.
    fn state(&self) -> String;

    /// Carries out a command of somebody who has shown the token. What it has to say, or why it was not done.
    fn command(&self, _body: &[u8]) -> Result<serde_json::Value, String> {
        Err("nothing can be changed here".to_owned())
    }
}
