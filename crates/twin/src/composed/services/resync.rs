//! Resynchronisation of a mirror: what was written while its link was lost is copied to the second array once it is back.

use std::collections::BTreeSet;

use load::Direction;

use super::super::Model;
use super::super::command::{Command, ModelEvent};
use super::super::rates::rate;
use super::Io;
use crate::engine::Rate;

/// Tag of I/Os that copy a changed unit.
pub(super) const RESYNC: u32 = u32::MAX - 1;

/// State of the mirror, and the units in which the second array is behind.
#[derive(Debug, Clone)]
pub(crate) struct Resync {
    pub is_linked: bool,
    unit_bytes: u64,
    /// Units that are copied at once, at most.
    streams: u32,
    pace: Rate,
    /// Set of the first array, and number of the unit in it.
    changed: BTreeSet<(u16, u64)>,
    under_way: u32,
    /// Moment at which the next unit may begin; never while the link is lost or nothing is left.
    due_ns: u64,
    began_ns: u64,
    copied_bytes: u64,
    /// Of the resynchronisation that goes on.
    copied_before: u64,
    lost_units: u64,
}

impl Resync {
    pub fn new(mirror: &array::Mirror) -> Resync {
        Resync {
            is_linked: true,
            unit_bytes: mirror.resync_unit.get(),
            streams: mirror.resync_streams.count(),
            pace: rate(mirror.resync.get(), mirror.resync.get() != array::UNLIMITED),
            changed: BTreeSet::new(),
            under_way: 0,
            due_ns: u64::MAX,
            began_ns: 0,
            copied_bytes: 0,
            copied_before: 0,
            lost_units: 0,
        }
    }

    /// The second array does not have what is written to a range of a set.
    pub fn change(&mut self, set: u16, offset_bytes: u64, length_bytes: u64) {
        let (first, last) =
            (offset_bytes / self.unit_bytes, (offset_bytes + length_bytes.max(1) - 1) / self.unit_bytes);
        self.changed.extend((first..=last).map(|unit| (set, unit)));
    }

    /// Returns whether the second array has everything, and no link is lost.
    pub fn is_synchronous(&self) -> bool {
        self.is_linked && self.changed.is_empty() && self.under_way == 0
    }

    /// Returns when the next unit begins by itself.
    pub fn next_ns(&self) -> u64 {
        self.due_ns
    }

    /// Notes when the next unit may begin: no earlier than a moment.
    fn wait(&mut self, from_ns: u64) {
        let may_begin = self.is_linked && !self.changed.is_empty() && self.under_way < self.streams;
        self.due_ns = if may_begin { from_ns } else { u64::MAX };
    }

    /// The next unit that is copied, with its range in its set.
    fn take(&mut self, now_ns: u64) -> Option<(u16, u64, u64)> {
        if self.due_ns > now_ns {
            return None;
        }
        let (set, unit) = self.changed.pop_first()?;
        self.under_way += 1;
        self.wait(now_ns + self.pace.duration_ns(self.unit_bytes));
        Some((set, unit * self.unit_bytes, self.unit_bytes))
    }

    /// Gauges and counters: changed bytes, and those that were copied.
    pub fn values(&self) -> [(&'static str, u64); 3] {
        let behind = self.changed.len() as u64 + u64::from(self.under_way);
        [
            ("resynchronised_bytes", self.copied_bytes),
            ("unreadable_units", self.lost_units),
            ("fill_changed_bytes", behind * self.unit_bytes),
        ]
    }
}

impl Model {
    fn resync(&mut self) -> Option<&mut Resync> {
        self.services.as_mut()?.mirror.as_mut().map(|mirror| &mut mirror.resync)
    }

    /// Returns whether the data of a command can cross to the second array; notes that it is changed where not.
    pub(super) fn crosses(&mut self, index: u32) -> bool {
        let Command { set, offset_bytes, length_bytes, .. } = *self.commands.get(index);
        let Some(resync) = self.resync() else { return false };
        if !resync.is_linked {
            resync.change(set, offset_bytes, u64::from(length_bytes));
        }
        resync.is_linked
    }

    /// The link to the second array is lost: writes are answered without it, and noted as changed.
    pub(in super::super) fn lose_mirror_link(&mut self) {
        let says = match self.resync() {
            Some(resync) if resync.is_linked => {
                resync.is_linked = false;
                resync.due_ns = u64::MAX;
                "the link to the second array is lost: writes are answered without it"
            }
            Some(_) => "the link to the second array is lost already",
            None => "no link is lost: `mirror` is off",
        };
        self.note(says.to_owned());
    }

    /// The link is back: what was changed meanwhile is copied.
    pub(in super::super) fn restore_mirror_link(&mut self) {
        let now_ns = self.now_ns;
        let says = match self.resync() {
            Some(resync) if resync.is_linked => "the link to the second array is there already".to_owned(),
            Some(resync) => {
                resync.is_linked = true;
                (resync.began_ns, resync.copied_before) = (now_ns, resync.copied_bytes);
                resync.wait(now_ns);
                let bytes = resync.changed.len() as u64 * resync.unit_bytes;
                format!("the link to the second array is back: {} are behind", units::human_bytes(bytes))
            }
            None => "no link is restored: `mirror` is off".to_owned(),
        };
        self.note(says);
    }

    /// Begins to copy the next unit, if one is due.
    pub(super) fn copy_next(&mut self) {
        let now_ns = self.now_ns;
        let Some((set, offset_bytes, length_bytes)) = self.resync().and_then(|resync| resync.take(now_ns))
        else {
            return;
        };
        let controller = (offset_bytes / length_bytes % self.own_controllers as u64) as u16;
        let io = Io::internal(Direction::Read, set, offset_bytes, length_bytes);
        let read = self.make_io(controller, controller, RESYNC, io);
        self.begin_internal(read);
    }

    /// A unit has been read at home, or is written at the second array.
    pub(super) fn unit_done(&mut self, command: Command) {
        let Command { set, offset_bytes, length_bytes, owner, .. } = command;
        let is_read = usize::from(set) < self.own_sets;
        let now_ns = self.now_ns;
        let Some(mirror) = self.services.as_mut().and_then(|services| services.mirror.as_mut()) else {
            return;
        };
        let resync = &mut mirror.resync;
        if is_read && !command.is_lost {
            if resync.is_linked {
                let at_ns = mirror.send(now_ns, u64::from(length_bytes));
                let io = Io::internal(Direction::Write, set, offset_bytes, u64::from(length_bytes));
                let write = self.make_io(owner, owner, RESYNC, Io { is_cached: true, ..io });
                self.goes_to_peer(write);
                return self.queue.push(at_ns, ModelEvent::Arrive(write).pack());
            }
            // The link was lost again.
            resync.change(set, offset_bytes, u64::from(length_bytes));
        } else if command.is_lost {
            resync.lost_units += 1;
        } else {
            resync.copied_bytes += u64::from(length_bytes);
        }
        resync.under_way -= 1;
        if resync.due_ns == u64::MAX {
            resync.wait(now_ns);
        }
        if resync.is_synchronous() {
            let (bytes, took_ns) = (resync.copied_bytes - resync.copied_before, now_ns - resync.began_ns);
            let (bytes, took) = (units::human_bytes(bytes), units::human_duration(took_ns));
            self.note(format!("the second array has everything again: {bytes} in {took}"));
        }
    }
}
