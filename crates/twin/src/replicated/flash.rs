//! The flash drives of a node, as the description gives them.

use units::{Bytes, Nanos};

use super::description::NvmeDrives;
use super::settings::Settings;
use crate::drive::flash::{CollectionPolicy, FlashDescription, WriteFrontiers};
use crate::engine::nanos_of_us;

/// Spare flash with which collection hardly ever has to move anything.
const SPARE_WITHOUT_COLLECTION: f64 = 10.0;
/// Superblocks that collection is simulated with: volumes fill so little of the drives that few are enough
/// (`docs/models/flash.md`).
const SUPERBLOCKS: u32 = 512;
const UNITS_PER_SUPERBLOCK: u32 = 128;

/// The drive model's description of one of them.
pub(crate) fn describe(drives: &NvmeDrives, settings: &Settings) -> FlashDescription {
    let time = |us: f64| Nanos(nanos_of_us(us));
    let rate = |mb_per_s: f64| (mb_per_s * 1e6) as u64;
    FlashDescription {
        capacity: Bytes(drives.capacity_bytes.get()),
        over_provisioning: if settings.garbage_collection {
            drives.over_provisioning.get()
        } else {
            SPARE_WITHOUT_COLLECTION
        },
        mapping_unit: Bytes(drives.mapping_unit_bytes.get()),
        superblocks: SUPERBLOCKS,
        units_per_superblock: UNITS_PER_SUPERBLOCK,
        collection: CollectionPolicy::Greedy,
        frontiers: WriteFrontiers::HostAndCollection,
        channels: drives.channels.get(),
        dies_per_channel: drives.dies_per_channel.get(),
        planes: drives.planes.get(),
        page: Bytes(drives.page_bytes.get()),
        pages_per_block: drives.pages_per_block.get(),
        read: time(drives.read_us.get()),
        program: time(drives.program_us.get()),
        erase: time(drives.erase_us.get()),
        channel_bytes_per_s: rate(drives.channel_mb_per_s.get()),
        bus_bytes_per_s: rate(drives.bus_mb_per_s.get()),
        read_command: time(drives.read_command_us.get()),
        write_command: time(drives.write_command_us.get()),
        write_buffer: Bytes(drives.write_buffer_bytes.get()),
        suspend: Some(time(drives.suspend_us.get())),
        relocation: Nanos(0),
        erased_reserve: Bytes(0),
        merge_over_bus: false,
    }
}
