//! Topology of the array and its hosts, for drawings.

use super::Description;
use super::description::Level;
use crate::{Topology, TopologyPart};

impl Level {
    /// As people write it.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Level::Raid0 => "RAID 0",
            Level::Raid1 => "RAID 1",
            Level::Raid5 => "RAID 5",
            Level::Raid6 => "RAID 6",
            Level::Raid10 => "RAID 10",
            Level::Ddp => "disk pool",
        }
    }
}

impl Description {
    /// The parts, counted and labelled for a drawing.
    pub(crate) fn bench(&self) -> Topology {
        let (fitted, used) = (self.drives.count.get(), self.layout.disks.get());
        let label = &self.drives.label;
        let mut drives = match used {
            1 => vec![TopologyPart::new(label, 1)],
            _ => vec![TopologyPart::new(&format!("{label}, {}", self.layout.level.get().words()), used)],
        };
        if fitted > used {
            drives.push(TopologyPart::new(&format!("{label}, not in the set"), fitted - used));
        }
        Topology {
            hosts: vec![TopologyPart::new(&self.hosts.label, self.hosts.count.get())],
            links: vec![TopologyPart::new(&self.links.label, self.links.count.get())],
            controllers: vec![TopologyPart::new(&self.controllers.label, self.controllers.count.get())],
            drives,
        }
    }
}
