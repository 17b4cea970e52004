//! Warnings about what is implausible, though it can be simulated.

use serde::Serialize;

use crate::ceilings::{BLOCK_SIZES, Ceiling};
use crate::description::{Array, LayoutKind};
use crate::drive::Drives;
use crate::sets::Set;

/// Implausible part of a description.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// Name of what is implausible, for programs.
    pub code: &'static str,
    /// Key that it is about.
    pub path: String,
    /// Implausible value, in words.
    pub message: String,
}

/// Outstanding commands of a drive from which its dies are busy, as a share of its dies.
const QUEUE_PER_DIE: f64 = 0.5;

/// Warnings about an array.
pub fn warnings(array: &Array, sets: &[Set], ceilings: &[Ceiling]) -> Vec<Warning> {
    let mut all = Vec::new();
    let mut warn = |code, path: String, message: String| all.push(Warning { code, path, message });
    let drive_bytes: u64 = array
        .groups
        .iter()
        .map(|group| group.drives.capacity_bytes() * u64::from(array.drives_of(group)))
        .sum();
    let caches = u64::from(array.controller_count());
    for (key, bytes) in [("write_back", array.cache.write_back.get()), ("read", array.cache.read.get())] {
        if bytes.saturating_mul(caches) > drive_bytes {
            warn(
                "cache-above-drives",
                format!("cache.{key}"),
                format!(
                    "{} in all is more than all drives hold ({})",
                    units::human_bytes(bytes * caches),
                    units::human_bytes(drive_bytes)
                ),
            );
        }
    }
    if array.cache.write_back.get() > 0 && !array.cache.protected.is_on() {
        warn(
            "cache-unprotected",
            "cache.protected".into(),
            "a loss of power loses writes that were answered".into(),
        );
    }
    if array.cache.write_back.get() > 0 && array.cache.mirrored.is_on() && array.controller_count() == 1 {
        warn(
            "cache-not-mirrored",
            "cache.mirrored".into(),
            "there is no second controller to mirror to; writes are not mirrored".into(),
        );
    }
    let bound = |part: &str, on: &str, is_read: bool, block: u64| {
        ceilings
            .iter()
            .find(|c| c.part == part && c.on == on && c.is_read == is_read && c.block_bytes == block)
            .map(|c| c.iops)
    };
    let mut seen = Vec::new();
    for ceiling in ceilings {
        if !seen.contains(&ceiling.on) {
            seen.push(ceiling.on.clone());
        }
    }
    for on in &seen {
        let largest = BLOCK_SIZES[BLOCK_SIZES.len() - 1];
        if let (Some(links), Some(drives)) =
            (bound("links", on, true, largest), bound("drives", on, true, largest))
            && links < drives / 4.0
        {
            let rate = |iops: f64| units::human_bandwidth(iops * largest as f64);
            warn(
                "links-below-drives",
                "fabric.ports".into(),
                format!(
                    "links carry at most {}, a quarter or less of what the drives of `{on}` read ({})",
                    rate(links),
                    rate(drives)
                ),
            );
        }
    }
    let reachable = u64::from(array.controller_count()) * array.controllers.window.get();
    for (index, group) in array.groups.iter().enumerate() {
        let drives = u64::from(array.drives_of(group));
        if let Drives::SolidState(drive) = &group.drives {
            let dies = drives * drive.channels.get() * drive.dies_per_channel.get();
            if (reachable as f64) < dies as f64 * QUEUE_PER_DIE {
                warn(
                    "queue-below-drives",
                    "controllers.window".into(),
                    format!(
                        "{reachable} commands at once cannot keep {dies} dies of `{}` busy",
                        group.name()
                    ),
                );
            }
        }
        if matches!(group.layout(), LayoutKind::Raid0 | LayoutKind::Single)
            && !array.pools.iter().any(|pool| pool.is_on(group.name()))
        {
            warn(
                "no-redundancy",
                format!("groups[{index}].layout"),
                format!("one lost drive loses the data of `{}`", group.name()),
            );
        }
        if group.layout() == LayoutKind::Raid5 && group.drives.capacity_bytes() > 2_000_000_000_000 {
            warn(
                "raid5-large-drives",
                format!("groups[{index}].layout"),
                "RAID 5 over drives of more than 2 TB: a second loss during a long rebuild loses data".into(),
            );
        }
    }
    if array.controllers.count.get() == 1 && array.nodes.is_none() {
        warn(
            "single-controller",
            "controllers.count".into(),
            "a single controller: its loss takes the array away".into(),
        );
    }
    if sets.iter().any(|set| {
        set.layout.drives() > 32
            && matches!(set.layout.redundancy(), layout::Redundancy::Parity(_))
            && set.pool.is_none()
            && array.groups[set.group].layout() != LayoutKind::Pool
    }) {
        warn(
            "wide-raid",
            "groups".into(),
            "a RAID level over more than 32 drives; arrays divide them into several groups".into(),
        );
    }
    all
}
