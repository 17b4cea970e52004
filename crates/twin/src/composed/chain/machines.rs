//! Machines and their network: one full-duplex port of each node and of each host, and a switch between them.

use super::super::rates::rate;
use super::super::settings::Switches;
use crate::engine::Rate;
use crate::part::LinkDirection;

/// A machine's port.
#[derive(Debug, Clone, Default)]
pub(crate) struct Port {
    pub send: LinkDirection,
    pub receive: LinkDirection,
}

/// Ports of all machines, nodes first, and a switch that passes on a message as it comes in.
#[derive(Debug, Clone)]
pub(crate) struct Machines {
    ports: Box<[Port]>,
    message_ns: u64,
    hop_ns: u64,
    header_bytes: u64,
    rate: Rate,
}

impl Machines {
    pub fn new(array: &array::Array, on: Switches) -> Self {
        let machines = array.node_count() + array.hosts.count.count();
        let ports = vec![Port::default(); machines as usize].into();
        let takes_time = on.links && on.network;
        let Some(network) = array.network.as_ref().filter(|_| takes_time) else {
            let header_bytes = array.network.as_ref().map_or(0, |network| network.header.get());
            return Machines { ports, message_ns: 0, hop_ns: 0, header_bytes, rate: Rate::UNLIMITED };
        };
        // Several ports of a machine are one of their sum.
        let count = network.ports.get();
        Machines {
            ports,
            message_ns: network.command.get() / count,
            hop_ns: network.latency.get(),
            header_bytes: network.header.get(),
            rate: rate(network.rate.get().saturating_mul(count), true),
        }
    }

    /// Sends a message with so much data; returns when its first byte is at the other end.
    #[inline]
    pub fn send(&mut self, now_ns: u64, from: u32, data_bytes: u64) -> u64 {
        let bytes = data_bytes + self.header_bytes;
        let duration_ns = self.message_ns + self.rate.duration_ns(bytes);
        let sent_ns = self.ports[from as usize].send.carry(now_ns, bytes, duration_ns);
        sent_ns - duration_ns + self.hop_ns
    }

    /// Takes in a message whose first byte is there; returns when all of it is.
    #[inline]
    pub fn receive(&mut self, now_ns: u64, at: u32, data_bytes: u64) -> u64 {
        let bytes = data_bytes + self.header_bytes;
        let duration_ns = self.message_ns + self.rate.duration_ns(bytes);
        self.ports[at as usize].receive.carry(now_ns, bytes, duration_ns)
    }

    /// The ports, for their counters.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }
}
