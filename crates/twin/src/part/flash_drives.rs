//! Solid-state drives: the keys that all of them have, and how their model takes these.

use crate::DescriptionError;
use crate::drive;

/// Declares solid-state drives: keys that all have, and keys of one kind's own behind them.
macro_rules! flash_drives {
    ($(#[$about:meta])* $name:ident { $($own:tt)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// What they are, for drawings.
            pub label: String,
            /// How many: in an array, all of them in its set; in a system of nodes, in each node.
            pub count: $crate::Parameter<u32>,
            /// Bytes of one that may be addressed.
            pub capacity_bytes: $crate::Parameter<u64>,
            /// Spare flash as a share of `capacity_bytes`.
            pub over_provisioning: $crate::Parameter<f64>,
            /// Bytes that are mapped and collected as one.
            pub mapping_unit_bytes: $crate::Parameter<u64>,
            /// Channels.
            pub channels: $crate::Parameter<u32>,
            /// Dies on each channel.
            pub dies_per_channel: $crate::Parameter<u32>,
            /// Planes of a die that program together.
            pub planes: $crate::Parameter<u32>,
            /// Bytes of a flash page.
            pub page_bytes: $crate::Parameter<u64>,
            /// Pages of an erase block in one plane.
            pub pages_per_block: $crate::Parameter<u32>,
            /// Microseconds to read a page.
            pub read_us: $crate::Parameter<f64>,
            /// Microseconds to program a page on all planes.
            pub program_us: $crate::Parameter<f64>,
            /// Microseconds to erase a block on all planes.
            pub erase_us: $crate::Parameter<f64>,
            /// Microseconds that a read costs which interrupts a program or an erase.
            pub suspend_us: $crate::Parameter<f64>,
            /// Rate of one channel, in 10^6 bytes a second.
            pub channel_mb_per_s: $crate::Parameter<f64>,
            /// Rate of the bus that all channels share, in 10^6 bytes a second.
            pub bus_mb_per_s: $crate::Parameter<f64>,
            /// Microseconds of the drive's controller for a read.
            pub read_command_us: $crate::Parameter<f64>,
            /// Microseconds of the drive's controller for a write.
            pub write_command_us: $crate::Parameter<f64>,
            /// Bytes of writes that are acknowledged before they are programmed.
            pub write_buffer_bytes: $crate::Parameter<u64>,
            $($own)*
        }

        impl $name {
            /// One drive, as its model takes it; with the usual values of what only some kinds describe.
            fn common_drive(&self) -> $crate::drive::flash::FlashDescription {
                use $crate::drive::flash::{CollectionPolicy, FlashDescription, WriteFrontiers};
                use $crate::part::{bytes_per_s, nanos_of_us};
                FlashDescription {
                    capacity: units::Bytes(self.capacity_bytes.get()),
                    over_provisioning: self.over_provisioning.get(),
                    mapping_unit: units::Bytes(self.mapping_unit_bytes.get()),
                    superblocks: $crate::part::SUPERBLOCKS,
                    units_per_superblock: $crate::part::UNITS_PER_SUPERBLOCK,
                    collection: CollectionPolicy::Greedy,
                    frontiers: WriteFrontiers::HostAndCollection,
                    channels: self.channels.get(),
                    dies_per_channel: self.dies_per_channel.get(),
                    planes: self.planes.get(),
                    page: units::Bytes(self.page_bytes.get()),
                    pages_per_block: self.pages_per_block.get(),
                    read: nanos_of_us(&self.read_us),
                    program: nanos_of_us(&self.program_us),
                    erase: nanos_of_us(&self.erase_us),
                    channel_bytes_per_s: bytes_per_s(&self.channel_mb_per_s),
                    bus_bytes_per_s: bytes_per_s(&self.bus_mb_per_s),
                    read_command: nanos_of_us(&self.read_command_us),
                    write_command: nanos_of_us(&self.write_command_us),
                    write_buffer: units::Bytes(self.write_buffer_bytes.get()),
                    suspend: Some(nanos_of_us(&self.suspend_us)),
                    relocation: units::Nanos(0),
                    erased_reserve: units::Bytes(0),
                    merge_over_bus: false,
                }
            }

            /// Refuses values that no drive has, naming the key. What is left is the model's own to judge.
            fn check_common(&self) -> Result<(), $crate::DescriptionError> {
                use $crate::description::{STEP_LIMIT_US, rate, within};
                $crate::part::check_capacity("capacity_bytes", &self.capacity_bytes)?;
                rate("channel_mb_per_s", &self.channel_mb_per_s)?;
                rate("bus_mb_per_s", &self.bus_mb_per_s)?;
                for (key, time) in [
                    ("read_us", &self.read_us),
                    ("program_us", &self.program_us),
                    ("erase_us", &self.erase_us),
                    ("suspend_us", &self.suspend_us),
                    ("read_command_us", &self.read_command_us),
                    ("write_command_us", &self.write_command_us),
                ] {
                    within(key, time, 0.0, STEP_LIMIT_US)?;
                }
                Ok(())
            }
        }
    };
}
pub(crate) use flash_drives;

/// Superblocks that collection is simulated with where a description does not say: volumes of such systems fill so
/// little of the drives that few are enough (`docs/models/flash.md`).
pub(crate) const SUPERBLOCKS: u32 = 512;
/// Mapping units of such a superblock.
pub(crate) const UNITS_PER_SUPERBLOCK: u32 = 128;

/// Returns what the flash model says of a drive that cannot be, as an error of the array's description.
pub(crate) fn no_flash_drive(error: drive::DescriptionError) -> DescriptionError {
    let drive::DescriptionError { key, reason } = error;
    DescriptionError {
        path: key.to_owned(),
        problem: "no drive can have it".into(),
        hint: format!("it must be {reason}"),
    }
}
