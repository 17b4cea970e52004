//! Links to a second array, which has every write before it is answered.

use crate::part::Counters;

use super::peer::PeerLink;
use super::resync::Resync;

/// Synchronous mirror.
#[derive(Debug, Clone)]
pub(crate) struct Mirror {
    link: PeerLink,
    /// Crossings there and back before the data goes.
    earlier_trips: u64,
    pub resync: Resync,
}

impl Mirror {
    pub fn new(mirror: &array::Mirror) -> Mirror {
        Mirror {
            link: PeerLink::new(
                mirror.ports.get(),
                mirror.rate.get(),
                mirror.command.get(),
                (mirror.latency.get(), mirror.distance_km.get()),
            ),
            earlier_trips: mirror.round_trips.get() - 1,
            resync: Resync::new(mirror),
        }
    }

    /// Returns when data that is sent now is at the second array.
    pub fn send(&mut self, now_ns: u64, bytes: u64) -> u64 {
        let ready_ns = now_ns + self.earlier_trips * 2 * self.link.way_ns;
        self.link.send(ready_ns, bytes)
    }

    /// Time of an acknowledgement.
    pub fn way_ns(&self) -> u64 {
        self.link.way_ns
    }

    pub fn count_into(&self, counters: &mut Counters) {
        self.link.count_into("mirror", counters);
        for (name, value) in self.resync.values() {
            counters.add("mirror", name, value);
        }
    }
}
