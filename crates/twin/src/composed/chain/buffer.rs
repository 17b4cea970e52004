//! Protected buffer of a node before its drives of a group.

use std::collections::VecDeque;

use super::super::rates::rate;
use super::event::ReplicaOf;
use crate::engine::{Rate, Server};

/// Takes writes as long as there is room, and lets the others wait in order.
#[derive(Debug, Clone)]
pub(crate) struct Buffer {
    port: Server,
    command_ns: u64,
    rate: Rate,
    capacity_bytes: u64,
    used_bytes: u64,
    /// Bytes in use when a window of a fast-forward began.
    used_at_window_bytes: u64,
    waiting: VecDeque<(ReplicaOf, u64)>,
}

impl Buffer {
    pub fn new(journal: &array::Journal, takes_time: bool) -> Self {
        Buffer {
            port: Server::default(),
            command_ns: if takes_time { journal.command.get() } else { 0 },
            rate: rate(journal.rate.get(), takes_time),
            capacity_bytes: journal.buffer.get(),
            used_bytes: 0,
            used_at_window_bytes: 0,
            waiting: VecDeque::new(),
        }
    }

    fn fits(&self, bytes: u64) -> bool {
        // A write larger than the buffer goes in when that is empty.
        self.used_bytes == 0 || self.used_bytes + bytes <= self.capacity_bytes
    }

    /// Takes a write, or lets it wait; returns when the buffer has it.
    pub fn take(&mut self, now_ns: u64, of: ReplicaOf, bytes: u64) -> Option<u64> {
        if !self.waiting.is_empty() || !self.fits(bytes) {
            self.waiting.push_back((of, bytes));
            return None;
        }
        Some(self.enter(now_ns, bytes))
    }

    fn enter(&mut self, now_ns: u64, bytes: u64) -> u64 {
        self.used_bytes += bytes;
        self.port.serve(now_ns, self.command_ns + self.rate.duration_ns(bytes))
    }

    /// Gives back room.
    pub fn empty(&mut self, bytes: u64) {
        self.used_bytes -= bytes;
    }

    /// The next write that waited and has room now, and when the buffer has it.
    pub fn take_waiting(&mut self, now_ns: u64) -> Option<(ReplicaOf, u64)> {
        let &(of, bytes) = self.waiting.front()?;
        if !self.fits(bytes) {
            return None;
        }
        self.waiting.pop_front();
        Some((of, self.enter(now_ns, bytes)))
    }

    /// A window of a fast-forward begins.
    pub fn begin_window(&mut self) {
        self.used_at_window_bytes = self.used_bytes;
    }

    /// Returns whether it can go on as it has since then: where it stays empty. A level between changes over time, and
    /// that a full one may be skipped has not been shown: which disks its writes wait for wanders.
    pub fn is_steady(&self) -> bool {
        // What batches take out at once, and what is under way: a twentieth of the buffer.
        [self.used_bytes, self.used_at_window_bytes]
            .into_iter()
            .all(|bytes| bytes <= self.capacity_bytes / 20)
    }

    /// Bytes in it, and writes that wait.
    pub fn fill(&self) -> [u64; 2] {
        [self.used_bytes, self.waiting.len() as u64]
    }

    /// Time that its port was busy.
    pub fn busy_ns(&self) -> u64 {
        self.port.busy_ns()
    }
}
