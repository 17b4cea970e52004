//! Service times of the steps of an I/O, in integers.

use super::super::description::FlashDescription;
use crate::drive::Slowness;

/// Femtoseconds in a nanosecond: costs per byte stay integers.
pub(super) const FS_PER_NS: u64 = 1_000_000;

fn fs_per_byte(bytes_per_s: u64) -> u64 {
    1_000_000_000_000_000 / bytes_per_s
}

/// Service times of the steps of an I/O.
#[derive(Debug, Clone, Copy)]
pub(super) struct Costs {
    pub read_ns: u64,
    pub program_ns: u64,
    pub erase_ns: u64,
    pub suspend_ns: Option<u64>,
    pub reads_go_first: bool,
    pub channel_page_ns: u64,
    pub channel_program_ns: u64,
    pub channel_fs_per_byte: u64,
    pub bus_unit_ns: u64,
    /// Time that a moved unit takes of the bus: two crossings and its relocation.
    pub bus_moved_ns: u64,
    pub bus_fs_per_byte: u64,
    pub read_command_ns: u64,
    pub write_command_ns: u64,
}

impl Costs {
    /// As described.
    pub fn of(description: &FlashDescription) -> Costs {
        let unit_bytes = description.mapping_unit.0;
        let page_bytes = description.page.0;
        let program_bytes = page_bytes * u64::from(description.planes);
        let channel_fs = fs_per_byte(description.channel_bytes_per_s);
        let bus_fs = fs_per_byte(description.bus_bytes_per_s);
        Costs {
            read_ns: description.read.0,
            program_ns: description.program.0,
            erase_ns: description.erase.0,
            suspend_ns: description.suspend.map(|suspend| suspend.0),
            reads_go_first: description.read_priority,
            channel_page_ns: page_bytes * channel_fs / FS_PER_NS,
            channel_program_ns: program_bytes * channel_fs / FS_PER_NS,
            channel_fs_per_byte: channel_fs,
            bus_unit_ns: unit_bytes * bus_fs / FS_PER_NS,
            bus_moved_ns: 2 * unit_bytes * bus_fs / FS_PER_NS + description.relocation.0,
            bus_fs_per_byte: bus_fs,
            read_command_ns: description.read_command.0,
            write_command_ns: description.write_command.0,
        }
    }

    /// All of them so many thousandths of what they are.
    pub fn times(self, thousandths: Slowness) -> Costs {
        let slow = |cost| thousandths.of_ns(cost);
        Costs {
            read_ns: slow(self.read_ns),
            program_ns: slow(self.program_ns),
            erase_ns: slow(self.erase_ns),
            suspend_ns: self.suspend_ns.map(slow),
            reads_go_first: self.reads_go_first,
            channel_page_ns: slow(self.channel_page_ns),
            channel_program_ns: slow(self.channel_program_ns),
            channel_fs_per_byte: slow(self.channel_fs_per_byte),
            bus_unit_ns: slow(self.bus_unit_ns),
            bus_moved_ns: slow(self.bus_moved_ns),
            bus_fs_per_byte: slow(self.bus_fs_per_byte),
            read_command_ns: slow(self.read_command_ns),
            write_command_ns: slow(self.write_command_ns),
        }
    }
}
