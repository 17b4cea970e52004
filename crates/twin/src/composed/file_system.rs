//! File system of the hosts: what it costs them to hand an answer on.

use super::rates::rate;
use crate::engine::{Rate, Server};
use crate::part::Counters;

/// Completions of the hosts, one after the other on each.
#[derive(Debug, Clone)]
pub(crate) struct Completions {
    service_ns: u64,
    rate: Rate,
    hosts: Box<[Server]>,
}

impl Completions {
    /// Hosts that have done nothing yet.
    pub fn new(file_system: &array::FileSystem, hosts: u32) -> Completions {
        Completions {
            service_ns: file_system.complete.get(),
            rate: rate(file_system.rate.get(), true),
            hosts: vec![Server::default(); hosts as usize].into(),
        }
    }

    /// Returns when the application has the answer to an I/O of so many bytes.
    pub fn complete(&mut self, now_ns: u64, host: u16, bytes: u64) -> u64 {
        self.hosts[usize::from(host)].serve(now_ns, self.service_ns + self.rate.duration_ns(bytes))
    }

    /// Counts how long each host was busy with answers.
    pub fn count_into(&self, counters: &mut Counters) {
        for (index, host) in self.hosts.iter().enumerate() {
            counters.add(&format!("host-{index}"), "completion_busy_ns", host.busy_ns());
        }
    }
}
