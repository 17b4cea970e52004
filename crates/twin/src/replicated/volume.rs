//! Volume: template, limit, and the I/Os that wait for the limit.

use std::collections::VecDeque;

use load::Direction;

use super::COPIES;
use super::description::DriveClass;
use crate::composed::limit::{Limit, Limiter};

/// Counts of a volume in one direction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Done {
    pub ios: u64,
    pub bytes: u64,
    pub latency_ns: u64,
}

/// A volume.
#[derive(Debug, Clone)]
pub(crate) struct Volume {
    pub name: String,
    pub bytes: u64,
    /// Number of its template.
    pub template: usize,
    /// Classes of its replicas, head first.
    pub classes: [DriveClass; COPIES],
    pub limit: Limit,
    pub limiter: Limiter,
    /// I/Os that the limit holds back.
    pub waiting: VecDeque<u32>,
    /// Moment at which the event loop looks at them next; `u64::MAX` for not at all.
    pub wake_ns: u64,
    pub under_way: u64,
    pub read: Done,
    pub write: Done,
    pub moved_bytes: u64,
}

impl Volume {
    /// Counts an I/O that is done.
    pub fn count(&mut self, direction: Direction, bytes: u64, latency_ns: u64) {
        self.under_way -= 1;
        let done = match direction {
            Direction::Read => &mut self.read,
            Direction::Write => &mut self.write,
            Direction::Trim => return,
        };
        done.ios += 1;
        done.bytes += bytes;
        done.latency_ns += latency_ns;
    }
}
