//! One load, four ways to issue it: every shape on the null target, on a file through our own engine, on a twin, and through
//! fio where fio has the shape, held to what the load itself says.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use load::{
    Arrival, Band, Direction, DirectionRates, DirectionSample, Distribution, LoadShape, LoadSpec,
    NEVER_STOPPED, Pattern, RateCurve, Schedule, SizeShare,
};
use load_engine::{OpenTarget, RingCase, RingOptions, RingTargets};
use storage_target::{Guard, Roots, TargetSpec, WritePermit, inspect};

const RANGE_BYTES: u64 = 64 << 20;
const RUNTIME_NS: u64 = 1_000_000_000;

/// Result of a way of issuing: I/Os and bytes of reads, writes and trims.
#[derive(Debug, Clone, Copy, Default)]
struct IssuedIos([(u64, u64); 3]);

impl IssuedIos {
    fn of(samples: [&DirectionSample; 3]) -> IssuedIos {
        IssuedIos(samples.map(|sample| (sample.ios, sample.bytes)))
    }

    fn ios(&self) -> f64 {
        self.0.iter().map(|(ios, _)| *ios as f64).sum()
    }

    fn share(&self, direction: Direction) -> f64 {
        self.0[direction as usize].0 as f64 / self.ios()
    }

    fn mean_bytes(&self) -> f64 {
        self.0.iter().map(|(_, bytes)| *bytes as f64).sum::<f64>() / self.ios()
    }
}

fn shape(shape: LoadShape) -> LoadSpec {
    LoadSpec {
        pattern: Pattern::Randrw,
        rwmixread: 70,
        bs_bytes: 4096,
        numjobs: 2,
        iodepth: 16,
        offset_bytes: 0,
        size_bytes: Some(RANGE_BYTES),
        rate_iops: None,
        ramp_ns: 0,
        runtime_ns: RUNTIME_NS,
        interval_ns: RUNTIME_NS / 4,
        seed: 11,
        shape,
    }
}

/// Every shape, by name, and whether its rate is the load's own.
fn shapes() -> Vec<(&'static str, LoadSpec, bool)> {
    let plain = LoadShape::default();
    let arrival = |arrival: Arrival| shape(LoadShape { arrival: Some(arrival), ..LoadShape::default() });
    let curve = |rate| arrival(Arrival { rate, ..Arrival::regular(1.0) });
    let spread = |distribution| shape(LoadShape { distribution, ..LoadShape::default() });
    let size = |bs_bytes, weight| SizeShare { bs_bytes, weight };
    let band = |access_percent, size_percent| Band { access_percent, size_percent };
    let second = 1_000_000_000;
    vec![
        ("closed", shape(plain.clone()), false),
        ("limited", LoadSpec { rate_iops: Some(2000.0), ..shape(plain.clone()) }, true),
        ("regular", arrival(Arrival::regular(2000.0)), true),
        ("poisson", arrival(Arrival::poisson(2000.0)), true),
        (
            "bursts",
            curve(RateCurve::Bursts {
                base_iops: 500.0,
                burst_iops: 5000.0,
                burst_ns: second / 10,
                period_ns: second / 4,
            }),
            true,
        ),
        ("ramp", curve(RateCurve::Ramp { from_iops: 100.0, to_iops: 4000.0, over_ns: second }), true),
        (
            "profile",
            curve(RateCurve::Profile { points: vec![(0, 1000.0), (second / 2, 3000.0)], period_ns: second }),
            true,
        ),
        ("sizes", shape(LoadShape { sizes: vec![size(4096, 60), size(16384, 40)], ..plain.clone() }), false),
        ("no repeat", spread(Distribution::NoRepeat), false),
        ("zipf", spread(Distribution::Zipf { theta: 1.1 }), false),
        ("pareto", spread(Distribution::Pareto { h: 0.2 }), false),
        ("bands", spread(Distribution::Bands(vec![band(80, 20), band(20, 80)])), false),
        ("working set", shape(LoadShape { working_set_percent: 25, ..plain.clone() }), false),
        (
            "streams",
            LoadSpec { pattern: Pattern::Rw, ..shape(LoadShape { streams: 4, ..plain.clone() }) },
            false,
        ),
        (
            "increment",
            LoadSpec {
                pattern: Pattern::Rw,
                ..shape(LoadShape { offset_increment_bytes: Some(8 << 20), ..plain.clone() })
            },
            false,
        ),
        ("trims", shape(LoadShape { trim_percent: 20, ..plain.clone() }), false),
        (
            "trims of sizes",
            shape(LoadShape {
                trim_percent: 50,
                sizes: vec![size(4096, 50), size(65536, 50)],
                ..plain.clone()
            }),
            false,
        ),
        (
            "direction limits",
            LoadSpec {
                iodepth: 64,
                ..shape(LoadShape {
                    rates: DirectionRates {
                        read_iops: Some(1400.0),
                        write_iops: Some(600.0),
                        trim_iops: None,
                    },
                    ..plain.clone()
                })
            },
            true,
        ),
        ("verified", shape(LoadShape { verify: true, ..plain }), false),
    ]
}

/// Returns the I/Os that follow from the load itself: those that arrive in its time, or as many as the statistics need.
fn expected(load: &LoadSpec, has_rate: bool) -> IssuedIos {
    let mut schedule = Schedule::new(load, RANGE_BYTES).unwrap();
    let mut did = IssuedIos::default();
    for job in 0..load.numjobs {
        for _ in 0..20_000 {
            let planned = schedule.next(job);
            // With limits of their own, directions do not reach the end at the same draw.
            if has_rate && planned.not_before_ns >= load.runtime_ns {
                continue;
            }
            let (ios, bytes) = &mut did.0[planned.operation.direction as usize];
            *ios += 1;
            *bytes += u64::from(planned.operation.length_bytes);
        }
    }
    did
}

fn by_ring(targets: RingTargets, load: &LoadSpec) -> IssuedIos {
    let options = RingOptions::default();
    let case = RingCase { targets, load, options: &options, io_size_bytes: None, journal: None };
    let outcome = load_engine::run(&case, &mut |_| {}, &mut |_| {}, &AtomicBool::new(false)).unwrap();
    assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
    IssuedIos::of([&outcome.read, &outcome.write, &outcome.trim])
}

fn by_twin(load: &LoadSpec) -> IssuedIos {
    let array = plan::load_array("small-flash").unwrap();
    let settings = serde_json::from_str("{\"exact\":\"on\"}").unwrap();
    let mut twin = twin::Twin::build(&array.description, &settings, load.seed).unwrap();
    let mut totals = [DirectionSample::default(), DirectionSample::default(), DirectionSample::default()];
    twin.run(load, &NEVER_STOPPED, &mut |_, sample| {
        for (total, part) in totals.iter_mut().zip([&sample.read, &sample.write, &sample.trim]) {
            total.merge(part);
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    IssuedIos::of([&totals[0], &totals[1], &totals[2]])
}

fn by_fio(load: &LoadSpec, file: &Path, directory: &Path) -> IssuedIos {
    let engine = fio::Engine::find().expect("fio is needed (scripts/install-test-clients.sh installs it)");
    let case = fio::FioCase {
        target: &fio::Target::Path(file.to_owned()),
        load,
        io_size_bytes: None,
        options: &[],
        directory,
    };
    let outcome = engine.run(&case, &mut |_| {}, &AtomicBool::new(false)).unwrap();
    IssuedIos([&outcome.read, &outcome.write, &outcome.trim].map(|part| (part.ios, part.bytes)))
}

fn permit(directory: &Path) -> WritePermit {
    let text = format!("file:{},size={RANGE_BYTES}", directory.join("target").display());
    let TargetSpec::Storage(spec) = TargetSpec::parse(&text).unwrap() else { panic!("{text}") };
    Guard::default().permit_write(&inspect(&Roots::system(), &spec).unwrap(), &[]).unwrap()
}

/// A busy host may stop this program for some ms at the end of a load; it does not do so every time.
fn undisturbed(expected: IssuedIos, has_rate: bool, mut measure: impl FnMut() -> IssuedIos) -> IssuedIos {
    let mut did = measure();
    for _ in 0..4 {
        if !has_rate || (did.ios() / expected.ios() - 1.0).abs() <= 0.01 {
            break;
        }
        did = measure();
    }
    did
}

fn agrees(name: &str, way: &str, did: IssuedIos, expected: IssuedIos, has_rate: bool) {
    let ios = did.ios();
    assert!(ios > 500.0, "{name} by {way}: {did:?}");
    for direction in [Direction::Read, Direction::Write, Direction::Trim] {
        let (found, wanted) = (did.share(direction), expected.share(direction));
        // Five standard errors of both shares.
        let error = (wanted * (1.0 - wanted) * (1.0 / ios + 1.0 / expected.ios())).sqrt();
        assert!((found - wanted).abs() <= 5.0 * error, "{name} by {way}: {direction:?} {found} for {wanted}");
    }
    let (found, wanted) = (did.mean_bytes(), expected.mean_bytes());
    assert!((found / wanted - 1.0).abs() < 0.05, "{name} by {way}: {found} bytes for {wanted}");
    if has_rate {
        let wanted = expected.ios();
        assert!((ios / wanted - 1.0).abs() <= 0.01, "{name} by {way}: {ios} I/Os for {wanted}");
    }
}

/// Proves that every shape keeps its mix, its sizes and its rate (within 1 %) on the null target, on a file through our own
/// engine, on a twin and, where it is no refusal, through fio.
#[test]
fn every_shape_means_the_same_everywhere() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let permit = permit(directory.path());
    let mut by_fio_too = 0;
    for (name, mut load, has_rate) in shapes() {
        if !has_rate {
            // Enough I/Os for the statistics.
            load.runtime_ns = RUNTIME_NS / 4;
        }
        let expected = expected(&load, has_rate);
        let null = RingTargets::Null { capacity_bytes: RANGE_BYTES };
        let did = undisturbed(expected, has_rate, || by_ring(null, &load));
        agrees(name, "the null target", did, expected, has_rate);
        let file = [OpenTarget::writing(&permit, true).unwrap()];
        let did = undisturbed(expected, has_rate, || by_ring(RingTargets::Open(&file), &load));
        agrees(name, "a file through ring", did, expected, has_rate);
        agrees(name, "a twin", by_twin(&load), expected, has_rate);
        if fio::check_shape(&load).is_ok() {
            by_fio_too += 1;
            let own = directory.path().join(format!("fio-{by_fio_too}"));
            std::fs::create_dir(&own).unwrap();
            // fio counts the start of its threads too, some 20 ms: a rate is compared over a longer time.
            let load =
                LoadSpec { runtime_ns: if has_rate { 4 * RUNTIME_NS } else { load.runtime_ns }, ..load };
            let expected = if has_rate { self::expected(&load, has_rate) } else { expected };
            let did =
                undisturbed(expected, has_rate, || by_fio(&load, &directory.path().join("target"), &own));
            agrees(name, "fio", did, expected, has_rate);
        }
    }
    assert_eq!(by_fio_too, 10, "shapes that fio has");
}

/// Number of blocks in the range.
const BLOCKS: usize = (RANGE_BYTES / 4096) as usize;
/// I/Os of a load whose addresses are looked at.
const ADDRESS_IOS: u64 = 8000;

/// Counts the different blocks touched by an address distribution, in each fifth of the range.
fn fifths(touched: impl Iterator<Item = usize>) -> [f64; 5] {
    let mut seen = vec![false; BLOCKS];
    touched.for_each(|block| seen[block] = true);
    std::array::from_fn(|fifth| {
        let part = &seen[fifth * BLOCKS / 5..(fifth + 1) * BLOCKS / 5];
        part.iter().filter(|seen| **seen).count() as f64
    })
}

fn addressed(load: &LoadSpec) -> impl Iterator<Item = usize> {
    let mut schedule = Schedule::new(load, RANGE_BYTES).unwrap();
    let of_each = ADDRESS_IOS / u64::from(load.numjobs);
    (0..load.numjobs)
        .flat_map(move |job| std::iter::repeat_n(job, of_each as usize))
        .map(move |job| (schedule.next(job).operation.offset_bytes / 4096) as usize)
}

/// Blocks of a file that are no hole: nobody but the load has written it.
fn written(file: &Path) -> impl Iterator<Item = usize> {
    let bytes = std::fs::read(file).unwrap();
    (0..bytes.len() / 4096).filter(move |block| bytes[block * 4096..][..4096].iter().any(|byte| *byte != 0))
}

/// Answers after a while, and notes addresses.
struct RecordingDevice {
    now_ns: u64,
    pending: std::collections::VecDeque<load::Completion>,
    left: u64,
    blocks: Vec<usize>,
}

impl load::Device for RecordingDevice {
    fn capacity_bytes(&self) -> u64 {
        RANGE_BYTES
    }
    fn now_ns(&self) -> u64 {
        self.now_ns
    }
    fn submit(&mut self, at_ns: u64, tag: u32, operation: load::Operation) {
        if self.left > 0 {
            self.left -= 1;
            self.blocks.push((operation.offset_bytes / 4096) as usize);
        }
        let at_ns = at_ns + 100_000;
        self.pending.push_back(load::Completion {
            tag,
            issued_at_ns: at_ns - 100_000,
            at_ns,
            outcome: Ok(()),
        });
    }
    fn next_completion(&mut self, until_ns: u64) -> Option<load::Completion> {
        let completion = self.pending.pop_front_if(|completion| completion.at_ns <= until_ns);
        self.now_ns = completion.map_or(until_ns, |completion| completion.at_ns);
        completion
    }
}

/// Proves that addresses are spread the same: through our own engine on a file they are those of the load to the block, and
/// in simulated time and through fio as many blocks are touched in each fifth of the range as other seeds of the same load
/// touch, within five standard deviations.
#[test]
fn addresses_are_spread_the_same() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let band = |access_percent, size_percent| Band { access_percent, size_percent };
    let spread = |distribution| LoadSpec {
        pattern: Pattern::Randwrite,
        rwmixread: 0,
        runtime_ns: 60 * RUNTIME_NS,
        ..shape(LoadShape { distribution, ..LoadShape::default() })
    };
    let quarter = LoadSpec {
        shape: LoadShape { working_set_percent: 25, ..LoadShape::default() },
        ..spread(Distribution::Uniform)
    };
    for (number, (name, load)) in [
        ("uniform", spread(Distribution::Uniform)),
        ("no repeat", spread(Distribution::NoRepeat)),
        ("zipf", spread(Distribution::Zipf { theta: 1.1 })),
        ("pareto", spread(Distribution::Pareto { h: 0.2 })),
        ("bands", spread(Distribution::Bands(vec![band(80, 20), band(20, 80)]))),
        ("working set", quarter),
    ]
    .into_iter()
    .enumerate()
    {
        let own = directory.path().join(number.to_string());
        std::fs::create_dir(&own).unwrap();
        let permit = permit(&own);
        let file = [OpenTarget::writing(&permit, true).unwrap()];
        let options = RingOptions::default();
        let io_size_bytes = Some(ADDRESS_IOS * 4096);
        let targets = RingTargets::Open(&file);
        let case = RingCase { targets, load: &load, options: &options, io_size_bytes, journal: None };
        let outcome = load_engine::run(&case, &mut |_| {}, &mut |_| {}, &AtomicBool::new(false)).unwrap();
        assert_eq!(outcome.write.ios, ADDRESS_IOS, "{name}");
        let mut own_blocks: Vec<usize> = addressed(&load).collect();
        own_blocks.sort_unstable();
        own_blocks.dedup();
        assert!(
            written(&own.join("target")).eq(own_blocks.iter().copied()),
            "{name}: other blocks through ring"
        );

        // What other seeds of the same load touch says how far chance goes.
        let others: Vec<[f64; 5]> =
            (0..30).map(|seed| fifths(addressed(&LoadSpec { seed: 1000 + seed, ..load.clone() }))).collect();
        let near = |way: &str, found: [f64; 5]| {
            for fifth in 0..5 {
                let mean = others.iter().map(|other| other[fifth]).sum::<f64>() / 30.0;
                let variance = others.iter().map(|other| (other[fifth] - mean).powi(2)).sum::<f64>() / 29.0;
                let allowed = 5.0 * variance.sqrt().max(1.0);
                assert!(
                    (found[fifth] - mean).abs() <= allowed,
                    "{name} by {way}: {} blocks of fifth {fifth}, {mean} ± {allowed}",
                    found[fifth]
                );
            }
        };
        let mut noting =
            RecordingDevice { now_ns: 0, pending: Default::default(), left: ADDRESS_IOS, blocks: Vec::new() };
        let short = LoadSpec { runtime_ns: RUNTIME_NS / 2, ..load.clone() };
        load::run_simulated(&mut noting, &short, &NEVER_STOPPED, &mut |_, _| ControlFlow::Continue(()))
            .unwrap();
        near("simulation", fifths(noting.blocks.into_iter()));
        if fio::check_shape(&load).is_ok() {
            let file = own.join("fio-target");
            std::fs::File::create(&file).unwrap().set_len(RANGE_BYTES).unwrap();
            let engine = fio::Engine::find().unwrap();
            let case = fio::FioCase {
                target: &fio::Target::Path(file.clone()),
                load: &load,
                io_size_bytes,
                options: &[],
                directory: &own,
            };
            let outcome = engine.run(&case, &mut |_| {}, &AtomicBool::new(false)).unwrap();
            assert_eq!(outcome.write.ios, ADDRESS_IOS, "{name}");
            near("fio", fifths(written(&file)));
        }
    }
}
