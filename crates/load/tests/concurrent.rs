//! Contract of `run_concurrent`, on a device of constant latency.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use load::{
    Completion, Device, LoadControl, LoadSpec, NEVER_STOPPED, Operation, Pattern, Sample, SharedLoad,
    first_jobs, run_concurrent, run_simulated,
};

const LATENCY_NS: u64 = 100_000;
const CAPACITY_BYTES: u64 = 1 << 30;

/// Answers after `LATENCY_NS`, and keeps a record of what it saw.
#[derive(Default)]
struct Steady {
    now_ns: u64,
    coming: VecDeque<(u64, u32)>,
    submitted: Vec<(u64, u32, Operation)>,
}

impl Device for Steady {
    fn capacity_bytes(&self) -> u64 {
        CAPACITY_BYTES
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn submit(&mut self, at_ns: u64, tag: u32, operation: Operation) {
        assert!(at_ns >= self.now_ns, "time went back");
        assert!(self.coming.iter().all(|&(_, other)| other != tag), "tag {tag} is in flight twice");
        self.now_ns = at_ns;
        self.submitted.push((at_ns, tag, operation));
        self.coming.push_back((at_ns + LATENCY_NS, tag));
    }

    fn next_completion(&mut self, until_ns: u64) -> Option<Completion> {
        match self.coming.front() {
            Some(&(at_ns, tag)) if at_ns <= until_ns => {
                self.coming.pop_front();
                self.now_ns = at_ns;
                Some(Completion { tag, issued_at_ns: at_ns - LATENCY_NS, at_ns, outcome: Ok(()) })
            }
            _ => {
                self.now_ns = until_ns;
                None
            }
        }
    }
}

fn spec(pattern: Pattern, numjobs: u32, iodepth: u32, seed: u64) -> LoadSpec {
    LoadSpec {
        pattern,
        rwmixread: pattern.fixed_read_share().unwrap_or(70),
        bs_bytes: 4096,
        numjobs,
        iodepth,
        offset_bytes: 0,
        size_bytes: None,
        rate_iops: None,
        ramp_ns: 20_000_000,
        runtime_ns: 200_000_000,
        interval_ns: 70_000_000,
        seed,
        shape: load::LoadShape::default(),
    }
}

fn alone(spec: &LoadSpec) -> (Steady, Vec<Sample>) {
    let mut device = Steady::default();
    let mut samples = Vec::new();
    run_simulated(&mut device, spec, &NEVER_STOPPED, &mut |_, sample| {
        samples.push(sample);
        ControlFlow::Continue(())
    })
    .unwrap();
    (device, samples)
}

fn run_loads(
    loads: &[SharedLoad<'_>],
    control: &mut dyn FnMut(usize, &Sample) -> LoadControl,
) -> (Steady, Vec<Vec<Sample>>) {
    let mut device = Steady::default();
    let mut samples = vec![Vec::new(); loads.len()];
    run_concurrent(&mut device, loads, &NEVER_STOPPED, &mut |device: &mut Steady, load, sample| {
        assert_eq!(device.now_ns + 1, sample.end_ns, "the clock stands where the interval ends");
        let control = control(load, &sample);
        samples[load].push(sample);
        control
    })
    .unwrap();
    assert!(device.coming.is_empty(), "the device is idle afterwards");
    (device, samples)
}

fn shared(spec: &LoadSpec, start_ns: u64) -> SharedLoad<'_> {
    SharedLoad { spec, start_ns, capacity_bytes: CAPACITY_BYTES }
}

/// Proves that a load without company is counted as `run_simulated` counts it, limited in rate or not.
#[test]
fn one_load_is_as_alone() {
    for rate_iops in [None, Some(3000.0)] {
        let spec = LoadSpec { rate_iops, ..spec(Pattern::Randrw, 3, 4, 5) };
        let (_, run_loads) = run_loads(&[shared(&spec, 0)], &mut |_, _| LoadControl::Continue);
        assert_eq!(run_loads[0], alone(&spec).1);
    }
}

/// Proves that loads at once have jobs and tags of their own, that each issues what it issues alone, that a later one
/// begins at its moment, and that its samples say when on the clock of all.
#[test]
fn loads_do_not_mix() {
    let first = spec(Pattern::Randrw, 3, 4, 5);
    let second =
        LoadSpec { bs_bytes: 65_536, ramp_ns: 0, runtime_ns: 90_000_000, ..spec(Pattern::Write, 2, 8, 6) };
    let start_ns = 130_000_000;
    let (device, samples) =
        run_loads(&[shared(&first, 0), shared(&second, start_ns)], &mut |_, _| LoadControl::Continue);

    assert_eq!(first_jobs([&first, &second].into_iter()), [0, 3]);
    assert_eq!(samples[0], alone(&first).1, "a device without contention shows no company");
    let alone_later: Vec<Sample> = alone(&second)
        .1
        .into_iter()
        .map(|sample| Sample {
            start_ns: sample.start_ns + start_ns,
            end_ns: sample.end_ns + start_ns,
            ..sample
        })
        .collect();
    assert_eq!(samples[1], alone_later);

    let of = |device: &Steady, jobs: std::ops::Range<u32>| -> Vec<Vec<(u64, u64)>> {
        jobs.map(|job| {
            let own = device.submitted.iter().filter(|&&(_, _, operation)| operation.job == job);
            own.map(|&(at_ns, _, operation)| (at_ns, operation.offset_bytes)).collect()
        })
        .collect()
    };
    let late = |jobs: Vec<Vec<(u64, u64)>>| -> Vec<Vec<(u64, u64)>> {
        jobs.into_iter()
            .map(|ios| ios.into_iter().map(|(at_ns, offset)| (at_ns + start_ns, offset)).collect())
            .collect()
    };
    assert_eq!(of(&device, 0..3), of(&alone(&first).0, 0..3));
    assert_eq!(of(&device, 3..5), late(of(&alone(&second).0, 0..2)));
    let is_own_tag = |&(_, tag, operation): &(u64, u32, Operation)| (tag >= 12) == (operation.job >= 3);
    assert!(device.submitted.iter().all(is_own_tag));
}

/// Proves that one load can end while the others go on, and that all can end at once.
#[test]
fn loads_end_alone_or_together() {
    let spec = spec(Pattern::Randread, 1, 4, 5);
    let loads = [shared(&spec, 0), shared(&spec, 0)];
    let (_, samples) = run_loads(&loads, &mut |load, sample| match (load, sample.start_ns) {
        (1, 20_000_000) => LoadControl::EndLoad,
        _ => LoadControl::Continue,
    });
    assert_eq!((samples[0].len(), samples[1].len()), (4, 2));
    let (device, samples) = run_loads(&loads, &mut |_, sample| match sample.is_ramp {
        true => LoadControl::Continue,
        false => LoadControl::EndAll,
    });
    assert_eq!((samples[0].len(), samples[1].len()), (2, 1));
    assert!(device.submitted.iter().all(|&(at_ns, _, _)| at_ns < 90_000_000));
}

/// Proves that loads which together keep too many I/Os outstanding are refused, and so is one that does not fit its
/// volume, before anything is issued.
#[test]
fn impossible_loads_are_refused() {
    let deep = spec(Pattern::Randread, 1024, 1024, 5);
    let small = spec(Pattern::Randread, 1, 1, 5);
    let too_small = SharedLoad { capacity_bytes: 1024, ..shared(&small, 0) };
    for loads in [[shared(&deep, 0), shared(&small, 0)], [shared(&small, 0), too_small]] {
        let mut device = Steady::default();
        let ran = run_concurrent(&mut device, &loads, &NEVER_STOPPED, &mut |_, _, _| LoadControl::Continue);
        assert!(ran.is_err());
        assert!(device.submitted.is_empty());
    }
}
