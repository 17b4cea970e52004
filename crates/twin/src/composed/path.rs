//! Path of a command: from the job's thread over a link to a controller, through caches to the drives, and back.

use load::{Completion, Direction};

use super::Model;
use super::command::{Command, Marks, ModelEvent, Phase, TaskKind};
use super::lookahead::CommandStep;
use super::paths::Destination;
use super::read_ahead::Source;
use crate::availability::{DATA_LOST, Migrates};

/// Bits of a stripe's number below that of its set.
const SET_SHIFT: u32 = 48;

impl Model {
    /// Begins an I/O's command to one volume.
    #[inline(always)]
    pub(super) fn begin(
        &mut self,
        tag: u32,
        host: u16,
        issued_at_ns: u64,
        piece: super::Piece,
        is_part: bool,
    ) {
        let volume = &mut self.volumes[piece.volume as usize];
        let starts_ns = match &mut volume.limiter {
            Some(limiter) => limiter.starts_at_ns(issued_at_ns, piece.length_bytes),
            None => issued_at_ns,
        };
        let index = self.commands.reserve(Command::BLANK);
        // Field by field: [`Slab::reserve`] says why.
        let command = self.commands.get_mut(index);
        command.issued_at_ns = issued_at_ns;
        command.ready_ns = 0;
        command.offset_bytes = volume.offset_bytes + piece.offset_bytes;
        command.length_bytes = piece.length_bytes;
        command.tag = tag;
        command.wait_ns = 0;
        command.volume = piece.volume as u16;
        command.set = volume.set;
        command.host = host;
        command.left = 0;
        command.direction = piece.direction;
        command.kind = TaskKind::Host;
        command.phase = Phase::Read;
        command.is_part = is_part;
        command.is_lost = false;
        command.is_admitted = false;
        command.is_answered_early = false;
        command.ends = 1;
        command.is_sequential = false;
        command.marks = Marks::NONE;
        let state = &self.sets[usize::from(command.set)];
        let home = if state.is_cluster { state.primary(command) } else { state.home };
        command.owner = (u32::from(home) * self.controllers_per_node + u32::from(volume.preferred)) as u16;
        if self.failover.is_any_away() {
            self.find_node_again(index, issued_at_ns);
        }
        if let Some(services) = &mut self.services {
            services.begin(index, piece.job);
        }
        if starts_ns != self.now_ns && !self.keeps_order {
            return self.queue.push(starts_ns, ModelEvent::Issue(index).pack());
        }
        self.route(index, starts_ns);
    }

    /// The job's thread hands a command over.
    pub(super) fn issue(&mut self, index: u32) {
        if self.failover.is_any_away() {
            self.find_node_again(index, self.now_ns);
        }
        self.route(index, self.now_ns);
    }

    /// Sends a command that is handed over at a moment to the controller that owns its volume, or to the node that has its data,
    /// unless it must wait for its volume and link.
    #[inline(always)]
    fn route(&mut self, index: u32, at_ns: u64) {
        let command = self.commands.get_mut(index);
        let owner = u32::from(command.owner);
        let failover = &self.failover;
        let link = if self.fabric.has_one_link() {
            0
        } else {
            let reached = failover.reached(owner, at_ns);
            let destination = if self.is_active_active {
                Destination::Node((reached / self.controllers_per_node) as u16)
            } else {
                Destination::Controller(reached as u16)
            };
            self.fabric.choose_link(command.host, destination, |controller| {
                !failover.is_any_away() || failover.is_known_up(controller, at_ns)
            })
        };
        command.controller = self.fabric.controller_of(link);
        command.link = link;
        if let Some(queues) = &mut self.fabric.queues
            && !queues.may_send(index, command)
        {
            return;
        }
        self.send(index, at_ns);
    }

    /// Sends a command over its link at a moment.
    #[inline(always)]
    fn send(&mut self, index: u32, at_ns: u64) {
        let command = self.commands.get(index);
        let bytes = (command.direction == Direction::Write).then_some(u64::from(command.length_bytes));
        let arrives_ns = self.fabric.send_to_array(at_ns, command.link, bytes);
        self.step(arrives_ns, index, CommandStep::Arrive);
    }

    /// A command makes room for another on its path.
    #[inline]
    fn leave_path(&mut self, index: u32) {
        let Some(queues) = &mut self.fabric.queues else { return };
        if let Some(next) = queues.leave(self.commands.get(index)) {
            self.send(next, self.now_ns);
        }
    }

    /// A command is at its controller.
    #[inline]
    pub(super) fn arrive(&mut self, index: u32) {
        let controller = self.commands.get(index).controller;
        if self.failover.is_any_away() && self.goes_another_way(index, controller) {
            return;
        }
        let Command { direction, length_bytes, set, kind, .. } = *self.commands.get(index);
        let bytes = if direction == Direction::Trim { 0 } else { u64::from(length_bytes) };
        let has_parity = self.sets[usize::from(set)].has_parity;
        // I/Os of the services are part of a command that has entered.
        if kind == TaskKind::Host {
            self.crowding.enter();
        }
        let at_ns = self.controllers[usize::from(controller)].take_in(
            self.now_ns,
            (direction, bytes),
            has_parity,
            self.crowding,
        );
        self.step(at_ns, index, CommandStep::Start);
    }

    /// Returns whether a command has come to a controller that is away: its host sends it another way once it has
    /// noticed.
    #[cold]
    pub(super) fn goes_another_way(&mut self, index: u32, controller: u16) -> bool {
        // I/Os of the services are in the array already: the partner goes on with them.
        if self.commands.get(index).kind != TaskKind::Host {
            return false;
        }
        let again_ns = self.failover.again_at_ns(u32::from(controller), self.now_ns);
        if let Some(again_ns) = again_ns {
            // It waits for its new path as any other, and makes room on the old one.
            self.leave_path(index);
            self.queue.push(again_ns, ModelEvent::Issue(index).pack());
        }
        again_ns.is_some()
    }

    /// The partner of a controller that has left goes on with an I/O of the services that waited there.
    #[cold]
    pub(super) fn goes_to_partner(&mut self, index: u32, controller: u16) {
        let again_ns = self.failover.again_at_ns(u32::from(controller), self.now_ns);
        self.commands.get_mut(index).controller = self.failover.current_owner(u32::from(controller)) as u16;
        self.queue.push(again_ns.unwrap_or(self.now_ns), ModelEvent::Start(index).pack());
    }

    /// The controller has seen to a command: caches answer it, or it goes to the drives.
    #[inline]
    pub(super) fn start(&mut self, index: u32) {
        let Command { controller, direction, .. } = *self.commands.get(index);
        if self.failover.is_any_away() && self.goes_another_way(index, controller) {
            self.crowding.leave();
            return;
        }
        if self.is_plain && direction != Direction::Trim {
            return self.enter_window(index);
        }
        if self.services.is_some() && self.commands.get(index).kind == TaskKind::Host {
            return self.serve(index);
        }
        self.start_with_caches(index);
    }

    pub(super) fn start_with_caches(&mut self, index: u32) {
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
            Direction::Read => self.start_read(index, &command),
            Direction::Write => match &mut self.controllers[owner].write_cache {
                Some(cache) if !(self.mirrors && self.failover.is_any_away()) => {
                    if command.kind == TaskKind::Host {
                        self.crowding.leave();
                        self.commands.get_mut(index).marks.set(Marks::CACHED);
                    }
                    if cache.take_in(index, address, length) {
                        self.cached(index);
                    }
                    self.destage(command.owner);
                }
                _ => self.enter_window(index),
            },
        }
    }

    /// A read is at its controller: its data is in memory, on its way there, or on the drives.
    fn start_read(&mut self, index: u32, command: &Command) {
        let state = &self.sets[usize::from(command.set)];
        let (address, length) = (state.address(command.offset_bytes), u64::from(command.length_bytes));
        let controller = &mut self.controllers[usize::from(command.owner)];
        if controller.write_cache.as_ref().is_some_and(|cache| cache.holds(address, length)) {
            controller.tally.dirty_hits += 1;
            return self.answer(index);
        }
        let mut source = Source::Drives;
        if let Some(read_ahead) = &mut controller.read_ahead {
            let end = state.address(state.volume_end(command.offset_bytes));
            source = read_ahead.read(index, address, length, end, &mut self.fetches);
            controller.tally.read_ahead_hits += u64::from(source != Source::Drives);
        }
        // A reader that is read ahead of need not be looked for block by block.
        if source == Source::Drives
            && controller.read_cache.as_ref().is_some_and(|cache| cache.holds(address, length))
        {
            controller.tally.read_hits += 1;
            source = Source::Memory;
        }
        match source {
            Source::Memory => self.has_read(index),
            Source::OnItsWay => {}
            Source::Drives => self.enter_window(index),
        }
        if !self.fetches.is_empty() {
            self.fetch_ahead(command.owner, command.set);
        }
    }

    /// A write has its room in the cache: it is mirrored and answered.
    pub(super) fn cached(&mut self, index: u32) {
        let command = *self.commands.get(index);
        let bytes = u64::from(command.length_bytes);
        let mirrored_ns = self.controllers[usize::from(command.controller)].mirror(self.now_ns, bytes);
        self.answer_after(mirrored_ns, index, self.cached_answer_ns);
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
            offset_bytes,
            set: set as u16,
            controller,
            owner: controller,
            direction: Direction::Write,
            kind,
            phase: Phase::Write,
            ..Command::BLANK
        })
    }

    /// A host's command goes to the drives once its controller's window has room.
    #[inline(always)]
    fn enter_window(&mut self, index: u32) {
        if self.is_window_open {
            return self.begin_at_drives(index);
        }
        let command = self.commands.get(index);
        if self.controllers[usize::from(command.controller)].admit(index, command.length_bytes) {
            self.begin_at_drives(index);
        }
    }

    /// A command has its place in the window: a write that the buffer holds is answered.
    #[inline(always)]
    fn begin_at_drives(&mut self, index: u32) {
        let follows = self.follows_stream(index);
        let command = self.commands.get_mut(index);
        command.is_admitted = !self.is_window_open;
        command.is_sequential = follows;
        if command.direction == Direction::Read {
            return self.begin_read(index);
        }
        if let Some(buffer_ns) = self.buffer_answer_ns {
            (command.is_answered_early, command.ends) = (true, 2);
            if command.kind == TaskKind::Data {
                let at_ns = self.ends_at_ns(index, self.now_ns + buffer_ns);
                self.queue.push(at_ns, ModelEvent::PartDone(index).pack());
            } else {
                let sent_ns = self.fabric.send_to_host(self.now_ns + buffer_ns, command.link, None);
                self.queue.push(sent_ns + self.answer_ns, ModelEvent::Answer(index).pack());
            }
        }
        self.begin_write(index);
    }

    /// Returns whether a command follows others of a sequential stream.
    #[inline]
    fn follows_stream(&mut self, index: u32) -> bool {
        let Some(streams) = &mut self.streams else { return false };
        let command = self.commands.get(index);
        let layout = &self.sets[usize::from(command.set)].set.layout;
        // Stripes of different sets are no neighbours.
        let number = |stripe: u64| u64::from(command.set) << SET_SHIFT | stripe;
        let (first, position) = layout.stripe_of(command.offset_bytes);
        let end = position + u64::from(command.length_bytes.max(1));
        let last = if end <= layout.stripe_bytes() {
            first
        } else {
            layout.stripe_of(command.offset_bytes - position + end - 1).0
        };
        streams.follows(number(first), number(last))
    }

    /// Gives a command's place in the window back and lets in those that waited for it.
    #[inline]
    fn leave_window(&mut self, index: u32) {
        let command = self.commands.get_mut(index);
        if !std::mem::take(&mut command.is_admitted) {
            return;
        }
        let controller = usize::from(command.controller);
        self.controllers[controller].leave(command.length_bytes);
        while let Some(next) = self.controllers[controller].admit_next() {
            self.begin_at_drives(next);
        }
    }

    #[inline]
    pub(super) fn has_read(&mut self, index: u32) {
        if !self.has_caches {
            return self.answer(index);
        }
        let command = *self.commands.get(index);
        if command.kind == TaskKind::Internal {
            return self.answer(index);
        }
        let address = self.sets[usize::from(command.set)].address(command.offset_bytes);
        if let Some(cache) = &mut self.controllers[usize::from(command.owner)].read_cache {
            cache.keep(address, u64::from(command.length_bytes));
        }
        self.answer(index);
    }

    #[inline]
    pub(super) fn has_written(&mut self, index: u32) {
        self.end_change(index);
        let Command { kind, is_answered_early, owner, set, .. } = *self.commands.get(index);
        match kind {
            TaskKind::Host | TaskKind::Data if is_answered_early => {
                self.leave_window(index);
                self.end(index);
            }
            TaskKind::Host => self.answer_at(self.now_ns + self.log_ns(set), index),
            TaskKind::Data | TaskKind::Internal => self.answer(index),
            TaskKind::Verify => drop(self.commands.take(index)),
            TaskKind::ReadAhead => self.has_read_ahead(index),
            TaskKind::Destage => self.has_destaged(index, owner),
            TaskKind::Rebuild => {
                self.commands.take(index);
                self.set_view(usize::from(set)).stripe_is_rebuilt();
            }
        }
    }

    /// Returns what the log of a change of parity takes longer until an answer.
    #[inline]
    pub(super) fn log_ns(&self, set: u16) -> u64 {
        if self.parity_log_ns > 0 && self.sets[usize::from(set)].has_parity { self.parity_log_ns } else { 0 }
    }

    /// Too much is lost for a command: a host's ends in an error, what a cache holds for it has nowhere to go.
    pub(super) fn lose(&mut self, index: u32) {
        self.end_change(index);
        let command = self.commands.get(index);
        if command.kind.is_io() && !command.is_answered_early {
            self.commands.get_mut(index).is_lost = true;
            self.answer(index);
        } else {
            self.has_written(index);
        }
    }

    /// Answers a host's command now.
    #[inline]
    pub(super) fn answer(&mut self, index: u32) {
        self.answer_at(self.now_ns, index);
    }

    #[inline]
    pub(super) fn answer_at(&mut self, at_ns: u64, index: u32) {
        self.answer_after(at_ns, index, self.answer_ns);
    }

    /// Answers a command whose work is over at a moment; the answer of a host's takes `answer_ns` beside its links.
    #[inline]
    fn answer_after(&mut self, at_ns: u64, index: u32, answer_ns: u64) {
        let command = self.commands.get(index);
        if command.kind != TaskKind::Host {
            let ends_ns = self.ends_at_ns(index, at_ns);
            self.queue.push(ends_ns, ModelEvent::PartDone(index).pack());
            return self.leave_window(index);
        }
        let bytes = (command.direction == Direction::Read && !command.is_lost)
            .then_some(u64::from(command.length_bytes));
        let sent_ns = self.fabric.send_to_host(at_ns, command.link, bytes);
        self.queue.push(sent_ns + answer_ns, ModelEvent::Answer(index).pack());
        self.leave_window(index);
    }

    /// A command's answer or its write is over, and with the later of the two the command.
    #[inline]
    pub(super) fn end(&mut self, index: u32) {
        let command = self.commands.get_mut(index);
        command.ends -= 1;
        if command.ends == 0 {
            self.commands.take(index);
        }
    }

    /// The host has its answer: its file system and its thread hand it on, where that takes time.
    #[inline]
    pub(super) fn answered(&mut self, index: u32) -> Option<Completion> {
        if !self.commands.get(index).marks.has(Marks::CACHED) {
            self.crowding.leave();
        }
        self.leave_path(index);
        if !self.fabric.delivers() {
            return self.completed(index);
        }
        let command = self.commands.get(index);
        let moved = (command.length_bytes, command.direction == Direction::Read);
        let at_ns = self.fabric.delivered_at_ns(self.now_ns, command.host, command.tag, moved);
        self.queue.push(at_ns, ModelEvent::Delivered(index).pack());
        None
    }

    /// The application has its answer: the I/O completes with its last command.
    #[inline(always)]
    pub(super) fn completed(&mut self, index: u32) -> Option<Completion> {
        let Command { tag, issued_at_ns, is_part, mut is_lost, .. } = *self.commands.get(index);
        self.end(index);
        if is_part {
            let parts = &mut self.parts[tag as usize];
            parts.left -= 1;
            parts.is_lost |= is_lost;
            if parts.left > 0 {
                return None;
            }
            is_lost = parts.is_lost;
        }
        let outcome = if is_lost { Err(DATA_LOST) } else { Ok(()) };
        Some(Completion { tag, issued_at_ns, at_ns: self.now_ns, outcome })
    }
}
