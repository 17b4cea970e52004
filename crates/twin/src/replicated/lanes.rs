//! Which events come in order: one lane of the event queue for each source of such events.

/// Numbers of the lanes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lanes {
    machines: u32,
    nodes: u32,
    instances: u32,
    drives: u32,
}

impl Lanes {
    pub fn new(machines: u32, nodes: u32, instances: u32, drives: u32) -> Self {
        Lanes { machines, nodes, instances, drives }
    }

    /// How many there are.
    pub fn count(self) -> u32 {
        self.drive(self.drives)
    }

    /// What happens at once.
    pub fn local(self) -> u32 {
        0
    }

    /// What is rare, or in no order.
    pub fn rare(self) -> u32 {
        1
    }

    /// I/Os that leave or come back through the initiator of a machine, which serves both in one order.
    pub fn block(self, machine: u32) -> u32 {
        2 + machine
    }

    /// Messages that a machine sent: all take the same time to the other end.
    pub fn sent(self, machine: u32) -> u32 {
        self.block(self.machines) + machine
    }

    pub fn received(self, machine: u32) -> u32 {
        self.sent(self.machines) + machine
    }

    pub fn buffered(self, node: u32) -> u32 {
        self.received(self.machines) + node
    }

    /// Instance of a server, by its number in its node.
    pub fn served(self, node: u32, instance: u32) -> u32 {
        self.buffered(self.nodes) + node * self.instances + instance
    }

    pub fn drive(self, drive: u32) -> u32 {
        self.served(self.nodes, 0) + drive
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that every source has a lane of its own and that none lies beyond the count.
    #[test]
    fn lanes_do_not_overlap() {
        let lanes = Lanes::new(4, 3, 2, 5);
        let mut all = vec![lanes.local(), lanes.rare()];
        all.extend(
            (0..4).flat_map(|machine| [lanes.block(machine), lanes.sent(machine), lanes.received(machine)]),
        );
        all.extend(
            (0..3).flat_map(|node| [lanes.buffered(node), lanes.served(node, 0), lanes.served(node, 1)]),
        );
        all.extend((0..5).map(|drive| lanes.drive(drive)));
        all.sort_unstable();
        assert_eq!(all, (0..lanes.count()).collect::<Vec<_>>());
    }
}
