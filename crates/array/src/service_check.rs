//! Data services that an array has, and what of them cannot be.

use crate::description::Array;
use crate::refusal::{Refusal, refuse};

/// Most blocks of a read cache on drives: 16 bytes of memory for each.
const CACHE_BLOCK_LIMIT: u64 = 1 << 24;

impl Array {
    /// Group that holds the read cache.
    pub fn cache_group(&self) -> Option<usize> {
        self.drive_cache.as_ref().and_then(|cache| self.group(&cache.on.text))
    }

    /// Returns true if a group holds the read cache, and no volumes.
    pub fn is_cache(&self, group: usize) -> bool {
        self.cache_group() == Some(group)
    }

    /// Names of the data services that it has.
    pub fn services(&self) -> Vec<&'static str> {
        [
            ("thin", self.thin.is_some()),
            ("reduction", self.reduction.is_some()),
            ("snapshots", self.snapshots.is_some()),
            ("drive_cache", self.drive_cache.is_some()),
            ("mirror", self.mirror.is_some()),
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
    ];
    for (path, unit) in units {
        if let Some(unit) = unit
            && !unit.get().is_power_of_two()
        {
            return refuse(path, format!("{} is no power of two", unit.text), "use 8KiB, 64KiB or 256KiB");
        }
    }
    if array.nodes.is_some() {
        for (path, is_there) in
            [("mirror", array.mirror.is_some()), ("drive_cache", array.drive_cache.is_some())]
        {
            if is_there {
                return refuse(
                    path,
                    "not modelled for an array of nodes",
                    "leave it out, or describe one node as an array",
                );
            }
        }
    }
    drive_cache(array)
}

fn drive_cache(array: &Array) -> Result<(), Refusal> {
    let Some(cache) = &array.drive_cache else { return Ok(()) };
    let Some(index) = array.cache_group() else {
        let names = array.groups.iter().map(|group| group.name());
        return refuse(
            "drive_cache.on",
            format!("there is no group `{}`", cache.on.text),
            crate::suggest::hint_of(&cache.on.text, names),
        );
    };
    if array.groups.len() == 1 {
        return refuse(
            "drive_cache.on",
            "the only group holds the cache, and no data",
            "give the array another group for its volumes",
        );
    }
    if let Some(volume) = array.volumes.iter().find(|volume| volume.keys.on.text == cache.on.text) {
        return refuse(
            "drive_cache.on",
            format!("the volumes `{}` lie on `{}`", volume.keys.name.text, cache.on.text),
            "put them on another group",
        );
    }
    let group = &array.groups[index];
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
