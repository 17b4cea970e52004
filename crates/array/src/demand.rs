//! Service demand of an I/O: the busy time that it costs each kind of part.

use crate::description::Group;
use crate::drive::Drives;

/// Nanoseconds that bytes take at a rate.
pub(crate) fn transfer_ns(bytes: f64, rate_bytes_per_s: u64) -> f64 {
    bytes * 1e9 / rate_bytes_per_s as f64
}

/// Drive I/Os of one host I/O, in the mean: reads and writes, each with its bytes, and bytes that parity is computed over and
/// of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct DriveIos {
    pub reads: f64,
    pub writes: f64,
    pub read_bytes: f64,
    pub written_bytes: f64,
    pub parity_bytes: f64,
    pub new_parity_bytes: f64,
}

/// Busy time that the I/Os of one host I/O cost the drives, in nanoseconds of the busiest resource of one drive.
pub(crate) fn drive_ns(group: &Group, ios: &DriveIos) -> f64 {
    match &group.drives {
        Drives::HardDisk(disk) => {
            // No order of service can do better than neighbouring tracks and a whole queue to choose the rotation from.
            let rotation_ns = 60e9 / disk.rpm.get() as f64;
            let queue = disk.queue.get() as f64;
            let positioning_ns = disk.seek_min.get() as f64 + rotation_ns / (queue + 1.0);
            let each_ns = disk.command.get() as f64 + positioning_ns;
            (ios.reads + ios.writes) * each_ns
                + transfer_ns(ios.read_bytes + ios.written_bytes, disk.outer.get())
        }
        Drives::SolidState(drive) => {
            let dies = (drive.channels.get() * drive.dies_per_channel.get()) as f64;
            let program_bytes = (drive.page.get() * drive.planes.get()) as f64;
            let page = drive.page.get() as f64;
            let pages_read = (ios.read_bytes / page).max(ios.reads);
            let unit = drive.mapping_unit.get() as f64;
            let programmed = ios.written_bytes.max(ios.writes * unit);
            let dies_ns = (pages_read * drive.read.get() as f64
                + programmed / program_bytes * drive.program.get() as f64)
                / dies;
            let channels_ns =
                transfer_ns(ios.read_bytes + programmed, drive.channel.get()) / drive.channels.get() as f64;
            let bus_ns = transfer_ns(ios.read_bytes + programmed, drive.bus.get());
            let commands_ns =
                ios.reads * drive.read_command.get() as f64 + ios.writes * drive.write_command.get() as f64;
            dies_ns.max(channels_ns).max(bus_ns).max(commands_ns)
        }
        Drives::FlashModule(module) => {
            let reads_ns =
                ios.reads * module.read.get() as f64 + transfer_ns(ios.read_bytes, module.read_rate.get());
            let as_reads_ns = ios.writes * module.read.get() as f64
                + transfer_ns(ios.written_bytes, module.read_rate.get());
            let interference_ns = as_reads_ns * module.write_interference.share();
            let writes_ns = transfer_ns(ios.written_bytes, module.write_rate.get());
            let commands_ns = (ios.reads + ios.writes) * module.command.get() as f64;
            (reads_ns + interference_ns).max(writes_ns).max(commands_ns)
        }
    }
}

/// Service demand of a random I/O on all parts of each kind, in nanoseconds of all such parts together; work that no I/O waits
/// for is left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Links, in the direction of the data.
    pub link_ns: f64,
    /// Processors of controllers, but for what they do for parity.
    pub processor_ns: f64,
    /// Processors of controllers for parity, in which what a cache destages together shares.
    pub parity_processor_ns: f64,
    /// Memory of controllers.
    pub copy_ns: f64,
    /// Parity of controllers.
    pub parity_ns: f64,
    /// Buffer that a controller takes written data into.
    pub buffer_ns: f64,
    /// Network of the nodes; 0 where it is not used.
    pub network_ns: f64,
    /// Links to a second array; 0 without a mirror.
    pub mirror_ns: f64,
    /// Links of the drives; 0 where they limit nothing.
    pub backend_ns: f64,
    /// Drives.
    pub drive_ns: f64,
}
