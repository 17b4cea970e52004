//! The steps of an I/O, from the initiator to the drives and back.

use load::Direction;

use super::disk::Outcome;
use super::model_event::{ModelEvent, REQUESTS_LIMIT, ReplicaOf};
use super::placement::{DriveSlot, Place};
use super::request::{Owner, Request};
use super::{COPIES, Model};

/// Bytes of a piece of the index that is read when it is not in memory.
const INDEX_PIECE_BYTES: u32 = 4096;

impl Model {
    /// Lets in what a volume's limit allows now, and sees to it that the next is let in when it may be.
    pub(super) fn admit(&mut self, volume: u32) {
        let now_ns = self.now_ns;
        loop {
            let state = &mut self.volumes[volume as usize];
            let Some(&tag) = state.waiting.front() else { return };
            let ready_ns = state.limiter.ready_ns();
            if ready_ns > now_ns {
                if ready_ns < state.wake_ns {
                    state.wake_ns = ready_ns;
                    self.queue.push(ready_ns, ModelEvent::Admit(volume).pack());
                }
                return;
            }
            state.waiting.pop_front();
            state.limiter.take(now_ns, u64::from(self.ios[tag as usize].length_bytes));
            self.begin(tag);
        }
    }

    /// The initiator takes an I/O up.
    #[inline]
    pub(super) fn begin(&mut self, tag: u32) {
        let io = self.ios[tag as usize];
        let bytes = if io.direction == Direction::Write { u64::from(io.length_bytes) } else { 0 };
        let cost_ns = self.costs.submission_ns + self.costs.block_rate.duration_ns(bytes);
        let at_ns = self.blocks[io.host as usize].serve(self.now_ns, cost_ns);
        self.queue.push(at_ns, ModelEvent::GoOut(tag).pack());
    }

    /// The requests of an I/O go out, one for each object that it touches.
    #[inline]
    pub(super) fn go_out(&mut self, tag: u32) {
        let io = self.ios[tag as usize];
        let (mut offset_bytes, end_bytes) = (io.offset_bytes, io.offset_bytes + u64::from(io.length_bytes));
        // A discard changes maps and moves no data.
        if io.direction == Direction::Trim {
            offset_bytes = end_bytes;
        }
        while offset_bytes < end_bytes {
            let object = (offset_bytes / self.object_bytes) as u32;
            let in_object = offset_bytes % self.object_bytes;
            let length_bytes = (end_bytes - offset_bytes).min(self.object_bytes - in_object);
            self.request(tag, object, in_object, length_bytes as u32);
            offset_bytes += length_bytes;
        }
        if self.ios[tag as usize].requests_left == 0 {
            self.finish(tag);
        }
    }

    /// Sends one request on its way: a read to the tail, a write to the head.
    #[inline]
    fn request(&mut self, tag: u32, object: u32, offset_bytes: u64, length_bytes: u32) {
        let io = self.ios[tag as usize];
        let mut places = [Place { drive: 0, slot: 0 }; COPIES];
        let mut replicas = 0;
        let is_write = io.direction == Direction::Write;
        let all = *self.placement.places(io.volume, object);
        if !all.iter().any(|place| self.placement.serves(place, io.volume, object)) {
            self.ios[tag as usize].has_failed = true;
            return;
        }
        for place in all {
            let serves = self.placement.serves(&place, io.volume, object);
            // A replica that catches up takes writes as well.
            if serves || (is_write && self.placement.availability.is_up(place.drive)) {
                places[replicas] = place;
                replicas += 1;
            } else if is_write {
                self.placement.availability.miss(place.drive, io.volume, object);
            }
        }
        if io.direction == Direction::Read || !self.settings.on.replication {
            places[0] = places[replicas - 1];
            replicas = 1;
        }
        let request = Request {
            owner: Owner::Io(tag),
            direction: io.direction,
            offset_bytes,
            length_bytes,
            places,
            replicas: replicas as u32,
            answers_left: replicas as u32,
            host: io.host,
        };
        self.ios[tag as usize].requests_left += 1;
        let first = ReplicaOf { request: self.begin_request(request), replica: 0 };
        self.send(io.host, first);
        if io.direction == Direction::Write {
            self.follow(&request, io.volume, object);
        }
    }

    /// Begins a request; returns its number.
    #[inline]
    pub(super) fn begin_request(&mut self, request: Request) -> u32 {
        let index = self.requests.keep(request);
        assert!((index as usize) < REQUESTS_LIMIT, "every I/O outstanding touches dozens of objects");
        index
    }

    /// A write to an object that is on its way goes to its new places too; nobody waits for that.
    fn follow(&mut self, request: &Request, volume: u32, object: u32) {
        let Some(moving) = self.relocation.of(volume, object).copied() else { return };
        let from = self.placement.drives.drive_slot(request.places[0].drive).node;
        // A replica that catches up has been sent the write already.
        let mut places = moving.targets;
        let mut replicas = 0;
        for target in &moving.targets[..moving.target_count as usize] {
            if !request.places[..request.replicas as usize].contains(target) {
                places[replicas as usize] = *target;
                replicas += 1;
            }
        }
        if replicas == 0 {
            return;
        }
        let follow = Request {
            owner: Owner::Follow,
            places,
            replicas,
            answers_left: replicas,
            host: from,
            ..*request
        };
        let index = self.begin_request(follow);
        for replica in 0..replicas {
            self.send(from, ReplicaOf { request: index, replica });
        }
    }

    /// Sends a request from a machine to the node of a replica.
    #[inline]
    pub(super) fn send(&mut self, from: u32, to: ReplicaOf) {
        let request = self.requests.get(to.request);
        let node = self.placement.drives.drive_slot(request.places[to.replica as usize].drive).node;
        if node == from {
            self.queue.push(self.now_ns, ModelEvent::Receive(to).pack());
        } else {
            let at_ns = self.network.send(self.now_ns, from, request.bytes_there());
            self.queue.push(at_ns, ModelEvent::Arrive(to).pack());
        }
    }

    #[inline]
    fn place(&self, of: ReplicaOf) -> Place {
        self.requests.get(of.request).places[of.replica as usize]
    }

    #[inline]
    pub(super) fn arrive(&mut self, of: ReplicaOf) {
        let node = self.placement.drives.drive_slot(self.place(of).drive).node;
        let bytes = self.requests.get(of.request).bytes_there();
        let at_ns = self.network.receive(self.now_ns, node, bytes);
        self.queue.push(at_ns, ModelEvent::Receive(of).pack());
    }

    /// The server takes a request up.
    #[inline]
    pub(super) fn receive(&mut self, of: ReplicaOf) {
        let request = self.requests.get(of.request);
        let drive = request.places[of.replica as usize].drive;
        let DriveSlot { node, instance, is_nvme, .. } = self.placement.drives.drive_slot(drive);
        let cost_ns = match (request.direction, is_nvme) {
            (Direction::Write, true) => self.costs.nvme_write_ns,
            (Direction::Write, false) => self.costs.hdd_write_ns,
            _ => self.costs.read_ns,
        } + self.costs.server_rate.duration_ns(u64::from(request.length_bytes));
        let server = &mut self.nodes[node as usize].servers[instance as usize];
        let at_ns = server.instance.serve(self.now_ns, cost_ns);
        self.queue.push(at_ns, ModelEvent::Serve(of).pack());
    }

    /// The server passes a write on along the chain and turns to its own drive.
    #[inline]
    pub(super) fn serve(&mut self, of: ReplicaOf) {
        let request = self.requests.get(of.request);
        let drive = request.places[of.replica as usize].drive;
        let is_chain = matches!(request.owner, Owner::Io(_)) && request.direction == Direction::Write;
        let next = of.replica + 1;
        let has_next = is_chain && next < request.replicas;
        let DriveSlot { node, instance, .. } = self.placement.drives.drive_slot(drive);
        if has_next {
            self.send(node, ReplicaOf { request: of.request, replica: next });
        }
        let server = &mut self.nodes[node as usize].servers[instance as usize];
        if server.missing.next() {
            server.index_reads += 1;
            self.find_index(of, drive);
        } else {
            self.use_drive(of);
        }
    }

    /// Reads the piece of the index that a request lacks, from anywhere among the drive's objects.
    fn find_index(&mut self, of: ReplicaOf, drive: u32) {
        let data_bytes = u64::from(self.placement.held(drive)).max(1) * self.object_bytes;
        let pieces = data_bytes / u64::from(INDEX_PIECE_BYTES);
        let offset_bytes = self.random.below(pieces) * u64::from(INDEX_PIECE_BYTES);
        if self.placement.drives.drive_slot(drive).is_nvme {
            let node = self.placement.drives.drive_slot(drive).node;
            let ready_ns = self.nodes[node as usize].nvmed.serve(self.now_ns, self.costs.nvmed_ns);
            let flash = &mut self.flash_drives[drive as usize];
            let at_ns = flash.read(ready_ns, offset_bytes, INDEX_PIECE_BYTES);
            self.queue.push(at_ns, ModelEvent::Find(of).pack());
        } else {
            let now_ns = self.now_ns;
            self.disk_mut(drive).read_index(now_ns, of, offset_bytes, INDEX_PIECE_BYTES);
            self.watch_disk(drive);
        }
    }

    fn disk_mut(&mut self, drive: u32) -> &mut super::disk::Disk {
        &mut self.disks[(drive - self.placement.drives.nvme_count()) as usize]
    }

    /// A replica's data goes to, or comes from, its drive.
    #[inline]
    pub(super) fn use_drive(&mut self, of: ReplicaOf) {
        let now_ns = self.now_ns;
        let request = self.requests.get(of.request);
        let place = request.places[of.replica as usize];
        let (drive, length_bytes) = (place.drive, request.length_bytes);
        let is_write = request.direction == Direction::Write;
        let offset_bytes = u64::from(place.slot) * self.object_bytes + request.offset_bytes;
        let DriveSlot { node, is_nvme, .. } = self.placement.drives.drive_slot(drive);
        if is_nvme {
            let ready_ns = self.nodes[node as usize].nvmed.serve(now_ns, self.costs.nvmed_ns);
            let flash = &mut self.flash_drives[drive as usize];
            let (counts, at_ns) = if is_write {
                let temperature = crate::drive::flash::translation::Temperature::Hot;
                let at_ns = flash.write(ready_ns, offset_bytes, length_bytes, temperature);
                (&mut self.flash_writes[drive as usize], at_ns)
            } else {
                (&mut self.flash_reads[drive as usize], flash.read(ready_ns, offset_bytes, length_bytes))
            };
            counts[0] += u64::from(length_bytes);
            counts[1] += at_ns - ready_ns;
            self.queue.push(at_ns, ModelEvent::Store(of).pack());
        } else if !is_write {
            self.disk_mut(drive).read(now_ns, of, offset_bytes, length_bytes);
            self.watch_disk(drive);
        } else if self.settings.on.write_cache {
            let buffer = &mut self.nodes[node as usize].buffer;
            if let Some(at_ns) = buffer.take(now_ns, of, u64::from(length_bytes)) {
                self.enter_buffer(of, drive, at_ns);
            }
        } else {
            self.disk_mut(drive).write(now_ns, offset_bytes, length_bytes, Some(of));
            self.watch_disk(drive);
        }
    }

    /// The buffer before the disks has a write from `at_ns` on; the disk gets it later.
    fn enter_buffer(&mut self, of: ReplicaOf, drive: u32, at_ns: u64) {
        let now_ns = self.now_ns;
        let request = self.requests.get(of.request);
        let length_bytes = request.length_bytes;
        let slot = request.places[of.replica as usize].slot;
        let offset_bytes = u64::from(slot) * self.object_bytes + request.offset_bytes;
        self.queue.push(at_ns, ModelEvent::Store(of).pack());
        self.disk_mut(drive).write(now_ns, offset_bytes, length_bytes, None);
        self.watch_disk(drive);
    }

    /// Sees to it that the event loop looks at a disk when it has something to do.
    fn watch_disk(&mut self, drive: u32) {
        let disk = &mut self.disks[(drive - self.placement.drives.nvme_count()) as usize];
        if let Some(at_ns) = disk.next_event_ns()
            && at_ns != disk.wake_ns
        {
            disk.wake_ns = at_ns;
            self.queue.push(at_ns, ModelEvent::Disk(drive).pack());
        }
        if let Some(at_ns) = disk.take_batch_due_ns() {
            self.queue.push(at_ns, ModelEvent::Batch(drive).pack());
        }
    }

    pub(super) fn start_batch(&mut self, drive: u32) {
        let now_ns = self.now_ns;
        self.disk_mut(drive).batch_is_due(now_ns);
        self.watch_disk(drive);
    }

    /// A disk has done something.
    pub(super) fn look_at_disk(&mut self, drive: u32) {
        let now_ns = self.now_ns;
        let node = self.placement.drives.drive_slot(drive).node;
        let mut outcomes = std::mem::take(&mut self.outcomes);
        self.disk_mut(drive).advance(now_ns, &mut outcomes);
        let mut emptied_bytes = 0;
        for outcome in outcomes.drain(..) {
            match outcome {
                Outcome::Done(of) => self.store(of),
                Outcome::Found(of) => self.use_drive(of),
                Outcome::Emptied(bytes) => emptied_bytes += bytes,
            }
        }
        self.outcomes = outcomes;
        if emptied_bytes > 0 {
            self.nodes[node as usize].buffer.empty(emptied_bytes);
            while let Some((of, at_ns)) = self.nodes[node as usize].buffer.take_waiting(now_ns) {
                let drive = self.place(of).drive;
                self.enter_buffer(of, drive, at_ns);
            }
        }
        self.watch_disk(drive);
    }

    /// A replica has the data, or has it read: its answer goes back.
    #[inline]
    pub(super) fn store(&mut self, of: ReplicaOf) {
        let request = self.requests.get(of.request);
        if !matches!(request.owner, Owner::Io(_)) {
            self.background_stored(of);
            return;
        }
        let (host, bytes) = (request.host, request.bytes_back());
        let node = self.placement.drives.drive_slot(request.places[of.replica as usize].drive).node;
        if node == host {
            if self.is_last_answer(of.request) {
                self.answer(of.request);
            }
            return;
        }
        let at_ns = self.network.send(self.now_ns, node, bytes);
        self.queue.push(at_ns, ModelEvent::ComeBack(of).pack());
    }

    /// Counts an answer.
    #[inline]
    pub(super) fn is_last_answer(&mut self, request: u32) -> bool {
        let request = self.requests.get_mut(request);
        request.answers_left -= 1;
        request.answers_left == 0
    }

    #[inline]
    pub(super) fn come_back(&mut self, of: ReplicaOf) {
        let request = self.requests.get(of.request);
        let (host, bytes) = (request.host, request.bytes_back());
        let at_ns = self.network.receive(self.now_ns, host, bytes);
        if self.is_last_answer(of.request) {
            self.queue.push(at_ns, ModelEvent::Answer(of.request).pack());
        }
    }

    /// The initiator has all answers of a request.
    #[inline]
    pub(super) fn answer(&mut self, request: u32) {
        let owner = self.requests.take(request).owner;
        let Owner::Io(tag) = owner else { return };
        let io = &mut self.ios[tag as usize];
        io.requests_left -= 1;
        if io.requests_left == 0 {
            self.finish(tag);
        }
    }

    /// The initiator hands the application its answer.
    #[inline]
    fn finish(&mut self, tag: u32) {
        let io = self.ios[tag as usize];
        let bytes = if io.direction == Direction::Read { u64::from(io.length_bytes) } else { 0 };
        let cost_ns = self.costs.completion_ns + self.costs.block_rate.duration_ns(bytes);
        let at_ns = self.blocks[io.host as usize].serve(self.now_ns, cost_ns);
        self.queue.push(at_ns, ModelEvent::Complete(tag).pack());
    }
}
