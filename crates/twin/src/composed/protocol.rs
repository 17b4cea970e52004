//! Processor time that a protocol in software (iSCSI, NVMe/TCP) costs at its two ends.

use super::settings::Switches;
use crate::part::Counters;

/// Costs of a protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Protocol {
    /// Of a job for one I/O.
    pub initiator_ns: u64,
    /// Of a controller for one command.
    pub target_ns: u64,
}

impl Protocol {
    /// Costs that are switched on: an end without processors has none.
    pub fn new(array: &array::Array, on: Switches) -> Protocol {
        let or_none = |is_on: bool, ns: u64| if on.protocol && is_on { ns } else { 0 };
        Protocol {
            initiator_ns: or_none(on.host, array.fabric.initiator.get()),
            target_ns: or_none(on.processors, array.fabric.target.get()),
        }
    }

    /// Counts what so many I/Os of hosts and commands at controllers have cost, without what crowding adds.
    pub fn count_into(self, ios: u64, commands: u64, counters: &mut Counters) {
        if self == (Protocol { initiator_ns: 0, target_ns: 0 }) {
            return;
        }
        counters.add("protocol", "initiator_ios", ios);
        counters.add("protocol", "initiator_ns", ios * self.initiator_ns);
        counters.add("protocol", "target_commands", commands);
        counters.add("protocol", "target_ns", commands * self.target_ns);
    }
}
