//! One load, four ways to issue it: every shape on the null target, on a file through our own engine, on a twin, and through
//! fio where fio has the shape, held to what the load itself says.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use load::{
    Arrival, Band, Direction, DirectionSample, Distribution, LoadShape, LoadSpec, Pattern, RateCurve,
    Schedule, SizeShare,
};
use ring::{OpenTarget, RingCase, RingOptions, RingTargets};
use target::{Guard, Roots, TargetSpec, WritePermit, inspect};

const RANGE_BYTES: u64 = 64 << 20;
const RUNTIME_NS: u64 = 1_000_000_000;

/// What a way of issuing did: I/Os and bytes of reads, writes and trims.
#[derive(Debug, Clone, Copy, Default)]
struct Did([(u64, u64); 3]);

impl Did {
    fn of(samples: [&DirectionSample; 3]) -> Did {
        Did(samples.map(|sample| (sample.ios, sample.bytes)))
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
                ..shape(LoadShape { offset_increment_bytes: Some(8 << 20), ..plain })
            },
            false,
        ),
    ]
}

/// What the load itself says: I/Os that arrive in its time, or as many as serve for the statistics.
fn expected(load: &LoadSpec, has_rate: bool) -> Did {
    let mut schedule = Schedule::new(load, RANGE_BYTES).unwrap();
    let mut did = Did::default();
    for job in 0..load.numjobs {
        for _ in 0..20_000 {
            let planned = schedule.next(job);
            if has_rate && planned.not_before_ns >= load.runtime_ns {
                break;
            }
            let (ios, bytes) = &mut did.0[planned.operation.direction as usize];
            *ios += 1;
            *bytes += u64::from(planned.operation.length_bytes);
        }
    }
    did
}

fn by_ring(targets: RingTargets, load: &LoadSpec) -> Did {
    let options = RingOptions::default();
    let case = RingCase { targets, load, options: &options, io_size_bytes: None, journal: None };
    let outcome = ring::run(&case, &mut |_| {}, &mut |_| {}, &AtomicBool::new(false)).unwrap();
    assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
    Did::of([&outcome.read, &outcome.write, &outcome.trim])
}

fn by_twin(load: &LoadSpec) -> Did {
    let array = plan::load_array("small-flash").unwrap();
    let settings = serde_json::from_str("{\"exact\":\"on\"}").unwrap();
    let mut twin = twin::Twin::build(&array.description, &settings, load.seed).unwrap();
    let mut totals = [DirectionSample::default(), DirectionSample::default(), DirectionSample::default()];
    twin.run(load, &mut |_, sample| {
        for (total, part) in totals.iter_mut().zip([&sample.read, &sample.write, &sample.trim]) {
            total.merge(part);
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    Did::of([&totals[0], &totals[1], &totals[2]])
}

fn by_fio(load: &LoadSpec, file: &Path, directory: &Path) -> Did {
    let engine = fio::Engine::find().expect("fio is needed (scripts/install-test-clients.sh installs it)");
    let case = fio::FioCase {
        target: &fio::Target::Path(file.to_owned()),
        load,
        io_size_bytes: None,
        options: &[],
        directory,
    };
    let outcome = engine.run(&case, &mut |_| {}, &AtomicBool::new(false)).unwrap();
    Did([&outcome.read, &outcome.write, &outcome.trim].map(|part| (part.ios, part.bytes)))
}

fn permit(directory: &Path) -> WritePermit {
    let text = format!("file:{},size={RANGE_BYTES}", directory.join("target").display());
    let TargetSpec::Storage(spec) = TargetSpec::parse(&text).unwrap() else { panic!("{text}") };
    Guard::default().permit_write(&inspect(&Roots::system(), &spec).unwrap(), &[]).unwrap()
}

/// A busy host may stop this program for some ms at the end of a load; it does not do so every time.
fn undisturbed(expected: Did, has_rate: bool, mut measure: impl FnMut() -> Did) -> Did {
    let mut did = measure();
    for _ in 0..4 {
        if !has_rate || (did.ios() / expected.ios() - 1.0).abs() <= 0.01 {
            break;
        }
        did = measure();
    }
    did
}

fn agrees(name: &str, way: &str, did: Did, expected: Did, has_rate: bool) {
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
    assert_eq!(by_fio_too, 9, "shapes that fio has");
}
