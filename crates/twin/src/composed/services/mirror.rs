//! Links to a second array, which has every write before it is answered.

use crate::engine::Rate;
use crate::part::{Counters, LinkDirection};

use super::super::rates::rate;
use super::resync::Resync;

/// Links to the second array, as one pipe of their sum.
#[derive(Debug, Clone)]
pub(crate) struct Mirror {
    command_ns: u64,
    rate: Rate,
    /// Time of one way.
    way_ns: u64,
    /// Crossings there and back before the data goes.
    earlier_trips: u64,
    link: LinkDirection,
    commands: u64,
    pub resync: Resync,
}

impl Mirror {
    pub fn new(mirror: &array::Mirror) -> Mirror {
        let ports = mirror.ports.get();
        Mirror {
            command_ns: mirror.command.get() / ports,
            rate: rate(mirror.rate.get().saturating_mul(ports), true),
            way_ns: mirror.latency.get() + mirror.distance_km.get() * array::FIBRE_NS_PER_KM,
            earlier_trips: mirror.round_trips.get() - 1,
            link: LinkDirection::default(),
            commands: 0,
            resync: Resync::new(mirror),
        }
    }

    /// Returns when data that is sent now is at the second array.
    pub fn send(&mut self, now_ns: u64, bytes: u64) -> u64 {
        self.commands += 1;
        let ready_ns = now_ns + self.earlier_trips * 2 * self.way_ns;
        self.link.carry(ready_ns, bytes, self.command_ns + self.rate.duration_ns(bytes)) + self.way_ns
    }

    /// Time of an acknowledgement.
    pub fn way_ns(&self) -> u64 {
        self.way_ns
    }

    pub fn count_into(&self, counters: &mut Counters) {
        counters.add("mirror", "commands", self.commands);
        counters.add("mirror", "to_peer_bytes", self.link.bytes);
        counters.add("mirror", "to_peer_busy_ns", self.link.busy_ns());
        for (name, value) in self.resync.values() {
            counters.add("mirror", name, value);
        }
    }
}
