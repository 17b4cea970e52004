//! Hard disk: one arm, a queue it may reorder, and a buffer.

mod arm;
mod buffer;
mod choice;
mod description;
mod geometry;
mod segments;
#[cfg(test)]
mod tests;

pub use description::{
    CAPACITY_LIMIT_BYTES, HardDiskDescription, QUEUE_WINDOW_LIMIT, SEGMENTS_LIMIT, ZONES_LIMIT,
};

use super::Slowness;
use super::description::DescriptionError;
use buffer::{DirtyData, ReadAhead};
use geometry::{Media, Place};
use load::Direction;
use std::collections::VecDeque;

/// One command to a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskCommand {
    /// Read or write; a trim costs its overhead only.
    pub direction: Direction,
    /// First byte on the disk.
    pub offset_bytes: u64,
    /// Length.
    pub length_bytes: u32,
}

/// A command that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskCompletion {
    /// The tag that `submit` was given.
    pub tag: u32,
    /// Moment of its completion.
    pub at_ns: u64,
}

/// Sums since the disk was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskCounters {
    /// Reads from the media.
    pub media_reads: u64,
    /// Writes to the media, destages included.
    pub media_writes: u64,
    /// Reads answered from a read-ahead segment or from unwritten data.
    pub buffer_hits: u64,
    /// Time the arm moved.
    pub seek_ns: u64,
    /// Time the arm waited for the platter.
    pub rotation_ns: u64,
    /// Time data passed under the head.
    pub transfer_ns: u64,
}

impl DiskCounters {
    /// Time that arm and platter worked for a command.
    pub fn arm_busy_ns(&self) -> u64 {
        self.seek_ns + self.rotation_ns + self.transfer_ns
    }
}

/// A command that waits for the arm.
#[derive(Debug, Clone, Copy)]
struct Pending {
    command: DiskCommand,
    tag: u32,
    arrived_ns: u64,
    place: Place,
}

/// Service of a command: the work of the arm.
#[derive(Debug, Clone, Copy)]
struct Service {
    end_ns: u64,
    /// `None` for a destage.
    tag: Option<u32>,
    direction: Direction,
    offset_bytes: u64,
    length_bytes: u32,
    ns_per_byte: f64,
}

/// A hard disk.
///
/// Either call [`HardDisk::serve_in_order`], which answers at once, or `submit`, `next_event_ns` and `advance`,
/// which reorder and buffer; not both on one disk.
#[derive(Debug, Clone)]
pub struct HardDisk {
    media: Media,
    overhead_ns: u64,
    write_settle_ns: u64,
    interface_ns_per_byte: f64,
    window_limit: usize,
    plans_ahead: bool,
    age_limit_ns: u64,
    radius: f64,
    /// End of the last transfer, in place and time, for transfers that follow without a gap.
    last_end_bytes: u64,
    last_end_ns: u64,
    /// Moment at which the arm became or becomes free.
    free_at_ns: u64,
    interface_free_ns: u64,
    service: Option<Service>,
    window: Vec<Pending>,
    /// The command that follows the one under way, where the drive plans ahead.
    planned: Option<Pending>,
    waiting: VecDeque<Pending>,
    ready: VecDeque<DiskCompletion>,
    read_ahead: ReadAhead,
    dirty: DirtyData,
    blocked_writes: VecDeque<(u32, DiskCommand)>,
    destaged_last: bool,
    slowness: Slowness,
    counters: DiskCounters,
}

impl HardDisk {
    /// A disk at rest at the outer edge.
    pub fn new(description: &HardDiskDescription) -> Result<HardDisk, DescriptionError> {
        description.check()?;
        let window_limit = description.queue_window as usize;
        let dirty_limit = if description.write_cache { description.write_cache_bytes.0 } else { 0 };
        Ok(HardDisk {
            media: Media::new(description),
            overhead_ns: description.command_overhead.0,
            write_settle_ns: description.write_settle.0,
            interface_ns_per_byte: 1e9 / description.interface_bytes_per_s as f64,
            window_limit,
            plans_ahead: description.plans_ahead,
            age_limit_ns: if description.queue_age_limit.0 == 0 {
                u64::MAX
            } else {
                description.queue_age_limit.0
            },
            radius: 0.0,
            last_end_bytes: u64::MAX,
            last_end_ns: 0,
            free_at_ns: 0,
            interface_free_ns: 0,
            service: None,
            window: Vec::with_capacity(window_limit),
            planned: None,
            waiting: VecDeque::with_capacity(1024),
            ready: VecDeque::with_capacity(64),
            read_ahead: ReadAhead::new(description.segments, description.segment_bytes.0),
            dirty: DirtyData::new(dirty_limit),
            blocked_writes: VecDeque::new(),
            destaged_last: false,
            slowness: Slowness::NONE,
            counters: DiskCounters::default(),
        })
    }

    /// Leaves the wait for the platter out, to show what it costs.
    pub fn stop_waiting_for_rotation(&mut self) {
        self.media.stop_waiting_for_rotation();
    }

    /// From now on whatever the arm does takes so many thousandths of its time; the buffer answers as before.
    pub fn slow_down(&mut self, slowness: Slowness) {
        self.slowness = slowness;
    }

    /// Returns how slow it is at present.
    pub fn slowness(&self) -> Slowness {
        self.slowness
    }

    /// Returns whether it neither reorders nor buffers, so that [`HardDisk::serve_in_order`] does all that it would.
    pub fn can_serve_in_order(&self) -> bool {
        self.window_limit == 1 && !self.read_ahead.is_on() && !self.dirty.is_on()
    }

    /// Usable bytes.
    pub fn capacity_bytes(&self) -> u64 {
        self.media.capacity_bytes()
    }

    /// Sums so far.
    pub fn counters(&self) -> DiskCounters {
        self.counters
    }

    /// Commands and unwritten data that the disk still has to do with.
    pub fn is_idle(&self) -> bool {
        self.service.is_none()
            && !self.has_waiting()
            && self.ready.is_empty()
            && self.dirty.is_empty()
            && self.blocked_writes.is_empty()
    }

    /// Serves a command on the media as soon as all before it are done, and returns when it completes. No
    /// reordering, no buffer: for arrays that queue in the controller and send one command at a time.
    #[inline]
    pub fn serve_in_order(&mut self, now_ns: u64, command: DiskCommand) -> u64 {
        let start_ns = self.free_at_ns.max(now_ns);
        let place = self.media.place(command.offset_bytes);
        self.access(start_ns, now_ns, &command, &place)
    }

    /// Hands over a command. Moments do not go back from call to call.
    pub fn submit(&mut self, now_ns: u64, tag: u32, command: DiskCommand) {
        self.start_before(now_ns);
        let hit_ns = match command.direction {
            Direction::Read => self.buffered_read_ns(now_ns, &command),
            Direction::Write => {
                self.read_ahead.forget(command.offset_bytes, command.length_bytes);
                if self.dirty.is_on() {
                    if !self.blocked_writes.is_empty() || !self.dirty.fits(command.length_bytes) {
                        self.blocked_writes.push_back((tag, command));
                        return;
                    }
                    self.dirty.insert(command.offset_bytes, command.length_bytes);
                    Some(now_ns + self.overhead_ns)
                } else {
                    None
                }
            }
            Direction::Trim => Some(now_ns + self.overhead_ns),
        };
        if self.service.is_none() {
            self.free_at_ns = self.free_at_ns.max(now_ns);
        }
        match hit_ns {
            Some(data_ns) => {
                let bytes = if command.direction == Direction::Trim { 0 } else { command.length_bytes };
                self.answer_from_buffer(tag, data_ns, bytes);
            }
            None => {
                let place = self.media.place(command.offset_bytes);
                let pending = Pending { command, tag, arrived_ns: now_ns, place };
                if self.window.len() < self.window_limit {
                    self.window.push(pending);
                } else {
                    self.waiting.push_back(pending);
                }
            }
        }
    }

    /// Returns when `advance` has something to do; `None` while nothing is under way. A disk chooses its next command
    /// when this or
    /// `advance` is called, or at a later submission: commands handed over at the moment of a completion, before this is
    /// called, take part in the choice.
    pub fn next_event_ns(&mut self) -> Option<u64> {
        self.start_before(u64::MAX);
        let served = self.service.map(|service| service.end_ns);
        let ready = self.ready.front().map(|ready| ready.at_ns);
        match (served, ready) {
            (Some(served), Some(ready)) => Some(served.min(ready)),
            (served, ready) => served.or(ready),
        }
    }

    /// Works up to `until_ns` and returns the next completion at or before it.
    pub fn advance(&mut self, until_ns: u64) -> Option<DiskCompletion> {
        loop {
            self.start_before(until_ns.saturating_add(1));
            let served_ns = self.service.map_or(u64::MAX, |service| service.end_ns);
            if let Some(&ready) = self.ready.front()
                && ready.at_ns <= served_ns
                && ready.at_ns <= until_ns
            {
                self.ready.pop_front();
                return Some(ready);
            }
            let service = self.service.filter(|service| service.end_ns <= until_ns)?;
            self.service = None;
            self.finish(&service);
            if let Some(tag) = service.tag {
                return Some(DiskCompletion { tag, at_ns: service.end_ns });
            }
        }
    }

    fn finish(&mut self, service: &Service) {
        let end_bytes = service.offset_bytes + u64::from(service.length_bytes);
        if service.direction == Direction::Read {
            self.read_ahead.begin(service.offset_bytes, end_bytes, service.end_ns, service.ns_per_byte);
        }
        if service.tag.is_none() {
            self.dirty.written(service.length_bytes);
            while let Some(&(tag, command)) = self.blocked_writes.front()
                && self.dirty.fits(command.length_bytes)
            {
                self.blocked_writes.pop_front();
                self.dirty.insert(command.offset_bytes, command.length_bytes);
                self.answer_from_buffer(tag, service.end_ns + self.overhead_ns, command.length_bytes);
            }
        }
    }

    /// Returns when the buffer has the data of a read, if the arm need not go for it.
    fn buffered_read_ns(&mut self, now_ns: u64, command: &DiskCommand) -> Option<u64> {
        let ready_ns = now_ns + self.overhead_ns;
        if self.dirty.holds(command.offset_bytes, command.length_bytes) {
            self.counters.buffer_hits += 1;
            return Some(ready_ns);
        }
        let arm_is_free = self.service.is_none() && !self.has_waiting();
        let data_ns =
            self.read_ahead.data_ns(now_ns, command.offset_bytes, command.length_bytes, arm_is_free)?;
        self.counters.buffer_hits += 1;
        if data_ns > now_ns {
            // The arm stays on the track until the data that was promised has passed.
            self.free_at_ns = self.free_at_ns.max(data_ns);
        }
        Some(data_ns.max(ready_ns))
    }

    fn answer_from_buffer(&mut self, tag: u32, data_ns: u64, bytes: u32) {
        let transfer_ns = (f64::from(bytes) * self.interface_ns_per_byte) as u64;
        let at_ns = self.interface_free_ns.max(data_ns) + transfer_ns;
        self.interface_free_ns = at_ns;
        self.ready.push_back(DiskCompletion { tag, at_ns });
    }
}
