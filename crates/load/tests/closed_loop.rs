//! Contract of `run_simulated`, on a device that records every step.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use load::{
    Completion, Device, IoError, LoadSpec, NEVER_STOPPED, Operation, Pattern, Random, Sample, run_simulated,
};

/// One FIFO server with exponential service, before it a constant time of submission. Keeps a record of all it saw.
struct Recorded {
    now_ns: u64,
    free_at_ns: u64,
    submission_ns: u64,
    mean_service_ns: f64,
    random: Random,
    coming: BinaryHeap<Reverse<(u64, u32)>>,
    issued_at_ns: Vec<u64>,
    /// Submissions: moment, tag, operation.
    submitted: Vec<(u64, u32, Operation)>,
    /// Completions: moment, tag, latency.
    completed: Vec<(u64, u32, u64)>,
    fails_each: u64,
}

impl Recorded {
    fn new(mean_service_ns: f64, submission_ns: u64) -> Self {
        Recorded {
            now_ns: 0,
            free_at_ns: 0,
            submission_ns,
            mean_service_ns,
            random: Random::from_seed(3),
            coming: BinaryHeap::new(),
            issued_at_ns: vec![0; 4096],
            submitted: Vec::new(),
            completed: Vec::new(),
            fails_each: u64::MAX,
        }
    }
}

impl Device for Recorded {
    fn capacity_bytes(&self) -> u64 {
        1 << 30
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn submit(&mut self, at_ns: u64, tag: u32, operation: Operation) {
        assert!(at_ns >= self.now_ns, "time went back");
        self.submitted.push((at_ns, tag, operation));
        let issued_at_ns = at_ns + self.submission_ns;
        self.issued_at_ns[tag as usize] = issued_at_ns;
        self.free_at_ns =
            self.free_at_ns.max(issued_at_ns) + self.random.exponential(self.mean_service_ns) as u64;
        self.coming.push(Reverse((self.free_at_ns, tag)));
    }

    fn next_completion(&mut self, until_ns: u64) -> Option<Completion> {
        match self.coming.peek() {
            Some(&Reverse((at_ns, tag))) if at_ns <= until_ns => {
                self.coming.pop();
                self.now_ns = at_ns;
                let issued_at_ns = self.issued_at_ns[tag as usize];
                self.completed.push((at_ns, tag, at_ns - issued_at_ns));
                let fails = (self.completed.len() as u64).is_multiple_of(self.fails_each);
                let outcome = if fails { Err(IoError::Os(5)) } else { Ok(()) };
                Some(Completion { tag, issued_at_ns, at_ns, outcome })
            }
            _ => {
                self.now_ns = until_ns;
                None
            }
        }
    }
}

fn spec() -> LoadSpec {
    LoadSpec {
        pattern: Pattern::Randrw,
        rwmixread: 70,
        bs_bytes: 4096,
        numjobs: 4,
        iodepth: 8,
        offset_bytes: 0,
        size_bytes: None,
        rate_iops: None,
        ramp_ns: 0,
        runtime_ns: 1_000_000_000,
        interval_ns: 70_000_000,
        seed: 11,
        shape: load::LoadShape::default(),
    }
}

fn samples_of(device: &mut Recorded, spec: &LoadSpec) -> Vec<Sample> {
    let mut samples = Vec::new();
    run_simulated(device, spec, &NEVER_STOPPED, &mut |_, sample| {
        samples.push(sample);
        ControlFlow::Continue(())
    })
    .unwrap();
    samples
}

fn latency_sum_ns(samples: &[Sample]) -> u128 {
    samples.iter().map(|sample| sample.read.latency.sum_ns() + sample.write.latency.sum_ns()).sum()
}

/// Proves Little's law to the nanosecond: outstanding I/Os × time = all counted latencies, all times of submission,
/// and what the I/Os that the end cut off had lived until then.
#[test]
fn littles_law_is_exact() {
    for submission_ns in [0, 13_577] {
        let spec = spec();
        let mut device = Recorded::new(30_000.0, submission_ns);
        let samples = samples_of(&mut device, &spec);
        let end_ns = spec.ramp_ns + spec.runtime_ns;
        let counted = device.completed.iter().filter(|&&(at_ns, _, _)| at_ns < end_ns).count() as u128;
        let mut cut_off = 0u128;
        let mut last_submitted = vec![0; 32];
        for &(at_ns, tag, _) in &device.submitted {
            last_submitted[tag as usize] = at_ns;
        }
        for at_ns in last_submitted {
            cut_off += u128::from(end_ns - at_ns);
        }
        let lived = latency_sum_ns(&samples) + counted * u128::from(submission_ns) + cut_off;
        assert_eq!(lived, u128::from(spec.outstanding()) * u128::from(end_ns));
        let ios: u64 = samples.iter().map(|sample| sample.read.ios + sample.write.ios).sum();
        assert_eq!(u128::from(ios), counted);
    }
}

/// Proves that every submitted operation completes once, that no tag is in flight twice, and that the number
/// outstanding never exceeds jobs × depth.
#[test]
fn every_operation_completes_once() {
    let mut device = Recorded::new(30_000.0, 500);
    samples_of(&mut device, &spec());
    assert_eq!(device.submitted.len(), device.completed.len());
    assert!(device.coming.is_empty());
    let mut completions_of = vec![Vec::new(); 32];
    device.completed.iter().for_each(|&(at_ns, tag, _)| completions_of[tag as usize].push(at_ns));
    let mut seen = vec![0; 32];
    for &(at_ns, tag, operation) in &device.submitted {
        let turn = seen[tag as usize];
        assert!(turn == 0 || completions_of[tag as usize][turn - 1] <= at_ns, "tag {tag} is in flight twice");
        assert_eq!(operation.job, tag / 8);
        seen[tag as usize] += 1;
    }
}

/// Proves that the ramp is flagged and left out of nothing else: the counted intervals hold exactly the
/// completions between ramp and end, and intervals cover the run without gap or overlap.
#[test]
fn ramp_is_flagged_and_intervals_cover_the_run() {
    let spec = LoadSpec { ramp_ns: 123_456_789, ..spec() };
    let mut device = Recorded::new(30_000.0, 0);
    let samples = samples_of(&mut device, &spec);
    let mut at_ns = 0;
    for sample in &samples {
        assert_eq!(sample.start_ns, at_ns);
        assert_eq!(sample.is_ramp, sample.end_ns <= spec.ramp_ns);
        at_ns = sample.end_ns;
        let inside = |&&(at_ns, _, _): &&(u64, u32, u64)| (sample.start_ns..sample.end_ns).contains(&at_ns);
        let expected = device.completed.iter().filter(inside).count() as u64;
        assert_eq!(sample.read.ios + sample.write.ios, expected);
        assert_eq!(sample.read.bytes, sample.read.ios * 4096);
    }
    assert_eq!(at_ns, spec.ramp_ns + spec.runtime_ns);
    assert!(samples.iter().any(|sample| sample.is_ramp));
}

/// Proves that a second load on the same device starts where the first one ended, counted from its own start.
#[test]
fn loads_follow_one_another() {
    let mut device = Recorded::new(30_000.0, 0);
    let first = samples_of(&mut device, &spec());
    let between_ns = device.now_ns;
    assert!(between_ns >= 1_000_000_000);
    let second = samples_of(&mut device, &spec());
    assert_eq!(second[0].start_ns, 0);
    assert_eq!(second.len(), first.len());
    assert!(device.submitted.iter().any(|&(at_ns, _, _)| at_ns == between_ns));
}

/// Proves that a rate limit is exact: I/O number k is issued at k ÷ rate where the device keeps up, and the rate is
/// not exceeded where the device first stalls and then catches up.
#[test]
fn rate_limit_is_exact() {
    let spec = LoadSpec { rate_iops: Some(10_000.0), ..spec() };
    let mut device = Recorded::new(1000.0, 0);
    samples_of(&mut device, &spec);
    assert_eq!(device.submitted.len(), 10_000);
    for (index, &(at_ns, _, operation)) in device.submitted.iter().enumerate() {
        assert_eq!(at_ns, index as u64 * 100_000);
        assert_eq!(operation.job, index as u32 % 4);
    }
    let mut stalled = Recorded::new(1000.0, 0);
    stalled.free_at_ns = 200_000_000;
    let samples = samples_of(&mut stalled, &spec);
    let total: u64 = samples.iter().map(|sample| sample.read.ios + sample.write.ios).sum();
    assert!((9_990..=10_000).contains(&total), "{total}");
    assert!(
        stalled
            .submitted
            .iter()
            .enumerate()
            .all(|(index, &(at_ns, _, _))| at_ns >= (index as u64 - index as u64 % 4) * 100_000)
    );
}

/// Proves that the same seed gives the same samples and another seed others.
#[test]
fn seeds_decide() {
    let first = samples_of(&mut Recorded::new(30_000.0, 0), &spec());
    assert_eq!(first, samples_of(&mut Recorded::new(30_000.0, 0), &spec()));
    assert_ne!(first, samples_of(&mut Recorded::new(30_000.0, 0), &LoadSpec { seed: 12, ..spec() }));
}

/// Proves that failed operations are counted as errors and not as I/Os, and that the job goes on.
#[test]
fn failures_are_counted_apart() {
    let mut device = Recorded::new(30_000.0, 0);
    device.fails_each = 10;
    let samples = samples_of(&mut device, &spec());
    let ios: u64 = samples.iter().map(|sample| sample.read.ios + sample.write.ios).sum();
    let errors: u64 = samples.iter().map(|sample| sample.read.errors + sample.write.errors).sum();
    assert_eq!(errors, (ios + errors) / 10);
    assert!(errors > 1000);
}

/// Proves that a run can be broken off at a sample, and leaves the device idle.
#[test]
fn a_run_can_be_broken_off() {
    let mut device = Recorded::new(30_000.0, 0);
    let mut seen = 0;
    run_simulated(&mut device, &spec(), &NEVER_STOPPED, &mut |_, _| {
        seen += 1;
        if seen == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    assert_eq!(seen, 3);
    assert!(device.coming.is_empty());
    assert!(device.now_ns < 400_000_000);
}
