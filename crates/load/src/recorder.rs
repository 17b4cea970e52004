//! Sample recorder: completions counted in exact intervals on the run's clock.

use std::ops::ControlFlow;

use crate::{Direction, Histogram, LoadSpec, Sample};

/// Counts completions into the interval in which they happened.
///
/// Intervals are half open: a completion at the very end of one belongs to the next. The ramp has its own
/// intervals, cut at its end; the last interval is cut at the end of the run and counted like any other.
#[derive(Debug)]
pub struct Recorder {
    ramp_ns: u64,
    end_ns: u64,
    interval_ns: u64,
    current: Sample,
}

impl Recorder {
    /// A recorder for a checked load.
    pub fn new(spec: &LoadSpec) -> Self {
        let mut recorder = Recorder {
            ramp_ns: spec.ramp_ns,
            end_ns: spec.ramp_ns.saturating_add(spec.runtime_ns),
            interval_ns: spec.interval_ns,
            current: Sample::default(),
        };
        recorder.current = recorder.interval_from(0);
        recorder
    }

    /// The first moment that is no longer counted.
    pub fn end_ns(&self) -> u64 {
        self.end_ns
    }

    fn interval_from(&self, start_ns: u64) -> Sample {
        let is_ramp = start_ns < self.ramp_ns;
        let cut_ns = if is_ramp { self.ramp_ns } else { self.end_ns };
        Sample {
            start_ns,
            end_ns: cut_ns.min(start_ns.saturating_add(self.interval_ns)),
            is_ramp,
            ..Sample::default()
        }
    }

    /// Hands out every interval that ended at or before `now_ns`, empty ones too.
    pub fn advance(
        &mut self,
        now_ns: u64,
        on_sample: &mut dyn FnMut(Sample) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while now_ns >= self.current.end_ns && self.current.start_ns < self.end_ns {
            let next = self.interval_from(self.current.end_ns);
            let mut sample = std::mem::replace(&mut self.current, next);
            sample.compact();
            on_sample(sample)?;
        }
        ControlFlow::Continue(())
    }

    /// Returns the end of the current interval.
    #[inline]
    pub fn interval_end_ns(&self) -> u64 {
        self.current.end_ns
    }

    /// Counts a completion in the current interval; `advance` has been called for its moment.
    #[inline]
    pub fn record(&mut self, direction: Direction, bytes: u32, latency_ns: u64) {
        let counted = self.current.direction_mut(direction);
        counted.ios += 1;
        counted.bytes += u64::from(bytes);
        counted.latency.record(latency_ns);
    }

    /// Counts a completion of an open loop: `latency_ns` from the intended arrival, `service_ns` from the issue.
    #[inline]
    pub fn record_open(&mut self, direction: Direction, bytes: u32, latency_ns: u64, service_ns: u64) {
        self.record(direction, bytes, latency_ns);
        let counted = self.current.direction_mut(direction);
        counted.service.get_or_insert_with(Histogram::new).record(service_ns);
    }

    /// Ends the load at `now_ns`, before its time: hands out what the current interval holds, cut there.
    pub fn cut(
        &mut self,
        now_ns: u64,
        on_sample: &mut dyn FnMut(Sample) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.advance(now_ns, on_sample)?;
        if now_ns > self.current.start_ns && self.current.start_ns < self.end_ns {
            self.current.end_ns = now_ns;
            self.end_ns = now_ns;
            self.advance(now_ns, on_sample)?;
        }
        ControlFlow::Continue(())
    }

    /// Counts a failure in the current interval.
    pub fn record_error(&mut self, direction: Direction) {
        self.current.direction_mut(direction).errors += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pattern;

    /// Proves that the ramp is flagged and cut at its end, that empty intervals are handed out, that a completion
    /// at an interval's end belongs to the next, and that the last, partial interval is counted.
    #[test]
    fn intervals_are_exact() {
        let spec = LoadSpec {
            pattern: Pattern::Randread,
            rwmixread: 100,
            bs_bytes: 512,
            numjobs: 1,
            iodepth: 1,
            offset_bytes: 0,
            size_bytes: None,
            rate_iops: None,
            ramp_ns: 15,
            runtime_ns: 25,
            interval_ns: 10,
            seed: 0,
            shape: crate::LoadShape::default(),
        };
        let mut recorder = Recorder::new(&spec);
        let mut samples = Vec::new();
        let mut keep = |sample: Sample| {
            assert!(sample.read.latency.is_compact(), "thousands of samples are kept");
            samples.push((sample.start_ns, sample.end_ns, sample.is_ramp, sample.read.ios));
            ControlFlow::Continue(())
        };
        for at_ns in [3, 9, 10, 14, 15, 35, 39] {
            assert!(recorder.advance(at_ns, &mut keep).is_continue());
            recorder.record(Direction::Read, 512, 1);
        }
        assert!(recorder.advance(40, &mut keep).is_continue());
        assert!(recorder.advance(90, &mut keep).is_continue());
        assert!(recorder.cut(95, &mut keep).is_continue());
        assert_eq!(
            samples,
            [(0, 10, true, 2), (10, 15, true, 2), (15, 25, false, 1), (25, 35, false, 0), (35, 40, false, 2)]
        );
    }

    /// Proves that a load ended early hands out the interval it was in, once, cut at that moment, and nothing after.
    #[test]
    fn an_early_end_keeps_what_was_counted() {
        let spec = LoadSpec {
            pattern: Pattern::Randread,
            rwmixread: 100,
            bs_bytes: 512,
            numjobs: 1,
            iodepth: 1,
            offset_bytes: 0,
            size_bytes: None,
            rate_iops: None,
            ramp_ns: 0,
            runtime_ns: 100,
            interval_ns: 10,
            seed: 0,
            shape: crate::LoadShape::default(),
        };
        let mut recorder = Recorder::new(&spec);
        let mut samples = Vec::new();
        let mut keep = |sample: Sample| {
            let service = sample.read.service.as_ref().map_or(0, |service| service.max_ns());
            samples.push((
                sample.start_ns,
                sample.end_ns,
                sample.read.ios,
                sample.read.latency.max_ns(),
                service,
            ));
            ControlFlow::Continue(())
        };
        assert!(recorder.advance(12, &mut keep).is_continue());
        recorder.record_open(Direction::Read, 512, 9, 2);
        assert!(recorder.cut(23, &mut keep).is_continue());
        assert!(recorder.cut(25, &mut keep).is_continue());
        assert!(recorder.advance(100, &mut keep).is_continue());
        assert_eq!(samples, [(0, 10, 0, 0, 0), (10, 20, 1, 9, 2), (20, 23, 0, 0, 0)]);
    }
}
