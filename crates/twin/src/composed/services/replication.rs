//! Asynchronous copies of snapshots to a second array: at every interval a snapshot is taken, and what was changed since the last one
//! that was copied crosses to the second array.

use std::collections::BTreeSet;

use load::Direction;

use super::super::Model;
use super::super::command::{Command, ModelEvent};
use super::Io;
use super::peer::{PeerLink, Units};
use crate::part::Counters;

/// Tag of I/Os that copy a unit to the second array.
pub(super) const COPY: u32 = u32::MAX - 1;

/// Copies of snapshots: units that were changed since the last, and those of the last that have not crossed.
#[derive(Debug, Clone)]
pub(crate) struct Replication {
    link: PeerLink,
    units: Units,
    every_ns: u64,
    /// Moment of the next snapshot.
    due_ns: u64,
    changed: BTreeSet<(u16, u64)>,
    /// Moment of the snapshot that is copied, and of the newest that the second array has whole.
    snapshot_ns: u64,
    recovery_ns: u64,
    /// Time that was not simulated, by which moments of snapshots are later than the clock says.
    skipped_ns: u64,
    /// Nothing was changed before the last snapshot.
    is_idle: bool,
    cycles: u64,
    late_cycles: u64,
}

impl Replication {
    pub fn new(replication: &array::Replication) -> Replication {
        Replication {
            link: PeerLink::new(
                replication.ports.get(),
                replication.rate.get(),
                replication.command.get(),
                (replication.latency.get(), replication.distance_km.get()),
            ),
            units: Units::new(replication.unit.get(), replication.streams.count(), replication.limit.get()),
            every_ns: replication.every.get(),
            due_ns: replication.every.get(),
            changed: BTreeSet::new(),
            snapshot_ns: 0,
            recovery_ns: 0,
            skipped_ns: 0,
            is_idle: false,
            cycles: 0,
            late_cycles: 0,
        }
    }

    /// A range of a set is written.
    pub fn change(&mut self, set: u16, offset_bytes: u64, length_bytes: u64) {
        self.changed.extend(self.units.of(set, offset_bytes, length_bytes));
    }

    /// Time of one way to the second array.
    pub fn way_ns(&self) -> u64 {
        self.link.way_ns
    }

    /// Returns when it does something by itself.
    pub fn next_ns(&self) -> u64 {
        self.due_ns.min(self.units.next_ns())
    }

    fn is_copying(&self) -> bool {
        self.units.behind_bytes() > 0
    }

    /// Begins a cycle, if one is due and the last has ended; returns whether its snapshot is taken now.
    fn begin_cycle(&mut self, now_ns: u64) -> bool {
        if self.due_ns > now_ns {
            return false;
        }
        self.due_ns += self.every_ns;
        if self.is_copying() {
            self.late_cycles += 1;
            return false;
        }
        self.is_idle = self.changed.is_empty();
        self.units.add(std::mem::take(&mut self.changed));
        self.units.wait(now_ns);
        self.snapshot_ns = now_ns + self.skipped_ns;
        self.end_cycle();
        true
    }

    /// Returns whether nothing is copied, nor will be while the load goes on as it does: it writes nothing. What writes change in skipped
    /// time is not known.
    pub fn is_steady(&self) -> bool {
        self.is_idle && self.changed.is_empty() && !self.is_copying()
    }

    /// Time passes that is not simulated.
    pub fn skip_time(&mut self, duration_ns: u64) {
        self.due_ns = self.due_ns.saturating_sub(duration_ns);
        self.skipped_ns += duration_ns;
    }

    /// The second array has the snapshot, unless units of it are left.
    fn end_cycle(&mut self) {
        if !self.is_copying() {
            self.recovery_ns = self.snapshot_ns;
            self.cycles += 1;
        }
    }

    /// Counts at a moment, at which the second array is behind by the age of its newest whole snapshot.
    pub fn count_into(&self, now_ns: u64, counters: &mut Counters) {
        self.link.count_into("replication", counters);
        for (name, value) in [
            ("cycles", self.cycles),
            ("late_cycles", self.late_cycles),
            ("copied_bytes", self.units.copied_bytes),
            ("unreadable_units", self.units.lost),
            ("fill_behind_bytes", self.units.behind_bytes()),
            ("fill_changed_bytes", self.changed.len() as u64 * self.units.unit_bytes),
            ("fill_recovery_point_ns", now_ns + self.skipped_ns - self.recovery_ns),
        ] {
            counters.add("replication", name, value);
        }
    }
}

impl super::Services {
    /// Units that are copied to the second array.
    fn units(&mut self) -> Option<&mut Units> {
        let of_mirror = self.mirror.as_mut().map(|mirror| &mut mirror.resync.units);
        of_mirror.or(self.replication.as_mut().map(|replication| &mut replication.units))
    }

    /// Sends a unit to the second array; returns when it is there, or `None` where the link is lost.
    fn send_unit(&mut self, now_ns: u64, bytes: u64) -> Option<u64> {
        match &mut self.mirror {
            Some(mirror) => mirror.resync.is_linked.then(|| mirror.send(now_ns, bytes)),
            None => Some(self.replication.as_mut()?.link.send(now_ns, bytes)),
        }
    }
}

impl Model {
    /// Takes the snapshot that is copied next, if its moment has come.
    pub(super) fn begin_cycle(&mut self) {
        let now_ns = self.now_ns;
        let Some(services) = &mut self.services else { return };
        let is_taken = services.replication.as_mut().is_some_and(|cycles| cycles.begin_cycle(now_ns));
        if is_taken && services.snapshots.is_some() {
            self.take_snapshot();
        }
    }

    /// Begins to copy the next unit, if one is due.
    pub(super) fn copy_next(&mut self) {
        let now_ns = self.now_ns;
        let units = self.services.as_mut().and_then(|services| services.units());
        let Some((set, offset_bytes, length_bytes)) = units.and_then(|units| units.take(now_ns)) else {
            return;
        };
        let controller = (offset_bytes / length_bytes % self.own_controllers as u64) as u16;
        let io = Io::internal(Direction::Read, set, offset_bytes, length_bytes);
        let read = self.make_io(controller, controller, COPY, io);
        self.begin_internal(read);
    }

    /// A unit has been read at home, or is written at the second array.
    pub(super) fn unit_done(&mut self, command: Command) {
        let Command { set, offset_bytes, length_bytes, owner, is_lost, .. } = command;
        let bytes = u64::from(length_bytes);
        let is_read = usize::from(set) < self.own_sets;
        let now_ns = self.now_ns;
        let Some(services) = &mut self.services else { return };
        let arrives_ns = if is_read && !is_lost { services.send_unit(now_ns, bytes) } else { None };
        if let Some(at_ns) = arrives_ns {
            let io = Io::internal(Direction::Write, set, offset_bytes, bytes);
            let write = self.make_io(owner, owner, COPY, Io { is_cached: true, ..io });
            self.goes_to_peer(write);
            return self.queue.push(at_ns, ModelEvent::Arrive(write).pack());
        }
        let Some(units) = services.units() else { return };
        units.ends();
        match (is_lost, is_read) {
            (true, _) => units.lost += 1,
            (false, false) => units.copied_bytes += bytes,
            // The link was lost again.
            (false, true) => {
                let again = units.of(set, offset_bytes, bytes);
                units.add(again);
            }
        }
        if let Some(mirror) = &mut services.mirror {
            if let Some((bytes, took_ns)) = mirror.resync.unit_ends(now_ns) {
                let (bytes, took) = (units::human_bytes(bytes), units::human_duration(took_ns));
                self.note(format!("the second array has everything again: {bytes} in {took}"));
            }
        } else if let Some(replication) = &mut services.replication {
            replication.units.resume(now_ns);
            replication.end_cycle();
        }
    }
}
