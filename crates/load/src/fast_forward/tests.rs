use std::cmp::Reverse;
use std::collections::BinaryHeap;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::*;
use crate::{
    Arrival, ArrivalProcess, Completion, LoadControl, LoadShape, NEVER_STOPPED, Operation, Pattern,
    RateCurve, SharedLoad, run_concurrent,
};

const SECOND_NS: u64 = 1_000_000_000;

/// Device that answers after 100 µs. From `steady_at_ns` on one I/O in 500 takes five times as long, and only then it says that its
/// state stays.
struct FillingDevice {
    now_ns: u64,
    skipped_ns: u64,
    ios: u64,
    steady_at_ns: u64,
    under_way: BinaryHeap<Reverse<(u64, u32, u64)>>,
    /// Raised when so many I/Os have been submitted, as another thread would.
    stop: Option<(u64, Arc<AtomicBool>)>,
}

impl FillingDevice {
    fn new(steady_at_ns: u64) -> Self {
        FillingDevice {
            now_ns: 0,
            skipped_ns: 0,
            ios: 0,
            steady_at_ns,
            under_way: BinaryHeap::new(),
            stop: None,
        }
    }
}

impl Device for FillingDevice {
    fn capacity_bytes(&self) -> u64 {
        1 << 40
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn submit(&mut self, at_ns: u64, tag: u32, _operation: Operation) {
        self.now_ns = at_ns;
        self.ios += 1;
        if let Some((_, stop)) = self.stop.as_ref().filter(|&&(at_ios, _)| at_ios == self.ios) {
            stop.store(true, Ordering::Relaxed);
        }
        let is_slow = at_ns + self.skipped_ns >= self.steady_at_ns && self.ios.is_multiple_of(500);
        // No two I/Os take quite as long.
        let latency_ns = if is_slow { 500_000 } else { 100_000 } + self.ios * 7919 % 1000;
        self.under_way.push(Reverse((at_ns + latency_ns, tag, at_ns)));
    }

    fn next_completion(&mut self, until_ns: u64) -> Option<Completion> {
        match self.under_way.peek() {
            Some(&Reverse((at_ns, tag, issued_at_ns))) if at_ns <= until_ns => {
                self.under_way.pop();
                self.now_ns = at_ns;
                Some(Completion { tag, issued_at_ns, at_ns, outcome: Ok(()) })
            }
            _ => {
                self.now_ns = until_ns;
                None
            }
        }
    }
}

impl FastForward for FillingDevice {
    fn begin_window(&mut self) {}

    fn begin_level(&mut self) {}

    fn steady_for_ns(&self, _window_ns: u64, _left_ns: u64) -> u64 {
        if self.now_ns + self.skipped_ns < self.steady_at_ns { 0 } else { u64::MAX }
    }

    fn change_count(&mut self) -> u64 {
        0
    }

    fn knows_skipped_streams(&self) -> bool {
        true
    }

    fn skip_time(&mut self, duration_ns: u64, _window_ns: u64) {
        self.skipped_ns += duration_ns;
    }

    fn keeps_random_writes(&self, _window_ns: u64, _left_ns: u64) -> bool {
        false
    }

    fn apply_skipped_write(&mut self, _offset_bytes: u64, _length_bytes: u64) {}
}

fn spec() -> LoadSpec {
    LoadSpec {
        pattern: Pattern::Randread,
        rwmixread: 100,
        bs_bytes: 4096,
        numjobs: 1,
        iodepth: 4,
        offset_bytes: 0,
        size_bytes: None,
        rate_iops: None,
        ramp_ns: 0,
        runtime_ns: 120 * SECOND_NS,
        interval_ns: 2 * SECOND_NS,
        seed: 1,
        shape: LoadShape::default(),
    }
}

/// Proves that a level that was observed while a device still changed is not what counts for the time skipped after it, though rates and
/// means hardly differ.
#[test]
fn levels_begin_anew_when_a_device_is_steady_at_last() {
    let spec = spec();
    let mut device = FillingDevice::new(30 * SECOND_NS);
    let mut slow_shares = Vec::new();
    let extrapolation = run_fast_forward(&mut device, &spec, &NEVER_STOPPED, &mut |_, sample| {
        if sample.is_extrapolated {
            slow_shares.push(sample.read.latency.share_above(300_000.0));
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(extrapolation.carried_ns > 40 * SECOND_NS, "{extrapolation:?}");
    for share in slow_shares {
        assert!((share * 500.0 - 1.0).abs() < 0.2, "{share}");
    }
}

/// Proves that a flag raised from outside ends each kind of loop between two I/Os, with the samples of the intervals that had ended and
/// none of the one under way, and leaves nothing outstanding.
#[test]
fn loops_stop_within_an_interval() {
    const STOP_AT_IOS: u64 = 100_000;
    let rate = RateCurve::Constant { iops: 30_000.0 };
    let arrival = Some(Arrival { process: ArrivalProcess::Poisson, rate });
    let open_loop = LoadSpec { shape: LoadShape { arrival, ..LoadShape::default() }, ..spec() };
    for spec in [spec(), open_loop] {
        for way in ["run_simulated", "run_concurrent", "run_fast_forward"] {
            let stop = Arc::new(AtomicBool::new(false));
            // Never steady: nothing is skipped.
            let mut device = FillingDevice::new(u64::MAX);
            device.stop = Some((STOP_AT_IOS, stop.clone()));
            let mut counted = Vec::new();
            let mut count = |sample: Sample| counted.push(sample.read.ios);
            let on_sample = &mut |_: &mut FillingDevice, sample| {
                count(sample);
                ControlFlow::Continue(())
            };
            match way {
                "run_simulated" => run_simulated(&mut device, &spec, &stop, on_sample).unwrap(),
                "run_fast_forward" => {
                    run_fast_forward(&mut device, &spec, &stop, on_sample).unwrap();
                }
                _ => {
                    let load =
                        SharedLoad { spec: &spec, start_ns: 0, capacity_bytes: device.capacity_bytes() };
                    let on_sample = &mut |_: &mut FillingDevice, _, sample| {
                        count(sample);
                        LoadControl::Continue
                    };
                    run_concurrent(&mut device, &[load], &stop, on_sample).unwrap();
                }
            }
            let outstanding = spec.outstanding();
            assert!(
                (STOP_AT_IOS..STOP_AT_IOS + outstanding).contains(&device.ios),
                "{way}: {} I/Os",
                device.ios
            );
            assert!(device.under_way.is_empty(), "{way}");
            // An interval has 60,000 arrivals, or 80,000 I/Os of 0.1 ms.
            assert!(counted.len() == 1 && counted[0] > 50_000, "{way}: {counted:?}");
        }
    }
}
