//! Sample: counts and latencies of one interval.

use crate::{Direction, Histogram};

/// One direction's share of an interval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DirectionSample {
    /// Operations that completed without error.
    pub ios: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Completion latency (fio's `clat`); in open loop from the intended arrival.
    pub latency: Histogram,
    /// Service latency of an open loop, from issue to completion; `None` in closed loop, where it equals the completion
    /// latency.
    pub service: Option<Histogram>,
}

impl DirectionSample {
    /// Adds another sample of the same direction.
    pub fn merge(&mut self, other: &DirectionSample) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.latency.merge(&other.latency);
        if let Some(theirs) = &other.service {
            self.service.get_or_insert_with(Histogram::new).merge(theirs);
        }
    }

    /// The same as if it had gone on for `numerator` ÷ `denominator` as long.
    pub fn scaled(&self, numerator: u64, denominator: u64) -> DirectionSample {
        if numerator == denominator {
            return self.clone();
        }
        let scale =
            |count: u64| (u128::from(count) * u128::from(numerator) / u128::from(denominator.max(1))) as u64;
        let ios = scale(self.ios);
        DirectionSample {
            ios,
            // Whole I/Os, so that bytes stay a multiple of their size where all have one.
            bytes: self.bytes.checked_div(self.ios).map_or(0, |bytes| bytes * ios),
            errors: scale(self.errors),
            latency: self.latency.scaled(numerator, denominator),
            service: self.service.as_ref().map(|service| service.scaled(numerator, denominator)),
        }
    }

    /// Gives back the memory of bins that are empty.
    pub fn compact(&mut self) {
        self.latency.compact();
        if let Some(service) = &mut self.service {
            service.compact();
        }
    }

    /// True where nothing of this direction happened, not even an error.
    pub fn is_empty(&self) -> bool {
        self.ios == 0 && self.errors == 0
    }
}

/// Counts and latencies of one interval, over all jobs of a load.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    /// Start of the interval, since the start of the case's load (its ramp begins at 0).
    pub start_ns: u64,
    /// End of the interval; intervals of a case do not overlap.
    pub end_ns: u64,
    /// True for an interval of the ramp, which no result counts.
    pub is_ramp: bool,
    /// True where a part of the interval was simulated and stands for the rest of it.
    pub is_extrapolated: bool,
    /// Half the width of the 95 % confidence interval of its rate, as a share of it; 0 where all of it was measured or simulated.
    pub rate_confidence_95: f64,
    /// Completed reads.
    pub read: DirectionSample,
    /// Completed writes.
    pub write: DirectionSample,
    /// Completed trims.
    pub trim: DirectionSample,
}

impl Sample {
    /// The part of one direction.
    pub fn direction(&self, direction: Direction) -> &DirectionSample {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
            Direction::Trim => &self.trim,
        }
    }

    /// The part of one direction, to count into.
    pub fn direction_mut(&mut self, direction: Direction) -> &mut DirectionSample {
        match direction {
            Direction::Read => &mut self.read,
            Direction::Write => &mut self.write,
            Direction::Trim => &mut self.trim,
        }
    }

    /// I/Os that completed without error, over all directions.
    pub(crate) fn ios(&self) -> u64 {
        self.read.ios + self.write.ios + self.trim.ios
    }

    /// Adds what happened in another interval; start, end and flags stay.
    pub(crate) fn merge(&mut self, other: &Sample) {
        for direction in [Direction::Read, Direction::Write, Direction::Trim] {
            self.direction_mut(direction).merge(other.direction(direction));
        }
    }

    /// Frees the memory of empty bins, for samples that are kept: a run has thousands of them.
    pub fn compact(&mut self) {
        for direction in [&mut self.read, &mut self.write, &mut self.trim] {
            direction.compact();
        }
    }

    /// Length of the interval.
    pub fn duration_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}
