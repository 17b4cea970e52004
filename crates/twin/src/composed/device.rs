//! Submission of I/Os, and the events of an array of parts.

use load::{Completion, Device, Operation};

use super::chain::ChainEvent;
use super::command::{ModelEvent, Parts};
use super::drives::GroupDrives;
use super::{Attachment, Model, Piece};
use crate::availability::{ControllerEvent, Fault, Refill};
use crate::event_loop::{Clock, EventLoop};
use crate::payload::number_in;

impl Device for Model {
    /// The size of what the first job addresses.
    fn capacity_bytes(&self) -> u64 {
        self.entry_of(0).bytes
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn declare_content(&mut self, first_job: u32, content: load::Content) {
        if let Some(services) = &mut self.services {
            services.declare_content(first_job, content);
        }
    }

    fn expect(&mut self, grain_bytes: u32) {
        if self.commands.is_empty() {
            self.look_ahead_to_reads(grain_bytes);
        }
    }

    fn submit(&mut self, at_ns: u64, tag: u32, operation: Operation) {
        debug_assert!(at_ns >= self.now_ns, "time does not go back");
        if self.commands.is_empty() {
            self.prepare();
        }
        self.check_expected(&operation);
        (self.now_ns, self.clock_ns) = (at_ns, at_ns);
        if self.chain.is_some() {
            return self.submit_to_chain(tag, operation);
        }
        let moved = (operation.length_bytes, operation.direction == load::Direction::Read);
        let issued_at_ns = self.fabric.issued_at_ns(at_ns, operation.job, tag, moved);
        let host = self.fabric.host_of(operation.job);
        let entry = self.entry_of(operation.job);
        if let Some(stripe) = &entry.stripe {
            let length_bytes = operation.length_bytes;
            if let Some(place) = stripe.place_of(operation.offset_bytes, u64::from(length_bytes)) {
                let piece = Piece {
                    volume: entry.volumes[usize::from(place.drive)].1,
                    offset_bytes: place.offset_bytes,
                    length_bytes,
                    direction: operation.direction,
                    job: operation.job,
                };
                return self.begin(tag, host, issued_at_ns, piece, false);
            }
            return self.begin_striped((tag, host, issued_at_ns), operation);
        }
        let first = match entry.volumes.len() {
            1 => 0,
            _ => entry.volumes.partition_point(|&(start, _)| start <= operation.offset_bytes) - 1,
        };
        let (start, volume) = entry.volumes[first];
        let piece = Piece {
            volume,
            offset_bytes: operation.offset_bytes - start,
            length_bytes: operation.length_bytes,
            direction: operation.direction,
            job: operation.job,
        };
        let room = self.volumes[volume as usize].bytes - piece.offset_bytes;
        if u64::from(operation.length_bytes) <= room {
            return self.begin(tag, host, issued_at_ns, piece, false);
        }
        self.begin_over_volumes((tag, host, issued_at_ns), first, piece);
    }

    fn next_completion(&mut self, until_ns: u64) -> Option<Completion> {
        self.complete_next(until_ns)
    }
}

impl EventLoop for Model {
    #[inline]
    fn clock(&mut self) -> Clock<'_> {
        let step_at_ns = self.failover.next_at_ns().min(self.services_at_ns());
        Clock { now_ns: &mut self.now_ns, queue: &mut self.queue, step_at_ns }
    }

    #[inline]
    fn handle(&mut self, payload: u32) -> Option<Completion> {
        self.clock_ns = self.now_ns;
        if ChainEvent::is_in(payload) {
            return self.handle_in_chain(payload);
        }
        match ModelEvent::unpack(payload) {
            ModelEvent::Issue(command) => self.issue(command),
            event @ (ModelEvent::Arrive(_) | ModelEvent::Start(_) | ModelEvent::PhaseDone(_)) => {
                self.handle_ahead(event);
            }
            ModelEvent::Answer(command) => return self.answered(command),
            ModelEvent::Delivered(command) => return self.completed(command),
            ModelEvent::DiskWakes(drive) => self.disk_wakes(drive),
            ModelEvent::RebuildDue(set) => self.set_view(set as usize).rebuild_is_due(),
            ModelEvent::Fault(index) => match self.faults.take(index) {
                Fault::DriveFails(drive) => self.drive_is_gone(u32::from(drive)),
                Fault::DriveIsReplaced(drive) => self.drive_is_there_again(u32::from(drive)),
                Fault::NodeFails(node) => self.node_is_gone(node),
                Fault::NodeIsReplaced(node) => self.node_is_replaced(node),
                Fault::Snapshot => self.take_snapshot(),
                Fault::SnapshotDeletion => self.delete_snapshot(),
                Fault::MirrorLinkFails => self.lose_mirror_link(),
                Fault::MirrorLinkIsBack => self.restore_mirror_link(),
            },
            ModelEvent::NextStage(command) => self.next_stage(command),
            ModelEvent::PartDone(command) => self.part_done(command),
            ModelEvent::Acknowledged(command) => self.io_ends(command),
        }
        None
    }

    #[inline]
    fn fetch_next(&self) {
        if let Some(coming) = self.queue.coming() {
            self.commands.fetch(number_in(coming), |command| command.tag);
        }
    }

    fn run_background(&mut self) {
        self.clock_ns = self.now_ns;
        if self.services_at_ns() <= self.now_ns {
            return self.run_services();
        }
        let (due, says) = self.failover.step(self.now_ns);
        match due {
            ControllerEvent::Left(controller) => self.controller_leaves(controller),
            ControllerEvent::Verify(stripe) if self.verifies => {
                (0..self.own_sets).for_each(|set| self.verify(set, stripe));
            }
            ControllerEvent::Verify(_) | ControllerEvent::Nothing => {}
        }
        if let Some(says) = says {
            self.note(says);
        }
    }

    /// Hard disks choose among all commands of one moment.
    #[inline]
    fn flush_deferred(&mut self) {
        if !self.has_queues {
            return;
        }
        for group in 0..self.groups.drives.len() {
            let first = self.groups.first(group);
            if let GroupDrives::HardDisks(disks) = &mut self.groups.drives[group] {
                let queue = &mut self.queue;
                disks.ask_touched(|drive, at_ns| {
                    queue.push(at_ns, ModelEvent::DiskWakes(first + drive).pack());
                });
            }
        }
    }
}

impl Model {
    /// Brings the drives into their condition, once: before the first command, be it a host's or, after a fault, the array's own.
    pub fn prepare(&mut self) {
        self.groups.drives.iter_mut().for_each(GroupDrives::prepare);
    }

    /// Handles an event of a chain of replicas, out of the way of the events of all other arrays.
    #[inline(never)]
    fn handle_in_chain(&mut self, payload: u32) -> Option<Completion> {
        self.chain_view()?.handle(ChainEvent::unpack(payload))
    }

    /// Begins an I/O to a volume on a chain of replicas.
    #[inline(never)]
    fn submit_to_chain(&mut self, tag: u32, operation: Operation) {
        let Some(&Attachment { entry, host, .. }) = self.attachment_of(operation.job) else { return };
        if let Some(mut view) = self.chain_view() {
            view.submit(tag, entry, host, operation);
        }
    }

    /// Begins an I/O that begins in a volume of its entry and goes on in those behind.
    #[inline(never)]
    fn begin_over_volumes(&mut self, io: (u32, u16, u64), first: usize, piece: Piece) {
        let entry = self.entry_of(piece.job);
        let mut pieces = Vec::new();
        let (mut number, mut left, mut offset_bytes) = (first, piece.length_bytes, piece.offset_bytes);
        while left > 0 && number < entry.volumes.len() {
            let (_, volume) = entry.volumes[number];
            let room = self.volumes[volume as usize].bytes - offset_bytes;
            let length_bytes = u64::from(left).min(room) as u32;
            pieces.push(Piece { volume, offset_bytes, length_bytes, ..piece });
            left -= length_bytes;
            (number, offset_bytes) = (number + 1, 0);
        }
        self.begin_all(io, &pieces);
    }

    /// Begins an I/O that goes over several units of its hosts' stripe.
    #[inline(never)]
    fn begin_striped(&mut self, io: (u32, u16, u64), operation: Operation) {
        let mut pieces = std::mem::take(&mut self.pieces);
        let entry = self.entry_of(operation.job);
        if let Some(stripe) = &entry.stripe {
            stripe.map(operation.offset_bytes, u64::from(operation.length_bytes), &mut pieces);
        }
        let piece = |part: &layout::DriveIo| Piece {
            volume: entry.volumes[usize::from(part.drive)].1,
            offset_bytes: part.offset_bytes,
            length_bytes: part.length_bytes,
            direction: operation.direction,
            job: operation.job,
        };
        let all: Vec<Piece> = pieces.reads().iter().map(piece).collect();
        self.pieces = pieces;
        self.stripes.split_ios += 1;
        self.stripes.pieces += all.len() as u64;
        self.begin_all(io, &all);
    }

    /// Begins the commands of an I/O that has several.
    fn begin_all(&mut self, (tag, host, issued_at_ns): (u32, u16, u64), pieces: &[Piece]) {
        if tag as usize >= self.parts.len() {
            self.parts.resize(tag as usize + 1, Parts::default());
        }
        self.parts[tag as usize] = Parts { left: pieces.len() as u32, is_lost: false };
        for &piece in pieces {
            self.begin(tag, host, issued_at_ns, piece, true);
        }
    }

    fn disk_wakes(&mut self, drive: u32) {
        let (group, index) = self.groups.place(drive);
        let GroupDrives::HardDisks(disks) = &mut self.groups.drives[group] else { return };
        let Some(done) = disks.wakes(self.now_ns, index) else { return };
        match self.chain_view() {
            Some(mut view) => view.disk_done(drive, done.tag),
            None => self.disk_done(done.tag),
        }
    }
}
