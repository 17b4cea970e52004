//! Volume on a chain: its pool, its limit, and the I/Os that wait for the limit.

use std::collections::VecDeque;

use load::Direction;

use super::super::limit::{Limit, Limiter};
use super::row::Row;

/// Counts of a volume in one direction.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Done {
    pub ios: u64,
    pub bytes: u64,
    pub latency_ns: u64,
}

/// A volume.
#[derive(Debug, Clone)]
pub(crate) struct ChainVolume {
    pub name: String,
    pub bytes: u64,
    /// Groups of its replicas, head first.
    pub groups: Row<u8>,
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

impl ChainVolume {
    pub fn new(name: &str, bytes: u64, groups: Row<u8>, limit: Limit, limits: bool) -> Self {
        let mut limiter = Limiter::default();
        if limits {
            limiter.set(&limit, bytes);
        }
        ChainVolume {
            name: name.to_owned(),
            bytes,
            groups,
            limit,
            limiter,
            waiting: VecDeque::new(),
            wake_ns: u64::MAX,
            under_way: 0,
            read: Done::default(),
            write: Done::default(),
            moved_bytes: 0,
        }
    }

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
