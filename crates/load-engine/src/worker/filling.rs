//! Contents of a worker's writes: nothing of its own, content of a given shape, or stamps that say what each block should hold.

use std::collections::BTreeMap;

use load::{ContentTally, Filler, Operation, Schedule, Written};

use super::Assignment;
use crate::RingError;
use crate::journal::Journal;
use crate::queue::Queue;

/// The most units that a worker keeps in mind to verify them: 4 bytes each.
pub(crate) const VERIFY_UNITS_LIMIT: u64 = 1 << 26;

/// Content of write buffers.
pub(super) enum Filling {
    /// No data is moved, or nothing is written.
    Nothing,
    Content(Box<Filler>),
    /// Stamped, by job.
    Verified(BTreeMap<u32, Stamped>),
}

/// Stamped writes of a job.
pub(super) struct Stamped {
    written: Written,
    journal: Option<Journal>,
}

impl Stamped {
    /// Keeps the state of a range as it is now, where a journal is kept.
    fn keep(&mut self, offset_bytes: u64, length_bytes: u32) -> Result<(), RingError> {
        match &mut self.journal {
            Some(journal) => journal.keep(&self.written, offset_bytes, length_bytes),
            None => Ok(()),
        }
    }
}

/// Current content of a buffer.
pub(super) enum Filled {
    /// Content to be written; of this generation, where blocks are stamped.
    With(u32),
    /// Nothing yet: the block is being written already.
    Blocked,
}

impl Filling {
    /// Makes ready for the jobs of a worker; content that stays the same goes into the queue's buffers at once.
    pub fn new<Q: Queue>(
        assignment: &Assignment,
        schedule: &Schedule,
        queue: &mut Q,
        slots: u32,
    ) -> Result<Filling, RingError> {
        let spec = assignment.spec;
        let largest_bytes = spec.shape.largest_bytes(spec.bs_bytes);
        if !spec.writes() || slots == 0 || queue.buffer(0, largest_bytes).is_none() {
            return Ok(Filling::Nothing);
        }
        if spec.shape.verify {
            return stamped(assignment, schedule).map(Filling::Verified);
        }
        let mut filler = Filler::new(spec.shape.content, spec.seed, assignment.worker);
        if !filler.is_shaped() {
            for slot in 0..slots {
                if let Some(buffer) = queue.buffer(slot, largest_bytes) {
                    filler.fill(buffer);
                }
            }
        }
        Ok(Filling::Content(Box::new(filler)))
    }

    /// Fills the buffer of a write.
    pub fn fill<Q: Queue>(
        &mut self,
        queue: &mut Q,
        tag: u32,
        operation: Operation,
    ) -> Result<Filled, RingError> {
        let Operation { offset_bytes, length_bytes, job, .. } = operation;
        match self {
            Filling::Nothing => {}
            Filling::Content(filler) => {
                if let Some(buffer) = queue.buffer(tag, length_bytes) {
                    if filler.is_shaped() { filler.fill(buffer) } else { filler.touch(buffer) }
                }
            }
            Filling::Verified(parts) => {
                let (Some(buffer), Some(part)) = (queue.buffer(tag, length_bytes), parts.get_mut(&job))
                else {
                    return Ok(Filled::With(0));
                };
                let Some(generation) = part.written.begin(offset_bytes, buffer) else {
                    return Ok(Filled::Blocked);
                };
                // Before the device has it: from now on the block may hold either.
                part.keep(offset_bytes, length_bytes)?;
                return Ok(Filled::With(generation));
            }
        }
        Ok(Filled::With(0))
    }

    /// A write of this generation has been answered.
    pub fn end(&mut self, operation: Operation, generation: u32, succeeded: bool) -> Result<(), RingError> {
        let Operation { offset_bytes, length_bytes, job, .. } = operation;
        if let Filling::Verified(parts) = self
            && let Some(part) = parts.get_mut(&job)
        {
            part.written.end(offset_bytes, length_bytes, generation, succeeded);
            return part.keep(offset_bytes, length_bytes);
        }
        Ok(())
    }

    /// Returns what was written: its measured content, or what each part holds.
    pub fn finish(self) -> (Option<ContentTally>, Vec<Written>) {
        match self {
            Filling::Nothing => (None, Vec::new()),
            Filling::Content(filler) => (filler.is_shaped().then(|| filler.delivered()), Vec::new()),
            Filling::Verified(parts) => {
                let abandoned = parts.into_values().map(|mut part| {
                    part.written.abandon();
                    part.written
                });
                (None, abandoned.collect())
            }
        }
    }
}

/// Returns what each job keeps in mind of its own part.
fn stamped(assignment: &Assignment, schedule: &Schedule) -> Result<BTreeMap<u32, Stamped>, RingError> {
    let spec = assignment.spec;
    let unit_bytes = spec.shape.smallest_bytes(spec.bs_bytes);
    let mut parts = BTreeMap::new();
    let mut units = 0;
    for &job in &assignment.jobs {
        if let Some(part) = schedule.own_part(job) {
            units += (part.end - part.start) / u64::from(unit_bytes);
            if units > VERIFY_UNITS_LIMIT {
                return Err(RingError::refused(
                    format!(
                        "more than {VERIFY_UNITS_LIMIT} blocks of {unit_bytes} bytes cannot be kept in mind"
                    ),
                    "verify a smaller `size`, or larger blocks",
                ));
            }
            let written = Written::new(part, unit_bytes, spec.seed);
            let journal =
                assignment.journal.map(|directory| Journal::create(directory, job, &written)).transpose()?;
            parts.insert(job, Stamped { written, journal });
        }
    }
    Ok(parts)
}
