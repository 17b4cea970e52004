//! Capacity: raw, usable, over-provisioning, and how long a rebuild takes.

use serde::Serialize;

use crate::description::Array;
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
        let drives = (set.slots.len() + set.spares.len()) as u32;
        let drive_bytes = group.drives.capacity_bytes();
        let raw_bytes = (u64::from(drives) as f64 * drive_bytes as f64 * share) as u64;
        let has_volumes = array.may_hold_volumes(set.group);
        let usable_bytes = if has_volumes { crate::sets::volume_bytes(array, set) } else { 0 };
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
