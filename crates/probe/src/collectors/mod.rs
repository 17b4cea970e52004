//! Telemetry collectors that poll commands, Prometheus endpoints and drive health (SMART).
//!
//! A source may answer late or never, so each collector has its own thread: none delays another, the host probe or the
//! run.

mod command;
mod cumulative;
mod exposition;
mod health;
mod http;
mod pattern;
mod process;
mod prometheus;
mod thread;

pub use command::CommandSettings;
pub use health::{HEALTH_INTERVAL_MINIMUM, HealthSettings};
pub use http::{AddressError, HttpAddress};
pub use prometheus::PrometheusSettings;
pub use thread::{CollectorSettings, CollectorSource, CollectorSummary, CollectorThread};

use std::time::Instant;

/// Decodes bytes as an answer of every kind of source, for tests of the decoders. Returns the number of values.
#[doc(hidden)]
pub fn read_as_any_answer(bytes: &[u8]) -> usize {
    let mut values = Vec::new();
    health::push_smart(bytes, "drive", &mut values);
    let mut count = values.len();
    if let Ok(text) = str::from_utf8(bytes) {
        count += command::parse(text, "array").map_or(0, |values| values.len());
        exposition::read(text, |_| true, |_| count += 1);
    }
    count
}

/// Limit on the values that are kept of one answer: 200 drives of 50 counters each.
pub const VALUES_LIMIT: usize = 10_000;
/// Longer names of an entity or a counter make their value one that is left out.
pub const NAME_BYTES_LIMIT: usize = 256;

/// Counter value as its source reports it.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectedValue {
    /// Entity that the counter belongs to.
    pub entity: String,
    /// Its name there; `/s` is added where a cumulative count became a rate.
    pub name: String,
    /// Never infinite or not a number.
    pub value: f64,
}

/// Values of one collection.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Time of completion on the run's clock, in nanoseconds.
    pub at_ns: u64,
    /// `command`, `prometheus` or `smart`.
    pub source: &'static str,
    /// Values of the answer.
    pub values: Vec<CollectedValue>,
}

/// Error of one collection.
#[derive(Debug, thiserror::Error)]
enum CollectError {
    #[error("cannot start `{program}`")]
    Start { program: String, source: std::io::Error },
    #[error("`{program}` did not end within {limit:?}, and was killed")]
    TimedOut { program: String, limit: std::time::Duration },
    #[error("`{program}` wrote more than {limit_bytes} bytes")]
    TooMuchOutput { program: String, limit_bytes: usize },
    #[error("`{program}` ended with {status}{stderr}")]
    Failed { program: String, status: String, stderr: String },
    #[error("an earlier `{program}` is still there, though it was killed")]
    StillThere { program: String },
    #[error("`{from}` gave no counters: {problem}")]
    NoCounters { from: String, problem: String },
    #[error("cannot reach {address}")]
    Unreachable { address: String, source: std::io::Error },
    #[error("{address} did not answer within {limit:?}")]
    Late { address: String, limit: std::time::Duration },
    #[error("{address} did not answer as HTTP has it: {problem}")]
    Http { address: String, problem: String },
    #[error("the run is over")]
    Stopped,
}

/// Deadline of one collection, with the stop signal of the run.
struct Deadline<'a> {
    limit: std::time::Duration,
    at: Instant,
    stopped: &'a dyn Fn() -> bool,
}

impl<'a> Deadline<'a> {
    fn new(limit: std::time::Duration, stopped: &'a dyn Fn() -> bool) -> Self {
        Deadline { limit, at: Instant::now() + limit, stopped }
    }

    /// Returns the longest time to wait at once: the stop signal is checked ten times a second. `None` when there is no time
    /// left.
    fn slice(&self) -> Result<Option<std::time::Duration>, CollectError> {
        const SLICE: std::time::Duration = std::time::Duration::from_millis(100);
        if (self.stopped)() {
            return Err(CollectError::Stopped);
        }
        let left = self.at.saturating_duration_since(Instant::now());
        Ok((!left.is_zero()).then(|| left.min(SLICE)))
    }
}

/// Telemetry source that a collector polls.
trait Source: Send {
    fn collect(&mut self, deadline: &Deadline<'_>) -> Result<Vec<CollectedValue>, CollectError>;
}

/// Keeps what a run can keep: a finite number under names of a sane length, up to the limit of values.
fn keep(values: &mut Vec<CollectedValue>, entity: &str, name: &str, value: f64) {
    let is_name = |text: &str| {
        !text.is_empty() && text.len() <= NAME_BYTES_LIMIT && !text.chars().any(char::is_control)
    };
    if value.is_finite() && values.len() < VALUES_LIMIT && is_name(entity) && is_name(name) {
        values.push(CollectedValue { entity: entity.to_owned(), name: name.to_owned(), value });
    }
}
