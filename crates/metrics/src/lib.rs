//! HTTP server for a live view: Prometheus text for scrapers and a page for people.
//!
//! [`MetricsServer`] answers `GET /metrics`, `GET /` and `GET /state.json` with what a [`Source`] says at that moment,
//! and hands it the commands of whoever has the [`Token`]. [`LiveRun`] is such a source: whoever watches a campaign
//! tells it what happens. A served array is another.

#![doc = include_str!("../README.md")]

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
use diagnostic::Problem;
pub use live::{LiveRun, RunLabels, RunProgress};
pub use names::{Labels, counters, exposition, gauges, sums};
pub use request::{RequestKind, decode_head};
pub use server::{AccessScope, MetricsError, MetricsListener, MetricsServer, REQUEST_TIME_LIMIT};
pub use token::{Token, TokenError};

/// File of a page, sent to the browser unchanged.
#[derive(Debug, Clone, Copy)]
pub struct PageFile {
    /// Its path, `/` for the page itself.
    pub path: &'static str,
    /// Its media type.
    pub kind: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// Source of a live view.
pub trait Source: Send + Sync {
    /// Everything it has to say now, as OpenMetrics text, `# EOF` included.
    fn exposition(&self) -> String;

    /// Returns the current state for the page: a JSON object whose `kind` is `array` or `run`.
    fn state(&self) -> String;

    /// Files of its page.
    fn files(&self) -> &'static [PageFile] {
        answer::FILES
    }

    /// Path that commands are sent to.
    fn command_path(&self) -> &'static str {
        "/control"
    }

    /// Carries out a command of somebody who has shown the token. What it has to say, or why it was not done.
    fn command(&self, _body: &[u8]) -> Result<serde_json::Value, Problem> {
        Err("nothing can be changed here".into())
    }

    /// Path of commands whose answers are sent line by line, where there are any.
    fn stream_path(&self) -> Option<&'static str> {
        None
    }

    /// Carries out such a command of somebody who has shown the token. Each JSON object is sent at once as a line; `send` returns false
    /// when nobody listens any more. A problem is the answer itself before the first line, and its last line afterwards.
    fn stream(&self, _body: &[u8], _send: &mut dyn FnMut(&serde_json::Value) -> bool) -> Result<(), Problem> {
        Err("nothing is sent line by line here".into())
    }
}
