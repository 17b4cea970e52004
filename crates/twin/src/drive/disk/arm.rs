//! The arm: where it is, how long it takes to a place, and what it counts there.

use super::geometry::Place;
use super::{DiskCommand, HardDisk};
use load::Direction;

impl HardDisk {
    /// Returns whether a command was there when the one before it ended, and begins where that ended: the head just
    /// goes on.
    #[inline]
    pub(super) fn streams_on(&self, start_ns: u64, arrived_ns: u64, offset_bytes: u64) -> bool {
        arrived_ns < start_ns && start_ns == self.last_end_ns && offset_bytes == self.last_end_bytes
    }

    /// Time to move the arm to a place, and to settle there.
    #[inline]
    pub(super) fn seek_ns(&self, place: &Place, direction: Direction) -> u64 {
        let seek_ns = self.media.seek_ns(self.radius, place.radius);
        let settles = seek_ns > 0 && direction == Direction::Write;
        seek_ns + if settles { self.write_settle_ns } else { 0 }
    }

    /// Moves the arm, waits for the platter and transfers; returns when the transfer ends.
    #[inline(always)]
    pub(super) fn access(
        &mut self,
        start_ns: u64,
        arrived_ns: u64,
        command: &DiskCommand,
        place: &Place,
    ) -> u64 {
        let bytes = u64::from(command.length_bytes);
        let transfer_ns = self.media.transfer_ns(place, bytes);
        let end_ns = if self.streams_on(start_ns, arrived_ns, command.offset_bytes) {
            start_ns + transfer_ns
        } else {
            let seek_ns = self.seek_ns(place, command.direction);
            let there_ns = start_ns + self.overhead_ns + seek_ns;
            let rotation_ns = self.media.rotation_ns(there_ns, place.angle);
            self.counters.seek_ns += seek_ns;
            self.counters.rotation_ns += rotation_ns;
            there_ns + rotation_ns + transfer_ns
        };
        // A head that reads a track again and again: the time counts as none of the three.
        let end_ns = start_ns + self.slowness.of_ns(end_ns - start_ns);
        self.counters.transfer_ns += transfer_ns;
        match command.direction {
            Direction::Read => self.counters.media_reads += 1,
            _ => self.counters.media_writes += 1,
        }
        self.radius = place.radius;
        self.last_end_bytes = command.offset_bytes + bytes;
        self.last_end_ns = end_ns;
        self.free_at_ns = end_ns;
        end_ns
    }
}
