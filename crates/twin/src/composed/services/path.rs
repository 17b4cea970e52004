//! Path of a served command: its stages, one after the other, and its answer.

use load::Direction;

use super::super::Model;
use super::super::command::{Command, ModelEvent, Phase, TaskKind};
use super::replication::COPY;
use super::request::Stage;
use super::tier::TIER_TAGS;
use super::{Io, Request, SnapshotTask};

/// I/O that no command waits for.
const NO_PARENT: u32 = u32::MAX;

impl Model {
    /// A host's command is at its controller: what the services make of it begins.
    pub(in super::super) fn serve(&mut self, index: u32) {
        let command = *self.commands.get(index);
        let state = &self.sets[usize::from(command.set)];
        let (address, length_bytes) = (state.address(command.offset_bytes), u64::from(command.length_bytes));
        let Some(services) = &mut self.services else { return };
        let request = Request {
            direction: command.direction,
            set: command.set,
            offset_bytes: command.offset_bytes,
            length_bytes,
            address,
            is_in_memory: services.has_drive_cache()
                && self.controllers[usize::from(command.owner)].holds(address, length_bytes),
        };
        if command.direction == Direction::Trim {
            services.trim(request);
            return self.start_with_caches(index);
        }
        let (time_ns, deleted) = services.plan(index, request, self.now_ns);
        if deleted > 0 {
            self.note(format!("the reserve of snapshots is full; {deleted} of the oldest are deleted"));
        }
        if time_ns == 0 {
            return self.next_stage(index);
        }
        let ready_ns = self.controllers[usize::from(command.controller)].process(self.now_ns, time_ns);
        self.queue.push(ready_ns, ModelEvent::NextStage(index).pack());
    }

    /// The I/Os of the next stage begin; after the last the command is answered.
    pub(in super::super) fn next_stage(&mut self, index: u32) {
        let Some(services) = &mut self.services else { return };
        let served = &mut services.served[index as usize];
        let Some(stage) = served.next_stage() else {
            if std::mem::take(&mut served.is_mirrored) && self.crosses(index) {
                return self.mirror_alone(index);
            }
            return self.serve_ends(index);
        };
        let is_mirrored = stage == Stage::Data && std::mem::take(&mut served.is_mirrored);
        let arrives_ns = (is_mirrored && self.crosses(index)).then(|| self.send_to_mirror(index));
        // None of them ends before all have begun: ends are events.
        while let Some(io) = self.next_io(index, stage) {
            self.begin_io(index, io, None);
            if arrives_ns.is_some() {
                self.begin_io(index, io, arrives_ns);
            }
        }
    }

    fn next_io(&mut self, index: u32, stage: Stage) -> Option<Io> {
        self.services.as_mut()?.served[index as usize].next_of(stage)
    }

    /// Sends the data of a command to the second array; returns when it is there.
    fn send_to_mirror(&mut self, index: u32) -> u64 {
        let bytes = u64::from(self.commands.get(index).length_bytes);
        let now_ns = self.now_ns;
        let mirror = self.services.as_mut().and_then(|services| services.mirror.as_mut());
        mirror.map_or(now_ns, |mirror| mirror.send(now_ns, bytes))
    }

    /// A write of which nothing is stored is acknowledged by the second array's controller.
    fn mirror_alone(&mut self, index: u32) {
        let at_ns = self.send_to_mirror(index);
        let Some(services) = &mut self.services else { return };
        let served = &mut services.served[index as usize];
        served.pending = 1;
        let way_ns = services.mirror.as_ref().map_or(0, |mirror| mirror.way_ns());
        self.queue.push(at_ns + way_ns, ModelEvent::Acknowledged(index).pack());
    }

    /// Begins an I/O of a command, here or, where it arrives there at a moment, at the second array.
    fn begin_io(&mut self, parent: u32, io: Io, arrives_ns: Option<u64>) {
        let command = *self.commands.get(parent);
        if let Some(services) = &mut self.services {
            services.served[parent as usize].pending += 1;
        }
        let index = self.make_io(command.owner, command.controller, parent, io);
        match arrives_ns {
            Some(at_ns) => {
                self.goes_to_peer(index);
                self.queue.push(at_ns, ModelEvent::Arrive(index).pack());
            }
            None if io.is_cached => self.start_with_caches(index),
            None => self.begin_internal(index),
        }
    }

    /// An I/O is one of the second array.
    pub(super) fn goes_to_peer(&mut self, index: u32) {
        let Command { owner, set, .. } = *self.commands.get(index);
        let (owner, set) = self.at_peer(owner, set);
        let remote = self.commands.get_mut(index);
        (remote.owner, remote.controller, remote.set) = (owner, owner, set);
    }

    /// Controller and set of the second array that are like those of this one.
    pub(in super::super) fn at_peer(&self, owner: u16, set: u16) -> (u16, u16) {
        (owner + self.own_controllers as u16, set + self.own_sets as u16)
    }

    pub(super) fn make_io(&mut self, owner: u16, controller: u16, parent: u32, io: Io) -> u32 {
        let kind = if io.is_cached { TaskKind::Data } else { TaskKind::Internal };
        // Blocks and extents may reach over the end of a set whose stripes are no multiple of them.
        let room_bytes = self.sets[usize::from(io.set)].set.layout.capacity_bytes() - io.offset_bytes;
        let length_bytes = u64::from(io.length_bytes).min(room_bytes) as u32;
        self.commands.keep(Command {
            issued_at_ns: self.now_ns,
            offset_bytes: io.offset_bytes,
            length_bytes,
            tag: parent,
            set: io.set,
            controller,
            owner,
            direction: io.direction,
            kind,
            phase: Phase::Read,
            is_part: io.is_cache_hit,
            ..Command::BLANK
        })
    }

    /// I/Os of services go to the drives as those of a rebuild do.
    pub(super) fn begin_internal(&mut self, index: u32) {
        match self.commands.get(index).direction {
            Direction::Read => self.begin_read(index),
            _ => self.begin_write(index),
        }
    }

    /// Returns when the end of an I/O is known to its command: that of the second array has its way back.
    pub(in super::super) fn ends_at_ns(&self, index: u32, at_ns: u64) -> u64 {
        let is_remote = usize::from(self.commands.get(index).set) >= self.own_sets;
        let services = self.services.as_ref().filter(|_| is_remote);
        at_ns + services.map_or(0, |services| services.peer_way_ns())
    }

    /// An I/O of a command is done.
    pub(in super::super) fn part_done(&mut self, index: u32) {
        let command = *self.commands.get(index);
        let Command { tag, is_lost, is_part, .. } = command;
        self.end(index);
        if tag == COPY {
            return self.unit_done(command);
        }
        if TIER_TAGS.contains(&tag) {
            return self.chunk_done(command);
        }
        let Some(services) = self.services.as_mut().filter(|_| tag != NO_PARENT) else { return };
        let served = &mut services.served[tag as usize];
        if is_lost && is_part {
            served.has_lost_cache = true;
            if let Some(cache) = &mut services.cache {
                cache.is_lost = true;
            }
        } else {
            served.is_lost |= is_lost;
        }
        self.io_ends(tag);
    }

    /// One I/O less is pending; with the last the next stage begins.
    pub(in super::super) fn io_ends(&mut self, index: u32) {
        let Some(services) = &mut self.services else { return };
        let served = &mut services.served[index as usize];
        served.pending -= 1;
        if served.pending > 0 {
            return;
        }
        if std::mem::take(&mut served.has_lost_cache) {
            // The cache is gone: the data is read from where it belongs.
            let command = *self.commands.get(index);
            let length_bytes = u64::from(command.length_bytes);
            let io = Io::internal(Direction::Read, command.set, command.offset_bytes, length_bytes);
            return self.begin_io(index, Io { is_cached: true, ..io }, None);
        }
        self.next_stage(index);
    }

    /// A served command is answered; what follows the answer begins.
    fn serve_ends(&mut self, index: u32) {
        let command = *self.commands.get(index);
        let Some(services) = &mut self.services else { return };
        let served = &mut services.served[index as usize];
        let (after_ns, is_lost) = (served.after_ns, served.is_lost);
        while let Some(io) = self.next_io(index, Stage::After) {
            let after = self.make_io(command.owner, command.controller, NO_PARENT, io);
            self.begin_internal(after);
        }
        self.commands.get_mut(index).is_lost = is_lost;
        let at_ns = match after_ns {
            0 => self.now_ns,
            _ => self.controllers[usize::from(command.controller)].process(self.now_ns, after_ns),
        };
        self.answer_at(at_ns, index);
    }

    /// A snapshot is taken.
    pub(in super::super) fn take_snapshot(&mut self) {
        let now_ns = self.now_ns;
        let snapshots = self.services.as_mut().and_then(|services| services.snapshots.as_mut());
        match snapshots.map(|snapshots| snapshots.take(now_ns)) {
            Some(number) => self.note(format!("snapshot {number} is taken")),
            None => self.note("no snapshot is taken: `snapshots` is off".to_owned()),
        }
    }

    /// The oldest snapshot is deleted.
    pub(in super::super) fn delete_snapshot(&mut self) {
        let now_ns = self.now_ns;
        let snapshots = self.services.as_mut().and_then(|services| services.snapshots.as_mut());
        match snapshots.and_then(|snapshots| snapshots.delete_oldest(now_ns)) {
            Some(number) => self.note(format!("snapshot {number} is deleted")),
            None => self.note("there is no snapshot to delete".to_owned()),
        }
    }

    /// Does what services do by themselves at this moment.
    pub(in super::super) fn run_services(&mut self) {
        let now_ns = self.now_ns;
        let Some(services) = &mut self.services else { return };
        match services.snapshots.as_mut().and_then(|snapshots| snapshots.due(now_ns)) {
            Some(SnapshotTask::Take) => self.take_snapshot(),
            Some(SnapshotTask::DeletionRecord(set)) => {
                let io = services.metadata.deletion(set);
                let record = self.make_io(0, 0, NO_PARENT, io);
                self.begin_internal(record);
            }
            None => {
                self.begin_cycle();
                self.copy_next();
                self.move_next();
            }
        }
    }
}
