//! What a drawing of the test bench shows.

use super::ArrayDescription;

/// A group of like parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchPart {
    /// What they are.
    pub label: String,
    /// How many.
    pub count: u32,
}

/// The parts of a bench, from the hosts down to the drives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bench {
    /// Machines that issue the load.
    pub hosts: Vec<BenchPart>,
    /// Paths between hosts and controllers.
    pub links: Vec<BenchPart>,
    /// Controllers.
    pub controllers: Vec<BenchPart>,
    /// Drives, in the groups that the layout makes of them.
    pub drives: Vec<BenchPart>,
}

impl ArrayDescription {
    /// The parts, counted and labelled for a drawing.
    pub fn bench(&self) -> Bench {
        let part = |label: &str, count| BenchPart { label: label.to_owned(), count };
        let members = self.layout.members.get();
        let mut drives =
            vec![part(&format!("{}, RAID {}", self.drives.label, self.layout.raid.get()), members)];
        let spares = self.drives.count.get().saturating_sub(members);
        if spares > 0 {
            drives.push(part(&format!("{}, hot spare", self.drives.label), spares));
        }
        Bench {
            hosts: vec![part(&self.hosts.label, self.hosts.count.get())],
            links: vec![part(&self.links.label, self.links.count.get())],
            controllers: vec![part(&self.controllers.label, self.controllers.count.get())],
            drives,
        }
    }
}
