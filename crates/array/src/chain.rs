//! Chain replication: replicas on groups of drives of several kinds over the nodes of a cluster.

use crate::description::{Array, Pool};
use crate::node_services::Service;

/// Most replicas of a chain.
pub const CHAIN_LIMIT: u32 = 4;
/// Drive of a cluster by its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeDrive {
    /// Its group.
    pub group: usize,
    /// Its node.
    pub node: u32,
    /// Its number among the drives of its group in the node.
    pub number: u32,
}

impl Pool {
    /// Returns whether writes go from replica to replica.
    pub fn is_chain(&self) -> bool {
        self.keys.path.get() == 1
    }

    /// Names of the groups that it lies on.
    pub fn group_names(&self) -> impl Iterator<Item = &str> {
        self.keys.on.text.split([' ', ',']).filter(|name| !name.is_empty())
    }

    /// Returns whether it lies on a group.
    pub fn is_on(&self, group: &str) -> bool {
        match self.is_chain() {
            true => self.group_names().any(|name| name == group),
            false => self.keys.on.text == group,
        }
    }
}

impl Array {
    /// Returns whether its pools are chains of replicas.
    pub fn has_chains(&self) -> bool {
        self.pools.iter().any(Pool::is_chain)
    }

    /// Groups of the replicas of a chain, the first replica first.
    pub fn chain_groups(&self, pool: &Pool) -> Vec<usize> {
        let named: Vec<usize> = pool.group_names().filter_map(|name| self.group(name)).collect();
        match named.as_slice() {
            [only] => vec![*only; pool.keys.replicas.count() as usize],
            _ => named,
        }
    }

    /// Controllers of a node that serve a group: the first of them, and how many.
    pub fn controllers_of(&self, group: usize) -> (u32, u32) {
        let given = |index: usize| self.groups[index].keys.controllers.count();
        match given(group) {
            0 => (0, self.controllers.count.count()),
            own => ((0..group).map(given).sum(), own),
        }
    }

    /// Processor time of a controller for a write to a group of a chain, in nanoseconds.
    pub fn chain_write_ns(&self, group: usize) -> u64 {
        match self.groups[group].keys.write.get() {
            0 => self.controllers.write.get(),
            own_ns => own_ns,
        }
    }

    /// Place of a drive, by its number among all of the array.
    pub fn node_drive(&self, drive: u32) -> Option<NodeDrive> {
        let mut first = 0;
        for (index, group) in self.groups.iter().enumerate() {
            let count = self.drives_of(group);
            if drive < first + count {
                let (per_node, number) = (group.count.count.count(), drive - first);
                return Some(NodeDrive { group: index, node: number / per_node, number: number % per_node });
            }
            first += count;
        }
        None
    }

    /// Drives of all groups.
    pub fn drive_count(&self) -> u32 {
        self.groups.iter().map(|group| self.drives_of(group)).sum()
    }

    /// Drives of a group, by their numbers among all of the array.
    pub fn drives_in(&self, group: usize) -> std::ops::Range<u32> {
        let first = self.groups[..group].iter().map(|group| self.drives_of(group)).sum();
        first..first + self.drives_of(&self.groups[group])
    }

    /// Name of a drive by its node and group: `node-1/nvme-0`.
    pub fn node_drive_name(&self, drive: u32) -> Option<String> {
        let NodeDrive { group, node, number } = self.node_drive(drive)?;
        Some(format!("node-{node}/{}-{number}", self.groups[group].name()))
    }

    /// Number of the drive of such a name.
    pub fn node_drive_named(&self, name: &str) -> Option<u32> {
        (0..self.drive_count()).find(|&drive| self.node_drive_name(drive).as_deref() == Some(name))
    }

    /// Service of a role on every node.
    pub fn service_of(&self, role: u64) -> Option<&Service> {
        self.services.iter().find(|service| service.role.get() == role)
    }
}
