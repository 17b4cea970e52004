//! The network: one full-duplex link for each machine.

use super::Description;
use super::settings::Settings;
use crate::engine::{Rate, nanos_of_us};
use crate::part::LinkDirection;

/// A machine's link.
#[derive(Debug, Clone, Default)]
pub(crate) struct Link {
    pub send: LinkDirection,
    pub receive: LinkDirection,
}

/// All links, and a switch that passes on a message as it comes in.
#[derive(Debug, Clone)]
pub(crate) struct Network {
    links: Box<[Link]>,
    message_ns: u64,
    hop_ns: u64,
    header_bytes: u64,
    rate: Rate,
}

impl Network {
    pub fn new(description: &Description, settings: &Settings) -> Self {
        let machines = description.nodes.count.get() + description.clients.count.get();
        let network = &description.network;
        let links = vec![Link::default(); machines as usize].into();
        let header_bytes = network.header_bytes.get();
        if !settings.on.links {
            return Network { links, message_ns: 0, hop_ns: 0, header_bytes, rate: Rate::UNLIMITED };
        }
        Network {
            links,
            message_ns: nanos_of_us(network.message_us.get()),
            hop_ns: nanos_of_us(network.hop_us.get()),
            header_bytes,
            rate: Rate::from_mb_per_s(network.mb_per_s.get()),
        }
    }

    /// Sends a message with so much data; returns when its first byte is at the other end.
    #[inline]
    pub fn send(&mut self, now_ns: u64, from: u32, data_bytes: u64) -> u64 {
        let bytes = data_bytes + self.header_bytes;
        let duration_ns = self.message_ns + self.rate.duration_ns(bytes);
        let sent_ns = self.links[from as usize].send.carry(now_ns, bytes, duration_ns);
        sent_ns - duration_ns + self.hop_ns
    }

    /// Takes in a message whose first byte is there; returns when all of it is.
    #[inline]
    pub fn receive(&mut self, now_ns: u64, at: u32, data_bytes: u64) -> u64 {
        let bytes = data_bytes + self.header_bytes;
        let duration_ns = self.message_ns + self.rate.duration_ns(bytes);
        self.links[at as usize].receive.carry(now_ns, bytes, duration_ns)
    }

    /// The links, for their counters.
    pub fn links(&self) -> &[Link] {
        &self.links
    }
}
