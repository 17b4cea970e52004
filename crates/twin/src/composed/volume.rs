//! Volumes: where each lies, and its limits.

use super::rates::rate;
use crate::engine::{Rate, Server};

/// One volume.
#[derive(Debug, Clone)]
pub(crate) struct VolumeState {
    pub set: u16,
    /// Controller that owns it, among those of a node.
    pub preferred: u16,
    /// First byte in the set.
    pub offset_bytes: u64,
    pub bytes: u64,
    pub limiter: Option<Limiter>,
}

/// Limits of a volume: I/Os begin one after the other at no more than its rates.
#[derive(Debug, Clone)]
pub(crate) struct Limiter {
    io_ns: u64,
    rate: Rate,
    ios: Server,
    bytes: Server,
}

impl Limiter {
    pub fn new(limit: &array::Limit) -> Limiter {
        Limiter {
            io_ns: 1_000_000_000 / limit.iops.get(),
            rate: rate(limit.bandwidth.get(), true),
            ios: Server::default(),
            bytes: Server::default(),
        }
    }

    /// When an I/O that is handed over now may begin.
    pub fn starts_at_ns(&mut self, now_ns: u64, bytes: u32) -> u64 {
        let transfer_ns = self.rate.duration_ns(u64::from(bytes));
        let by_ios_ns = self.ios.serve(now_ns, self.io_ns) - self.io_ns;
        let by_bytes_ns = self.bytes.serve(now_ns, transfer_ns) - transfer_ns;
        by_ios_ns.max(by_bytes_ns)
    }
}

/// Volumes of one entry of the description, one after the other in one address space.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// First byte of each volume, with its number, in order.
    pub volumes: Vec<(u64, u32)>,
    pub bytes: u64,
}
