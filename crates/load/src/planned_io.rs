//! I/O of a job with the earliest moment at which it may be issued.

use crate::{Direction, Operation};

/// The moment of an I/O that never comes: a trace that is replayed has ended.
pub const NEVER_NS: u64 = u64::MAX;

/// The next I/O of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedIo {
    /// Operation to issue.
    pub operation: Operation,
    /// Earliest time of issue since the start of the load. In open loop this is the intended arrival, from which
    /// latency counts. [`NEVER_NS`] where the job has nothing more to do.
    pub not_before_ns: u64,
}

impl PlannedIo {
    /// Nothing more, for this job.
    pub(crate) fn none(job: u32) -> PlannedIo {
        let operation = Operation { direction: Direction::Read, offset_bytes: 0, length_bytes: 0, job };
        PlannedIo { operation, not_before_ns: NEVER_NS }
    }
}
