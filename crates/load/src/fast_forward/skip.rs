//! Skipped time of a load: what would have been issued in it, and whether the load has to make up for some.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::ops::ControlFlow;

use super::FastForward;
use crate::recorder::Recorder;
use crate::simulate::SimulatedLoad;
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

impl<D: FastForward> SimulatedLoad<'_, D> {
    /// Simulates the next `duration_ns` as one interval and returns what completed.
    pub(super) fn simulate(&mut self, spec: &LoadSpec, duration_ns: u64) -> Sample {
        let whole =
            LoadSpec { ramp_ns: 0, runtime_ns: duration_ns, interval_ns: duration_ns, ..spec.clone() };
        let mut window = Sample::default();
        let _ = self.run(Recorder::new(&whole), &mut |_, sample| {
            window = sample;
            ControlFlow::Continue(())
        });
        window
    }

    /// True where the `ios` of the last `duration_ns` made up for what could not be issued before, or arrivals wait for a slot of
    /// their queue: such a rate does not last.
    pub(super) fn is_catching_up(&mut self, ios: u64, duration_ns: u64) -> bool {
        let load = &mut self.issue.loads[0];
        let at_ns = self.stretch_start_ns - load.start_ns;
        if !load.schedule.is_open_loop() {
            return load.schedule.is_catching_up(ios, duration_ns, at_ns);
        }
        let now_ns = at_ns + load.skipped_ns;
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

    /// Skips `duration_ns`; in open loop returns how many I/Os arrive in it.
    pub(super) fn skip(&mut self, duration_ns: u64, end: WindowEnd) -> Option<u64> {
        let WindowEnd { window_ns, rate, left_ns, .. } = end;
        let is_each_drawn = self.is_skewed || self.issue.device.keeps_random_writes(window_ns, left_ns);
        if self.issue.loads[0].schedule.is_open_loop() {
            return Some(self.skip_arrivals(duration_ns, is_each_drawn));
        }
        let load = &mut self.issue.loads[0];
        let at_ns = self.stretch_start_ns - load.start_ns;
        let device = &mut *self.issue.device;
        let written =
            &mut |offset_bytes, length_bytes| device.apply_skipped_write(offset_bytes, length_bytes);
        if is_each_drawn {
            load.schedule.skip_random((rate * duration_ns as f64) as u64, self.numjobs.into(), written);
        }
        load.schedule.skip_limited(duration_ns, at_ns, rate);
        load.schedule.skip_sequential(&self.positions, duration_ns, window_ns, written);
        None
    }

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
