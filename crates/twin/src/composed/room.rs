//! Room that a case gives an array: so many times less of all that fills, and a share of it that volumes cover.

use array::{Array, Drives};

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
        let has_solid_states = array.groups.iter().any(|group| matches!(group.drives, Drives::SolidState(_)));
        // Volumes on chains have a size.
        has_solid_states && !array.has_chains()
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
