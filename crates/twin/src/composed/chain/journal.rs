//! Journal before a hard disk: reads go to the disk at once, writes in sequential batches; without one, in place.

use std::collections::VecDeque;

use load::Direction;

use super::event::ReplicaOf;
use crate::drive::disk::DiskCommand;
use crate::part::Disks;
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

/// The disk of a journal, at this moment.
pub(crate) struct AtDisk<'a> {
    pub now_ns: u64,
    pub disks: &'a mut Disks,
    /// Number of the disk in its group.
    pub disk: u32,
}

/// Writes that wait for a hard disk, and the log that they go to.
#[derive(Debug, Clone)]
pub(crate) struct DiskJournal {
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
    pub batches: u64,
    under_way: u64,
}

impl DiskJournal {
    /// The journal of a disk whose batches go to the space from `log_first_byte` on; `None` writes in place.
    pub fn new(journal: Option<&array::Journal>, log_first_byte: u64, disk_bytes: u64) -> Self {
        let log_bytes = journal.map_or(0, |journal| journal.log.get());
        // The index lies where the log begins.
        let index_write_bytes = journal.map_or(0, |journal| journal.index.get() as u32);
        DiskJournal {
            batch_due_ns: None,
            is_batch_planned: false,
            dirty: VecDeque::new(),
            dirty_bytes: 0,
            batch: Vec::new(),
            in_place: vec![None; IN_PLACE_DEPTH],
            in_place_count: 0,
            copy_on_write: journal.is_some(),
            batch_limit_bytes: journal.map_or(0, |journal| journal.batch.get()),
            batch_after_ns: journal.map_or(0, |journal| journal.batch_after.get()),
            metadata_bytes: journal.map_or(0, |journal| journal.metadata.get()),
            index_write_bytes,
            log_first_byte,
            log_end_byte: (log_first_byte + log_bytes).min(disk_bytes),
            frontier_byte: log_first_byte + u64::from(index_write_bytes),
            batches: 0,
            under_way: 0,
        }
    }

    /// Reads for a replica.
    pub fn read(&mut self, at: &mut AtDisk<'_>, of: ReplicaOf, offset_bytes: u64, length_bytes: u32) {
        self.command(at, Purpose::Read(of), Direction::Read, offset_bytes, length_bytes);
    }

    /// Reads a piece of the index that a replica's request needs.
    pub fn read_index(&mut self, at: &mut AtDisk<'_>, of: ReplicaOf, offset_bytes: u64, length_bytes: u32) {
        self.command(at, Purpose::Index(of), Direction::Read, offset_bytes, length_bytes);
    }

    /// Takes a write; it answers somebody where nothing protects it before it is on the disk.
    pub fn write(
        &mut self,
        at: &mut AtDisk<'_>,
        offset_bytes: u64,
        length_bytes: u32,
        answers: Option<ReplicaOf>,
    ) {
        self.dirty.push_back(Dirty { offset_bytes, length_bytes, since_ns: at.now_ns, answers });
        self.dirty_bytes += u64::from(length_bytes);
        self.start_writes(at);
    }

    /// Returns when the event loop is to call `batch_is_due`, where it has not been told yet.
    pub fn take_batch_due_ns(&mut self) -> Option<u64> {
        let due_ns = self.batch_due_ns.take().filter(|_| !self.is_batch_planned)?;
        self.is_batch_planned = true;
        Some(due_ns)
    }

    /// A batch that is not full has waited long enough, unless it has been written meanwhile.
    pub fn batch_is_due(&mut self, at: &mut AtDisk<'_>) {
        self.is_batch_planned = false;
        self.start_writes(at);
    }

    /// Puts on the disk what is due: a batch that is full or old, or as many writes in place as the disk queues.
    fn start_writes(&mut self, at: &mut AtDisk<'_>) {
        if !self.copy_on_write {
            while self.in_place_count < IN_PLACE_DEPTH
                && let Some(slot) = self.in_place.iter().position(Option::is_none)
                && let Some(dirty) = self.dirty.pop_front()
            {
                self.dirty_bytes -= u64::from(dirty.length_bytes);
                self.in_place[slot] = Some(dirty);
                self.in_place_count += 1;
                self.command(
                    at,
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
        if is_full || oldest.answers.is_some() || due_ns <= at.now_ns {
            self.start_batch(at);
        } else {
            self.batch_due_ns = Some(due_ns);
        }
    }

    fn start_batch(&mut self, at: &mut AtDisk<'_>) {
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
        self.command(at, Purpose::Batch(()), Direction::Write, offset_bytes, bytes as u32);
    }

    fn command(
        &mut self,
        at: &mut AtDisk<'_>,
        purpose: Purpose,
        direction: Direction,
        offset_bytes: u64,
        length_bytes: u32,
    ) {
        self.under_way += 1;
        let command = DiskCommand { direction, offset_bytes, length_bytes };
        at.disks.submit(at.now_ns, at.disk, purpose.pack(), command);
    }

    /// A command of the disk is done; hands out what has come of it.
    pub fn is_done(&mut self, at: &mut AtDisk<'_>, tag: u32, outcomes: &mut Vec<Outcome>) {
        self.under_way -= 1;
        match Purpose::unpack(tag) {
            Purpose::Read(of) => outcomes.push(Outcome::Done(of)),
            Purpose::Index(of) => outcomes.push(Outcome::Found(of)),
            // The batch counts once the index says where it is.
            Purpose::Batch(()) => {
                let (offset_bytes, length_bytes) = (self.log_first_byte, self.index_write_bytes);
                self.command(at, Purpose::BatchIndex(()), Direction::Write, offset_bytes, length_bytes);
            }
            Purpose::BatchIndex(()) => {
                for dirty in self.batch.drain(..) {
                    outcomes.push(outcome_of(&dirty));
                }
                self.start_writes(at);
            }
            Purpose::InPlace(slot) => {
                if let Some(dirty) = self.in_place[slot as usize].take() {
                    self.in_place_count -= 1;
                    outcomes.push(outcome_of(&dirty));
                }
                self.start_writes(at);
            }
        }
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
