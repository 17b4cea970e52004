//! Drive I/Os of a task: a read phase, then a write phase.

use layout::{DriveIo, Role};
use load::Direction;

use super::Model;
use super::model_event::{BACKGROUND, ModelEvent};
use super::task::TaskKind;
use crate::availability::Migrates;
use crate::drive::disk::DiskCommand;
use crate::part::Disks;

/// Drive I/Os that a phase of a task has issued so far.
#[derive(Debug, Clone, Copy)]
struct Issued {
    task: u32,
    now_ns: u64,
    ios: u32,
    bytes: u64,
    /// Where drives serve in order: when the last one is done.
    done_ns: u64,
}

impl Issued {
    /// Nothing yet.
    fn of(task: u32, now_ns: u64) -> Issued {
        Issued { task, now_ns, ios: 0, bytes: 0, done_ns: now_ns }
    }

    /// Hands these to the drives, which are `fitted` in the places that they name.
    #[inline]
    fn add<'a>(
        &mut self,
        drives: &mut Disks,
        fitted: &[u32],
        direction: Direction,
        ios: impl IntoIterator<Item = &'a DriveIo>,
    ) {
        for io in ios {
            let drive = fitted[usize::from(io.drive)];
            let command =
                DiskCommand { direction, offset_bytes: io.offset_bytes, length_bytes: io.length_bytes };
            self.ios += 1;
            self.bytes += u64::from(io.length_bytes);
            if drives.answers_at_once {
                let done_ns = drives.serve(self.now_ns, drive, command);
                self.done_ns = self.done_ns.max(done_ns);
            } else {
                drives.submit(self.now_ns, drive, self.task, command);
            }
        }
    }
}

impl Model {
    /// Number of extents of a task: 1 for a host command, those of the stripe for a background task.
    #[inline]
    fn extent_count(&mut self, task: u32) -> usize {
        if task < BACKGROUND { 1 } else { self.tasks.background(task).extents.len() }
    }

    #[inline]
    fn extent(&mut self, task: u32, index: usize) -> (u64, u64) {
        if task < BACKGROUND {
            let io = self.tasks.io(task);
            (io.offset_bytes, u64::from(io.length_bytes))
        } else {
            self.tasks.background(task).extents[index]
        }
    }

    /// Begins to read a logical range.
    #[inline]
    pub(super) fn read_from_drives(&mut self, task: u32, offset: u64, length: u64) {
        let pick = self.mirror_pick();
        let layout = &self.arrangement.layout;
        if layout.read(offset, length, &self.recovery.loss, pick, &mut self.plan).is_err() {
            self.lose(task);
            return;
        }
        self.read_planned(task);
    }

    /// Begins the reads that were planned.
    #[inline]
    pub(super) fn read_planned(&mut self, task: u32) {
        let mut issued = Issued::of(task, self.now_ns);
        issued.add(&mut self.drives, self.recovery.fitted(), Direction::Read, self.plan.reads());
        self.await_reads(&issued);
    }

    /// Mirrors are picked at random; other layouts have nothing to pick.
    #[inline]
    fn mirror_pick(&mut self) -> u32 {
        match self.arrangement.layout.redundancy() {
            layout::Redundancy::Copies(copies) if copies > 1 => self.random.next_u64() as u32,
            _ => 0,
        }
    }

    #[inline]
    fn await_reads(&mut self, issued: &Issued) {
        let task = issued.task;
        let progress = self.tasks.progress(task);
        progress.is_writing = false;
        progress.pending = issued.ios;
        progress.ready_ns = self.now_ns;
        if !self.drives.answers_at_once {
            progress.bytes_each = (issued.bytes / u64::from(issued.ios.max(1))) as u32;
            return;
        }
        progress.bytes_each = issued.bytes as u32;
        let is_host_read =
            task < BACKGROUND && self.returns_at_once && self.tasks.io(task).direction == Direction::Read;
        let event = if is_host_read { ModelEvent::Complete(task) } else { ModelEvent::DrivesRead(task) };
        self.queue.push(issued.done_ns, event.pack());
    }

    /// Drives that serve in order have read everything: it goes over the link.
    pub(super) fn drives_read(&mut self, task: u32) {
        let bytes = u64::from(self.tasks.progress(task).bytes_each);
        let ready_ns = self.fabric.send_from_drives(self.now_ns, bytes);
        self.reads_are_ready(task, ready_ns);
    }

    #[inline]
    fn reads_are_ready(&mut self, task: u32, ready_ns: u64) {
        if ready_ns > self.now_ns {
            self.queue.push(ready_ns, ModelEvent::ReadsDone(task).pack());
        } else {
            self.reads_done(task);
        }
    }

    /// Completes one I/O of a task at a drive with a queue.
    #[inline]
    pub(super) fn drive_is_done(&mut self, task: u32) {
        let now_ns = self.now_ns;
        let progress = self.tasks.progress(task);
        progress.pending -= 1;
        let is_last = progress.pending == 0;
        if progress.is_writing {
            if is_last {
                self.writes_done(task);
            }
            return;
        }
        let ready_ns = self.fabric.send_from_drives(now_ns, u64::from(progress.bytes_each));
        progress.ready_ns = progress.ready_ns.max(ready_ns);
        if is_last {
            let ready_ns = progress.ready_ns;
            self.reads_are_ready(task, ready_ns);
        }
    }

    /// Continues a task whose data is in the controller's memory.
    #[inline]
    pub(super) fn reads_done(&mut self, task: u32) {
        if task < BACKGROUND {
            if self.tasks.io(task).direction == Direction::Read {
                self.answer_read(task);
            } else {
                self.send_writes(task);
            }
            return;
        }
        match self.tasks.background(task).kind {
            TaskKind::ReadAhead { controller, chunk } => {
                self.tasks.close(task);
                self.has_read_ahead(controller, chunk);
            }
            TaskKind::Verify => {
                self.tasks.close(task);
            }
            _ => self.send_writes(task),
        }
    }

    /// Plans a write of one extent.
    #[inline]
    fn plan_write(&mut self, offset: u64, length: u64) -> bool {
        let layout = &self.arrangement.layout;
        if self.updates_parity {
            layout.write(offset, length, &self.recovery.loss, &mut self.plan).is_ok()
        } else {
            layout.map(offset, length, &mut self.plan);
            true
        }
    }

    /// Reads what a write needs: old data and old parity, or the rest of the stripe.
    #[inline]
    pub(super) fn begin_write(&mut self, task: u32) {
        let mut issued = Issued::of(task, self.now_ns);
        let (mut write_bytes, mut has_parity) = (0, false);
        for index in 0..self.extent_count(task) {
            let (offset, length) = self.extent(task, index);
            if !self.plan_write(offset, length) {
                if task < BACKGROUND {
                    self.lose(task);
                    return;
                }
                // What the cache holds for a lost stripe has nowhere to go.
                continue;
            }
            if !self.updates_parity {
                write_bytes += length;
                continue;
            }
            issued.add(&mut self.drives, self.recovery.fitted(), Direction::Read, self.plan.reads());
            for io in self.plan.writes() {
                write_bytes += u64::from(io.length_bytes);
                has_parity |= matches!(io.role, Role::P | Role::Q);
            }
        }
        let progress = self.tasks.progress(task);
        progress.write_bytes = write_bytes;
        progress.has_parity = has_parity;
        self.write_after(&issued);
    }

    /// Sends the writes of a task when its reads are done, at once if it has none.
    #[inline]
    fn write_after(&mut self, issued: &Issued) {
        if issued.ios == 0 {
            self.send_writes(issued.task);
        } else {
            self.await_reads(issued);
        }
    }

    /// Computes parity and sends everything to the drives.
    #[inline]
    fn send_writes(&mut self, task: u32) {
        let now_ns = self.now_ns;
        let controller = self.controller_of_task(task);
        let progress = self.tasks.progress(task);
        let (bytes, has_parity) = (progress.write_bytes, progress.has_parity);
        let mut at_ns = now_ns;
        if has_parity {
            at_ns = self.controllers[controller as usize].compute_parity(now_ns, bytes);
        }
        at_ns = self.fabric.send_to_drives(at_ns, bytes);
        if at_ns > now_ns {
            self.queue.push(at_ns, ModelEvent::WriteOut(task).pack());
        } else {
            self.write_out(task);
        }
    }

    #[inline]
    fn controller_of_task(&mut self, task: u32) -> u32 {
        if task < BACKGROUND {
            return self.tasks.io(task).controller;
        }
        match self.tasks.background(task).kind {
            TaskKind::Destage { controller, .. } => self.failover.current_owner(controller),
            _ => self.failover.current_owner(0),
        }
    }

    /// New data and new parity reach the drives.
    #[inline]
    pub(super) fn write_out(&mut self, task: u32) {
        let mut issued = Issued::of(task, self.now_ns);
        let rebuilt = if task < BACKGROUND { None } else { self.tasks.background(task).kind.stripe() };
        if let Some(stripe) = rebuilt {
            if self.plan_rebuild(stripe) {
                let loss = &self.recovery.loss;
                let there = self.plan.writes().iter().filter(|io| !loss.is_empty_place(io.drive));
                issued.add(&mut self.drives, self.recovery.fitted(), Direction::Write, there);
            }
        } else {
            for index in 0..self.extent_count(task) {
                let (offset, length) = self.extent(task, index);
                if !self.plan_write(offset, length) {
                    continue;
                }
                // A plain map lists places, not phases.
                let ios = if self.updates_parity { self.plan.writes() } else { self.plan.reads() };
                issued.add(&mut self.drives, self.recovery.fitted(), Direction::Write, ios);
            }
        }
        let progress = self.tasks.progress(task);
        progress.is_writing = true;
        progress.pending = issued.ios;
        if issued.ios == 0 {
            self.queue.push(self.now_ns, ModelEvent::WritesDone(task).pack());
        } else if self.drives.answers_at_once {
            let is_host_write = task < BACKGROUND && !self.fabric.has_completions();
            let event = if is_host_write { ModelEvent::Complete(task) } else { ModelEvent::WritesDone(task) };
            self.queue.push(issued.done_ns, event.pack());
        }
    }

    /// Ends a task whose writes are on the drives.
    #[inline]
    pub(super) fn writes_done(&mut self, task: u32) {
        if task < BACKGROUND {
            self.answer(task, self.now_ns);
            return;
        }
        match self.tasks.close(task) {
            TaskKind::Destage { controller, blocks } => self.stripe_is_written(controller, blocks),
            TaskKind::Rebuild { .. } => self.stripe_is_rebuilt(),
            TaskKind::Free | TaskKind::ReadAhead { .. } | TaskKind::Verify => {}
        }
    }

    /// A rebuild's stripe: what is left of it is read, then what was lost is written.
    pub(super) fn begin_rebuild(&mut self, stripe: u64) {
        let task = self.tasks.open(TaskKind::Rebuild { stripe });
        let mut issued = Issued::of(task, self.now_ns);
        let mut write_bytes = 0;
        if self.plan_rebuild(stripe) {
            issued.add(&mut self.drives, self.recovery.fitted(), Direction::Read, self.plan.reads());
            write_bytes = self.plan.writes().iter().map(|io| u64::from(io.length_bytes)).sum();
        }
        let progress = self.tasks.progress(task);
        progress.write_bytes = write_bytes;
        progress.has_parity = matches!(self.arrangement.layout.redundancy(), layout::Redundancy::Parity(_));
        self.write_after(&issued);
    }

    /// Ends a task whose data is lost: a host command with an error, a background task without further I/O.
    fn lose(&mut self, task: u32) {
        if task < BACKGROUND {
            self.tasks.ios[task as usize].is_lost = true;
            self.answer(task, self.now_ns);
        } else if let TaskKind::ReadAhead { controller, chunk } = self.tasks.close(task) {
            self.has_read_ahead(controller, chunk);
        }
    }
}
