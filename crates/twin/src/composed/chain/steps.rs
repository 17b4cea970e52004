//! Steps of a request at a replica: controller, index, drive or buffer, and the answer to the initiator.

use load::Direction;

use super::super::drives::{DriveAnswer, DriveCommand, GroupDrives};
use super::ChainView;
use super::event::{ChainEvent, ReplicaOf};
use super::journal::{AtDisk, DiskJournal, Outcome};
use super::placement::{DriveSlot, Place};
use super::request::Owner;

/// Bytes of a piece of the index that is read when it is not in memory.
const INDEX_PIECE_BYTES: u32 = 4096;

impl ChainView<'_> {
    #[inline]
    fn place(&self, of: ReplicaOf) -> Place {
        self.chain.requests.get(of.request).places[of.replica as usize]
    }

    #[inline]
    pub(super) fn arrive(&mut self, of: ReplicaOf) {
        let node = self.chain.placement.drives.drive_slot(self.place(of).drive).node;
        let bytes = self.chain.requests.get(of.request).bytes_there();
        let at_ns = self.chain.machines.receive(self.now_ns, node, bytes);
        self.queue.push(at_ns, ChainEvent::Receive(of).pack());
    }

    /// The server takes a request up.
    #[inline]
    pub(super) fn receive(&mut self, of: ReplicaOf) {
        let request = self.chain.requests.get(of.request);
        let drive = request.places[of.replica as usize].drive;
        let DriveSlot { node, controller, group, .. } = self.chain.placement.drives.drive_slot(drive);
        let cost_ns = match request.direction {
            Direction::Write => self.chain.costs.write_ns[group],
            _ => self.chain.costs.read_ns,
        } + self.chain.costs.controller_rate.duration_ns(u64::from(request.length_bytes));
        let controller = &mut self.chain.nodes[node as usize].controllers[controller as usize];
        let at_ns = controller.instance.serve(self.now_ns, cost_ns);
        self.queue.push(at_ns, ChainEvent::Serve(of).pack());
    }

    /// The server passes a write on along the chain and turns to its own drive.
    #[inline]
    pub(super) fn serve(&mut self, of: ReplicaOf) {
        let request = self.chain.requests.get(of.request);
        let drive = request.places[of.replica as usize].drive;
        let is_chain = matches!(request.owner, Owner::Io(_)) && request.direction == Direction::Write;
        let next = of.replica + 1;
        let has_next = is_chain && (next as usize) < request.places.len();
        let DriveSlot { node, controller, .. } = self.chain.placement.drives.drive_slot(drive);
        if has_next {
            self.send(node, ReplicaOf { request: of.request, replica: next });
        }
        let controller = &mut self.chain.nodes[node as usize].controllers[controller as usize];
        if controller.missing.next() {
            controller.index_reads += 1;
            self.find_index(of, drive);
        } else {
            self.use_drive(of);
        }
    }

    /// Reads the piece of the index that a request lacks, from anywhere among the drive's objects.
    fn find_index(&mut self, of: ReplicaOf, drive: u32) {
        let data_bytes =
            u64::from(self.chain.placement.held(drive)).max(1) * self.chain.placement.object_bytes;
        let pieces = data_bytes / u64::from(INDEX_PIECE_BYTES);
        let offset_bytes = self.chain.random.below(pieces) * u64::from(INDEX_PIECE_BYTES);
        let extent = (offset_bytes, INDEX_PIECE_BYTES);
        if self.is_hard_disk(drive) {
            self.at_disk(drive, |journal, at| journal.read_index(at, of, extent.0, extent.1));
        } else {
            let (_, at_ns) = self.serve_at_once(drive, Direction::Read, extent);
            self.queue.push(at_ns, ChainEvent::Find(of).pack());
        }
    }

    fn is_hard_disk(&self, drive: u32) -> bool {
        self.chain.journals[drive as usize].is_some()
    }

    /// A drive that answers at once does an I/O, behind the driver of its node; returns when it begins and when it is done.
    #[inline]
    fn serve_at_once(
        &mut self,
        drive: u32,
        direction: Direction,
        (offset_bytes, length_bytes): (u64, u32),
    ) -> (u64, u64) {
        let DriveSlot { node, group, .. } = self.chain.placement.drives.drive_slot(drive);
        let driver_ns = self.chain.costs.driver_ns[group];
        let ready_ns = match self.chain.names.is_driven(group) {
            true => self.chain.nodes[node as usize].driver.serve(self.now_ns, driver_ns),
            false => self.now_ns,
        };
        let command = DriveCommand {
            drive: self.chain.placement.drives.number_in_group(drive),
            direction,
            offset_bytes,
            length_bytes,
            role: layout::Role::Data,
            command: 0,
            is_sequential: false,
        };
        match self.groups.drives[group].carry_out(ready_ns, command) {
            DriveAnswer::At(at_ns) => (ready_ns, at_ns),
            // Hard disks are asked through their journals.
            DriveAnswer::Later => (ready_ns, ready_ns),
        }
    }

    /// Lets a journal do something at its disk, and sees to it that its next batch is written when it is due.
    fn at_disk(&mut self, drive: u32, act: impl FnOnce(&mut DiskJournal, &mut AtDisk<'_>)) {
        let group = self.chain.placement.drives.drive_slot(drive).group;
        let disk = self.chain.placement.drives.number_in_group(drive);
        let (Some(journal), GroupDrives::HardDisks(disks)) =
            (&mut self.chain.journals[drive as usize], &mut self.groups.drives[group])
        else {
            return;
        };
        act(journal, &mut AtDisk { now_ns: self.now_ns, disks, disk });
        if let Some(at_ns) = journal.take_batch_due_ns() {
            self.queue.push(at_ns, ChainEvent::Batch(drive).pack());
        }
    }

    /// A replica's data goes to, or comes from, its drive.
    #[inline]
    pub(super) fn use_drive(&mut self, of: ReplicaOf) {
        let now_ns = self.now_ns;
        let request = self.chain.requests.get(of.request);
        let Place { drive, slot } = request.places[of.replica as usize];
        let length_bytes = request.length_bytes;
        let direction = request.direction;
        let offset_bytes = u64::from(slot) * self.chain.placement.object_bytes + request.offset_bytes;
        if !self.is_hard_disk(drive) {
            let (ready_ns, at_ns) = self.serve_at_once(drive, direction, (offset_bytes, length_bytes));
            let moved = match direction {
                Direction::Write => &mut self.chain.writes[drive as usize],
                _ => &mut self.chain.reads[drive as usize],
            };
            moved.bytes += u64::from(length_bytes);
            moved.ns += at_ns - ready_ns;
            return self.queue.push(at_ns, ChainEvent::Store(of).pack());
        }
        if direction != Direction::Write {
            return self.at_disk(drive, |journal, at| journal.read(at, of, offset_bytes, length_bytes));
        }
        let DriveSlot { node, group, .. } = self.chain.placement.drives.drive_slot(drive);
        match &mut self.chain.nodes[node as usize].buffers[group] {
            Some(buffer) => {
                if let Some(at_ns) = buffer.take(now_ns, of, u64::from(length_bytes)) {
                    self.enter_buffer(of, drive, at_ns);
                }
            }
            None => {
                self.at_disk(drive, |journal, at| journal.write(at, offset_bytes, length_bytes, Some(of)));
            }
        }
    }

    /// The buffer before the disks has a write from `at_ns` on; the disk gets it later.
    fn enter_buffer(&mut self, of: ReplicaOf, drive: u32, at_ns: u64) {
        let request = self.chain.requests.get(of.request);
        let length_bytes = request.length_bytes;
        let slot = request.places[of.replica as usize].slot;
        let offset_bytes = u64::from(slot) * self.chain.placement.object_bytes + request.offset_bytes;
        self.queue.push(at_ns, ChainEvent::Store(of).pack());
        self.at_disk(drive, |journal, at| journal.write(at, offset_bytes, length_bytes, None));
    }

    /// A batch of a disk has waited long enough.
    pub(super) fn start_batch(&mut self, drive: u32) {
        self.at_disk(drive, DiskJournal::batch_is_due);
    }

    /// A disk has done a command.
    pub fn disk_done(&mut self, drive: u32, tag: u32) {
        let DriveSlot { node, group, .. } = self.chain.placement.drives.drive_slot(drive);
        let mut outcomes = std::mem::take(&mut self.chain.outcomes);
        self.at_disk(drive, |journal, at| journal.is_done(at, tag, &mut outcomes));
        let mut emptied_bytes = 0;
        for outcome in outcomes.drain(..) {
            match outcome {
                Outcome::Done(of) => self.store(of),
                Outcome::Found(of) => self.use_drive(of),
                Outcome::Emptied(bytes) => emptied_bytes += bytes,
            }
        }
        self.chain.outcomes = outcomes;
        if emptied_bytes == 0 {
            return;
        }
        let now_ns = self.now_ns;
        let buffer = |view: &mut Self| -> Option<(ReplicaOf, u64)> {
            view.chain.nodes[node as usize].buffers[group].as_mut()?.take_waiting(now_ns)
        };
        if let Some(buffer) = &mut self.chain.nodes[node as usize].buffers[group] {
            buffer.empty(emptied_bytes);
        }
        while let Some((of, at_ns)) = buffer(self) {
            let drive = self.place(of).drive;
            self.enter_buffer(of, drive, at_ns);
        }
    }

    /// A replica has the data, or has it read: its answer goes back.
    #[inline]
    pub(super) fn store(&mut self, of: ReplicaOf) {
        let request = self.chain.requests.get(of.request);
        if !matches!(request.owner, Owner::Io(_)) {
            self.background_stored(of);
            return;
        }
        let (host, bytes) = (request.host, request.bytes_back());
        let node = self.chain.placement.drives.drive_slot(request.places[of.replica as usize].drive).node;
        if node == host {
            if self.is_last_answer(of.request) {
                self.answer(of.request);
            }
            return;
        }
        let at_ns = self.chain.machines.send(self.now_ns, node, bytes);
        self.queue.push(at_ns, ChainEvent::ComeBack(of).pack());
    }

    /// Counts an answer.
    #[inline]
    pub(super) fn is_last_answer(&mut self, request: u32) -> bool {
        let request = self.chain.requests.get_mut(request);
        request.answers_left -= 1;
        request.answers_left == 0
    }

    #[inline]
    pub(super) fn come_back(&mut self, of: ReplicaOf) {
        let request = self.chain.requests.get(of.request);
        let (host, bytes) = (request.host, request.bytes_back());
        let at_ns = self.chain.machines.receive(self.now_ns, host, bytes);
        if self.is_last_answer(of.request) {
            self.queue.push(at_ns, ChainEvent::Answer(of.request).pack());
        }
    }

    /// The initiator has all answers of a request.
    #[inline]
    pub(super) fn answer(&mut self, request: u32) {
        let owner = self.chain.requests.take(request).owner;
        let Owner::Io(tag) = owner else { return };
        let io = &mut self.chain.ios[tag as usize];
        io.requests_left -= 1;
        if io.requests_left == 0 {
            self.finish(tag);
        }
    }

    /// The initiator hands the application its answer.
    #[inline]
    pub(super) fn finish(&mut self, tag: u32) {
        let io = self.chain.ios[tag as usize];
        let bytes = if io.direction == Direction::Read { u64::from(io.length_bytes) } else { 0 };
        let cost_ns = self.chain.costs.completion_ns + self.chain.costs.copy.duration_ns(bytes);
        let at_ns = self.chain.initiators[io.host as usize].serve(self.now_ns, cost_ns);
        self.queue.push(at_ns, ChainEvent::Complete(tag).pack());
    }
}
