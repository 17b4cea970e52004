//! Simulated run of a load of any shape.
//!
//! The plain closed loop has a loop of its own (`simulate`), because twins answer millions of I/Os a second there.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::ControlFlow;

use crate::fast_forward::{SimulatedLoad, WindowEnd, simulate_window};
use crate::recorder::Recorder;
use crate::schedule::NEVER_NS;
use crate::{
    Device, Direction, Distribution, FastForward, LoadSpec, Operation, PlannedIo, Sample, Schedule, SpecError,
};

pub(crate) fn run_shaped<D: Device>(
    device: &mut D,
    spec: &LoadSpec,
    on_sample: &mut dyn FnMut(&mut D, Sample) -> ControlFlow<()>,
) -> Result<(), SpecError> {
    let mut run = ShapedLoop::new(device, spec)?;
    run.begin();
    let _ = run.run(&mut Recorder::new(spec), on_sample);
    run.drain();
    Ok(())
}

/// One place in a job's queue, and the I/O that waits for it or is in flight there.
#[derive(Clone, Copy)]
struct Slot {
    planned: PlannedIo,
    /// The earliest moment of that I/O on the device's clock; in open loop its intended arrival.
    moment_ns: u64,
}

pub(crate) struct ShapedLoop<'a, D> {
    device: &'a mut D,
    schedule: Schedule,
    /// Where the device's clock stood when the load began.
    start_ns: u64,
    /// By tag.
    slots: Vec<Slot>,
    /// Tags whose I/O waits for its moment.
    waiting: BinaryHeap<Reverse<(u64, u32)>>,
    in_flight: u64,
    /// Where on the device's clock the next stretch begins.
    stretch_start_ns: u64,
    /// Time of the load that the device's clock has not seen.
    skipped_ns: u64,
    /// The next I/O of each job that was planned while none of its places was free.
    ahead: Vec<Option<PlannedIo>>,
    /// Hot blocks are written again and again, so that where skipped writes have gone always matters.
    is_skewed: bool,
}

impl<'a, D: Device> ShapedLoop<'a, D> {
    pub fn new(device: &'a mut D, spec: &LoadSpec) -> Result<Self, SpecError> {
        let mut schedule = Schedule::new(spec, device.capacity_bytes())?;
        device.expect(spec.grain_bytes());
        device.declare_content(0, spec.shape.content);
        let numjobs = spec.numjobs;
        let start_ns = device.now_ns();
        // Slot by slot over all jobs, so that jobs start together as fio's do.
        let slots = (0..spec.iodepth)
            .flat_map(|_| 0..numjobs)
            .map(|job| {
                let planned = schedule.next(job);
                Slot { planned, moment_ns: start_ns.saturating_add(planned.not_before_ns) }
            })
            .collect();
        Ok(ShapedLoop {
            start_ns,
            stretch_start_ns: start_ns,
            device,
            schedule,
            slots,
            waiting: BinaryHeap::new(),
            in_flight: 0,
            skipped_ns: 0,
            ahead: vec![None; numjobs as usize],
            is_skewed: spec.shape.distribution != Distribution::Uniform,
        })
    }

    /// Issues the first I/Os.
    pub fn begin(&mut self) {
        for tag in 0..self.slots.len() as u32 {
            self.issue_or_wait(self.start_ns, tag);
        }
    }

    /// Goes on for as long as the recorder has intervals.
    fn run(
        &mut self,
        recorder: &mut Recorder,
        on_sample: &mut dyn FnMut(&mut D, Sample) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let start_ns = self.stretch_start_ns;
        let end_ns = start_ns.saturating_add(recorder.end_ns());
        self.stretch_start_ns = end_ns;
        let mut last_answer_ns = 0;
        loop {
            let next_issue_ns = self.waiting.peek().map_or(u64::MAX, |&Reverse((at_ns, _))| at_ns);
            // The end itself is not counted, and a moment's completions come before its issues.
            let until_ns = next_issue_ns.min(end_ns - 1);
            if let Some(completion) = self.device.next_completion(until_ns) {
                self.in_flight -= 1;
                let at_ns = completion.at_ns - start_ns;
                last_answer_ns = at_ns;
                if at_ns >= recorder.interval_end_ns() {
                    let device = &mut *self.device;
                    recorder.advance(at_ns, &mut |sample| on_sample(device, sample))?;
                }
                let Slot { planned, moment_ns } = self.slots[completion.tag as usize];
                let Operation { direction, length_bytes, job, .. } = planned.operation;
                let service_ns = completion.at_ns - completion.issued_at_ns;
                match completion.outcome {
                    Ok(()) if self.schedule.is_open_loop() => {
                        recorder.record_open(
                            direction,
                            length_bytes,
                            completion.at_ns - moment_ns,
                            service_ns,
                        );
                    }
                    Ok(()) => recorder.record(direction, length_bytes, service_ns),
                    Err(_) => recorder.record_error(direction),
                }
                self.plan_next(completion.tag, job);
                self.issue_or_wait(completion.at_ns, completion.tag);
            } else if next_issue_ns < end_ns {
                if let Some(Reverse((at_ns, tag))) = self.waiting.pop() {
                    self.issue(at_ns, tag);
                }
            } else {
                let device = &mut *self.device;
                return recorder.advance(recorder.end_ns(), &mut |sample| on_sample(device, sample));
            }
            // A trace that has been replayed ends the run with its last answer.
            if self.in_flight == 0
                && self.waiting.peek().is_some_and(|&Reverse((at_ns, _))| at_ns == NEVER_NS)
            {
                let (device, now_ns) = (&mut *self.device, last_answer_ns);
                return recorder.cut(now_ns, &mut |sample| on_sample(device, sample));
            }
        }
    }

    fn plan_next(&mut self, tag: u32, job: u32) {
        let planned = self.ahead[job as usize].take().unwrap_or_else(|| self.schedule.next(job));
        self.place(tag, planned);
    }

    fn place(&mut self, tag: u32, planned: PlannedIo) {
        let moment_ns = self.start_ns.saturating_add(planned.not_before_ns.saturating_sub(self.skipped_ns));
        self.slots[tag as usize] = Slot { planned, moment_ns };
    }

    fn issue_or_wait(&mut self, now_ns: u64, tag: u32) {
        let moment_ns = self.slots[tag as usize].moment_ns;
        if moment_ns > now_ns {
            self.waiting.push(Reverse((moment_ns, tag)));
        } else {
            self.issue(now_ns, tag);
        }
    }

    fn issue(&mut self, at_ns: u64, tag: u32) {
        self.in_flight += 1;
        self.device.submit(at_ns, tag, self.slots[tag as usize].planned.operation);
    }

    /// Waits for what is outstanding.
    fn drain(&mut self) {
        while self.in_flight > 0 && self.device.next_completion(u64::MAX).is_some() {
            self.in_flight -= 1;
        }
    }
}

impl<D: FastForward> ShapedLoop<'_, D> {
    /// Skips time in open loop and returns the number of arrivals in it. Where the device must know the place of each write, each
    /// I/O is drawn and its range is passed to the device.
    fn skip_arrivals(&mut self, duration_ns: u64, is_each_drawn: bool) -> u64 {
        let end_ns = (self.stretch_start_ns - self.start_ns) + self.skipped_ns + duration_ns;
        self.skipped_ns += duration_ns;
        let waiting = std::mem::take(&mut self.waiting);
        let mut tags_of_jobs: Vec<Vec<u32>> = vec![Vec::new(); self.ahead.len()];
        for Reverse((_, tag)) in waiting.into_sorted_vec().into_iter().rev() {
            tags_of_jobs[self.slots[tag as usize].planned.operation.job as usize].push(tag);
        }
        let mut arrived = 0;
        for (job, tags) in tags_of_jobs.into_iter().enumerate() {
            // What is planned already arrives first.
            let planned = tags.iter().map(|&tag| self.slots[tag as usize].planned);
            let mut planned: VecDeque<PlannedIo> =
                self.ahead[job].take().into_iter().chain(planned).collect();
            while let Some(first) = planned.front().filter(|first| first.not_before_ns < end_ns).copied() {
                self.note_skipped(&first, is_each_drawn);
                planned.pop_front();
                arrived += 1;
            }
            if planned.is_empty() && is_each_drawn {
                let next = loop {
                    let next = self.schedule.next(job as u32);
                    if next.not_before_ns >= end_ns {
                        break next;
                    }
                    self.note_skipped(&next, is_each_drawn);
                    arrived += 1;
                };
                planned.push_back(next);
            } else if planned.is_empty() {
                arrived += self.schedule.skip_arrivals(job as u32, end_ns);
            }
            for tag in tags {
                let next = planned.pop_front().unwrap_or_else(|| self.schedule.next(job as u32));
                self.place(tag, next);
                self.waiting.push(Reverse((self.slots[tag as usize].moment_ns, tag)));
            }
            self.ahead[job] = planned.pop_front();
        }
        arrived
    }

    fn note_skipped(&mut self, planned: &PlannedIo, is_each_drawn: bool) {
        let Operation { direction, offset_bytes, length_bytes, .. } = planned.operation;
        if is_each_drawn && direction == Direction::Write {
            self.device.apply_skipped_write(offset_bytes, u64::from(length_bytes));
        }
    }
}

impl<D: FastForward> SimulatedLoad<D> for ShapedLoop<'_, D> {
    fn device(&mut self) -> &mut D {
        self.device
    }

    fn begin(&mut self) {
        ShapedLoop::begin(self);
    }

    fn simulate(&mut self, spec: &LoadSpec, duration_ns: u64) -> Sample {
        simulate_window(spec, duration_ns, |recorder, on_sample| {
            self.run(recorder, &mut |_, sample| on_sample(sample))
        })
    }

    /// In open loop, whether a job has arrivals that wait for a place in its queue.
    fn is_catching_up(&mut self, _ios: u64, _duration_ns: u64) -> bool {
        if !self.schedule.is_open_loop() {
            return false;
        }
        let now_ns = self.stretch_start_ns - self.start_ns + self.skipped_ns;
        let mut has_waiting = vec![false; self.ahead.len()];
        for Reverse((_, tag)) in &self.waiting {
            has_waiting[self.slots[*tag as usize].planned.operation.job as usize] = true;
        }
        (0..self.ahead.len()).filter(|&job| !has_waiting[job]).any(|job| {
            let next = self.ahead[job].get_or_insert_with(|| self.schedule.next(job as u32));
            next.not_before_ns < now_ns
        })
    }

    fn skip(&mut self, duration_ns: u64, end: WindowEnd) -> Option<u64> {
        let WindowEnd { window_ns, rate, left_ns, .. } = end;
        let is_each_drawn = self.is_skewed || self.device.keeps_random_writes(window_ns, left_ns);
        if self.schedule.is_open_loop() {
            return Some(self.skip_arrivals(duration_ns, is_each_drawn));
        }
        if is_each_drawn {
            let numjobs = self.ahead.len() as u64;
            for io in 0..(rate * duration_ns as f64) as u64 {
                let Operation { direction, offset_bytes, length_bytes, .. } =
                    self.schedule.next((io % numjobs) as u32).operation;
                if direction == Direction::Write {
                    self.device.apply_skipped_write(offset_bytes, u64::from(length_bytes));
                }
            }
        }
        None
    }

    fn drain(&mut self) {
        ShapedLoop::drain(self);
    }
}
