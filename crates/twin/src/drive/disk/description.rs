//! Description of a hard disk.

use super::super::description::{DescriptionError, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos};

/// No drive may be larger: four times the largest drive sold in 2025.
pub const CAPACITY_LIMIT_BYTES: u64 = 1 << 47;
/// No disk may have more zones.
pub const ZONES_LIMIT: u32 = 64;
/// No reordering window may be larger: SAS drives queue up to 254 commands.
pub const QUEUE_WINDOW_LIMIT: u32 = 256;
/// No disk may have more read-ahead segments.
pub const SEGMENTS_LIMIT: u32 = 256;

/// A hard disk. Durations are in seconds or with a suffix (`8.5ms`), sizes in bytes or with a suffix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HardDiskDescription {
    /// Usable bytes.
    pub capacity: Bytes,
    /// Revolutions a minute.
    pub rpm: u32,
    /// Recording surfaces.
    pub heads: u32,
    /// Zones of equal width, from the outer to the inner edge; all tracks of a zone hold the same number of bytes.
    #[serde(default = "default_zones")]
    pub zones: u32,
    /// Media rate of the outermost track, in bytes a second.
    pub outer_bytes_per_s: u64,
    /// Media rate of the innermost track, in bytes a second.
    pub inner_bytes_per_s: u64,
    /// Seek to a neighbouring cylinder, settling included.
    pub seek_min: Nanos,
    /// Mean seek between two cylinders chosen at random, as datasheets give it.
    pub seek_average: Nanos,
    /// What a seek to a write takes longer than one to a read: the arm must settle more closely. Datasheets give it as
    /// the difference of the two mean seeks.
    #[serde(default)]
    pub write_settle: Nanos,
    /// Share of the stroke (0 to 1) from which seeks grow in proportion to distance: the arm has reached its full speed.
    /// 1 for a curve that is a square root throughout.
    #[serde(default = "whole_stroke")]
    pub seek_linear_from: f64,
    /// Switch to another head of the same cylinder, and to the next cylinder of a sequential transfer.
    #[serde(default)]
    pub head_switch: Nanos,
    /// Firmware and interface time of each command, before the arm moves.
    pub command_overhead: Nanos,
    /// Rate of the interface, in bytes a second; for data that comes from or goes to the buffer.
    #[serde(default = "default_interface")]
    pub interface_bytes_per_s: u64,
    /// Commands among which the drive chooses the one it reaches first; 1 serves in order of arrival.
    pub queue_window: u32,
    /// The drive chooses its next command when it begins the one before, so that the arm can be sent at once; what arrives
    /// meanwhile takes no part in the choice.
    #[serde(default)]
    pub plans_ahead: bool,
    /// A command that has waited longer is served next, whatever its place. 0 never.
    #[serde(default)]
    pub queue_age_limit: Nanos,
    /// Read-ahead segments in the buffer; 0 switches read-ahead off.
    #[serde(default)]
    pub segments: u32,
    /// Bytes that are read ahead into a segment.
    #[serde(default)]
    pub segment_bytes: Bytes,
    /// Acknowledges writes on entry into the buffer and puts them on the media in order of address later.
    #[serde(default)]
    pub write_cache: bool,
    /// Bytes of unwritten data that the buffer holds with `write_cache`.
    #[serde(default)]
    pub write_cache_bytes: Bytes,
}

fn default_zones() -> u32 {
    24
}

fn whole_stroke() -> f64 {
    1.0
}

fn default_interface() -> u64 {
    600_000_000
}

impl HardDiskDescription {
    /// Refuses what no disk can be, naming the key.
    pub fn check(&self) -> Result<(), DescriptionError> {
        let capacity = self.capacity.0;
        require((1 << 20..=CAPACITY_LIMIT_BYTES).contains(&capacity), "capacity", || {
            format!("a disk has 1 MiB to {CAPACITY_LIMIT_BYTES} bytes, not {capacity}")
        })?;
        require((1000..=30_000).contains(&self.rpm), "rpm", || {
            format!("a disk turns 1,000 to 30,000 times a minute, not {}", self.rpm)
        })?;
        require((1..=64).contains(&self.heads), "heads", || {
            format!("a disk has 1 to 64 heads, not {}", self.heads)
        })?;
        require((1..=ZONES_LIMIT).contains(&self.zones), "zones", || {
            format!("1 to {ZONES_LIMIT} zones, not {}", self.zones)
        })?;
        require((1_000_000..=10_000_000_000).contains(&self.inner_bytes_per_s), "inner_bytes_per_s", || {
            format!("1 MB/s to 10 GB/s, not {} bytes a second", self.inner_bytes_per_s)
        })?;
        let outer = self.outer_bytes_per_s;
        require((self.inner_bytes_per_s..=10_000_000_000).contains(&outer), "outer_bytes_per_s", || {
            format!("at least `inner_bytes_per_s` and at most 10 GB/s, not {outer} bytes a second")
        })?;
        require(self.seek_min.0 <= 100_000_000, "seek_min", || {
            format!("at most 100 ms, not {}", self.seek_min)
        })?;
        require((self.seek_min.0..=1_000_000_000).contains(&self.seek_average.0), "seek_average", || {
            format!("at least `seek_min` and at most 1 s, not {}", self.seek_average)
        })?;
        require(self.write_settle.0 <= 100_000_000, "write_settle", || {
            format!("at most 100 ms, not {}", self.write_settle)
        })?;
        require((0.01..=1.0).contains(&self.seek_linear_from), "seek_linear_from", || {
            format!("a share of the stroke from 0.01 to 1, not {}", self.seek_linear_from)
        })?;
        require(self.head_switch.0 <= 100_000_000, "head_switch", || {
            format!("at most 100 ms, not {}", self.head_switch)
        })?;
        require(self.command_overhead.0 <= 1_000_000_000, "command_overhead", || {
            format!("at most 1 s, not {}", self.command_overhead)
        })?;
        require(self.interface_bytes_per_s >= 1_000_000, "interface_bytes_per_s", || {
            format!("at least 1 MB/s, not {} bytes a second", self.interface_bytes_per_s)
        })?;
        require((1..=QUEUE_WINDOW_LIMIT).contains(&self.queue_window), "queue_window", || {
            format!("1 to {QUEUE_WINDOW_LIMIT} commands, not {}", self.queue_window)
        })?;
        require(self.segments <= SEGMENTS_LIMIT, "segments", || {
            format!("at most {SEGMENTS_LIMIT}, not {}", self.segments)
        })?;
        require(self.segments == 0 || self.segment_bytes.0 > 0, "segment_bytes", || {
            "more than 0 where there are segments".to_owned()
        })?;
        require(!self.write_cache || self.write_cache_bytes.0 > 0, "write_cache_bytes", || {
            "more than 0 where `write_cache` is on".to_owned()
        })
    }
}
