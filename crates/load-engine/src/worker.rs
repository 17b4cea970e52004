//! The loop of one worker: its jobs, its queue, its counts.

mod draining;
mod filling;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use load::{
    ContentTally, Direction, Histogram, IoError, LoadSpec, NEVER_NS, Operation, PlannedIo, Recorder, Sample,
    Schedule, Written,
};
use rustix::time::{ClockId, clock_gettime};

use filling::{Filled, Filling};

pub(crate) use filling::VERIFY_UNITS_LIMIT;

use crate::outcome::{Ended, ErrorKind, Hang};
use crate::queue::{Kind, Queue};
use crate::{ErrorPolicy, OpenTarget, RingError, RingOptions, RingTargets};

/// The longest wait, so that a stop is noticed while a device does not answer.
const WAIT_LIMIT_NS: u64 = 50_000_000;
/// Outcome of a worker, besides its samples.
#[derive(Debug)]
pub(crate) struct WorkerOutcome {
    pub ended: Ended,
    pub errors: BTreeMap<(Direction, ErrorKind), u64>,
    pub offered_ios: u64,
    pub completed_ios: u64,
    pub lateness: Histogram,
    pub syncs: Histogram,
    pub unanswered_ios: u64,
    pub stuck_ios: u64,
    pub hang: Option<Hang>,
    pub cpu_ns: u64,
    pub kernel_ns: u64,
    pub content: Option<ContentTally>,
    pub written: Vec<Written>,
    pub warnings: Vec<String>,
}

/// Assignment of a worker.
pub(crate) struct Assignment<'a> {
    pub spec: &'a LoadSpec,
    pub options: &'a RingOptions,
    pub worker: u32,
    pub jobs: Vec<u32>,
    pub capacity_bytes: u64,
    pub start: Instant,
    pub stop_signal: &'a AtomicBool,
    /// The user wants the run to end: nothing that is in flight is waited for.
    pub hurry: &'a AtomicBool,
    /// Bytes of all jobs of all workers after which the load ends.
    pub io_size_bytes: Option<u64>,
    /// Directory in which a verified load keeps what was acknowledged.
    pub journal: Option<&'a Path>,
    pub targets: RingTargets<'a>,
}

/// A place in a job's queue.
#[derive(Debug, Clone, Copy)]
struct Slot {
    planned: PlannedIo,
    issued_ns: u64,
    generation: u32,
    is_syncing: bool,
    /// Handed over and not answered.
    is_out: bool,
    /// Waited for its moment, so that the engine answers for being late.
    has_waited: bool,
}

struct Worker<'a, Q> {
    assignment: &'a Assignment<'a>,
    queue: Q,
    schedule: Schedule,
    is_open_loop: bool,
    is_paced: bool,
    slots: Vec<Slot>,
    in_flight: u32,
    /// Places whose I/O waits for its moment.
    waiting: BinaryHeap<Reverse<(u64, u32)>>,
    /// Places whose write meets another write of the same block.
    blocked: Vec<u32>,
    /// Places of the current batch, which get their moment when it is handed over.
    batch: Vec<u32>,
    recorder: Recorder,
    filling: Filling,
    /// Bytes that each job may still move, in the order of the assignment, where the load ends with its bytes.
    left_bytes: Option<Vec<u64>>,
    /// Writes since the last sync, by job.
    unsynced: BTreeMap<u32, u32>,
    counted_from_ns: u64,
    counted_to_ns: u64,
    ended: Option<Ended>,
    outcome: WorkerOutcome,
}

/// Drives the jobs of one worker until the load ends. Samples go to `on_sample` as their intervals end.
pub(crate) fn drive<Q: Queue>(
    assignment: &Assignment,
    queue: Q,
    on_sample: &mut dyn FnMut(Sample) -> ControlFlow<()>,
) -> Result<WorkerOutcome, RingError> {
    let cpu_before_ns = processor_ns(ClockId::ThreadCPUTime);
    let kernel_before_ns = thread_kernel_ns();
    let mut worker = Worker::new(assignment, queue)?;
    let driven = worker.run(on_sample);
    let drained = worker.drain();
    driven.and(drained)?;
    worker.outcome.cpu_ns = processor_ns(ClockId::ThreadCPUTime).saturating_sub(cpu_before_ns);
    worker.outcome.kernel_ns = thread_kernel_ns().saturating_sub(kernel_before_ns);
    Ok(worker.finish())
}

impl<'a, Q: Queue> Worker<'a, Q> {
    fn new(assignment: &'a Assignment<'a>, mut queue: Q) -> Result<Self, RingError> {
        let Assignment { spec, jobs, .. } = assignment;
        let schedule = Schedule::new(spec, assignment.capacity_bytes)?;
        let slots = jobs.len() * spec.iodepth as usize;
        let recorder = Recorder::new(spec);
        let filling = Filling::new(assignment, &schedule, &mut queue, slots as u32)?;
        let nothing = Operation { direction: Direction::Read, offset_bytes: 0, length_bytes: 0, job: 0 };
        let empty = Slot {
            planned: PlannedIo { operation: nothing, not_before_ns: 0 },
            issued_ns: 0,
            generation: 0,
            is_syncing: false,
            is_out: false,
            has_waited: false,
        };
        Ok(Worker {
            assignment,
            queue,
            is_open_loop: schedule.is_open_loop(),
            is_paced: schedule.is_paced(),
            schedule,
            slots: vec![empty; slots],
            in_flight: 0,
            waiting: BinaryHeap::with_capacity(slots),
            blocked: Vec::new(),
            batch: Vec::with_capacity(slots),
            counted_from_ns: spec.ramp_ns,
            counted_to_ns: recorder.end_ns(),
            recorder,
            filling,
            left_bytes: assignment.io_size_bytes.map(|bytes| {
                // As fio: each job has an equal part, and no part of a block.
                let block_bytes = u64::from(spec.shape.smallest_bytes(spec.bs_bytes));
                let part_bytes = bytes.div_ceil(u64::from(spec.numjobs)).div_ceil(block_bytes) * block_bytes;
                vec![part_bytes; jobs.len()]
            }),
            unsynced: BTreeMap::new(),
            ended: None,
            outcome: WorkerOutcome {
                ended: Ended::Completed,
                errors: BTreeMap::new(),
                offered_ios: 0,
                completed_ios: 0,
                lateness: Histogram::new(),
                syncs: Histogram::new(),
                unanswered_ios: 0,
                stuck_ios: 0,
                hang: None,
                cpu_ns: 0,
                kernel_ns: 0,
                content: None,
                written: Vec::new(),
                warnings: Vec::new(),
            },
        })
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        self.assignment.start.elapsed().as_nanos() as u64
    }

    fn run(&mut self, on_sample: &mut dyn FnMut(Sample) -> ControlFlow<()>) -> Result<(), RingError> {
        // Slot by slot over all jobs, so that jobs start together as fio's do.
        let jobs = self.assignment.jobs.len();
        for index in 0..self.slots.len() {
            self.plan(index as u32, self.assignment.jobs[index % jobs], 0)?;
        }
        let end_ns = self.recorder.end_ns();
        let mut is_first = true;
        loop {
            let mut now_ns = self.release(end_ns)?;
            self.queue_batch(&mut now_ns)?;
            if is_first {
                is_first = false;
                crate::start::lower();
            }
            now_ns = self.now_ns();
            if now_ns >= self.recorder.interval_end_ns()
                && self.recorder.advance(now_ns, on_sample).is_break()
            {
                self.ended.get_or_insert(Ended::Interrupted);
            }
            if now_ns >= end_ns {
                self.ended.get_or_insert(Ended::Completed);
                return Ok(());
            }
            while let Some((tag, outcome)) = self.queue.pop() {
                self.complete(tag, outcome, now_ns)?;
            }
            if !self.blocked.is_empty() {
                for tag in std::mem::take(&mut self.blocked) {
                    self.issue(tag)?;
                }
            }
            if self.in_flight == 0 && !self.has_more() {
                self.ended.get_or_insert(Ended::Completed);
            }
            if self.ended.is_none() && self.assignment.stop_signal.load(Ordering::Relaxed) {
                self.ended = Some(Ended::Interrupted);
            }
            if self.ended.is_some() {
                let now_ns = self.now_ns();
                self.outcome.ended = self.ended.clone().unwrap_or(Ended::Completed);
                let _ = self.recorder.cut(now_ns, on_sample);
                self.counted_to_ns = self.counted_to_ns.min(now_ns);
                return Ok(());
            }
        }
    }

    /// With nothing in flight: whether something still waits for its moment. Jobs that have moved all their bytes wait for
    /// nothing, and those whose trace has ended for ever.
    fn has_more(&self) -> bool {
        let waits = self.waiting.peek().is_some_and(|&Reverse((at_ns, _))| at_ns < NEVER_NS);
        waits || !self.blocked.is_empty()
    }

    /// Issues what has waited for its moment. Returns the time as far as it was read, or 0.
    fn release(&mut self, end_ns: u64) -> Result<u64, RingError> {
        if self.waiting.is_empty() {
            return Ok(0);
        }
        let now_ns = self.now_ns();
        while let Some(&Reverse((at_ns, tag))) = self.waiting.peek() {
            if at_ns > now_ns || at_ns >= end_ns {
                break;
            }
            self.waiting.pop();
            self.slots[tag as usize].has_waited = true;
            self.issue(tag)?;
        }
        Ok(now_ns)
    }

    /// Hands the batch over and waits for answers, for the next moment, or for the end of the interval.
    fn queue_batch(&mut self, now_ns: &mut u64) -> Result<(), RingError> {
        if !self.batch.is_empty() {
            *now_ns = self.now_ns();
            for tag in self.batch.drain(..) {
                let slot = &mut self.slots[tag as usize];
                slot.issued_ns = *now_ns;
                if slot.has_waited {
                    slot.has_waited = false;
                    self.outcome.lateness.record(*now_ns - slot.planned.not_before_ns);
                }
            }
        } else if *now_ns == 0 {
            *now_ns = self.now_ns();
        }
        let next_issue_ns = self.waiting.peek().map_or(u64::MAX, |&Reverse((at_ns, _))| at_ns);
        let wait_ns =
            next_issue_ns.min(self.recorder.interval_end_ns()).saturating_sub(*now_ns).min(WAIT_LIMIT_NS);
        let is_short = next_issue_ns.saturating_sub(*now_ns) < self.assignment.options.spin_ns;
        let want = if is_short || wait_ns == 0 {
            0
        } else {
            self.assignment.options.batch_complete_min.clamp(1, self.in_flight.max(1))
        };
        self.queue.submit_and_wait(want, wait_ns)
    }

    #[inline]
    fn complete(&mut self, tag: u32, outcome: Result<(), IoError>, now_ns: u64) -> Result<(), RingError> {
        self.in_flight -= 1;
        self.slots[tag as usize].is_out = false;
        let slot = self.slots[tag as usize];
        let Operation { direction, length_bytes, job, .. } = slot.planned.operation;
        let service_ns = now_ns.saturating_sub(slot.issued_ns);
        if slot.is_syncing {
            self.slots[tag as usize].is_syncing = false;
            match outcome {
                Ok(()) => self.outcome.syncs.record(service_ns),
                Err(error) => self.count_error(Direction::Write, error),
            }
            return self.plan(tag, job, now_ns);
        }
        match outcome {
            Ok(()) => {
                self.outcome.completed_ios += 1;
                if self.is_open_loop {
                    let latency_ns = now_ns.saturating_sub(slot.planned.not_before_ns);
                    self.recorder.record_open(direction, length_bytes, latency_ns, service_ns);
                } else {
                    self.recorder.record(direction, length_bytes, service_ns);
                }
            }
            Err(error) => {
                self.recorder.record_error(direction);
                self.count_error(direction, error);
            }
        }
        if direction == Direction::Write {
            self.end_write(&slot, outcome.is_ok())?;
            if self.assignment.options.fsync_every > 0 {
                let unsynced = self.unsynced.entry(job).or_insert(0);
                *unsynced += 1;
                if *unsynced >= self.assignment.options.fsync_every {
                    *unsynced = 0;
                    self.slots[tag as usize].is_syncing = true;
                    return self.push(tag, Kind::Sync, 0, 0);
                }
            }
        }
        self.plan(tag, job, now_ns)
    }

    fn end_write(&mut self, slot: &Slot, succeeded: bool) -> Result<(), RingError> {
        self.filling.end(slot.planned.operation, slot.generation, succeeded)
    }

    /// Returns what has become of a target, where that is what its errors rest on.
    fn change_of_target(&self) -> Option<ErrorKind> {
        let RingTargets::Open(targets) = self.assignment.targets else { return None };
        targets.iter().find_map(OpenTarget::change)
    }

    fn count_error(&mut self, direction: Direction, error: IoError) {
        let kind = self.change_of_target().unwrap_or_else(|| ErrorKind::of(error));
        *self.outcome.errors.entry((direction, kind)).or_insert(0) += 1;
        if kind.means_gone() {
            self.ended.get_or_insert(Ended::DeviceGone(kind));
        } else if self.assignment.options.on_error == ErrorPolicy::Stop {
            self.ended.get_or_insert(Ended::Failed(kind));
        }
    }

    /// Takes the job's next I/O to a free place, and issues it if its moment has come.
    #[inline]
    fn plan(&mut self, tag: u32, job: u32, now_ns: u64) -> Result<(), RingError> {
        let planned = self.schedule.next(job);
        self.slots[tag as usize].planned = planned;
        if self.left_bytes.is_some() && !self.takes_bytes(job, planned.operation.length_bytes) {
            return Ok(());
        }
        if self.is_paced {
            self.count_offered(&planned);
            if planned.not_before_ns > now_ns {
                self.waiting.push(Reverse((planned.not_before_ns, tag)));
                return Ok(());
            }
        }
        self.issue(tag)
    }

    /// Takes an I/O from what its job may still move; false where that is not enough.
    fn takes_bytes(&mut self, job: u32, length_bytes: u32) -> bool {
        let index = self.assignment.jobs.binary_search(&job).unwrap_or_default();
        match self.left_bytes.as_mut().and_then(|left| left.get_mut(index)) {
            Some(left) if *left >= u64::from(length_bytes) => {
                *left -= u64::from(length_bytes);
                true
            }
            _ => false,
        }
    }

    fn count_offered(&mut self, planned: &PlannedIo) {
        let is_counted = (self.counted_from_ns..self.counted_to_ns).contains(&planned.not_before_ns);
        self.outcome.offered_ios += u64::from(is_counted);
    }

    #[inline]
    fn issue(&mut self, tag: u32) -> Result<(), RingError> {
        let operation = self.slots[tag as usize].planned.operation;
        let kind = match operation.direction {
            Direction::Read => Kind::Read,
            Direction::Write => {
                match self.filling.fill(&mut self.queue, tag, operation)? {
                    Filled::With(generation) => self.slots[tag as usize].generation = generation,
                    Filled::Blocked => {
                        self.blocked.push(tag);
                        return Ok(());
                    }
                }
                Kind::Write
            }
            Direction::Trim => Kind::Trim,
        };
        self.push(tag, kind, operation.offset_bytes, operation.length_bytes)
    }

    #[inline]
    fn push(&mut self, tag: u32, kind: Kind, offset_bytes: u64, length_bytes: u32) -> Result<(), RingError> {
        self.queue.push(tag, kind, offset_bytes, length_bytes)?;
        self.in_flight += 1;
        self.slots[tag as usize].is_out = true;
        self.batch.push(tag);
        Ok(())
    }

    fn finish(mut self) -> WorkerOutcome {
        if self.is_paced && self.outcome.ended == Ended::Completed {
            // What arrived and found no place still was offered.
            for index in 0..self.assignment.jobs.len() {
                let job = self.assignment.jobs[index];
                loop {
                    let planned = self.schedule.next(job);
                    if planned.not_before_ns >= self.counted_to_ns {
                        break;
                    }
                    self.count_offered(&planned);
                }
            }
        }
        (self.outcome.content, self.outcome.written) = self.filling.finish();
        self.outcome
    }
}

/// Processor time by the clock of a thread or process.
pub(crate) fn processor_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the part of this thread's processor time that was spent in the kernel.
fn thread_kernel_ns() -> u64 {
    // SAFETY: an all-zero usage is a valid one.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the usage outlives the call, which only fills it in.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    usage.ru_stime.tv_sec as u64 * 1_000_000_000 + usage.ru_stime.tv_usec as u64 * 1_000
}
