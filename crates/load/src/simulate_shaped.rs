//! A load of any shape on a device in simulated time.
//!
//! The plain closed loop has a loop of its own (`simulate`), because twins answer millions of I/Os a second there.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use crate::recorder::Recorder;
use crate::schedule::NEVER_NS;
use crate::{Device, LoadSpec, Operation, Planned, Sample, Schedule, SpecError};

pub(crate) fn run_shaped<D: Device>(
    device: &mut D,
    spec: &LoadSpec,
    on_sample: &mut dyn FnMut(&mut D, Sample) -> ControlFlow<()>,
) -> Result<(), SpecError> {
    let mut schedule = Schedule::new(spec, device.capacity_bytes())?;
    device.expect(spec.grain_bytes());
    let numjobs = spec.numjobs;
    // Slot by slot over all jobs, so that jobs start together as fio's do.
    let slots =
        (0..spec.iodepth).flat_map(|_| 0..numjobs).map(|job| Slot { planned: schedule.next(job) }).collect();
    let mut run =
        Loop { start_ns: device.now_ns(), device, schedule, slots, waiting: BinaryHeap::new(), in_flight: 0 };
    let mut recorder = Recorder::new(spec);
    let _ = run.run(&mut recorder, on_sample);
    run.drain();
    Ok(())
}

/// One place in a job's queue, and the I/O that waits for it or is in flight there.
struct Slot {
    planned: Planned,
}

struct Loop<'a, D> {
    device: &'a mut D,
    schedule: Schedule,
    /// Where the device's clock stood when the load began.
    start_ns: u64,
    /// By tag.
    slots: Vec<Slot>,
    /// Tags whose I/O waits for its moment.
    waiting: BinaryHeap<Reverse<(u64, u32)>>,
    in_flight: u64,
}

impl<D: Device> Loop<'_, D> {
    fn run(
        &mut self,
        recorder: &mut Recorder,
        on_sample: &mut dyn FnMut(&mut D, Sample) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let end_ns = self.start_ns + recorder.end_ns();
        for tag in 0..self.slots.len() as u32 {
            self.issue_or_wait(self.start_ns, tag);
        }
        let mut last_answer_ns = 0;
        loop {
            let next_issue_ns = self.waiting.peek().map_or(u64::MAX, |&Reverse((at_ns, _))| at_ns);
            // The end itself is not counted, and a moment's completions come before its issues.
            let until_ns = next_issue_ns.min(end_ns - 1);
            if let Some(completion) = self.device.next_completion(until_ns) {
                self.in_flight -= 1;
                let at_ns = completion.at_ns - self.start_ns;
                last_answer_ns = at_ns;
                if at_ns >= recorder.interval_end_ns() {
                    let device = &mut *self.device;
                    recorder.advance(at_ns, &mut |sample| on_sample(device, sample))?;
                }
                let Planned { operation, not_before_ns } = self.slots[completion.tag as usize].planned;
                let Operation { direction, length_bytes, job, .. } = operation;
                let service_ns = completion.at_ns - completion.issued_at_ns;
                match completion.outcome {
                    Ok(()) if self.schedule.is_open_loop() => {
                        recorder.record_open(direction, length_bytes, at_ns - not_before_ns, service_ns);
                    }
                    Ok(()) => recorder.record(direction, length_bytes, service_ns),
                    Err(_) => recorder.record_error(direction),
                }
                self.slots[completion.tag as usize].planned = self.schedule.next(job);
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

    fn issue_or_wait(&mut self, now_ns: u64, tag: u32) {
        let moment_ns = self.start_ns.saturating_add(self.slots[tag as usize].planned.not_before_ns);
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
