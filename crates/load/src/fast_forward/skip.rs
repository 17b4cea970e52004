//! Skipped time of a load: what would have been issued in it, and whether the load has to make up for some.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::ops::ControlFlow;

use super::FastForward;
use crate::closed_loop::ClosedLoop;
use crate::recorder::Recorder;
use crate::simulate::ShapedLoad;
use crate::{Direction, LoadSpec, Operation, PlannedIo, Sample};

/// The end of a window, for what is extrapolated from it.
#[derive(Debug, Clone, Copy)]
pub(super) struct WindowEnd {
    /// Length of the window.
    pub window_ns: u64,
    /// I/Os that were answered in it, errors too.
    pub ios: u64,
    /// I/Os a nanosecond of the level.
    pub rate: f64,
    /// Time that the load still has, with what is skipped now.
    pub left_ns: u64,
}

/// A load in simulated time that can be stopped and continued.
pub(super) trait SimulatedLoad<D> {
    fn device(&mut self) -> &mut D;

    /// Issues the first I/Os.
    fn begin(&mut self);

    /// Simulates the next `duration_ns` as one interval and returns what completed; breaks where the load was stopped within it.
    fn simulate(&mut self, spec: &LoadSpec, duration_ns: u64) -> ControlFlow<(), Sample>;

    /// True where the `ios` of the last `duration_ns` made up for what could not be issued before, or arrivals wait for a slot of
    /// their queue: such a rate does not last.
    fn is_catching_up(&mut self, ios: u64, duration_ns: u64) -> bool;

    /// Skips `duration_ns`; in open loop returns how many I/Os arrive in it.
    fn skip(&mut self, duration_ns: u64, end: WindowEnd) -> Option<u64>;

    /// Waits for what is outstanding.
    fn drain(&mut self);
}

/// Recorder of one interval of `duration_ns`.
fn recorder_of(spec: &LoadSpec, duration_ns: u64) -> Recorder {
    Recorder::new(&LoadSpec { ramp_ns: 0, runtime_ns: duration_ns, interval_ns: duration_ns, ..spec.clone() })
}

impl<D: FastForward> SimulatedLoad<D> for ClosedLoop<'_, D> {
    fn device(&mut self) -> &mut D {
        self.device
    }

    fn begin(&mut self) {
        ClosedLoop::begin(self);
    }

    fn simulate(&mut self, spec: &LoadSpec, duration_ns: u64) -> ControlFlow<(), Sample> {
        let mut window = Sample::default();
        self.run(&mut recorder_of(spec, duration_ns), &mut |_, sample| {
            window = sample;
            ControlFlow::Continue(())
        })?;
        ControlFlow::Continue(window)
    }

    fn is_catching_up(&mut self, ios: u64, duration_ns: u64) -> bool {
        self.generator.is_catching_up(ios, duration_ns, self.stretch_start_ns - self.start_ns)
    }

    fn skip(&mut self, duration_ns: u64, end: WindowEnd) -> Option<u64> {
        let WindowEnd { window_ns, rate, left_ns, .. } = end;
        let device = &mut *self.device;
        let is_each_drawn = device.keeps_random_writes(window_ns, left_ns);
        let written =
            &mut |offset_bytes, length_bytes| device.apply_skipped_write(offset_bytes, length_bytes);
        if is_each_drawn {
            self.generator.skip_random((rate * duration_ns as f64) as u64, written);
        }
        self.generator.skip_limited(duration_ns, self.stretch_start_ns - self.start_ns, rate);
        self.generator.skip_sequential(&self.positions, duration_ns, window_ns, written);
        None
    }

    fn drain(&mut self) {
        ClosedLoop::drain(self);
    }
}

impl<D: FastForward> SimulatedLoad<D> for ShapedLoad<'_, D> {
    fn device(&mut self) -> &mut D {
        self.issue.device
    }

    fn begin(&mut self) {
        self.issue.begin();
    }

    fn simulate(&mut self, spec: &LoadSpec, duration_ns: u64) -> ControlFlow<(), Sample> {
        let mut window = Sample::default();
        self.run(recorder_of(spec, duration_ns), &mut |_, sample| {
            window = sample;
            ControlFlow::Continue(())
        })?;
        ControlFlow::Continue(window)
    }

    /// In open loop, whether a job has arrivals that wait for a slot of its queue.
    fn is_catching_up(&mut self, _ios: u64, _duration_ns: u64) -> bool {
        let load = &mut self.issue.loads[0];
        if !load.schedule.is_open_loop() {
            return false;
        }
        let now_ns = self.stretch_start_ns - load.start_ns + load.skipped_ns;
        let mut has_waiting = vec![false; self.numjobs as usize];
        for &Reverse((_, tag)) in &self.issue.waiting {
            has_waiting[self.issue.slot(tag).job as usize] = true;
        }
        let load = &mut self.issue.loads[0];
        load.ahead.resize(has_waiting.len(), None);
        (0..has_waiting.len()).filter(|&job| !has_waiting[job]).any(|job| {
            let next = load.ahead[job].get_or_insert_with(|| load.schedule.next(job as u32));
            next.not_before_ns < now_ns
        })
    }

    fn skip(&mut self, duration_ns: u64, end: WindowEnd) -> Option<u64> {
        let WindowEnd { window_ns, rate, left_ns, .. } = end;
        let is_each_drawn = self.is_skewed || self.issue.device.keeps_random_writes(window_ns, left_ns);
        let load = &mut self.issue.loads[0];
        if load.schedule.is_open_loop() {
            return Some(self.skip_arrivals(duration_ns, is_each_drawn));
        }
        if is_each_drawn {
            let device = &mut *self.issue.device;
            load.schedule.skip_random(
                (rate * duration_ns as f64) as u64,
                self.numjobs.into(),
                &mut |offset_bytes, length_bytes| device.apply_skipped_write(offset_bytes, length_bytes),
            );
        }
        None
    }

    fn drain(&mut self) {
        self.issue.drain();
    }
}

impl<D: FastForward> ShapedLoad<'_, D> {
    /// Skips time in open loop and returns the number of arrivals in it. Where the device must know the place of each write, each
    /// I/O is drawn and its range is passed to the device.
    fn skip_arrivals(&mut self, duration_ns: u64, is_each_drawn: bool) -> u64 {
        let numjobs = self.numjobs as usize;
        let waiting = std::mem::take(&mut self.issue.waiting);
        let mut waiting_of_jobs: Vec<Vec<(u32, PlannedIo)>> = vec![Vec::new(); numjobs];
        for Reverse((_, tag)) in waiting.into_sorted_vec().into_iter().rev() {
            waiting_of_jobs[self.issue.slot(tag).job as usize].push((tag, self.issue.planned(tag)));
        }
        let load = &mut self.issue.loads[0];
        let end_ns = (self.stretch_start_ns - load.start_ns) + load.skipped_ns + duration_ns;
        load.skipped_ns += duration_ns;
        load.ahead.resize(numjobs, None);
        let mut arrived = 0;
        for (job, waiting) in waiting_of_jobs.into_iter().enumerate() {
            let load = &mut self.issue.loads[0];
            let device = &mut *self.issue.device;
            let mut note_skipped = |planned: &PlannedIo| {
                let Operation { direction, offset_bytes, length_bytes, .. } = planned.operation;
                if is_each_drawn && direction == Direction::Write {
                    device.apply_skipped_write(offset_bytes, u64::from(length_bytes));
                }
            };
            // What is planned already arrives first.
            let mut planned: VecDeque<PlannedIo> = load.ahead[job]
                .take()
                .into_iter()
                .chain(waiting.iter().map(|&(_, planned)| planned))
                .collect();
            while let Some(first) = planned.front().filter(|first| first.not_before_ns < end_ns) {
                note_skipped(first);
                planned.pop_front();
                arrived += 1;
            }
            if planned.is_empty() && is_each_drawn {
                let next = loop {
                    let next = load.schedule.next(job as u32);
                    if next.not_before_ns >= end_ns {
                        break next;
                    }
                    note_skipped(&next);
                    arrived += 1;
                };
                planned.push_back(next);
            } else if planned.is_empty() {
                arrived += load.schedule.skip_arrivals(job as u32, end_ns);
            }
            for (tag, _) in waiting {
                let next =
                    planned.pop_front().unwrap_or_else(|| self.issue.loads[0].schedule.next(job as u32));
                self.issue.place(tag, &next);
            }
            self.issue.loads[0].ahead[job] = planned.pop_front();
        }
        arrived
    }
}
