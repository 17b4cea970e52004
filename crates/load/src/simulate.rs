//! Simulated run of a plain load.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use crate::fast_forward::{SimulatedLoad, WindowEnd, simulate_window};
use crate::recorder::Recorder;
use crate::{Device, Direction, FastForward, Generator, LoadSpec, Sample, SpecError};

/// Runs a load. In closed loop, every job keeps `iodepth` I/Os outstanding and issues the next as soon as one is
/// answered and the rate limit allows; in open loop (`shape.arrival`), I/Os arrive at their own moments.
///
/// The load starts where the device's clock stands; samples count from there. An I/O is counted by the moment it
/// completed. The run ends at `ramp + runtime`; I/Os still outstanding then are waited for but not counted, so
/// that the device is idle afterwards and can take another load. `on_sample` is handed the device with each sample, to read its
/// counters, and may break off the run.
pub fn run_simulated<D: Device>(
    device: &mut D,
    spec: &LoadSpec,
    on_sample: &mut dyn FnMut(&mut D, Sample) -> ControlFlow<()>,
) -> Result<(), SpecError> {
    if !spec.shape.is_plain() {
        return crate::simulate_shaped::run_shaped(device, spec, on_sample);
    }
    let mut run = ClosedLoop::new(device, spec)?;
    run.begin();
    let _ = run.run(&mut Recorder::new(spec), on_sample);
    run.drain();
    Ok(())
}

pub(crate) struct ClosedLoop<'a, D> {
    device: &'a mut D,
    generator: Generator,
    /// Where the device's clock stood when the load began.
    start_ns: u64,
    iodepth: u32,
    bs_bytes: u32,
    /// Direction of the I/O that holds each tag; the tag is `job × iodepth + slot`.
    directions: Vec<Direction>,
    /// Tags that the rate limit holds back, by the moment each may be issued. Empty without a limit.
    held_back: BinaryHeap<Reverse<(u64, u32)>>,
    in_flight: u64,
    /// Where on the device's clock the next stretch begins.
    stretch_start_ns: u64,
    /// Where each sequential job wrote next when it did.
    positions: Vec<u64>,
}

impl<'a, D: Device> ClosedLoop<'a, D> {
    pub fn new(device: &'a mut D, spec: &LoadSpec) -> Result<Self, SpecError> {
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
            directions: vec![Direction::Read; outstanding],
            held_back: BinaryHeap::with_capacity(outstanding),
            in_flight: 0,
            positions: Vec::new(),
        })
    }

    /// Issues the first I/Os.
    pub fn begin(&mut self) {
        // Slot by slot over all jobs, so that jobs start together as fio's do.
        let numjobs = self.directions.len() as u32 / self.iodepth;
        for slot in 0..self.iodepth {
            for job in 0..numjobs {
                self.issue_or_hold_back(self.start_ns, job * self.iodepth + slot);
            }
        }
    }

    /// Goes on for as long as the recorder has intervals.
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
                let direction = self.directions[completion.tag as usize];
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
            let allowed_ns = self.start_ns + self.generator.next_allowed_ns(tag / self.iodepth);
            if allowed_ns > now_ns {
                self.held_back.push(Reverse((allowed_ns, tag)));
                return;
            }
        }
        self.issue(now_ns, tag);
    }

    #[inline]
    fn issue(&mut self, at_ns: u64, tag: u32) {
        let operation = self.generator.next_operation(tag / self.iodepth);
        self.directions[tag as usize] = operation.direction;
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

impl<D: FastForward> SimulatedLoad<D> for ClosedLoop<'_, D> {
    fn device(&mut self) -> &mut D {
        self.device
    }

    fn begin(&mut self) {
        ClosedLoop::begin(self);
    }

    fn simulate(&mut self, spec: &LoadSpec, duration_ns: u64) -> Sample {
        simulate_window(spec, duration_ns, |recorder, on_sample| {
            self.run(recorder, &mut |_, sample| on_sample(sample))
        })
    }

    fn is_catching_up(&mut self, ios: u64, duration_ns: u64) -> bool {
        self.generator.is_catching_up(ios, duration_ns, self.stretch_start_ns - self.start_ns)
    }

    fn skip(&mut self, duration_ns: u64, end: WindowEnd) -> Option<u64> {
        let WindowEnd { window_ns, rate, left_ns, .. } = end;
        let device = &mut *self.device;
        if device.keeps_random_writes(window_ns, left_ns) {
            self.generator.skip_random(
                (rate * duration_ns as f64) as u64,
                &mut |offset_bytes, length_bytes| {
                    device.apply_skipped_write(offset_bytes, length_bytes);
                },
            );
        }
        self.generator.skip_limited(duration_ns, self.stretch_start_ns - self.start_ns, rate);
        let written =
            &mut |offset_bytes, length_bytes| device.apply_skipped_write(offset_bytes, length_bytes);
        self.generator.skip_sequential(&self.positions, duration_ns, window_ns, written);
        None
    }

    fn drain(&mut self) {
        ClosedLoop::drain(self);
    }
}
