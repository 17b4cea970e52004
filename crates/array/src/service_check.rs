//! Data services that an array has, and what of them cannot be.

use crate::description::Array;
use crate::refusal::{Refusal, refuse};

/// Most blocks of a read cache on drives: 16 bytes of memory for each.
const CACHE_BLOCK_LIMIT: u64 = 1 << 24;
/// Most extents of an array with a tier: each is counted, and all are sorted at every plan.
const EXTENT_LIMIT: u64 = 1 << 24;

impl Array {
    /// Group that holds the read cache.
    pub fn cache_group(&self) -> Option<usize> {
        self.drive_cache.as_ref().and_then(|cache| self.group(&cache.on.text))
    }

    /// Returns true if a group holds the read cache, and no volumes.
    pub fn is_cache(&self, group: usize) -> bool {
        self.cache_group() == Some(group)
    }

    /// Group that is the tier.
    pub fn tier_group(&self) -> Option<usize> {
        self.tier.as_ref().and_then(|tier| self.group(&tier.on.text))
    }

    /// Returns true if a group is the tier, and holds no volumes of its own.
    pub fn is_tier(&self, group: usize) -> bool {
        self.tier_group() == Some(group)
    }

    /// Returns true if volumes may lie on a group.
    pub fn may_hold_volumes(&self, group: usize) -> bool {
        !self.is_cache(group) && !self.is_tier(group)
    }

    /// Names of the data services that it has.
    pub fn services(&self) -> Vec<&'static str> {
        [
            ("thin", self.thin.is_some()),
            ("reduction", self.reduction.is_some()),
            ("snapshots", self.snapshots.is_some()),
            ("drive_cache", self.drive_cache.is_some()),
            ("tier", self.tier.is_some()),
            ("mirror", self.mirror.is_some()),
            ("replication", self.replication.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, is_there)| is_there.then_some(name))
        .collect()
    }
}

/// Refuses services that the array cannot have.
pub(crate) fn check(array: &Array) -> Result<(), Refusal> {
    let units = [
        ("thin.unit", array.thin.as_ref().map(|thin| &thin.unit)),
        ("reduction.block", array.reduction.as_ref().map(|reduction| &reduction.block)),
        ("snapshots.extent", array.snapshots.as_ref().map(|snapshots| &snapshots.extent)),
        ("drive_cache.block", array.drive_cache.as_ref().map(|cache| &cache.block)),
        ("replication.unit", array.replication.as_ref().map(|copies| &copies.unit)),
        ("tier.extent", array.tier.as_ref().map(|tier| &tier.extent)),
    ];
    for (path, unit) in units {
        if let Some(unit) = unit
            && !unit.get().is_power_of_two()
        {
            return refuse(path, format!("{} is no power of two", unit.text), "use 8KiB, 64KiB or 256KiB");
        }
    }
    if array.nodes.is_some() {
        for (path, is_there) in [
            ("mirror", array.mirror.is_some()),
            ("drive_cache", array.drive_cache.is_some()),
            ("tier", array.tier.is_some()),
            ("replication", array.replication.is_some()),
        ] {
            if is_there {
                return refuse(
                    path,
                    "not modelled for an array of nodes",
                    "leave it out, or describe one node as an array",
                );
            }
        }
    }
    replication(array)?;
    drive_cache(array)?;
    tier(array)
}

fn replication(array: &Array) -> Result<(), Refusal> {
    if array.replication.is_some() && array.snapshots.is_none() {
        return refuse("replication", "copies of snapshots without snapshots", "give the array `snapshots:`");
    }
    if array.replication.is_some() && array.mirror.is_some() {
        return refuse(
            "replication",
            "a third array beside that of the mirror is not modelled",
            "leave `replication` or `mirror` out",
        );
    }
    Ok(())
}

/// Returns the group that a service has for itself; refused where there is none of the name, or where it holds volumes.
fn own_group(array: &Array, path: &str, on: &str, holds: &str) -> Result<usize, Refusal> {
    let Some(index) = array.group(on) else {
        let names = array.groups.iter().map(|group| group.name());
        return refuse(path, format!("there is no group `{on}`"), crate::suggest::hint_of(on, names));
    };
    if array.groups.len() == 1 {
        return refuse(
            path,
            format!("the only group {holds}, and no data"),
            "give the array another group for its volumes",
        );
    }
    if let Some(volume) = array.volumes.iter().find(|volume| volume.keys.on.text == on) {
        return refuse(
            path,
            format!("the volumes `{}` lie on `{}`", volume.keys.name.text, on),
            "put them on another group",
        );
    }
    Ok(index)
}

fn drive_cache(array: &Array) -> Result<(), Refusal> {
    let Some(cache) = &array.drive_cache else { return Ok(()) };
    let group = &array.groups[own_group(array, "drive_cache.on", &cache.on.text, "holds the cache")?];
    let bytes =
        group.drives.capacity_bytes() as f64 * f64::from(array.drives_of(group)) * cache.share.share();
    let blocks = (bytes / cache.block.get() as f64) as u64;
    if blocks > CACHE_BLOCK_LIMIT {
        return refuse(
            "drive_cache.block",
            format!("{blocks} blocks in the cache"),
            format!("at most {CACHE_BLOCK_LIMIT}: use a larger block or a smaller share"),
        );
    }
    Ok(())
}

fn tier(array: &Array) -> Result<(), Refusal> {
    let Some(tier) = &array.tier else { return Ok(()) };
    let own = own_group(array, "tier.on", &tier.on.text, "is the tier")?;
    if array.is_cache(own) {
        return refuse(
            "tier.on",
            format!("`{}` holds the read cache", tier.on.text),
            "give the tier, or the cache, a group of its own",
        );
    }
    let group = &array.groups[own];
    let own_bytes =
        group.drives.capacity_bytes() as f64 * f64::from(array.drives_of(group)) * tier.share.share();
    let (sets, places) = crate::sets::build(array)?;
    let volume_bytes: u64 = (0..sets.len())
        .filter_map(|set| {
            let on_set = places.iter().filter(|place| place.set == set);
            on_set.map(|place| place.offset_bytes + place.bytes).max()
        })
        .sum();
    let extents = own_bytes as u64 / tier.extent.get() + volume_bytes / tier.extent.get();
    if extents > EXTENT_LIMIT {
        return refuse(
            "tier.extent",
            format!("{extents} extents of the volumes and the tier"),
            format!("at most {EXTENT_LIMIT}: use a larger extent"),
        );
    }
    Ok(())
}
