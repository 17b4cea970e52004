//! Concurrent loads on one device in simulated time.
//!
//! Each load has jobs and tags of its own: those of the first begin at 0, those of the next where the ones before end. What a
//! load issues depends on its own seed and on the answers that it gets, so that a load beside others issues the operations that
//! it issues alone.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use crate::recorder::Recorder;
use crate::{Device, LoadSpec, OUTSTANDING_LIMIT, PlannedIo, Sample, Schedule, SpecError};

/// Load that shares its device with others.
#[derive(Debug, Clone, Copy)]
pub struct SharedLoad<'a> {
    /// What it issues. Its ramp begins when it does.
    pub spec: &'a LoadSpec,
    /// When it begins, since the start of all.
    pub start_ns: u64,
    /// Size of what it addresses: loads of one device may be for different volumes of it.
    pub capacity_bytes: u64,
}

/// Decision of the caller after a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadControl {
    /// All loads continue.
    Continue,
    /// The load of the sample ends; the others continue.
    EndLoad,
    /// All loads end.
    EndAll,
}

/// The number of each load's first job on the shared device.
pub fn first_jobs<'a>(specs: impl Iterator<Item = &'a LoadSpec>) -> Vec<u32> {
    specs
        .scan(0u32, |next, spec| {
            let first = *next;
            *next = next.saturating_add(spec.numjobs);
            Some(first)
        })
        .collect()
}

/// Runs several loads at once, each as [`crate::run_simulated`] runs one. `on_sample` is handed the number of the load that
/// a sample is of; samples count from the start of all. The device's clock stands at the end of the sample's interval then.
pub fn run_concurrent<D: Device>(
    device: &mut D,
    loads: &[SharedLoad<'_>],
    on_sample: &mut dyn FnMut(&mut D, usize, Sample) -> LoadControl,
) -> Result<(), SpecError> {
    let mut run = ConcurrentRun::new(device, loads)?;
    run.begin();
    run.run(on_sample);
    run.drain();
    Ok(())
}

struct ConcurrentLoad {
    schedule: Schedule,
    recorder: Recorder,
    /// Where on the device's clock it begins and ends.
    start_ns: u64,
    end_ns: u64,
    /// Its own numbers are these above those of the device.
    first_job: u32,
    is_over: bool,
}

impl ConcurrentLoad {
    /// When its current interval ends, on the device's clock.
    fn interval_end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.recorder.interval_end_ns())
    }
}

/// Slot of a job's queue with the I/O that waits or is in flight in it.
struct Slot {
    load_number: u32,
    planned: PlannedIo,
}

struct ConcurrentRun<'a, D> {
    device: &'a mut D,
    /// Where the device's clock stood when the first load could begin.
    start_ns: u64,
    loads: Vec<ConcurrentLoad>,
    /// By tag.
    slots: Vec<Slot>,
    /// Tags whose I/O waits for its moment.
    waiting: BinaryHeap<Reverse<(u64, u32)>>,
    in_flight: u64,
    /// When the first interval of all loads ends.
    boundary_ns: u64,
}

impl<'a, D: Device> ConcurrentRun<'a, D> {
    fn new(device: &'a mut D, specs: &[SharedLoad<'_>]) -> Result<Self, SpecError> {
        let outstanding = specs.iter().map(|load| load.spec.outstanding()).fold(0, u64::saturating_add);
        if outstanding > OUTSTANDING_LIMIT {
            return Err(SpecError::OutOfRange {
                setting: "numjobs × iodepth",
                value: outstanding.to_string(),
                allowed: format!("at most {OUTSTANDING_LIMIT} over all loads that run at once"),
            });
        }
        let begun_ns = device.now_ns();
        let first_jobs = first_jobs(specs.iter().map(|load| load.spec));
        let mut loads = Vec::with_capacity(specs.len());
        let mut slots = Vec::with_capacity(outstanding as usize);
        for (index, (load, first_job)) in specs.iter().zip(first_jobs).enumerate() {
            let spec = load.spec;
            device.declare_content(first_job, spec.shape.content);
            let mut schedule = Schedule::new(spec, load.capacity_bytes)?;
            // Slot by slot over all jobs, so that jobs start together as fio's do.
            let jobs = (0..spec.iodepth).flat_map(|_| 0..spec.numjobs);
            slots.extend(jobs.map(|job| Slot { load_number: index as u32, planned: schedule.next(job) }));
            let recorder = Recorder::new(spec);
            let start_ns = begun_ns.saturating_add(load.start_ns);
            let end_ns = start_ns.saturating_add(recorder.end_ns());
            loads.push(ConcurrentLoad { schedule, recorder, start_ns, end_ns, first_job, is_over: false });
        }
        let boundary_ns = loads.iter().map(ConcurrentLoad::interval_end_ns).min().unwrap_or(0);
        Ok(ConcurrentRun {
            start_ns: begun_ns,
            device,
            loads,
            slots,
            waiting: BinaryHeap::with_capacity(outstanding as usize),
            in_flight: 0,
            boundary_ns,
        })
    }

    fn begin(&mut self) {
        for tag in 0..self.slots.len() as u32 {
            self.issue_or_wait(self.start_ns, tag);
        }
    }

    fn run(&mut self, on_sample: &mut dyn FnMut(&mut D, usize, Sample) -> LoadControl) {
        while self.loads.iter().any(|load| !load.is_over) {
            let next_issue_ns = self.waiting.peek().map_or(u64::MAX, |&Reverse((at_ns, _))| at_ns);
            // The end of an interval is not in it, and a moment's completions come before its issues.
            let until_ns = next_issue_ns.min(self.boundary_ns - 1);
            if let Some(completion) = self.device.next_completion(until_ns) {
                self.in_flight -= 1;
                self.count(completion.tag, &completion);
            } else if next_issue_ns < self.boundary_ns {
                if let Some(Reverse((at_ns, tag))) = self.waiting.pop() {
                    self.issue(at_ns, tag);
                }
            } else if self.hand_out(on_sample).is_break() {
                return;
            }
        }
    }

    /// Counts a completion, and issues the next I/O of its place.
    fn count(&mut self, tag: u32, completion: &crate::Completion) {
        let slot = &mut self.slots[tag as usize];
        let load = &mut self.loads[slot.load_number as usize];
        if load.is_over {
            return;
        }
        let PlannedIo { operation, not_before_ns } = slot.planned;
        let (direction, length_bytes) = (operation.direction, operation.length_bytes);
        let service_ns = completion.at_ns - completion.issued_at_ns;
        match completion.outcome {
            Ok(()) if load.schedule.is_open_loop() => {
                let latency_ns = completion.at_ns - load.start_ns - not_before_ns;
                load.recorder.record_open(direction, length_bytes, latency_ns, service_ns);
            }
            Ok(()) => load.recorder.record(direction, length_bytes, service_ns),
            Err(_) => load.recorder.record_error(direction),
        }
        slot.planned = load.schedule.next(operation.job);
        self.issue_or_wait(completion.at_ns, tag);
    }

    /// Hands out the intervals that end now, load by load.
    fn hand_out(
        &mut self,
        on_sample: &mut dyn FnMut(&mut D, usize, Sample) -> LoadControl,
    ) -> ControlFlow<()> {
        let now_ns = self.boundary_ns;
        for (index, load) in self.loads.iter_mut().enumerate() {
            if load.is_over || load.interval_end_ns() > now_ns {
                continue;
            }
            let since_start_ns = load.start_ns - self.start_ns;
            let device = &mut *self.device;
            let mut control = LoadControl::Continue;
            let _ = load.recorder.advance(now_ns - load.start_ns, &mut |mut sample| {
                sample.start_ns += since_start_ns;
                sample.end_ns += since_start_ns;
                control = on_sample(device, index, sample);
                ControlFlow::Continue(())
            });
            if control == LoadControl::EndAll {
                return ControlFlow::Break(());
            }
            load.is_over = control == LoadControl::EndLoad || now_ns >= load.end_ns;
        }
        let under_way = self.loads.iter().filter(|load| !load.is_over);
        self.boundary_ns = under_way.map(ConcurrentLoad::interval_end_ns).min().unwrap_or(u64::MAX);
        ControlFlow::Continue(())
    }

    fn issue_or_wait(&mut self, now_ns: u64, tag: u32) {
        let slot = &self.slots[tag as usize];
        let start_ns = self.loads[slot.load_number as usize].start_ns;
        let moment_ns = start_ns.saturating_add(slot.planned.not_before_ns);
        if moment_ns > now_ns {
            self.waiting.push(Reverse((moment_ns, tag)));
        } else {
            self.issue(now_ns, tag);
        }
    }

    fn issue(&mut self, at_ns: u64, tag: u32) {
        let slot = &self.slots[tag as usize];
        let load = &self.loads[slot.load_number as usize];
        // What waits for a moment after its load's end is never issued.
        if load.is_over {
            return;
        }
        let mut operation = slot.planned.operation;
        operation.job += load.first_job;
        self.in_flight += 1;
        self.device.submit(at_ns, tag, operation);
    }

    /// Waits for what is outstanding.
    fn drain(&mut self) {
        while self.in_flight > 0 && self.device.next_completion(u64::MAX).is_some() {
            self.in_flight -= 1;
        }
    }
}
