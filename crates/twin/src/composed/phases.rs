//! Phases of a command at the drives: reads, parity, writes.

use layout::{DriveIo, Healthy, ParityInitialisation, Role};
use load::Direction;

use super::command::{Command, Marks, ModelEvent, Phase, TaskKind};
use super::drives::{DriveAnswer, DriveCommand, GroupDrives};
use super::fabric::DrivePath;
use super::lookahead::CommandStep;
use super::{Model, Work};
use crate::availability::Migrates;
use crate::drive::disk::DiskCommand;
use crate::engine::Slots;

impl Model {
    #[inline(always)]
    pub(super) fn begin_read(&mut self, index: u32) {
        self.commands.get_mut(index).phase = Phase::Read;
        if self.has_direct_drives
            && let Some(done_ns) = self.read_directly(index)
        {
            return self.phase_ends(index, done_ns);
        }
        if self.plan_read(index) {
            self.at_drives(index, Direction::Read);
        } else {
            self.lose(index);
        }
    }

    pub(super) fn plan_read(&mut self, index: u32) -> bool {
        let command = self.commands.get(index);
        let state = &self.sets[usize::from(command.set)];
        let length = u64::from(command.length_bytes);
        let layout = &state.set.layout;
        let pick = if state.picks_mirrors {
            self.random.next_u64() as u32
        } else if state.is_cluster {
            // Neighbouring stripes are read from different replicas.
            layout.stripe_of(command.offset_bytes).0 as u32
        } else {
            0
        };
        if state.recovery.loss.failed().is_empty() {
            layout.read(command.offset_bytes, length, &Healthy, pick, &mut self.plan).is_ok()
        } else {
            layout.read(command.offset_bytes, length, &state.recovery.loss, pick, &mut self.plan).is_ok()
        }
    }

    /// A write, or a stripe of a rebuild, begins: where it changes parity, once it has a place among the changes.
    #[inline]
    pub(super) fn begin_write(&mut self, index: u32) {
        if self.limits_parity_changes && !self.may_change_parity(index) {
            return;
        }
        self.begin_update(index);
    }

    /// Returns whether a write has its place among the changes of parity of its controller; otherwise it waits for one.
    fn may_change_parity(&mut self, index: u32) -> bool {
        let command = self.commands.get_mut(index);
        let has_parity = self.maintains_parity && self.sets[usize::from(command.set)].has_parity;
        if !has_parity || command.kind == TaskKind::Rebuild {
            return true;
        }
        let Some(changes) = &mut self.controllers[usize::from(command.controller)].parity_changes else {
            return true;
        };
        command.marks.set(Marks::CHANGES_PARITY);
        changes.admit(index)
    }

    /// A change of parity is in the drives: another may begin.
    #[inline]
    pub(super) fn end_change(&mut self, index: u32) {
        let command = self.commands.get_mut(index);
        if !command.marks.take(Marks::CHANGES_PARITY) {
            return;
        }
        let changes = &mut self.controllers[usize::from(command.controller)].parity_changes;
        if let Some(next) = changes.as_mut().and_then(Slots::leave) {
            self.begin_update(next);
        }
    }

    /// Reads first what parity needs.
    #[inline]
    fn begin_update(&mut self, index: u32) {
        if self.lacks_parity {
            self.claim_parity(index);
        }
        if !self.has_direct_drives {
            return self.begin_planned_write(index);
        }
        if let Some(done_ns) = self.modify_directly(index, Direction::Read) {
            let command = self.commands.get_mut(index);
            command.phase = Phase::ReadOld;
            command.marks.set(Marks::IN_PLACE);
            return self.step(done_ns, index, CommandStep::PhaseDone(Phase::ReadOld));
        }
        if let Some(done_ns) = self.write_directly(index) {
            self.commands.get_mut(index).phase = Phase::Write;
            return self.phase_ends(index, done_ns);
        }
        if let Some(done_ns) = self.gather_directly(index) {
            self.commands.get_mut(index).phase = Phase::Write;
            return self.phase_ends(index, done_ns);
        }
        self.begin_planned_write(index);
    }

    /// Notes whether a write is the first to one of its stripes, and that they have parity from now on.
    #[cold]
    fn claim_parity(&mut self, index: u32) {
        let command = *self.commands.get(index);
        if command.kind == TaskKind::Rebuild {
            return;
        }
        let whole = (command.offset_bytes, u64::from(command.length_bytes));
        let extents = match command.kind {
            TaskKind::Destage => self.work_of(index).extents.clone(),
            _ => vec![whole],
        };
        let state = &mut self.sets[usize::from(command.set)];
        let is_first =
            extents.into_iter().fold(false, |any, (offset, length)| state.claim_parity(offset, length) | any);
        if is_first {
            self.commands.get_mut(index).marks.set(Marks::FIRST);
        }
    }

    fn begin_planned_write(&mut self, index: u32) {
        let command = *self.commands.get(index);
        let has_parity = self.sets[usize::from(command.set)].has_parity;
        let reads_nothing = has_parity && command.kind.is_io() && self.reads_nothing(&command);
        let (phase, direction) =
            if reads_nothing { (Phase::Write, Direction::Write) } else { (Phase::ReadOld, Direction::Read) };
        self.commands.get_mut(index).phase = phase;
        if self.for_each_plan(index, direction) {
            self.is_at_drives(index);
        } else {
            self.lose(index);
        }
    }

    /// Returns whether parity needs nothing that lies on the drives: whole stripes are gathered, or it is left alone.
    fn reads_nothing(&self, command: &Command) -> bool {
        command.is_sequential || !self.maintains_parity
    }

    /// Reads a stripe for verification.
    pub(super) fn verify(&mut self, set: usize, stripe: u64) {
        let state = &self.sets[set];
        let loss = &state.recovery.loss;
        if stripe >= state.set.layout.stripes()
            || state.set.layout.verify(stripe, loss, &mut self.plan).is_err()
        {
            return;
        }
        let controller = (stripe % self.own_controllers as u64) as u16;
        let index = self.background(TaskKind::Verify, set, stripe, controller);
        self.carry_out(index, Direction::Read);
        if self.commands.get(index).left == 0 {
            self.commands.take(index);
        }
    }

    /// Plans what a command writes, extent by extent, and has the drives do the reads or the writes of it. False where too much
    /// is lost.
    pub(super) fn for_each_plan(&mut self, index: u32, direction: Direction) -> bool {
        let command = *self.commands.get(index);
        let record = self.commands.get_mut(index);
        (record.left, record.wait_ns, record.ready_ns) = (0, 0, self.now_ns);
        let (mut moved_bytes, mut made_bytes) = (0, 0);
        let is_first = command.marks.has(Marks::FIRST);
        let is_computed = command.phase == Phase::ReadOld && self.computes_parity;
        let mut run = |model: &mut Model| {
            if is_computed {
                let bytes = |ios: &[DriveIo]| ios.iter().map(|io| u64::from(io.length_bytes)).sum::<u64>();
                moved_bytes += bytes(model.plan.reads()) + bytes(model.plan.writes());
                // All that a rebuild writes is made.
                let is_made =
                    |io: &&DriveIo| command.kind == TaskKind::Rebuild || matches!(io.role, Role::P | Role::Q);
                let made = model.plan.writes().iter().filter(is_made);
                made_bytes += made.map(|io| u64::from(io.length_bytes)).sum::<u64>();
            }
            model.carry_out(index, direction);
        };
        match command.kind {
            TaskKind::Verify | TaskKind::ReadAhead => return false,
            TaskKind::Rebuild => {
                if !self.set_view(usize::from(command.set)).plan_rebuild(command.offset_bytes) {
                    return false;
                }
                run(self);
            }
            TaskKind::Host | TaskKind::Data | TaskKind::Internal => {
                let length_bytes = u64::from(command.length_bytes);
                let range = (command.offset_bytes, length_bytes);
                if !self.plan_write(command.set, range, command.is_sequential, is_first) {
                    return false;
                }
                run(self);
            }
            TaskKind::Destage => {
                let extents = std::mem::take(&mut self.work_of(index).extents);
                let mut is_lost = true;
                for &(offset_bytes, length_bytes) in &extents {
                    if self.plan_write(command.set, (offset_bytes, length_bytes), false, is_first) {
                        is_lost = false;
                        run(self);
                    }
                }
                self.work_of(index).extents = extents;
                if is_lost {
                    return false;
                }
            }
        }
        if is_computed {
            let work = self.work_of(index);
            (work.moved_bytes, work.made_bytes) = (moved_bytes, made_bytes);
        }
        true
    }

    /// Plans a write; false where too much is lost.
    pub(super) fn plan_write(
        &mut self,
        set: u16,
        (offset_bytes, length_bytes): (u64, u64),
        is_sequential: bool,
        is_first: bool,
    ) -> bool {
        let state = &self.sets[usize::from(set)];
        if state.has_parity && (is_sequential || !self.maintains_parity) {
            let (layout, loss) = (&state.set.layout, &state.recovery.loss);
            let gathers = self.maintains_parity;
            layout.write_without_reading(offset_bytes, length_bytes, loss, gathers, &mut self.plan);
            return true;
        }
        if state.recovery.loss.failed().is_empty() {
            if is_first {
                let way = ParityInitialisation::ReadAndCompute;
                return state.set.layout.first_write(offset_bytes, length_bytes, way, &mut self.plan).is_ok();
            }
            state.set.layout.write(offset_bytes, length_bytes, &Healthy, &mut self.plan).is_ok()
        } else {
            state.set.layout.write(offset_bytes, length_bytes, &state.recovery.loss, &mut self.plan).is_ok()
        }
    }

    /// Has the drives carry out the planned reads or writes of a command that has no others.
    pub(super) fn at_drives(&mut self, index: u32, direction: Direction) {
        let record = self.commands.get_mut(index);
        (record.left, record.wait_ns, record.ready_ns) = (0, 0, self.now_ns);
        self.carry_out(index, direction);
        self.is_at_drives(index);
    }

    /// Hands the planned reads or writes to the drives.
    pub(super) fn carry_out(&mut self, index: u32, direction: Direction) {
        let command = self.commands.get_mut(index);
        let is_read = direction == Direction::Read;
        let state = &self.sets[usize::from(command.set)];
        let ios = if is_read { self.plan.reads() } else { self.plan.writes() };
        let (group, first) = (state.set.group, self.groups.first(state.set.group));
        let drives = &mut self.groups.drives[group];
        if let GroupDrives::HardDisks(disks) = drives
            && disks.answers_at_once
            && !self.fabric.delays_drives
        {
            for io in ios {
                if is_read || !state.recovery.loss.is_empty_place(io.drive) {
                    let offset_bytes = state.set.base_bytes + io.offset_bytes;
                    let part = DiskCommand { direction, offset_bytes, length_bytes: io.length_bytes };
                    let done_ns = disks.serve(self.now_ns, state.drive_in(io.drive) - first, part);
                    command.ready_ns = command.ready_ns.max(done_ns);
                }
            }
            return;
        }
        // The array's own reads go from stripe to stripe.
        let is_sequential =
            command.is_sequential || matches!(command.kind, TaskKind::Rebuild | TaskKind::Verify);
        // Whose controller carries it out.
        let home = (u32::from(command.owner) / self.controllers_per_node) as u16;
        let (mut left, mut wait_most_ns, mut ready_ns) = (command.left, command.wait_ns, command.ready_ns);
        for io in ios {
            if !is_read && state.recovery.loss.is_empty_place(io.drive) {
                continue;
            }
            let wait_ns = if self.fabric.delays_drives {
                let path = DrivePath { group, home, node: state.node_of(io.drive), is_read };
                self.fabric.wait_for_drive_ns(self.now_ns, path, u64::from(io.length_bytes))
            } else {
                0
            };
            let io = DriveCommand {
                drive: state.drive_in(io.drive) - first,
                direction,
                offset_bytes: state.set.base_bytes + io.offset_bytes,
                length_bytes: io.length_bytes,
                role: io.role,
                command: index,
                is_sequential,
            };
            match drives.carry_out(self.now_ns, io) {
                DriveAnswer::At(at_ns) => ready_ns = ready_ns.max(at_ns + wait_ns),
                DriveAnswer::Later => {
                    left += 1;
                    wait_most_ns = wait_most_ns.max(wait_ns);
                }
            }
        }
        (command.left, command.wait_ns, command.ready_ns) = (left, wait_most_ns, ready_ns);
    }

    /// All I/Os of a phase are with the drives.
    pub(super) fn is_at_drives(&mut self, index: u32) {
        let command = self.commands.get(index);
        if command.left == 0 {
            self.phase_ends(index, command.ready_ns);
        }
    }

    /// The phase of a command is over at a moment from now on. Where nothing can come between that and its answer, its answer is next.
    #[inline(always)]
    fn phase_ends(&mut self, index: u32, ready_ns: u64) {
        let command = self.commands.get(index);
        if let Some(times) = &self.answers_in
            && command.kind == TaskKind::Host
            && !command.is_answered_early
        {
            let is_last = match command.phase {
                Phase::Read => times.is_of_reads,
                Phase::Write => !command.marks.has(Marks::CHANGES_PARITY),
                Phase::ReadOld | Phase::Compute => false,
            };
            if is_last {
                if command.phase == Phase::Read {
                    self.fabric.note_returned(command.link, u64::from(command.length_bytes));
                }
                let log_ns = if command.phase == Phase::Write { self.log_ns(command.set) } else { 0 };
                return self.queue.push(ready_ns + times.ns + log_ns, ModelEvent::Answer(index).pack());
            }
        }
        self.step(ready_ns, index, CommandStep::PhaseDone(command.phase));
    }

    /// A hard disk has carried out an I/O of a command.
    pub(super) fn disk_done(&mut self, index: u32) {
        let now_ns = self.now_ns;
        let command = self.commands.get_mut(index);
        command.left -= 1;
        if command.left == 0 {
            let at_ns = command.ready_ns.max(now_ns + command.wait_ns);
            if at_ns == now_ns {
                return self.phase_done(index);
            }
            self.queue.push(at_ns, ModelEvent::PhaseDone(index).pack());
        }
    }

    /// A phase of a command is over.
    #[inline]
    pub(super) fn phase_done(&mut self, index: u32) {
        let Command { kind, phase, set, marks, length_bytes, .. } = *self.commands.get(index);
        match phase {
            Phase::Read
                if kind.is_io() && !(self.computes_parity && self.sets[usize::from(set)].is_degraded()) =>
            {
                return self.has_read(index);
            }
            Phase::Write => return self.has_written(index),
            Phase::ReadOld if marks.has(Marks::IN_PLACE) && self.computes_parity => {
                self.commands.get_mut(index).phase = Phase::Compute;
                // Data and parity are read and written.
                let bytes = u64::from(length_bytes);
                return self.compute(index, (4 * bytes, bytes));
            }
            Phase::ReadOld | Phase::Compute if marks.has(Marks::IN_PLACE) => {
                if let Some(done_ns) = self.modify_directly(index, Direction::Write) {
                    self.commands.get_mut(index).phase = Phase::Write;
                    return self.phase_ends(index, done_ns);
                }
            }
            Phase::Read | Phase::ReadOld | Phase::Compute => {}
        }
        self.planned_phase_done(index);
    }

    fn planned_phase_done(&mut self, index: u32) {
        let command = *self.commands.get(index);
        if matches!(command.kind, TaskKind::Verify | TaskKind::ReadAhead) {
            return self.has_written(index);
        }
        let state = &self.sets[usize::from(command.set)];
        match command.phase {
            Phase::Read if self.computes_parity => {
                // Each lost byte is made of one of every other member that holds data.
                let others = u64::from(state.set.layout.data_members()).saturating_sub(1).max(1);
                if state.is_degraded() && self.plan_read(index) {
                    let read_bytes: u64 = self.plan.reads().iter().map(|io| u64::from(io.length_bytes)).sum();
                    let wanted_bytes = u64::from(command.length_bytes);
                    if read_bytes > wanted_bytes {
                        self.commands.get_mut(index).phase = Phase::Compute;
                        return self.compute(index, (read_bytes, (read_bytes - wanted_bytes) / others));
                    }
                }
                self.has_read(index);
            }
            Phase::Read => self.has_read(index),
            Phase::ReadOld if state.has_parity && self.computes_parity => {
                self.commands.get_mut(index).phase = Phase::Compute;
                let Work { moved_bytes, made_bytes, .. } = *self.work_of(index);
                self.compute(index, (moved_bytes, made_bytes));
            }
            Phase::Compute if command.direction == Direction::Read => self.has_read(index),
            Phase::ReadOld | Phase::Compute => {
                self.commands.get_mut(index).phase = Phase::Write;
                if self.for_each_plan(index, Direction::Write) {
                    self.is_at_drives(index);
                } else {
                    self.lose(index);
                }
            }
            Phase::Write => self.has_written(index),
        }
    }

    /// The parity engine has so many bytes to move for a command, and so many to make.
    pub(super) fn compute(&mut self, index: u32, bytes: (u64, u64)) {
        let controller = usize::from(self.commands.get(index).controller);
        let at_ns = self.controllers[controller].compute(self.now_ns, bytes, self.crowding);
        self.step(at_ns, index, CommandStep::PhaseDone(Phase::Compute));
    }
}
