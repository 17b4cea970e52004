//! Hard disks: the keys that all of them have, how their model takes these, and what of them can be switched off.

use units::Nanos;

use crate::DescriptionError;
use crate::drive::disk::{HardDisk, HardDiskDescription};

/// Declares hard disks: keys that all have, and keys of one kind's own behind them.
macro_rules! hard_disks {
    ($(#[$about:meta])* $name:ident { $($own:tt)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// What they are, for drawings.
            pub label: String,
            /// How many: in an array, hot spares included; in a system of nodes, in each node.
            pub count: $crate::Parameter<u32>,
            /// Usable bytes of one.
            pub capacity_bytes: $crate::Parameter<u64>,
            /// Revolutions a minute.
            pub rpm: $crate::Parameter<u32>,
            /// Recording surfaces.
            pub heads: $crate::Parameter<u32>,
            /// Media rate of the outermost track, in 10^6 bytes a second.
            pub outer_mb_per_s: $crate::Parameter<f64>,
            /// Media rate of the innermost track, in 10^6 bytes a second.
            pub inner_mb_per_s: $crate::Parameter<f64>,
            /// Seek to a neighbouring cylinder, settling included, in milliseconds.
            pub seek_min_ms: $crate::Parameter<f64>,
            /// Mean seek between two cylinders chosen at random, in milliseconds.
            pub seek_average_ms: $crate::Parameter<f64>,
            /// What a seek to a write takes longer, in milliseconds.
            pub write_settle_ms: $crate::Parameter<f64>,
            /// Firmware and interface time of each command, before the arm moves, in microseconds.
            pub command_us: $crate::Parameter<f64>,
            /// Commands among which the disk chooses the one it reaches first.
            pub queue_window: $crate::Parameter<u32>,
            /// A command that has waited longer is served next, in milliseconds; 0 never.
            pub queue_age_limit_ms: $crate::Parameter<f64>,
            /// Segments of the read-ahead buffer; 0 for no read-ahead.
            pub buffer_segments: $crate::Parameter<u32>,
            /// Bytes read ahead into a segment.
            pub buffer_segment_bytes: $crate::Parameter<u64>,
            $($own)*
        }

        impl $name {
            /// One disk, as its model takes it; with the usual values of what only some kinds describe.
            fn common_disk(&self) -> $crate::drive::disk::HardDiskDescription {
                use $crate::part::{bytes_per_s, nanos_of_ms, nanos_of_us};
                $crate::drive::disk::HardDiskDescription {
                    capacity: units::Bytes(self.capacity_bytes.get()),
                    rpm: self.rpm.get(),
                    heads: self.heads.get(),
                    zones: 24,
                    outer_bytes_per_s: bytes_per_s(&self.outer_mb_per_s),
                    inner_bytes_per_s: bytes_per_s(&self.inner_mb_per_s),
                    seek_min: nanos_of_ms(&self.seek_min_ms),
                    seek_average: nanos_of_ms(&self.seek_average_ms),
                    write_settle: nanos_of_ms(&self.write_settle_ms),
                    seek_linear_from: 1.0,
                    head_switch: units::Nanos(0),
                    command_overhead: nanos_of_us(&self.command_us),
                    interface_bytes_per_s: 600_000_000,
                    queue_window: self.queue_window.get(),
                    plans_ahead: false,
                    queue_age_limit: nanos_of_ms(&self.queue_age_limit_ms),
                    segments: self.buffer_segments.get(),
                    segment_bytes: units::Bytes(self.buffer_segment_bytes.get()),
                    write_cache: false,
                    write_cache_bytes: units::Bytes(0),
                }
            }

            /// Refuses values that no hard disk has, naming the key. What is left is the model's own to judge.
            fn check_common(&self) -> Result<(), $crate::DescriptionError> {
                use $crate::description::{STEP_LIMIT_US, rate, within};
                $crate::part::check_capacity("capacity_bytes", &self.capacity_bytes)?;
                rate("outer_mb_per_s", &self.outer_mb_per_s)?;
                rate("inner_mb_per_s", &self.inner_mb_per_s)?;
                within("seek_min_ms", &self.seek_min_ms, 0.0, 100.0)?;
                within("seek_average_ms", &self.seek_average_ms, self.seek_min_ms.get(), 1000.0)?;
                within("write_settle_ms", &self.write_settle_ms, 0.0, 100.0)?;
                within("command_us", &self.command_us, 0.0, STEP_LIMIT_US)?;
                within("queue_age_limit_ms", &self.queue_age_limit_ms, 0.0, 1e6)
            }
        }
    };
}
pub(crate) use hard_disks;

/// Refuses a disk that its model cannot be built of.
pub(crate) fn check_hard_disk(disk: &HardDiskDescription) -> Result<(), DescriptionError> {
    hard_disk(disk).map(|_| ())
}

/// Mechanism switches of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DiskSwitches {
    /// Arms take time to move.
    pub seek: bool,
    /// Sectors must come under the head.
    pub rotation: bool,
    /// The disk may choose among its commands.
    pub reordering: bool,
    /// It reads ahead, and answers writes early where it is described to.
    pub buffer: bool,
}

/// Builds a disk without what is switched off.
pub(crate) fn switched_hard_disk(
    mut disk: HardDiskDescription,
    switches: DiskSwitches,
) -> Result<HardDisk, DescriptionError> {
    if !switches.seek {
        disk.seek_min = Nanos(0);
        disk.seek_average = Nanos(0);
        disk.write_settle = Nanos(0);
    }
    if !switches.reordering {
        disk.queue_window = 1;
    }
    if !switches.buffer {
        disk.segments = 0;
        disk.write_cache = false;
    }
    let mut built = hard_disk(&disk)?;
    if !switches.rotation {
        built.stop_waiting_for_rotation();
    }
    Ok(built)
}

fn hard_disk(disk: &HardDiskDescription) -> Result<HardDisk, DescriptionError> {
    HardDisk::new(disk).map_err(|error| DescriptionError {
        path: error.key.to_owned(),
        problem: "no disk has this".into(),
        hint: error.reason,
    })
}
