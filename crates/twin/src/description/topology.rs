//! Topology of a tested system: groups of hosts, links, controllers and drives, as reports draw it.

/// Group of identical parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopologyPart {
    /// What they are.
    pub label: String,
    /// How many.
    pub count: u32,
}

impl TopologyPart {
    pub(crate) fn new(label: &str, count: u32) -> Self {
        TopologyPart { label: label.to_owned(), count }
    }
}

/// Parts of a tested system, from the hosts down to the drives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topology {
    /// Machines that issue the load.
    pub hosts: Vec<TopologyPart>,
    /// Paths between hosts and controllers.
    pub links: Vec<TopologyPart>,
    /// Controllers.
    pub controllers: Vec<TopologyPart>,
    /// Drives, in the groups that the layout makes of them.
    pub drives: Vec<TopologyPart>,
}
