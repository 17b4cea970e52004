//! Volume counters, written by workers and read by any thread.

use nbd::Access;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts of one volume since the start. Latency is from the arrival of a request until its reply leaves.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    read: Direction,
    write: Direction,
    under_way: AtomicU64,
}

#[derive(Debug, Default)]
struct Direction {
    ios: AtomicU64,
    bytes: AtomicU64,
    latency_ns: AtomicU64,
}

/// The same as numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Tallied {
    pub read: DirectionTally,
    pub write: DirectionTally,
    /// Requests that have arrived and are not answered.
    pub under_way: u64,
}

/// One direction of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct DirectionTally {
    pub ios: u64,
    pub bytes: u64,
    pub latency_ns: u64,
}

impl Tally {
    pub(crate) fn begin(&self) {
        self.under_way.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end(&self, access: Access, bytes: u64, latency: Duration) {
        let direction = match access {
            Access::Read => &self.read,
            Access::Write => &self.write,
        };
        direction.ios.fetch_add(1, Ordering::Relaxed);
        direction.bytes.fetch_add(bytes, Ordering::Relaxed);
        direction.latency_ns.fetch_add(latency.as_nanos() as u64, Ordering::Relaxed);
        self.under_way.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> Tallied {
        let counted = |direction: &Direction| DirectionTally {
            ios: direction.ios.load(Ordering::Relaxed),
            bytes: direction.bytes.load(Ordering::Relaxed),
            latency_ns: direction.latency_ns.load(Ordering::Relaxed),
        };
        Tallied {
            read: counted(&self.read),
            write: counted(&self.write),
            under_way: self.under_way.load(Ordering::Relaxed),
        }
    }
}
