//! A batch: simulated time, and what completed in it.

use crate::{Direction, Histogram, Sample};

/// Ranks of percentiles, in millionths.
pub(super) const P99: u32 = 990_000;
pub(super) const P99_9: u32 = 999_000;
/// Latencies beyond a percentile that a batch must have for an estimate of it.
pub(super) const BEYOND_IN_BATCH: f64 = 5.0;
/// Latencies beyond a percentile come in clusters of this size.
pub(super) const BEYOND_CLUSTER: f64 = 3.0;
pub(super) const DIRECTIONS: [Direction; 2] = [Direction::Read, Direction::Write];

/// A stretch of simulated time, and what completed in it.
#[derive(Debug, Default, Clone)]
pub(super) struct Batch {
    pub sample: Sample,
    pub ns: u64,
}

impl Batch {
    pub fn merge(&mut self, sample: &Sample, ns: u64) {
        self.sample.merge(sample);
        self.ns += ns;
    }

    pub fn ios(&self) -> u64 {
        self.sample.ios()
    }

    pub fn rate(&self) -> f64 {
        rate_of(&self.sample, self.ns)
    }

    /// Mean latency over all directions.
    pub fn mean_ns(&self) -> f64 {
        mean_ns_of(&self.sample)
    }
}

/// I/Os a nanosecond of what completed in `duration_ns`.
pub(super) fn rate_of(sample: &Sample, duration_ns: u64) -> f64 {
    sample.ios() as f64 / duration_ns.max(1) as f64
}

/// Mean latency over reads and writes.
pub(super) fn mean_ns_of(sample: &Sample) -> f64 {
    let sum = sample.read.latency.sum_ns() + sample.write.latency.sum_ns();
    let count = sample.read.latency.count() + sample.write.latency.count();
    sum as f64 / count.max(1) as f64
}

/// Latencies of a direction in all these batches.
pub(super) fn joined_latency(batches: &[Batch], direction: Direction) -> Histogram {
    let mut all = Histogram::new();
    batches.iter().for_each(|batch| all.merge(&batch.sample.direction(direction).latency));
    all
}
