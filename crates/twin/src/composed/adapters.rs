//! Adapters of hosts: what the one behind a link moves in both directions together.

use super::rates::rate;
use crate::engine::{Rate, Server};
use crate::part::Counters;

/// The adapter behind each link.
#[derive(Debug, Clone)]
pub(crate) struct Adapters {
    rate: Rate,
    adapters: Box<[Server]>,
}

impl Adapters {
    /// Adapters that have moved nothing yet; `None` where they take no time.
    pub fn new(fabric: &array::Fabric, take_time: bool) -> Option<Adapters> {
        let rate = rate(fabric.adapter.get(), take_time);
        (rate != Rate::UNLIMITED).then(|| Adapters {
            rate,
            adapters: vec![Server::default(); fabric.ports.count() as usize].into(),
        })
    }

    /// Returns when the adapter behind a link has moved data.
    #[inline]
    pub fn move_ns(&mut self, now_ns: u64, link: usize, bytes: u64) -> u64 {
        self.adapters[link].serve(now_ns, self.rate.duration_ns(bytes))
    }

    /// Counts how long each was busy.
    pub fn count_into(&self, counters: &mut Counters) {
        for (index, adapter) in self.adapters.iter().enumerate() {
            counters.add(&format!("link-{index}"), "adapter_busy_ns", adapter.busy_ns());
        }
    }
}
