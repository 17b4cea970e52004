//! Room that a case gives an array: so many times less of all that fills, and a share of it that volumes cover.

use crate::settings::SHRINK_LIMIT;
use array::{Array, Drives, Group, Pool, Volume};

/// Bytes that a solid-state drive keeps where it is shrunk by more than [`SHRINK_LIMIT`]: about what that leaves of the smallest drive of a
/// published array.
const DRIVE_BYTES_LEAST: u64 = 360 << 20;

/// Settings of a case for the room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    /// Divisor of the room: described room for each byte that there is.
    pub shrink: u32,
    /// Share of what volumes would have that they have, in percent.
    pub coverage_percent: u8,
}

impl Room {
    /// As it is described.
    pub const DESCRIBED: Room = Room { shrink: 1, coverage_percent: 100 };

    /// Returns whether an array has volumes that share all there is.
    pub fn has_shares(array: &Array) -> bool {
        array.volumes.iter().any(|volume| volume.keys.size.get() == 0)
    }

    /// Returns whether an array has what fills sooner when there is less of it.
    pub fn can_shrink(array: &Array) -> bool {
        // Volumes on chains have a size.
        smallest_drive_bytes(array).is_some() && !array.has_chains()
    }

    /// Returns the most by which an array's room is divided so that its drives keep [`DRIVE_BYTES_LEAST`].
    pub fn most_times(array: &Array) -> u32 {
        let by_drives = smallest_drive_bytes(array).map_or(1, |bytes| bytes / DRIVE_BYTES_LEAST);
        u32::try_from(by_drives).unwrap_or(u32::MAX).max(1)
    }

    /// Returns true if the setting `shrink` takes a divisor.
    pub fn takes_shrink(array: &Array, times: u32) -> bool {
        (1..=SHRINK_LIMIT.max(Room::most_times(array))).contains(&times)
    }

    /// The same parts with so many times less room: what fills, fills so many times sooner, and nothing takes longer or shorter.
    /// Drives stay a whole number of segments.
    pub fn shrink(self, array: &Array) -> Array {
        let mut small = array.clone();
        if self.shrink <= 1 {
            return small;
        }
        let times = u64::from(self.shrink);
        let mut least_bytes = u64::MAX;
        for group in &mut small.groups {
            let segment_bytes = group.keys.segment.get().max(1);
            if let Drives::SolidState(drive) = &mut group.drives {
                drive.capacity.value = drive.capacity.get() / times / segment_bytes * segment_bytes;
                drive.reserve.value /= times;
            }
            least_bytes = least_bytes.min(group.drives.capacity_bytes());
        }
        for volume in &mut small.volumes {
            let lies_on = |group: &&Group| lies_on(array, volume, group);
            let group = array.groups.iter().find(lies_on).or(array.groups.first());
            if let Some(group) = group.filter(|group| matches!(group.drives, Drives::SolidState(_))) {
                let segment_bytes = group.keys.segment.get().max(1);
                let size = &mut volume.keys.size;
                size.value = size.get().div_ceil(times).div_ceil(segment_bytes) * segment_bytes;
            }
        }
        // As many seconds of writes as before.
        small.cache.write_back.value /= times;
        small.cache.read.value /= times;
        small.failover.verify.value = (small.failover.verify.get() / times).min(least_bytes);
        small
    }

    /// The array whose volumes that share all there is cover a part of it.
    pub fn cover(self, array: &Array) -> Array {
        let mut covered = array.clone();
        if self.coverage_percent >= 100 {
            return covered;
        }
        let (sets, places) = array::sets(array);
        for (entry, volume) in covered.volumes.iter_mut().enumerate() {
            let own = places.iter().filter(|place| place.entry == entry);
            if volume.keys.size.get() == 0
                && let Some(place) = own.min_by_key(|place| place.bytes)
            {
                // Volumes begin where stripes do.
                let stripe_bytes = sets[place.set].layout.stripe_bytes();
                let part_bytes = place.bytes / 100 * u64::from(self.coverage_percent);
                volume.keys.size.value = (part_bytes / stripe_bytes).max(1) * stripe_bytes;
            }
        }
        covered
    }
}

/// Capacity of the smallest solid-state drive.
fn smallest_drive_bytes(array: &Array) -> Option<u64> {
    let of_group = |group: &Group| match &group.drives {
        Drives::SolidState(drive) => Some(drive.capacity.get()),
        Drives::HardDisk(_) | Drives::FlashModule(_) => None,
    };
    array.groups.iter().filter_map(of_group).min()
}

/// Returns whether a volume names a group, or a pool on it.
fn lies_on(array: &Array, volume: &Volume, group: &Group) -> bool {
    let name = volume.keys.on.text.as_str();
    let has_pool = |pool: &Pool| pool.keys.name.text == name && pool.is_on(group.name());
    name == group.name() || array.pools.iter().any(has_pool)
}
