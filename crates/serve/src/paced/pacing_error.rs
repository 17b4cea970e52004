//! Pacing error: the time at which the kernel has a reply, minus the time that the twin gave.

use load::Histogram;
use std::time::Duration;

/// Lateness of all replies since the start.
#[derive(Debug, Default)]
pub(crate) struct PacingError {
    histogram: Histogram,
    bytes_late: u64,
    modelled_ns: u128,
}

/// The same as numbers, in nanoseconds of the wall clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct PacingErrorReport {
    /// Replies that were paced.
    pub replies: u64,
    /// Mean latency by the model, from arrival to the reply's moment: what clients would see were nothing late.
    pub modelled_mean_ns: u64,
    /// Mean lateness of all.
    pub mean_ns: u64,
    /// Half are no later.
    pub p50_ns: u64,
    /// 99 of 100 are no later.
    pub p99_ns: u64,
    /// 999 of 1,000 are no later.
    pub p999_ns: u64,
    /// The latest.
    pub max_ns: u64,
    /// Replies whose bytes were not ready in time: the host is slower there than the array would be.
    pub bytes_late: u64,
}

impl PacingError {
    /// A reply has left.
    pub(crate) fn count(&mut self, late: Duration, modelled: Duration) {
        self.histogram.record(late.as_nanos() as u64);
        self.modelled_ns += modelled.as_nanos();
    }

    pub(crate) fn count_late_bytes(&mut self) {
        self.bytes_late += 1;
    }

    pub(crate) fn report(&self) -> PacingErrorReport {
        let histogram = &self.histogram;
        let share = |millionths| histogram.known_percentile_ns(millionths).unwrap_or(0);
        PacingErrorReport {
            replies: histogram.count(),
            modelled_mean_ns: (self.modelled_ns / u128::from(histogram.count().max(1))) as u64,
            mean_ns: histogram.mean_ns() as u64,
            p50_ns: share(500_000),
            p99_ns: share(990_000),
            p999_ns: share(999_000),
            max_ns: histogram.known_max_ns().unwrap_or(0),
            bytes_late: self.bytes_late,
        }
    }
}

impl PacingErrorReport {
    /// In words, for the end.
    pub fn in_words(&self) -> String {
        let us = |ns: u64| format!("{:.1} µs", ns as f64 / 1000.0);
        format!(
            "{} paced replies; pacing error {} (median), {} (p99), {} (p99.9), {} at most; bytes not ready in time: {}",
            self.replies,
            us(self.p50_ns),
            us(self.p99_ns),
            us(self.p999_ns),
            us(self.max_ns),
            self.bytes_late
        )
    }
}
