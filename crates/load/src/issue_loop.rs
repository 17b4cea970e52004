//! Issue loop in simulated time: one load, or several on one device, in closed or open loop.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::planned_io::{NEVER_NS, PlannedIo};
use crate::recorder::Recorder;
use crate::{Completion, Device, Direction, LoadSpec, Operation, Sample, Schedule, SpecError};

/// Load that an issue loop issues and counts.
pub(crate) struct IssuedLoad {
    pub schedule: Schedule,
    pub recorder: Recorder,
    /// Start of the load on the device's clock; its planned I/Os count from here.
    pub start_ns: u64,
    /// Start of the recorder on the device's clock.
    pub recorded_from_ns: u64,
    /// Time of the load that the device's clock has not seen.
    pub skipped_ns: u64,
    /// Number of its first job on the device.
    pub first_job: u32,
    /// Nothing of it is issued or counted any more.
    pub is_over: bool,
    /// The next I/O of each job that was planned while none of its slots was free. Empty until there is one.
    pub ahead: Vec<Option<PlannedIo>>,
}

impl IssuedLoad {
    /// A load over `capacity_bytes` that begins at `start_ns` of the device's clock.
    pub fn new(
        spec: &LoadSpec,
        capacity_bytes: u64,
        start_ns: u64,
        first_job: u32,
    ) -> Result<Self, SpecError> {
        Ok(IssuedLoad {
            schedule: Schedule::new(spec, capacity_bytes)?,
            recorder: Recorder::new(spec),
            start_ns,
            recorded_from_ns: start_ns,
            skipped_ns: 0,
            first_job,
            is_over: false,
            ahead: Vec::new(),
        })
    }

    /// The next I/O of a job.
    #[inline]
    pub fn next(&mut self, job: u32) -> PlannedIo {
        match self.ahead.get_mut(job as usize).and_then(Option::take) {
            Some(planned) => planned,
            None => self.schedule.next(job),
        }
    }

    /// Returns the earliest time of an I/O's issue, on the device's clock.
    #[inline]
    fn moment_ns(&self, planned: &PlannedIo) -> u64 {
        self.start_ns.saturating_add(planned.not_before_ns.saturating_sub(self.skipped_ns))
    }
}

/// One place in a job's queue, and the I/O that waits for it or is in flight there. Half a line of the caches.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    offset_bytes: u64,
    /// The earliest moment of the I/O on the device's clock; in open loop its intended arrival.
    pub moment_ns: u64,
    length_bytes: u32,
    /// Number of the job within its load.
    pub job: u32,
    load: u32,
    direction: Direction,
}

impl Slot {
    fn operation(&self, first_job: u32) -> Operation {
        let Slot { direction, offset_bytes, length_bytes, job, .. } = *self;
        Operation { direction, offset_bytes, length_bytes, job: first_job + job }
    }
}

/// Reason why a loop has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopStop {
    /// The moment until which it was to run has come.
    Reached,
    /// Every I/O of every job has been answered, the last at this time of the device's clock: a trace that was replayed has ended.
    Exhausted(u64),
    /// The caller has broken it off, after a sample or by the loop's `stop`.
    BrokenOff,
}

/// Loads with their slots on a device. An I/O is counted by the moment at which it completed; completions of a moment come
/// before its issues.
pub(crate) struct IssueLoop<'a, D> {
    pub device: &'a mut D,
    pub loads: Vec<IssuedLoad>,
    /// Slots by tag: of a load's first tag, `job × iodepth + slot` further on.
    slots: Vec<Slot>,
    /// Tags in the order in which their first I/Os are issued.
    first_tags: Vec<u32>,
    /// Tags whose I/O waits for its moment.
    pub waiting: BinaryHeap<Reverse<(u64, u32)>>,
    in_flight: u64,
    /// Raised from outside, it ends the loop before the next completion.
    stop: &'a AtomicBool,
}

impl<'a, D: Device> IssueLoop<'a, D> {
    /// A loop without a load.
    pub fn new(device: &'a mut D, outstanding: usize, stop: &'a AtomicBool) -> Self {
        IssueLoop {
            device,
            loads: Vec::new(),
            slots: Vec::with_capacity(outstanding),
            first_tags: Vec::with_capacity(outstanding),
            waiting: BinaryHeap::with_capacity(outstanding),
            in_flight: 0,
            stop,
        }
    }

    /// Adds a load with `iodepth` slots for each of its jobs.
    pub fn add(&mut self, mut load: IssuedLoad, numjobs: u32, iodepth: u32) {
        let number = self.loads.len() as u32;
        let first_tag = self.slots.len() as u32;
        let nothing = slot_of(&load, number, &PlannedIo::none(0));
        self.slots.resize(self.slots.len() + numjobs as usize * iodepth as usize, nothing);
        // Slot by slot over all jobs, so that jobs start together as fio's do.
        for slot in 0..iodepth {
            for job in 0..numjobs {
                let tag = first_tag + job * iodepth + slot;
                let planned = load.schedule.next(job);
                self.slots[tag as usize] = slot_of(&load, number, &planned);
                self.first_tags.push(tag);
            }
        }
        self.loads.push(load);
    }

    /// Issues the first I/Os.
    pub fn begin(&mut self) {
        let now_ns = self.device.now_ns();
        for tag in std::mem::take(&mut self.first_tags) {
            self.issue_or_wait(now_ns, tag);
        }
    }

    /// Runs until just before a moment of the device's clock, or until all jobs have nothing more to do. A recorder hands out its
    /// intervals when the first I/O is answered after them.
    pub fn run_until(
        &mut self,
        end_ns: u64,
        on_sample: &mut dyn FnMut(&mut D, Sample) -> ControlFlow<()>,
    ) -> LoopStop {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return LoopStop::BrokenOff;
            }
            let next_issue_ns = self.waiting.peek().map_or(u64::MAX, |&Reverse((at_ns, _))| at_ns);
            let until_ns = next_issue_ns.min(end_ns - 1);
            if let Some(completion) = self.device.next_completion(until_ns) {
                self.in_flight -= 1;
                if self.count(&completion, on_sample).is_break() {
                    return LoopStop::BrokenOff;
                }
                if self.in_flight == 0 && self.is_exhausted() {
                    return LoopStop::Exhausted(completion.at_ns);
                }
            } else if next_issue_ns < end_ns {
                if let Some(Reverse((at_ns, tag))) = self.waiting.pop() {
                    self.issue(at_ns, tag);
                }
            } else {
                return LoopStop::Reached;
            }
        }
    }

    fn is_exhausted(&self) -> bool {
        self.waiting.peek().is_some_and(|&Reverse((at_ns, _))| at_ns == NEVER_NS)
    }

    /// Counts a completion, and issues the next I/O of its slot.
    #[inline]
    fn count(
        &mut self,
        completion: &Completion,
        on_sample: &mut dyn FnMut(&mut D, Sample) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let tag = completion.tag;
        let slot = self.slots[tag as usize];
        let load = &mut self.loads[slot.load as usize];
        if load.is_over {
            return ControlFlow::Continue(());
        }
        let at_ns = completion.at_ns - load.recorded_from_ns;
        if at_ns >= load.recorder.interval_end_ns() {
            let device = &mut *self.device;
            load.recorder.advance(at_ns, &mut |sample| on_sample(device, sample))?;
        }
        let service_ns = completion.at_ns - completion.issued_at_ns;
        match completion.outcome {
            Ok(()) if load.schedule.is_open_loop() => {
                let latency_ns = completion.at_ns - slot.moment_ns;
                load.recorder.record_open(slot.direction, slot.length_bytes, latency_ns, service_ns);
            }
            Ok(()) => load.recorder.record(slot.direction, slot.length_bytes, service_ns),
            Err(_) => load.recorder.record_error(slot.direction),
        }
        let planned = load.next(slot.job);
        self.slots[tag as usize] = slot_of(load, slot.load, &planned);
        self.issue_or_wait(completion.at_ns, tag);
        ControlFlow::Continue(())
    }

    /// Plans another I/O for a slot that waits.
    pub fn place(&mut self, tag: u32, planned: &PlannedIo) {
        let number = self.slots[tag as usize].load;
        self.slots[tag as usize] = slot_of(&self.loads[number as usize], number, planned);
        self.waiting.push(Reverse((self.slots[tag as usize].moment_ns, tag)));
    }

    /// Slot of a tag.
    pub fn slot(&self, tag: u32) -> &Slot {
        &self.slots[tag as usize]
    }

    /// I/O that a slot holds.
    pub fn planned(&self, tag: u32) -> PlannedIo {
        let slot = &self.slots[tag as usize];
        let load = &self.loads[slot.load as usize];
        let since_start_ns = slot.moment_ns - load.start_ns;
        PlannedIo {
            operation: slot.operation(0),
            not_before_ns: if slot.moment_ns == NEVER_NS {
                NEVER_NS
            } else {
                since_start_ns + load.skipped_ns
            },
        }
    }

    #[inline]
    fn issue_or_wait(&mut self, now_ns: u64, tag: u32) {
        let moment_ns = self.slots[tag as usize].moment_ns;
        if moment_ns > now_ns {
            self.waiting.push(Reverse((moment_ns, tag)));
        } else {
            self.issue(now_ns, tag);
        }
    }

    #[inline]
    fn issue(&mut self, at_ns: u64, tag: u32) {
        let slot = &self.slots[tag as usize];
        let load = &self.loads[slot.load as usize];
        // What waits for a moment after its load's end is never issued.
        if load.is_over {
            return;
        }
        self.in_flight += 1;
        self.device.submit(at_ns, tag, slot.operation(load.first_job));
    }

    /// Waits for what is outstanding.
    pub fn drain(&mut self) {
        while self.in_flight > 0 && self.device.next_completion(u64::MAX).is_some() {
            self.in_flight -= 1;
        }
    }
}

#[inline]
fn slot_of(load: &IssuedLoad, number: u32, planned: &PlannedIo) -> Slot {
    let Operation { direction, offset_bytes, length_bytes, job } = planned.operation;
    Slot { offset_bytes, moment_ns: load.moment_ns(planned), length_bytes, job, load: number, direction }
}
