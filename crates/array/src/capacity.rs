//! Capacity: raw, usable, over-provisioning, and how long a rebuild takes.

use serde::Serialize;

use crate::description::{Array, Group, Pool};
use crate::drive::Drives;
use crate::sets::Set;

/// Capacity of one group or pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Capacity {
    /// Name of the group or pool.
    pub name: String,
    /// Drives, spares included.
    pub drives: u32,
    /// Bytes of all drives.
    pub raw_bytes: u64,
    /// Bytes that volumes can have.
    pub usable_bytes: u64,
    /// Spare flash of the drives as a share of their capacity; `None` for drives without a flash translation layer.
    pub over_provisioning: Option<f64>,
    /// Time of a rebuild of one drive at the described rate, delay included, in nanoseconds; `None` where nothing is redundant.
    pub rebuild_ns: Option<u64>,
}

/// Capacities of the sets of an array, sets of one group or pool together.
pub fn capacity(array: &Array, sets: &[Set]) -> Vec<Capacity> {
    let mut all: Vec<Capacity> = Vec::new();
    for set in sets {
        let group = &array.groups[set.group];
        let pool = set.pool.map(|pool| &array.pools[pool]);
        let name = pool.map_or_else(|| group.name().to_owned(), |pool| pool.keys.name.text.clone());
        let share = pool.map_or(1.0, |pool| pool.keys.share.share());
        let (drives, raw_bytes) = match pool.filter(|pool| pool.is_chain()) {
            Some(pool) => chain_drives(array, pool),
            None => {
                let drives = (set.slots.len() + set.spares.len()) as u32;
                (drives, (f64::from(drives) * group.drives.capacity_bytes() as f64 * share) as u64)
            }
        };
        let drive_bytes = group.drives.capacity_bytes();
        let usable_bytes = match pool.filter(|pool| pool.is_chain()) {
            _ if !array.may_hold_volumes(set.group) => 0,
            Some(pool) => chain_bytes(array, pool),
            None => crate::sets::volume_bytes(array, set),
        };
        if let Some(known) = all.iter_mut().find(|known| known.name == name) {
            known.drives += drives;
            known.raw_bytes += raw_bytes;
            known.usable_bytes += usable_bytes;
            continue;
        }
        let over_provisioning = match &group.drives {
            Drives::SolidState(drive) => Some(drive.over_provisioning.share()),
            Drives::HardDisk(_) | Drives::FlashModule(_) => None,
        };
        let is_redundant = match set.layout.redundancy() {
            layout::Redundancy::Copies(copies) => copies > 1,
            layout::Redundancy::Parity(parity) => parity > 0,
        };
        let lost_bytes = drive_bytes as f64 * share;
        let rebuild_ns = is_redundant
            .then(|| array.rebuild.delay.get() + (lost_bytes / array.rebuild.rate.get() as f64 * 1e9) as u64);
        all.push(Capacity { name, drives, raw_bytes, usable_bytes, over_provisioning, rebuild_ns });
    }
    all
}

/// Raw and usable bytes of all groups or pools together. Chains share the drives of their groups: each may have all that they hold, and
/// together they have it once.
pub fn totals(array: &Array, capacities: &[Capacity]) -> (u64, u64) {
    let sum = |bytes: fn(&Capacity) -> u64| capacities.iter().map(bytes).sum::<u64>();
    let (raw_bytes, usable_bytes) = (sum(|one| one.raw_bytes), sum(|one| one.usable_bytes));
    if !array.has_chains() {
        return (raw_bytes, usable_bytes);
    }
    let of_groups = |bytes: fn(&Group) -> u64| {
        array.groups.iter().map(|group| u64::from(array.drives_of(group)) * bytes(group)).sum::<u64>()
    };
    let free_bytes = of_groups(Group::bytes_beside_log);
    let replicas = array.pools.first().map_or(1, |pool| pool.keys.replicas.get().max(1));
    (of_groups(|group| group.drives.capacity_bytes()), usable_bytes.min(free_bytes / replicas))
}

impl Group {
    /// Bytes of a drive beside the log of a journal.
    fn bytes_beside_log(&self) -> u64 {
        let log_bytes = self.journal.as_ref().map_or(0, |journal| journal.log.get());
        self.drives.capacity_bytes().saturating_sub(log_bytes)
    }
}

/// Drives of the groups of a chain, and the bytes of all of them, which it shares with others.
fn chain_drives(array: &Array, pool: &Pool) -> (u32, u64) {
    let mut groups = array.chain_groups(pool);
    groups.sort_unstable();
    groups.dedup();
    groups.iter().map(|&group| &array.groups[group]).fold((0, 0), |(drives, bytes), group| {
        let own = array.drives_of(group);
        (drives + own, bytes + u64::from(own) * group.drives.capacity_bytes())
    })
}

/// Bytes that volumes can have on a chain which has its groups alone: those of the group that is full first.
fn chain_bytes(array: &Array, pool: &Pool) -> u64 {
    let groups = array.chain_groups(pool);
    let holds = |&group: &usize| {
        let replicas = groups.iter().filter(|&&other| other == group).count() as u64;
        let described = &array.groups[group];
        u64::from(array.drives_of(described)) * described.bytes_beside_log() / replicas
    };
    groups.iter().map(holds).min().unwrap_or(0)
}
