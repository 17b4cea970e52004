//! Closed loop of one plain load in simulated time: one block size, no moments but those of a rate limit.
//!
//! It could be an [`IssueLoop`](crate::issue_loop::IssueLoop), whose slots know more: then an I/O of `bench sim`'s `flash-100` takes
//! 1,345 instructions instead of 1,240 (callgrind), which is why it is a loop of its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::recorder::Recorder;
use crate::{Device, Direction, Generator, LoadSpec, Sample, SpecError};

/// Plain load on a device, for as long as recorders have intervals.
pub(crate) struct ClosedLoop<'a, D> {
    pub device: &'a mut D,
    pub generator: Generator,
    /// Start of the load on the device's clock.
    pub start_ns: u64,
    iodepth: u32,
    bs_bytes: u32,
    /// By tag, which is `job × iodepth + slot`.
    slots: Vec<Slot>,
    /// Tags that the rate limit holds back, by the moment each may be issued. Empty without a limit.
    held_back: BinaryHeap<Reverse<(u64, u32)>>,
    in_flight: u64,
    /// Raised from outside, it ends the loop before the next completion.
    stop: &'a AtomicBool,
    /// Start of the next stretch on the device's clock.
    pub stretch_start_ns: u64,
    /// Next write position of each sequential job at the start of the stretch.
    pub positions: Vec<u64>,
}

/// One place in a job's queue.
#[derive(Clone, Copy)]
struct Slot {
    job: u32,
    /// Direction of the I/O that holds it.
    direction: Direction,
}

impl<'a, D: Device> ClosedLoop<'a, D> {
    pub fn new(device: &'a mut D, spec: &LoadSpec, stop: &'a AtomicBool) -> Result<Self, SpecError> {
        let generator = Generator::new(spec, device.capacity_bytes())?;
        device.expect(spec.grain_bytes());
        device.declare_content(0, spec.shape.content);
        let outstanding = spec.outstanding() as usize;
        Ok(ClosedLoop {
            start_ns: device.now_ns(),
            stretch_start_ns: device.now_ns(),
            device,
            generator,
            iodepth: spec.iodepth,
            bs_bytes: spec.bs_bytes,
            slots: (0..outstanding as u32)
                .map(|tag| Slot { job: tag / spec.iodepth, direction: Direction::Read })
                .collect(),
            held_back: BinaryHeap::with_capacity(outstanding),
            in_flight: 0,
            stop,
            positions: Vec::new(),
        })
    }

    /// Issues the first I/Os.
    pub fn begin(&mut self) {
        // Slot by slot over all jobs, so that jobs start together as fio's do.
        let numjobs = self.slots.len() as u32 / self.iodepth;
        for slot in 0..self.iodepth {
            for job in 0..numjobs {
                self.issue_or_hold_back(self.start_ns, job * self.iodepth + slot);
            }
        }
    }

    /// Goes on for as long as the recorder has intervals; broken off by the caller after one, or by `stop` within one, whose sample is
    /// not handed out then.
    pub fn run(
        &mut self,
        recorder: &mut Recorder,
        on_sample: &mut dyn FnMut(&mut D, Sample) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let start_ns = self.stretch_start_ns;
        let end_ns = start_ns.saturating_add(recorder.end_ns());
        self.stretch_start_ns = end_ns;
        self.generator.sequential_positions(&mut self.positions);
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
            let next_issue_ns = self.held_back.peek().map_or(u64::MAX, |&Reverse((at_ns, _))| at_ns);
            // The end itself is not counted, and a moment's completions come before its issues.
            let until_ns = next_issue_ns.min(end_ns - 1);
            if let Some(completion) = self.device.next_completion(until_ns) {
                self.in_flight -= 1;
                let at_ns = completion.at_ns - start_ns;
                if at_ns >= recorder.interval_end_ns() {
                    let device = &mut *self.device;
                    recorder.advance(at_ns, &mut |sample| on_sample(device, sample))?;
                }
                let direction = self.slots[completion.tag as usize].direction;
                match completion.outcome {
                    Ok(()) => {
                        recorder.record(direction, self.bs_bytes, completion.at_ns - completion.issued_at_ns);
                    }
                    Err(_) => recorder.record_error(direction),
                }
                self.issue_or_hold_back(completion.at_ns, completion.tag);
            } else if next_issue_ns < end_ns {
                if let Some(Reverse((at_ns, tag))) = self.held_back.pop() {
                    self.issue(at_ns, tag);
                }
            } else {
                let device = &mut *self.device;
                return recorder.advance(recorder.end_ns(), &mut |sample| on_sample(device, sample));
            }
        }
    }

    #[inline]
    fn issue_or_hold_back(&mut self, now_ns: u64, tag: u32) {
        if self.generator.is_rate_limited() {
            let allowed_ns = self.start_ns + self.generator.next_allowed_ns(self.slots[tag as usize].job);
            if allowed_ns > now_ns {
                self.held_back.push(Reverse((allowed_ns, tag)));
                return;
            }
        }
        self.issue(now_ns, tag);
    }

    #[inline]
    fn issue(&mut self, at_ns: u64, tag: u32) {
        let slot = &mut self.slots[tag as usize];
        let operation = self.generator.next_operation(slot.job);
        slot.direction = operation.direction;
        self.in_flight += 1;
        self.device.submit(at_ns, tag, operation);
    }

    /// Waits for what is outstanding.
    pub fn drain(&mut self) {
        while self.in_flight > 0 && self.device.next_completion(u64::MAX).is_some() {
            self.in_flight -= 1;
        }
    }
}
