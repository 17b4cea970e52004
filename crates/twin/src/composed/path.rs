//! Path of a command: from the job's thread over a link to a controller, through caches to the drives, and back.

use load::{Completion, Direction};

use super::Model;
use super::command::{Command, ModelEvent, Phase, TaskKind};
use crate::availability::{DATA_LOST, Migrates};

impl Model {
    /// Begins an I/O's command to one volume.
    pub(super) fn begin(&mut self, tag: u32, issued_at_ns: u64, piece: super::Piece, is_part: bool) {
        let volume = &mut self.volumes[piece.volume as usize];
        let starts_ns = volume
            .limiter
            .as_mut()
            .map_or(issued_at_ns, |limiter| limiter.starts_at_ns(issued_at_ns, piece.length_bytes));
        let (set, offset_bytes) = (volume.set, volume.offset_bytes + piece.offset_bytes);
        let command = self.commands.keep(Command {
            issued_at_ns,
            ready_ns: 0,
            offset_bytes,
            length_bytes: piece.length_bytes,
            tag,
            wait_ns: 0,
            volume: piece.volume,
            set,
            controller: 0,
            owner: 0,
            link: 0,
            home: 0,
            left: 0,
            direction: piece.direction,
            kind: TaskKind::Host,
            phase: Phase::Read,
            is_part,
            is_lost: false,
            is_admitted: false,
        });
        if starts_ns == self.now_ns {
            self.issue(command);
        } else {
            self.queue.push(starts_ns, ModelEvent::Issue(command).pack());
        }
    }

    /// The job's thread hands a command over: it goes to the controller that owns the volume, or to the node that has its data.
    pub(super) fn issue(&mut self, index: u32) {
        let command = *self.commands.get(index);
        let state = &self.sets[usize::from(command.set)];
        let home = if state.is_cluster {
            self.primary(&command)
        } else {
            state.set.slots.first().map_or(0, |slot| slot.node as u16)
        };
        let first = u32::from(home) * self.controllers_per_node;
        let owner = first + command.volume % self.controllers_per_node;
        let preferred = if self.is_active_active {
            self.turn = self.turn.wrapping_add(1);
            first + self.turn % self.controllers_per_node
        } else {
            owner
        };
        let controller = self.failover.reached(preferred, self.now_ns) as u16;
        let link = self.fabric.choose_link(controller);
        let bytes = (command.direction == Direction::Write).then_some(u64::from(command.length_bytes));
        let at_ns = self.fabric.send_to_array(self.now_ns, link, bytes);
        let command = self.commands.get_mut(index);
        (command.home, command.owner, command.controller, command.link) =
            (home, owner as u16, controller, link);
        self.queue.push(at_ns, ModelEvent::Arrive(index).pack());
    }

    /// Node that an I/O of a cluster goes to: that of the replica that is read, or of a stripe's first member.
    fn primary(&mut self, command: &Command) -> u16 {
        let state = &self.sets[usize::from(command.set)];
        let layout = &state.set.layout;
        let (stripe, _) = layout.stripe_of(command.offset_bytes);
        let member =
            if command.direction == Direction::Read && !state.has_parity { layout.members() - 1 } else { 0 };
        state.node_of(layout.place(stripe, member).drive)
    }

    /// A command is at its controller.
    pub(super) fn arrive(&mut self, index: u32) {
        let command = *self.commands.get(index);
        let controller = u32::from(command.controller);
        if self.failover.is_any_away()
            && let Some(again_ns) = self.failover.again_at_ns(controller, self.now_ns)
        {
            self.queue.push(again_ns, ModelEvent::Issue(index).pack());
            return;
        }
        let bytes = if command.direction == Direction::Trim { 0 } else { u64::from(command.length_bytes) };
        let at_ns = self.controllers[controller as usize].take_in(self.now_ns, command.direction, bytes);
        self.queue.push(at_ns, ModelEvent::Start(index).pack());
    }

    /// The controller has seen to a command: caches answer it, or it goes to the drives.
    pub(super) fn start(&mut self, index: u32) {
        let command = *self.commands.get(index);
        let state = &self.sets[usize::from(command.set)];
        let (address, length) = (state.address(command.offset_bytes), u64::from(command.length_bytes));
        let owner = usize::from(command.owner);
        match command.direction {
            Direction::Trim => {
                state.set.layout.map(command.offset_bytes, length, &mut self.plan);
                for io in self.plan.reads() {
                    let (group, drive) = self.groups.place(state.drive_in(io.drive));
                    let offset_bytes = state.set.base_bytes + io.offset_bytes;
                    self.groups.drives[group].trim(drive, offset_bytes, u64::from(io.length_bytes));
                }
                self.answer(index);
            }
            Direction::Read => {
                let cache = &mut self.controllers[owner];
                let is_hit = cache.write_cache.as_ref().is_some_and(|cache| cache.holds(address, length))
                    || cache.read_cache.as_ref().is_some_and(|cache| cache.holds(address, length));
                if is_hit {
                    cache.hits += 1;
                    self.answer(index);
                } else {
                    self.enter_window(index);
                }
            }
            Direction::Write => match &mut self.controllers[owner].write_cache {
                Some(cache) => {
                    if cache.take_in(index, address, length) {
                        self.cached(index);
                    }
                    self.destage(command.owner);
                }
                None => self.enter_window(index),
            },
        }
    }

    /// A write has its room in the cache: it is mirrored and answered.
    pub(super) fn cached(&mut self, index: u32) {
        let command = *self.commands.get(index);
        let bytes = u64::from(command.length_bytes);
        let mirrored_ns = self.controllers[usize::from(command.controller)].mirror(self.now_ns, bytes);
        self.answer_at(mirrored_ns, index);
    }

    /// A command of the array itself.
    pub(super) fn background(
        &mut self,
        kind: TaskKind,
        set: usize,
        offset_bytes: u64,
        controller: u16,
    ) -> u32 {
        self.commands.keep(Command {
            issued_at_ns: self.now_ns,
            ready_ns: 0,
            offset_bytes,
            length_bytes: 0,
            tag: 0,
            wait_ns: 0,
            volume: 0,
            set: set as u16,
            controller,
            owner: controller,
            link: 0,
            home: (u32::from(controller) / self.controllers_per_node) as u16,
            left: 0,
            direction: Direction::Write,
            kind,
            phase: Phase::Write,
            is_part: false,
            is_lost: false,
            is_admitted: false,
        })
    }

    /// A host's command goes to the drives once its controller's window has room.
    fn enter_window(&mut self, index: u32) {
        let controller = usize::from(self.commands.get(index).controller);
        if self.controllers[controller].admit(index) {
            self.begin_at_drives(index);
        }
    }

    pub(super) fn begin_at_drives(&mut self, index: u32) {
        let command = self.commands.get_mut(index);
        command.is_admitted = true;
        if command.direction == Direction::Read { self.begin_read(index) } else { self.begin_write(index) }
    }

    pub(super) fn has_read(&mut self, index: u32) {
        let command = *self.commands.get(index);
        let address = self.sets[usize::from(command.set)].address(command.offset_bytes);
        if let Some(cache) = &mut self.controllers[usize::from(command.owner)].read_cache {
            cache.keep(address, u64::from(command.length_bytes));
        }
        self.answer(index);
    }

    pub(super) fn has_written(&mut self, index: u32) {
        let command = *self.commands.get(index);
        match command.kind {
            TaskKind::Host => self.answer(index),
            TaskKind::Destage => self.has_destaged(index, command.owner),
            TaskKind::Rebuild => {
                self.commands.take(index);
                self.set_view(usize::from(command.set)).stripe_is_rebuilt();
            }
        }
    }

    /// Too much is lost for a command: a host's ends in an error, what a cache holds for it has nowhere to go.
    pub(super) fn lose(&mut self, index: u32) {
        let kind = self.commands.get(index).kind;
        if kind == TaskKind::Host {
            self.commands.get_mut(index).is_lost = true;
            self.answer(index);
        } else {
            self.has_written(index);
        }
    }

    /// Answers a host's command now.
    pub(super) fn answer(&mut self, index: u32) {
        self.answer_at(self.now_ns, index);
    }

    pub(super) fn answer_at(&mut self, at_ns: u64, index: u32) {
        let command = *self.commands.get(index);
        if command.is_admitted {
            self.commands.get_mut(index).is_admitted = false;
            if let Some(next) = self.controllers[usize::from(command.controller)].leave() {
                self.begin_at_drives(next);
            }
        }
        let bytes = (command.direction == Direction::Read && !command.is_lost)
            .then_some(u64::from(command.length_bytes));
        let sent_ns = self.fabric.send_to_host(at_ns, command.link, bytes);
        self.queue.push(sent_ns + self.answer_ns, ModelEvent::Answer(index).pack());
    }

    /// The host has its answer: the I/O completes with its last command.
    pub(super) fn answered(&mut self, index: u32) -> Option<Completion> {
        let command = self.commands.take(index);
        let mut is_lost = command.is_lost;
        if command.is_part {
            let parts = &mut self.parts[command.tag as usize];
            parts.left -= 1;
            parts.is_lost |= command.is_lost;
            if parts.left > 0 {
                return None;
            }
            is_lost = parts.is_lost;
        }
        let outcome = if is_lost { Err(DATA_LOST) } else { Ok(()) };
        Some(Completion { tag: command.tag, issued_at_ns: command.issued_at_ns, at_ns: self.now_ns, outcome })
    }
}
