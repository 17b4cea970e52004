//! Hard disk behind the protected buffer: reads at once, writes in sequential batches.

use std::collections::VecDeque;

use load::Direction;

use super::description::{HardDisks, WriteBuffer};
use super::model_event::ReplicaOf;
use super::settings::Settings;
use crate::DescriptionError;
use crate::drive::Slowness;
use crate::drive::disk::{DiskCommand, DiskCounters, HardDisk};
use crate::engine::nanos_of_us;
use crate::part::{DiskSwitches, Traffic, switched_hard_disk};
use crate::payload::payloads;

/// Data that checksums and versions are kept for together: eight sectors of 512 bytes.
const CHECKED_BYTES: u64 = 4096;
/// Writes in place that are under way on a disk at once: the usual queue depth of a SAS or SATA disk.
const IN_PLACE_DEPTH: usize = 32;

/// A write that waits to be put on the disk.
#[derive(Debug, Clone, Copy)]
struct Dirty {
    offset_bytes: u64,
    length_bytes: u32,
    since_ns: u64,
    /// Whom it answers, where nothing protects it before.
    answers: Option<ReplicaOf>,
}

payloads! {
    /// Purpose of a command to the disk.
    Purpose {
        /// A replica's read.
        0 => Read(ReplicaOf),
        /// The part of the index that a request lacks.
        1 => Index(ReplicaOf),
        /// A batch of writes.
        2 => Batch(()),
        /// The index of what a batch has written.
        3 => BatchIndex(()),
        /// A write in place, by its slot.
        4 => InPlace(u32),
    }
}

/// Result of a disk's work.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Outcome {
    /// A replica's read is done, or its write is on the disk with nothing that protected it before.
    Done(ReplicaOf),
    /// The part of the index that a request lacked is there.
    Found(ReplicaOf),
    /// So many bytes have left the buffer.
    Emptied(u64),
}

/// A hard disk and what waits for it.
#[derive(Debug, Clone)]
pub(crate) struct Disk {
    disk: HardDisk,
    /// Moment at which the event loop looks at it next; `u64::MAX` for not at all.
    pub wake_ns: u64,
    /// Moment at which a batch that is not full is due, until the event loop has taken that up.
    batch_due_ns: Option<u64>,
    is_batch_planned: bool,
    dirty: VecDeque<Dirty>,
    dirty_bytes: u64,
    batch: Vec<Dirty>,
    in_place: Vec<Option<Dirty>>,
    in_place_count: usize,
    copy_on_write: bool,
    batch_limit_bytes: u64,
    batch_after_ns: u64,
    metadata_bytes: u64,
    index_write_bytes: u32,
    log_first_byte: u64,
    log_end_byte: u64,
    frontier_byte: u64,
    pub traffic: Traffic,
    pub batches: u64,
    under_way: u64,
}

impl Disk {
    /// A disk whose batches go to the space from `log_first_byte` on.
    pub fn new(
        disks: &HardDisks,
        buffer: &WriteBuffer,
        settings: &Settings,
        log_first_byte: u64,
    ) -> Result<Self, DescriptionError> {
        let switches = DiskSwitches {
            seek: settings.on.seek,
            rotation: settings.on.rotation,
            reordering: settings.on.reordering,
            buffer: settings.on.read_ahead,
        };
        let disk = switched_hard_disk(disks.hard_disk(), switches)?;
        let log_end_byte = (log_first_byte + buffer.log_bytes.get()).min(disks.capacity_bytes.get());
        // The index lies where the log begins.
        let index_write_bytes = buffer.index_write_bytes.get() as u32;
        Ok(Disk {
            disk,
            wake_ns: u64::MAX,
            batch_due_ns: None,
            is_batch_planned: false,
            dirty: VecDeque::new(),
            dirty_bytes: 0,
            batch: Vec::new(),
            in_place: vec![None; IN_PLACE_DEPTH],
            in_place_count: 0,
            copy_on_write: settings.on.copy_on_write,
            batch_limit_bytes: buffer.batch_bytes.get(),
            batch_after_ns: nanos_of_us(buffer.batch_after_ms.get() * 1000.0),
            metadata_bytes: buffer.metadata_bytes.get(),
            index_write_bytes,
            log_first_byte,
            log_end_byte,
            frontier_byte: log_first_byte + u64::from(index_write_bytes),
            traffic: Traffic::default(),
            batches: 0,
            under_way: 0,
        })
    }

    /// From now on the disk takes so many thousandths of its time.
    pub fn slow_down(&mut self, slowness: Slowness) {
        self.disk.slow_down(slowness);
    }

    /// Returns how slow the disk is at present.
    pub fn slowness(&self) -> Slowness {
        self.disk.slowness()
    }

    /// Reads for a replica.
    pub fn read(&mut self, now_ns: u64, of: ReplicaOf, offset_bytes: u64, length_bytes: u32) {
        self.command(now_ns, Purpose::Read(of), Direction::Read, offset_bytes, length_bytes);
    }

    /// Reads a piece of the index that a replica's request needs.
    pub fn read_index(&mut self, now_ns: u64, of: ReplicaOf, offset_bytes: u64, length_bytes: u32) {
        self.command(now_ns, Purpose::Index(of), Direction::Read, offset_bytes, length_bytes);
    }

    /// Takes a write; it answers somebody where nothing protects it before it is on the disk.
    pub fn write(&mut self, now_ns: u64, offset_bytes: u64, length_bytes: u32, answers: Option<ReplicaOf>) {
        self.dirty.push_back(Dirty { offset_bytes, length_bytes, since_ns: now_ns, answers });
        self.dirty_bytes += u64::from(length_bytes);
        self.start_writes(now_ns);
    }

    /// Returns when the event loop is to call `batch_is_due`, where it has not been told yet.
    pub fn take_batch_due_ns(&mut self) -> Option<u64> {
        let due_ns = self.batch_due_ns.take().filter(|_| !self.is_batch_planned)?;
        self.is_batch_planned = true;
        Some(due_ns)
    }

    /// A batch that is not full has waited long enough, unless it has been written meanwhile.
    pub fn batch_is_due(&mut self, now_ns: u64) {
        self.is_batch_planned = false;
        self.start_writes(now_ns);
    }

    /// Puts on the disk what is due: a batch that is full or old, or as many writes in place as the disk queues.
    fn start_writes(&mut self, now_ns: u64) {
        if !self.copy_on_write {
            while self.in_place_count < IN_PLACE_DEPTH
                && let Some(slot) = self.in_place.iter().position(Option::is_none)
                && let Some(dirty) = self.dirty.pop_front()
            {
                self.dirty_bytes -= u64::from(dirty.length_bytes);
                self.in_place[slot] = Some(dirty);
                self.in_place_count += 1;
                self.command(
                    now_ns,
                    Purpose::InPlace(slot as u32),
                    Direction::Write,
                    dirty.offset_bytes,
                    dirty.length_bytes,
                );
            }
            return;
        }
        let Some(oldest) = self.dirty.front() else { return };
        if !self.batch.is_empty() {
            return;
        }
        let is_full = self.dirty_bytes >= self.batch_limit_bytes;
        let due_ns = oldest.since_ns + self.batch_after_ns;
        if is_full || oldest.answers.is_some() || due_ns <= now_ns {
            self.start_batch(now_ns);
        } else {
            self.batch_due_ns = Some(due_ns);
        }
    }

    fn start_batch(&mut self, now_ns: u64) {
        let mut bytes = 0;
        while let Some(next) = self.dirty.front() {
            let data = u64::from(next.length_bytes);
            let on_disk = data + data.div_ceil(CHECKED_BYTES) * self.metadata_bytes;
            if bytes > 0 && bytes + on_disk > self.batch_limit_bytes {
                break;
            }
            bytes += on_disk;
            self.dirty_bytes -= data;
            self.batch.extend(self.dirty.pop_front());
        }
        if self.frontier_byte + bytes > self.log_end_byte {
            self.frontier_byte = self.log_first_byte + u64::from(self.index_write_bytes);
        }
        let offset_bytes = self.frontier_byte;
        self.frontier_byte += bytes;
        self.batches += 1;
        self.command(now_ns, Purpose::Batch(()), Direction::Write, offset_bytes, bytes as u32);
    }

    fn command(
        &mut self,
        now_ns: u64,
        purpose: Purpose,
        direction: Direction,
        offset_bytes: u64,
        length_bytes: u32,
    ) {
        self.traffic.count(direction, u64::from(length_bytes));
        self.under_way += 1;
        self.disk.submit(now_ns, purpose.pack(), DiskCommand { direction, offset_bytes, length_bytes });
    }

    /// Returns when the disk has something to do.
    pub fn next_event_ns(&mut self) -> Option<u64> {
        self.disk.next_event_ns()
    }

    /// Works up to now; hands out what has come of it.
    pub fn advance(&mut self, now_ns: u64, outcomes: &mut Vec<Outcome>) {
        while let Some(done) = self.disk.advance(now_ns) {
            self.under_way -= 1;
            match Purpose::unpack(done.tag) {
                Purpose::Read(of) => outcomes.push(Outcome::Done(of)),
                Purpose::Index(of) => outcomes.push(Outcome::Found(of)),
                // The batch counts once the index says where it is.
                Purpose::Batch(()) => self.command(
                    now_ns,
                    Purpose::BatchIndex(()),
                    Direction::Write,
                    self.log_first_byte,
                    self.index_write_bytes,
                ),
                Purpose::BatchIndex(()) => {
                    for dirty in self.batch.drain(..) {
                        outcomes.push(outcome_of(&dirty));
                    }
                    self.start_writes(now_ns);
                }
                Purpose::InPlace(slot) => {
                    if let Some(dirty) = self.in_place[slot as usize].take() {
                        self.in_place_count -= 1;
                        outcomes.push(outcome_of(&dirty));
                    }
                    self.start_writes(now_ns);
                }
            }
        }
    }

    /// Sums of the disk itself.
    pub fn counters(&self) -> DiskCounters {
        self.disk.counters()
    }

    /// Commands in the disk at this moment.
    pub fn queue(&self) -> u64 {
        self.under_way
    }

    /// Bytes that wait to be put on the disk, those on their way included.
    pub fn waiting_bytes(&self) -> u64 {
        let on_their_way = self.batch.iter().chain(self.in_place.iter().flatten());
        self.dirty_bytes + on_their_way.map(|dirty| u64::from(dirty.length_bytes)).sum::<u64>()
    }
}

fn outcome_of(dirty: &Dirty) -> Outcome {
    match dirty.answers {
        Some(of) => Outcome::Done(of),
        None => Outcome::Emptied(u64::from(dirty.length_bytes)),
    }
}
