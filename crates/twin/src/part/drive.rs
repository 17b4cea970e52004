//! Counts that all drives share: commands, bytes, and time of the arm.

use load::Direction;

use super::Counters;
use crate::drive::disk::DiskCounters;

/// Commands and bytes given to a drive.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Traffic {
    pub reads: u64,
    pub writes: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
}

impl Traffic {
    #[inline]
    pub fn count_read(&mut self, bytes: u64) {
        self.reads += 1;
        self.read_bytes += bytes;
    }

    #[inline]
    pub fn count_write(&mut self, bytes: u64) {
        self.writes += 1;
        self.written_bytes += bytes;
    }

    /// A command of either kind; what is no read changes the drive.
    #[inline]
    pub fn count(&mut self, direction: Direction, bytes: u64) {
        match direction {
            Direction::Read => self.count_read(bytes),
            _ => self.count_write(bytes),
        }
    }

    /// As counters of a part.
    pub fn count_into(&self, counters: &mut Counters, entity: &str) {
        counters.add(entity, "reads", self.reads);
        counters.add(entity, "writes", self.writes);
        counters.add(entity, "read_bytes", self.read_bytes);
        counters.add(entity, "written_bytes", self.written_bytes);
    }
}

/// Counts what a disk's arm did with its time, as counters of a part.
pub(crate) fn count_arm(disk: &DiskCounters, counters: &mut Counters, entity: &str) {
    counters.add(entity, "seek_ns", disk.seek_ns);
    counters.add(entity, "rotation_ns", disk.rotation_ns);
    counters.add(entity, "transfer_ns", disk.transfer_ns);
    counters.add(entity, "arm_busy_ns", disk.arm_busy_ns());
}
