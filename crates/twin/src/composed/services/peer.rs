//! Links to a second array, and units of data that are copied over them.

use std::collections::BTreeSet;

use crate::engine::Rate;
use crate::part::{Counters, LinkDirection};

use super::super::rates::rate;
use super::super::settings::Settings;

/// Links to the second array, as one pipe of their sum.
#[derive(Debug, Clone)]
pub(super) struct PeerLink {
    command_ns: u64,
    rate: Rate,
    /// Time of one way.
    pub way_ns: u64,
    link: LinkDirection,
    commands: u64,
}

impl PeerLink {
    /// So many links of a rate, each held by a command for a time; one way takes a latency and the light its distance.
    pub fn new(
        ports: u64,
        bytes_per_s: u64,
        command_ns: u64,
        (latency_ns, distance_km): (u64, u64),
    ) -> PeerLink {
        PeerLink {
            command_ns: command_ns / ports,
            rate: rate(bytes_per_s.saturating_mul(ports), true),
            way_ns: latency_ns + distance_km * array::FIBRE_NS_PER_KM,
            link: LinkDirection::default(),
            commands: 0,
        }
    }

    /// Returns when data that is sent now, or when the link is free, is at the second array.
    pub fn send(&mut self, now_ns: u64, bytes: u64) -> u64 {
        self.commands += 1;
        self.link.carry(now_ns, bytes, self.command_ns + self.rate.duration_ns(bytes)) + self.way_ns
    }

    pub fn count_into(&self, entity: &str, counters: &mut Counters) {
        counters.add(entity, "commands", self.commands);
        counters.add(entity, "to_peer_bytes", self.link.bytes);
        counters.add(entity, "to_peer_busy_ns", self.link.busy_ns());
    }
}

/// Units that are copied to the second array, in the order of their addresses.
#[derive(Debug, Clone)]
pub(super) struct Units {
    pub unit_bytes: u64,
    /// Units that are copied at once, at most.
    streams: u32,
    pace: Rate,
    /// Set of the first array, and number of the unit in it.
    left: BTreeSet<(u16, u64)>,
    under_way: u32,
    /// Moment at which the next unit may begin; never while nothing is to be copied.
    due_ns: u64,
    pub copied_bytes: u64,
    pub lost: u64,
}

impl Units {
    pub fn new(unit_bytes: u64, streams: u32, pace_bytes_per_s: u64) -> Units {
        Units {
            unit_bytes,
            streams,
            pace: rate(pace_bytes_per_s, pace_bytes_per_s != array::UNLIMITED),
            left: BTreeSet::new(),
            under_way: 0,
            due_ns: u64::MAX,
            copied_bytes: 0,
            lost: 0,
        }
    }

    /// Units of a range of a set.
    pub fn of(
        &self,
        set: u16,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> impl Iterator<Item = (u16, u64)> + use<> {
        let unit_bytes = self.unit_bytes;
        let (first, last) =
            (offset_bytes / unit_bytes, (offset_bytes + length_bytes.max(1) - 1) / unit_bytes);
        (first..=last).map(move |unit| (set, unit))
    }

    /// More units are to be copied.
    pub fn add(&mut self, units: impl IntoIterator<Item = (u16, u64)>) {
        self.left.extend(units);
    }

    /// Bytes that the second array does not have yet.
    pub fn behind_bytes(&self) -> u64 {
        (self.left.len() as u64 + u64::from(self.under_way)) * self.unit_bytes
    }

    /// Bytes of units that have not begun.
    pub fn left_bytes(&self) -> u64 {
        self.left.len() as u64 * self.unit_bytes
    }

    /// Returns when the next unit begins by itself.
    pub fn next_ns(&self) -> u64 {
        self.due_ns
    }

    /// The next unit may begin at a moment and no earlier, if there is one and it has a stream.
    pub fn wait(&mut self, from_ns: u64) {
        let may_begin = !self.left.is_empty() && self.under_way < self.streams;
        self.due_ns = if may_begin { from_ns } else { u64::MAX };
    }

    /// No unit begins until [`Units::wait`] is called.
    pub fn stop(&mut self) {
        self.due_ns = u64::MAX;
    }

    /// The next unit that is copied, with its range in its set.
    pub fn take(&mut self, now_ns: u64) -> Option<(u16, u64, u64)> {
        if self.due_ns > now_ns {
            return None;
        }
        let (set, unit) = self.left.pop_first()?;
        self.under_way += 1;
        self.wait(now_ns + self.pace.duration_ns(self.unit_bytes));
        Some((set, unit * self.unit_bytes, self.unit_bytes))
    }

    /// A unit has been copied, lost, or is to be copied again.
    pub fn ends(&mut self) {
        self.under_way -= 1;
    }

    /// The next unit may begin from a moment on, if none waits for the pace.
    pub fn resume(&mut self, from_ns: u64) {
        if self.due_ns == u64::MAX {
            self.wait(from_ns);
        }
    }
}

/// Arrays that are simulated: two with a mirror or copies of snapshots.
pub(crate) fn array_sites(array: &array::Array, settings: &Settings) -> usize {
    let has_mirror = array.mirror.is_some() && settings.on.mirror;
    let has_copies = array.replication.is_some() && settings.on.replication;
    if has_mirror || has_copies { 2 } else { 1 }
}
