//! Collector of worker results: one sample an interval, and one outcome.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use load::{Direction, DirectionSample, Sample};
use rustix::time::ClockId;

use super::{Common, Message, Progress};
use crate::outcome::{Ended, ErrorCount, Hang, RingOutcome};
use crate::warnings::warn;
use crate::worker::{WorkerOutcome, processor_ns};
use crate::{ErrorKind, RingError};

/// Period of progress reports and of looks at the caller's stop.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Puts the workers' samples together.
pub(super) struct Collector<'a> {
    common: &'a Common<'a>,
    on_sample: &'a mut dyn FnMut(Sample),
    on_progress: &'a mut dyn FnMut(Progress),
    stop: &'a AtomicBool,
    /// Intervals that some worker has handed over, by their start, and by how many.
    open: BTreeMap<u64, (Sample, u32)>,
    /// By worker, whether it has ended, and the end of the last interval that it handed over.
    has_ended: Vec<bool>,
    counted_to_ns: Vec<u64>,
    totals: [DirectionSample; 3],
    runtime_ns: u64,
    /// Processor time of the process from the start to the end of all workers.
    process_ns: u64,
    outcomes: Vec<WorkerOutcome>,
}

impl<'a> Collector<'a> {
    pub fn new(
        common: &'a Common<'a>,
        on_sample: &'a mut dyn FnMut(Sample),
        on_progress: &'a mut dyn FnMut(Progress),
        stop: &'a AtomicBool,
    ) -> Self {
        Collector {
            common,
            on_sample,
            on_progress,
            stop,
            open: BTreeMap::new(),
            has_ended: vec![false; common.workers as usize],
            counted_to_ns: vec![0; common.workers as usize],
            totals: Default::default(),
            runtime_ns: 0,
            process_ns: 0,
            outcomes: Vec::new(),
        }
    }

    /// Opens the gate when all workers are ready, and takes what they tell until the last has ended.
    pub fn collect(&mut self, rx: &Receiver<Message>) -> Result<(), RingError> {
        let mut failed = None;
        for _ in 0..self.common.workers {
            match rx.recv() {
                Ok(Message::Ready(Ok(()))) => {}
                Ok(Message::Ready(Err(error))) => {
                    failed.get_or_insert(error);
                }
                _ => break,
            }
        }
        if let Some(error) = failed {
            self.common.gate.open(None);
            return Err(error);
        }
        let start = match self.common.barrier {
            None => Instant::now(),
            Some(barrier) => match barrier.arrive(self.stop) {
                Some(start) => start,
                None => {
                    self.common.gate.open(None);
                    return Err(RingError::refused(
                        "the common start was called off",
                        "another load or host says why",
                    ));
                }
            },
        };
        let process_before_ns = processor_ns(ClockId::ProcessCPUTime);
        self.common.gate.open(Some(start));
        let expected_ns = self.common.case.load.ramp_ns + self.common.case.load.runtime_ns;
        let mut told_at = start;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                self.common.hurry.store(true, Ordering::Relaxed);
                self.common.stop_signal.store(true, Ordering::Relaxed);
            }
            if told_at.elapsed() >= PROGRESS_EVERY {
                told_at = Instant::now();
                let elapsed_ns = (start.elapsed().as_nanos() as u64).min(expected_ns);
                (self.on_progress)(Progress { elapsed_ns, expected_ns });
            }
            match rx.recv_timeout(PROGRESS_EVERY) {
                Ok(Message::Sample(worker, sample)) => self.take(worker, *sample),
                Ok(Message::Ended(worker, Ok(outcome))) => {
                    if outcome.ended != Ended::Completed {
                        self.common.stop_signal.store(true, Ordering::Relaxed);
                    }
                    self.has_ended[worker as usize] = true;
                    self.outcomes.push(*outcome);
                    self.hand_on_whole();
                }
                Ok(Message::Ended(_, Err(error))) => {
                    self.common.stop_signal.store(true, Ordering::Relaxed);
                    failed.get_or_insert(error);
                }
                Ok(Message::Ready(_)) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.process_ns = processor_ns(ClockId::ProcessCPUTime).saturating_sub(process_before_ns);
        // After an early end, workers stand in different intervals.
        while let Some((_, (sample, _))) = self.open.pop_first() {
            self.hand_on(sample);
        }
        failed.map_or(Ok(()), Err)
    }

    fn take(&mut self, worker: u32, sample: Sample) {
        let start_ns = sample.start_ns;
        self.counted_to_ns[worker as usize] = sample.end_ns;
        match self.open.get_mut(&start_ns) {
            None => {
                self.open.insert(start_ns, (sample, 1));
            }
            Some((merged, workers)) => {
                merged.end_ns = merged.end_ns.max(sample.end_ns);
                merged.read.merge(&sample.read);
                merged.write.merge(&sample.write);
                merged.trim.merge(&sample.trim);
                *workers += 1;
            }
        }
        self.hand_on_whole();
    }

    /// Hands on the intervals to which every worker has added its part that was still at work then.
    fn hand_on_whole(&mut self) {
        while let Some((&start_ns, (_, parts))) = self.open.first_key_value() {
            let is_over =
                |(has_ended, counted_to_ns): &(&bool, &u64)| **has_ended && **counted_to_ns <= start_ns;
            let over = self.has_ended.iter().zip(&self.counted_to_ns).filter(is_over).count();
            if *parts as usize + over < self.common.workers as usize {
                return;
            }
            if let Some((_, (sample, _))) = self.open.pop_first() {
                self.hand_on(sample);
            }
        }
    }

    fn hand_on(&mut self, sample: Sample) {
        if !sample.is_ramp {
            for (total, part) in self.totals.iter_mut().zip([&sample.read, &sample.write, &sample.trim]) {
                total.merge(part);
            }
            self.runtime_ns += sample.duration_ns();
        }
        (self.on_sample)(sample);
    }

    /// Returns the outcome of the run.
    pub fn outcome(self, warnings: Vec<String>) -> RingOutcome {
        let [read, write, trim] = self.totals;
        let is_open_loop = self.common.case.load.shape.arrival.is_some();
        let mut outcome = RingOutcome {
            runtime_ns: self.runtime_ns,
            read,
            write,
            trim,
            offered_ios: is_open_loop.then_some(0),
            warnings,
            ..RingOutcome::empty(self.common.interface)
        };
        let mut errors: BTreeMap<(Direction, ErrorKind), u64> = BTreeMap::new();
        let (mut cpu_ns, mut kernel_ns, mut completed) = (0, 0, 0u64);
        for worker in self.outcomes {
            if severity(&worker.ended) > severity(&outcome.ended) {
                outcome.ended = worker.ended;
            }
            for (kind, count) in worker.errors {
                *errors.entry(kind).or_insert(0) += count;
            }
            if let Some(offered) = &mut outcome.offered_ios {
                *offered += worker.offered_ios;
            }
            outcome.lateness.merge(&worker.lateness);
            outcome.syncs.merge(&worker.syncs);
            outcome.unanswered_ios += worker.unanswered_ios;
            outcome.stuck_ios += worker.stuck_ios;
            if let Some(hang) = worker.hang {
                let all = outcome.hang.get_or_insert(Hang { ios: 0, longest_ns: 0, is_over: true });
                all.ios += hang.ios;
                all.longest_ns = all.longest_ns.max(hang.longest_ns);
                all.is_over &= hang.is_over;
            }
            if let Some(content) = worker.content {
                outcome.content.get_or_insert_default().merge(&content);
            }
            outcome.written.extend(worker.written);
            outcome.warnings.extend(worker.warnings);
            cpu_ns += worker.cpu_ns;
            kernel_ns += worker.kernel_ns;
            completed += worker.completed_ios;
        }
        outcome.written.sort_by_key(|part| part.range().start);
        outcome.errors = errors
            .into_iter()
            .map(|((direction, kind), count)| ErrorCount { direction, kind, count })
            .collect();
        let failed: u64 = outcome.errors.iter().map(|error| error.count).sum();
        outcome.issued_ios = completed + failed + outcome.unanswered_ios;
        let per_io = |total_ns: u64| total_ns as f64 / completed.max(1) as f64;
        outcome.cpu_ns_per_io = per_io(cpu_ns);
        outcome.kernel_ns_per_io = per_io(kernel_ns);
        outcome.process_ns_per_io = per_io(self.process_ns);
        outcome.warnings.dedup();
        warn(&mut outcome, self.common.case.load, self.common.workers);
        outcome
    }
}

fn severity(ended: &Ended) -> u8 {
    match ended {
        Ended::Completed => 0,
        Ended::Interrupted => 1,
        Ended::Failed(_) => 2,
        Ended::DeviceGone(_) => 3,
    }
}
