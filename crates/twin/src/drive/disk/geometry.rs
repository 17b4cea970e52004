//! Disk geometry: zone, cylinder and angle of a byte, and the time to reach it.

use super::description::HardDiskDescription;
use units::NANOS_PER_SECOND;

/// Entries of the table from an offset to its zone; a few zones share an entry at most.
const ZONE_TABLE: usize = 1024;

/// More than rounding can take from a distance.
const ROUNDED_UP: f64 = 1.0 + 1e-9;

/// One zone.
#[derive(Debug, Clone, Copy)]
struct Zone {
    first_byte: u64,
    end_byte: u64,
    first_cylinder: f64,
    cylinders_per_byte: f64,
    /// Turns of the platter a byte takes: 1 ÷ bytes of a track.
    turns_per_byte: f64,
    ns_per_byte: f64,
}

/// A place on the media, as far as timing goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    /// Cylinder as a share of the stroke: 0 outer edge, 1 inner edge.
    pub radius: f64,
    /// Angle of the first byte in 2^-64 turns.
    pub angle: u64,
    /// Time a byte takes under the head.
    pub ns_per_byte: f64,
}

/// The fixed dimensions of a disk and its seek curve.
#[derive(Debug, Clone)]
pub(super) struct Media {
    zones: Vec<Zone>,
    zone_of: Vec<u8>,
    table_shift: u32,
    /// Turns a nanosecond in 2^-64 turns: the platter's angle is a product, not a division.
    turns_per_ns: u64,
    revolution_ns: f64,
    /// The longest wait for an angle: a revolution, or nothing.
    longest_wait_ns: u64,
    seek_min_ns: f64,
    seek_root_ns: f64,
    linear_from: f64,
    linear_ns: f64,
    seek_at_linear_ns: f64,
    /// Half a cylinder: nearer is no seek.
    same_cylinder: f64,
    capacity_bytes: u64,
    /// Head or cylinder switches a byte of a long transfer costs, in ns.
    switch_ns_per_turn: f64,
}

impl Media {
    pub fn new(description: &HardDiskDescription) -> Media {
        let revolution_ns = 60 * NANOS_PER_SECOND / u64::from(description.rpm);
        let turn_s = revolution_ns as f64 / NANOS_PER_SECOND as f64;
        let zones = description.zones as usize;
        let capacity = description.capacity.0;
        let (outer, inner) = (description.outer_bytes_per_s as f64, description.inner_bytes_per_s as f64);
        // Bytes of a track shrink linearly with the radius; all zones are equally wide.
        let steps = (zones - 1).max(1) as f64;
        let track_bytes = |zone: usize| (outer + (inner - outer) * zone as f64 / steps) * turn_s;
        let sum: f64 = (0..zones).map(track_bytes).sum();
        let mut table = Vec::with_capacity(zones);
        let mut first_byte = 0;
        let mut cumulative = 0.0;
        for zone in 0..zones {
            let track = track_bytes(zone);
            cumulative += track;
            let end_byte =
                if zone + 1 == zones { capacity } else { (capacity as f64 * (cumulative / sum)) as u64 };
            let zone_bytes = (end_byte - first_byte).max(1) as f64;
            table.push(Zone {
                first_byte,
                end_byte,
                first_cylinder: zone as f64 / zones as f64,
                cylinders_per_byte: 1.0 / zones as f64 / zone_bytes,
                turns_per_byte: 1.0 / track,
                ns_per_byte: revolution_ns as f64 / track,
            });
            first_byte = end_byte;
        }
        let table_shift = (64u32 - capacity.leading_zeros()).saturating_sub(ZONE_TABLE.trailing_zeros());
        let mut zone_of = vec![0; ZONE_TABLE + 1];
        for (index, entry) in zone_of.iter_mut().enumerate() {
            let offset = (index as u64) << table_shift;
            *entry = table.partition_point(|zone| zone.end_byte <= offset).min(zones - 1) as u8;
        }
        let mean_track = sum / zones as f64;
        let cylinders = (capacity as f64 / mean_track / f64::from(description.heads)).max(1.0);
        let seek_min_ns = description.seek_min.0 as f64;
        let mean_of_curve = mean_seek_factor(description.seek_linear_from);
        let seek_root_ns = (description.seek_average.0 as f64 - seek_min_ns) / mean_of_curve;
        let linear_from = description.seek_linear_from;
        Media {
            zones: table,
            zone_of,
            table_shift,
            turns_per_ns: u64::MAX / revolution_ns,
            revolution_ns: revolution_ns as f64,
            longest_wait_ns: revolution_ns,
            seek_min_ns,
            seek_root_ns,
            linear_from,
            // The tangent of the root where the linear part begins: the arm's speed does not jump.
            linear_ns: seek_root_ns * 0.5 / linear_from.sqrt(),
            seek_at_linear_ns: seek_min_ns + seek_root_ns * linear_from.sqrt(),
            same_cylinder: 0.5 / cylinders,
            capacity_bytes: capacity,
            switch_ns_per_turn: description.head_switch.0 as f64,
        }
    }

    /// From now on every angle is under the head when it is wanted.
    pub fn stop_waiting_for_rotation(&mut self) {
        self.longest_wait_ns = 0;
    }

    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// Returns where the byte at `offset` lies; an offset past the end lies at the end.
    #[inline]
    pub fn place(&self, offset_bytes: u64) -> Place {
        let offset = offset_bytes.min(self.capacity_bytes - 1);
        let mut index = usize::from(self.zone_of[(offset >> self.table_shift) as usize]);
        while offset >= self.zones[index].end_byte {
            index += 1;
        }
        let zone = &self.zones[index];
        let relative = float(offset - zone.first_byte);
        let turns = relative * zone.turns_per_byte;
        // Tracks follow one another with just the skew that a switch takes, which cancels out of sequential transfers.
        let part = turns - float(whole(turns));
        Place {
            radius: zone.first_cylinder + relative * zone.cylinders_per_byte,
            angle: whole(part * (1u64 << 53) as f64) << 11,
            ns_per_byte: zone.ns_per_byte,
        }
    }

    /// Time to move the arm between two radii.
    #[inline]
    pub fn seek_ns(&self, from: f64, to: f64) -> u64 {
        let distance = (from - to).abs();
        if distance < self.same_cylinder {
            0
        } else if distance <= self.linear_from {
            whole(self.seek_min_ns + self.seek_root_ns * distance.sqrt())
        } else {
            whole(self.seek_at_linear_ns + self.linear_ns * (distance - self.linear_from))
        }
    }

    /// Returns a distance beyond which every seek takes longer than `seek_ns`.
    #[inline]
    pub fn farthest_within(&self, seek_ns: u64) -> f64 {
        // Seeks are rounded down to whole nanoseconds, and a root and its square down or up.
        let longer_ns = float(seek_ns) + 2.0;
        let distance = if longer_ns > self.seek_at_linear_ns {
            self.linear_from + (longer_ns - self.seek_at_linear_ns) / self.linear_ns
        } else {
            let root = (longer_ns - self.seek_min_ns).max(0.0) / self.seek_root_ns;
            root * root
        };
        distance.max(self.same_cylinder) * ROUNDED_UP
    }

    /// Time from `at_ns` until `angle` is under the head.
    #[inline]
    pub fn rotation_ns(&self, at_ns: u64, angle: u64) -> u64 {
        let now = at_ns.wrapping_mul(self.turns_per_ns);
        ((u128::from(angle.wrapping_sub(now)) * u128::from(self.longest_wait_ns)) >> 64) as u64
    }

    /// Time for `bytes` to pass under the head, switches of head included.
    #[inline]
    pub fn transfer_ns(&self, place: &Place, bytes: u64) -> u64 {
        let media = float(bytes) * place.ns_per_byte;
        let switches = self.switch_ns_per_turn * (media / self.revolution_ns);
        whole(media + switches)
    }
}

/// A number below 2^63 as a float: processors convert numbers with a sign in one step, others in several.
#[inline]
fn float(number: u64) -> f64 {
    number as i64 as f64
}

/// The whole part of a number from 0 to 2^63, likewise.
#[inline]
fn whole(number: f64) -> u64 {
    number as i64 as u64
}

/// The mean of the seek curve over two radii drawn uniformly, per unit of its root: E√x = 8/15 where the root spans the stroke
/// (distances have density 2(1 − x)); past `from` the tangent continues it.
fn mean_seek_factor(from: f64) -> f64 {
    // ∫₀ᶠ √x·2(1−x) dx + ∫ᶠ¹ (√f + (x−f)÷(2√f))·2(1−x) dx
    let root = from.sqrt();
    let rest = 1.0 - from;
    let curved = 4.0 / 3.0 * from * root - 4.0 / 5.0 * from * from * root;
    let straight = root * rest * rest + rest * rest * rest / (6.0 * root);
    curved + straight
}
