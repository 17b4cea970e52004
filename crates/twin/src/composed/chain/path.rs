//! Way of an I/O out: its volume's limit, its initiator, and the requests to the replicas of its objects.

use load::{Completion, Direction, IoError, Operation};

use super::ChainView;
use super::event::{ChainEvent, REQUESTS_LIMIT, ReplicaOf};
use super::placement::Place;
use super::request::{Io, Owner, Request};
use super::row::Row;

/// A device's error number for data that no working drive holds (EIO).
const EIO: i32 = 5;

impl ChainView<'_> {
    /// Takes an I/O to a volume from a machine.
    pub fn submit(&mut self, tag: u32, volume: usize, host: Option<u32>, operation: Operation) {
        let volume = volume as u32;
        let io = Io {
            issued_at_ns: self.now_ns,
            offset_bytes: operation.offset_bytes,
            length_bytes: operation.length_bytes,
            volume,
            host: host.unwrap_or_else(|| self.chain.machine_of(operation.job)),
            requests_left: 0,
            direction: operation.direction,
            has_failed: false,
        };
        if tag as usize >= self.chain.ios.len() {
            self.chain.ios.resize(tag as usize + 1, io);
        }
        self.chain.ios[tag as usize] = io;
        let state = &mut self.chain.volumes[volume as usize];
        state.under_way += 1;
        if state.limiter.is_limited() || !state.waiting.is_empty() {
            state.waiting.push_back(tag);
            self.admit(volume);
        } else {
            self.begin(tag);
        }
    }

    /// Handles an event; returns the completion that it is, if any.
    pub fn handle(&mut self, event: ChainEvent) -> Option<Completion> {
        match event {
            ChainEvent::GoOut(tag) => self.go_out(tag),
            ChainEvent::Arrive(of) => self.arrive(of),
            ChainEvent::Receive(of) => self.receive(of),
            ChainEvent::Serve(of) => self.serve(of),
            ChainEvent::Find(of) => self.use_drive(of),
            ChainEvent::Store(of) => self.store(of),
            ChainEvent::ComeBack(of) => self.come_back(of),
            ChainEvent::Answer(request) => self.answer(request),
            ChainEvent::Batch(drive) => self.start_batch(drive),
            ChainEvent::Admit(volume) => {
                self.chain.volumes[volume as usize].wake_ns = u64::MAX;
                self.admit(volume);
            }
            ChainEvent::Relocate(stream) => self.relocate(stream),
            ChainEvent::Planned(index) => self.carry_out(index),
            ChainEvent::Complete(tag) => return Some(self.complete(tag)),
        }
        None
    }

    fn complete(&mut self, tag: u32) -> Completion {
        let io = self.chain.ios[tag as usize];
        let outcome = if io.has_failed { Err(IoError::Os(EIO)) } else { Ok(()) };
        let (issued_at_ns, at_ns) = (io.issued_at_ns, self.now_ns);
        let volume = &mut self.chain.volumes[io.volume as usize];
        volume.count(io.direction, u64::from(io.length_bytes), at_ns - issued_at_ns);
        Completion { tag, issued_at_ns, at_ns, outcome }
    }

    /// Lets in what a volume's limit allows now, and sees to it that the next is let in when it may be.
    pub(super) fn admit(&mut self, volume: u32) {
        let now_ns = self.now_ns;
        loop {
            let state = &mut self.chain.volumes[volume as usize];
            let Some(&tag) = state.waiting.front() else { return };
            let ready_ns = state.limiter.ready_ns();
            if ready_ns > now_ns {
                if ready_ns < state.wake_ns {
                    state.wake_ns = ready_ns;
                    self.queue.push(ready_ns, ChainEvent::Admit(volume).pack());
                }
                return;
            }
            state.waiting.pop_front();
            state.limiter.take(now_ns, u64::from(self.chain.ios[tag as usize].length_bytes));
            self.begin(tag);
        }
    }

    /// The initiator takes an I/O up.
    #[inline]
    pub(super) fn begin(&mut self, tag: u32) {
        let io = self.chain.ios[tag as usize];
        let bytes = if io.direction == Direction::Write { u64::from(io.length_bytes) } else { 0 };
        let cost_ns = self.chain.costs.submission_ns + self.chain.costs.copy.duration_ns(bytes);
        let at_ns = self.chain.initiators[io.host as usize].serve(self.now_ns, cost_ns);
        self.queue.push(at_ns, ChainEvent::GoOut(tag).pack());
    }

    /// The requests of an I/O go out, one for each object that it touches.
    #[inline]
    pub(super) fn go_out(&mut self, tag: u32) {
        let io = self.chain.ios[tag as usize];
        let (mut offset_bytes, end_bytes) = (io.offset_bytes, io.offset_bytes + u64::from(io.length_bytes));
        // A discard changes maps and moves no data.
        if io.direction == Direction::Trim {
            offset_bytes = end_bytes;
        }
        while offset_bytes < end_bytes {
            let object = (offset_bytes / self.chain.placement.object_bytes) as u32;
            let in_object = offset_bytes % self.chain.placement.object_bytes;
            let length_bytes = (end_bytes - offset_bytes).min(self.chain.placement.object_bytes - in_object);
            self.request(tag, object, in_object, length_bytes as u32);
            offset_bytes += length_bytes;
        }
        if self.chain.ios[tag as usize].requests_left == 0 {
            self.finish(tag);
        }
    }

    /// Sends one request on its way: a read to the tail, a write to the head.
    #[inline]
    fn request(&mut self, tag: u32, object: u32, offset_bytes: u64, length_bytes: u32) {
        let io = self.chain.ios[tag as usize];
        let mut places = Row::default();
        let is_write = io.direction == Direction::Write;
        let all = *self.chain.placement.places(io.volume, object);
        if !all.iter().any(|place| self.chain.placement.serves(place, io.volume, object)) {
            self.chain.ios[tag as usize].has_failed = true;
            return;
        }
        for &place in all.iter() {
            let serves = self.chain.placement.serves(&place, io.volume, object);
            // A replica that catches up takes writes as well.
            if serves || (is_write && self.chain.placement.availability.is_up(place.drive)) {
                places.push(place);
            } else if is_write {
                self.chain.placement.availability.miss(place.drive, io.volume, object);
            }
        }
        if io.direction == Direction::Read || !self.chain.settings.on.replication {
            places = places.last().map_or(places, |&last| Row::of(last));
        }
        let request = Request {
            owner: Owner::Io(tag),
            direction: io.direction,
            offset_bytes,
            length_bytes,
            places,
            answers_left: places.len() as u32,
            host: io.host,
        };
        self.chain.ios[tag as usize].requests_left += 1;
        let first = ReplicaOf { request: self.begin_request(request), replica: 0 };
        self.send(io.host, first);
        if io.direction == Direction::Write {
            self.follow(&request, io.volume, object);
        }
    }

    /// Begins a request; returns its number.
    #[inline]
    pub(super) fn begin_request(&mut self, request: Request) -> u32 {
        let index = self.chain.requests.keep(request);
        assert!((index as usize) < REQUESTS_LIMIT, "every I/O outstanding touches dozens of objects");
        index
    }

    /// A write to an object that is on its way goes to its new places too; nobody waits for that.
    fn follow(&mut self, request: &Request, volume: u32, object: u32) {
        let Some(moving) = self.chain.relocation.of(volume, object).copied() else { return };
        let from = self.chain.placement.drives.drive_slot(request.places[0].drive).node;
        // A replica that catches up has been sent the write already.
        let sent = |place: &&Place| request.places.contains(place);
        let places: Row<Place> = moving.targets.iter().filter(|target| !sent(target)).copied().collect();
        if places.is_empty() {
            return;
        }
        let answers_left = places.len() as u32;
        let follow = Request { owner: Owner::Follow, places, answers_left, host: from, ..*request };
        let index = self.begin_request(follow);
        for replica in 0..answers_left {
            self.send(from, ReplicaOf { request: index, replica });
        }
    }

    /// Sends a request from a machine to the node of a replica.
    #[inline]
    pub(super) fn send(&mut self, from: u32, to: ReplicaOf) {
        let request = self.chain.requests.get(to.request);
        let node = self.chain.placement.drives.drive_slot(request.places[to.replica as usize].drive).node;
        if node == from {
            self.queue.push(self.now_ns, ChainEvent::Receive(to).pack());
        } else {
            let at_ns = self.chain.machines.send(self.now_ns, from, request.bytes_there());
            self.queue.push(at_ns, ChainEvent::Arrive(to).pack());
        }
    }
}
