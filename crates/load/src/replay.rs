//! Trace replay as a load.

use std::sync::Arc;

use crate::error::out_of_range;
use crate::planned_io::{NEVER_NS, PlannedIo};
use crate::trace::Trace;
use crate::{LoadSpec, Operation, SpecError};

/// The slowest replay, in percent of the recorded time between I/Os.
pub const REPLAY_SCALE_LIMIT_PERCENT: u32 = 1_000_000;

/// Issue times of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayTiming {
    /// Recorded times, stretched to this share of the recorded time (fio's `replay_time_scale`): 100 is as
    /// recorded, 50 twice as fast. An open loop: latency counts from the intended moment.
    Recorded {
        /// Percent; above 0.
        scale_percent: u32,
    },
    /// As fast as possible: each I/O as soon as a place in the queue is free (fio's `replay_no_stall`).
    AsFastAsPossible,
}

/// Policy for I/Os beyond the end of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReplayBeyond {
    /// The load is refused.
    #[default]
    Refuse,
    /// The address is taken modulo the size of the range. Neighbours stay neighbours, but places that lay apart in the
    /// trace may meet.
    Wrap,
}

/// A trace to replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// Recorded trace.
    pub trace: Arc<Trace>,
    /// Issue times: as recorded, scaled, or as fast as possible.
    pub timing: ReplayTiming,
    /// Treatment of I/Os beyond the end of the target.
    pub beyond: ReplayBeyond,
}

impl Replay {
    /// Returns the duration of the replay at its recorded pace; `None` as fast as possible.
    pub fn duration_ns(&self) -> Option<u64> {
        match self.timing {
            ReplayTiming::Recorded { scale_percent } => Some(scaled(self.trace.duration_ns(), scale_percent)),
            ReplayTiming::AsFastAsPossible => None,
        }
    }

    pub(crate) fn check(&self, spec: &LoadSpec) -> Result<(), SpecError> {
        if let ReplayTiming::Recorded { scale_percent } = self.timing
            && !(1..=REPLAY_SCALE_LIMIT_PERCENT).contains(&scale_percent)
        {
            let allowed = format!("1 to {REPLAY_SCALE_LIMIT_PERCENT} percent");
            return Err(out_of_range("replay_time_scale", scale_percent, allowed));
        }
        let is_alone = crate::LoadShape { replay: None, content: Default::default(), ..spec.shape.clone() }
            == crate::LoadShape::default();
        if !is_alone || spec.rate_iops.is_some() {
            return Err(out_of_range(
                "replay",
                "given with rates, sizes, distributions or verify",
                "alone: the trace says what is issued and when",
            ));
        }
        Ok(())
    }
}

fn scaled(ns: u64, percent: u32) -> u64 {
    (u128::from(ns) * u128::from(percent) / 100).min(u128::from(NEVER_NS - 1)) as u64
}

/// The I/Os of a replay. They are dealt out to the jobs in turn, so that with one job they are issued in the order of the
/// trace, and with several each job keeps the order of its own.
#[derive(Debug, Clone)]
pub(crate) struct Replayed {
    replay: Replay,
    offset_bytes: u64,
    /// Whole sectors that addresses may fall into.
    range_bytes: u64,
    /// Each job's next record.
    next: Vec<usize>,
}

impl Replayed {
    pub fn new(spec: &LoadSpec, replay: &Replay, capacity_bytes: u64) -> Result<Self, SpecError> {
        let available = capacity_bytes.saturating_sub(spec.offset_bytes);
        let size = spec.size_bytes.unwrap_or(available);
        let range_bytes = size.min(available) / 512 * 512;
        let needed = match replay.beyond {
            ReplayBeyond::Refuse => replay.trace.end_bytes(),
            ReplayBeyond::Wrap => u64::from(replay.trace.longest_bytes()),
        };
        if size > available || range_bytes < needed {
            return Err(out_of_range(
                "size",
                size,
                format!(
                    "at least {needed} bytes for this trace (`beyond: wrap` folds its addresses into the range) and at most \
                     the {available} bytes from offset {} to the target's end",
                    spec.offset_bytes
                ),
            ));
        }
        Ok(Replayed {
            replay: replay.clone(),
            offset_bytes: spec.offset_bytes,
            range_bytes,
            next: (0..spec.numjobs as usize).collect(),
        })
    }

    pub fn is_timed(&self) -> bool {
        self.replay.timing != ReplayTiming::AsFastAsPossible
    }

    pub fn next(&mut self, job: u32) -> PlannedIo {
        let numjobs = self.next.len();
        let place = &mut self.next[job as usize];
        let Some(record) = self.replay.trace.records().get(*place) else { return PlannedIo::none(job) };
        *place += numjobs;
        let length_bytes = record.length_bytes;
        let last_start_bytes = self.range_bytes - u64::from(length_bytes);
        let start_bytes = if record.offset_bytes <= last_start_bytes {
            record.offset_bytes
        } else {
            (record.offset_bytes % self.range_bytes).min(last_start_bytes)
        };
        let operation = Operation {
            direction: record.direction,
            offset_bytes: self.offset_bytes + start_bytes,
            length_bytes,
            job,
        };
        let not_before_ns = match self.replay.timing {
            ReplayTiming::Recorded { scale_percent } => scaled(record.at_ns, scale_percent),
            ReplayTiming::AsFastAsPossible => 0,
        };
        PlannedIo { operation, not_before_ns }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::{Completion, Device, Direction, LoadShape, Pattern, Sample, Schedule};

    const TRACE: &str = "0,0,4096,w,0.5\n0,8,4096,r,0.5\n0,16,8192,r,0.75\n0,1000,4096,w,1.5\n";

    fn load(timing: ReplayTiming, beyond: ReplayBeyond, numjobs: u32) -> LoadSpec {
        let trace = Arc::new(Trace::read("t", &mut TRACE.as_bytes(), None).unwrap());
        LoadSpec {
            pattern: Pattern::Randrw,
            rwmixread: 50,
            bs_bytes: 4096,
            numjobs,
            iodepth: 1,
            offset_bytes: 1 << 20,
            size_bytes: None,
            rate_iops: None,
            ramp_ns: 0,
            runtime_ns: 60_000_000_000,
            interval_ns: 1_000_000_000,
            seed: 1,
            shape: LoadShape { replay: Some(Replay { trace, timing, beyond }), ..LoadShape::default() },
        }
    }

    /// Answers after 10 ms, one I/O at a time, and notes what came when.
    #[derive(Default)]
    struct RecordingDevice {
        now_ns: u64,
        free_ns: u64,
        pending: std::collections::VecDeque<Completion>,
        came: Vec<(u64, Operation)>,
    }

    impl Device for RecordingDevice {
        fn capacity_bytes(&self) -> u64 {
            2 << 20
        }
        fn now_ns(&self) -> u64 {
            self.now_ns
        }
        fn submit(&mut self, at_ns: u64, tag: u32, operation: Operation) {
            self.came.push((at_ns, operation));
            self.free_ns = self.free_ns.max(at_ns) + 10_000_000;
            self.pending.push_back(Completion {
                tag,
                issued_at_ns: at_ns,
                at_ns: self.free_ns,
                outcome: Ok(()),
            });
        }
        fn next_completion(&mut self, until_ns: u64) -> Option<Completion> {
            let completion = self.pending.pop_front_if(|completion| completion.at_ns <= until_ns);
            self.now_ns = completion.map_or(until_ns, |completion| completion.at_ns);
            completion
        }
    }

    fn run(spec: &LoadSpec) -> (RecordingDevice, Vec<Sample>) {
        let (mut device, mut samples) = (RecordingDevice::default(), Vec::new());
        crate::run_simulated(&mut device, spec, &crate::NEVER_STOPPED, &mut |_, sample| {
            samples.push(sample);
            ControlFlow::Continue(())
        })
        .unwrap();
        (device, samples)
    }

    /// Proves that I/Os come at their recorded moments, that waiting behind another counts as latency, and that the run
    /// ends with the last answer and not with the runtime.
    #[test]
    fn recorded_moments_are_kept() {
        let (device, samples) =
            run(&load(ReplayTiming::Recorded { scale_percent: 100 }, ReplayBeyond::Refuse, 1));
        let came: Vec<(u64, u64)> = device
            .came
            .iter()
            .map(|(at_ns, operation)| (*at_ns / 1_000_000, operation.offset_bytes - (1 << 20)))
            .collect();
        assert_eq!(came, [(0, 0), (10, 4096), (250, 8192), (1000, 512_000)]);
        let ios: Vec<(u64, u64)> = samples.iter().map(|sample| (sample.read.ios, sample.write.ios)).collect();
        assert_eq!(ios, [(2, 1), (0, 1)]);
        // The second I/O was meant for the start and stood behind the first, for 10 ms.
        assert_eq!(
            (samples[0].read.latency.max_ns(), samples[0].write.latency.max_ns()),
            (20_000_000, 10_000_000)
        );
        assert_eq!(samples[1].end_ns, 1_010_000_000);
    }

    /// Proves that a replay at half the time halves the moments, and that without times I/Os follow one another.
    #[test]
    fn timing_can_be_scaled_or_left_out() {
        let (fast, _) = run(&load(ReplayTiming::Recorded { scale_percent: 50 }, ReplayBeyond::Refuse, 1));
        assert_eq!(fast.came[3].0, 500_000_000);
        let (at_once, samples) = run(&load(ReplayTiming::AsFastAsPossible, ReplayBeyond::Refuse, 1));
        assert_eq!(at_once.came[3].0, 30_000_000);
        assert_eq!((samples.len(), samples[0].end_ns), (1, 40_000_000));
    }

    /// Proves that every I/O is issued once however many jobs share the trace.
    #[test]
    fn jobs_share_the_trace() {
        let (alone, _) = run(&load(ReplayTiming::AsFastAsPossible, ReplayBeyond::Refuse, 1));
        let (shared, _) = run(&load(ReplayTiming::AsFastAsPossible, ReplayBeyond::Refuse, 3));
        let sorted = |device: RecordingDevice| {
            let mut came: Vec<(u64, u32, Direction)> =
                device.came.iter().map(|(_, o)| (o.offset_bytes, o.length_bytes, o.direction)).collect();
            came.sort_unstable();
            came
        };
        assert_eq!(sorted(alone), sorted(shared));
    }

    /// Proves that addresses beyond the target are refused, or folded into it where that was asked for.
    #[test]
    fn addresses_beyond_the_target() {
        let timing = ReplayTiming::AsFastAsPossible;
        let small = LoadSpec { size_bytes: Some(65_536), ..load(timing, ReplayBeyond::Refuse, 1) };
        let error = Schedule::new(&small, 2 << 20).unwrap_err().to_string();
        assert!(error.contains("516096") && error.contains("wrap"), "{error}");
        let folded = LoadSpec { size_bytes: Some(65_536), ..load(timing, ReplayBeyond::Wrap, 1) };
        let mut schedule = Schedule::new(&folded, 2 << 20).unwrap();
        let offsets: Vec<u64> = (0..4).map(|_| schedule.next(0).operation.offset_bytes - (1 << 20)).collect();
        assert_eq!(offsets, [0, 4096, 8192, 512_000 % 65_536]);
        assert_eq!(schedule.next(0).not_before_ns, NEVER_NS);
    }

    /// Proves that a replay with a rate, a distribution or no time at all is refused.
    #[test]
    fn a_replay_is_alone() {
        let good = load(ReplayTiming::Recorded { scale_percent: 100 }, ReplayBeyond::Refuse, 1);
        assert!(good.check().is_ok());
        assert!(LoadSpec { rate_iops: Some(5.0), ..good.clone() }.check().is_err());
        let mut streams = good.clone();
        streams.shape.streams = 2;
        assert!(streams.check().is_err());
        assert!(load(ReplayTiming::Recorded { scale_percent: 0 }, ReplayBeyond::Refuse, 1).check().is_err());
    }
}
