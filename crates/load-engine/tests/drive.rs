//! Loads on real files, loop devices and null targets.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use load::{
    Arrival, Content, Direction, DirectionRates, Distribution, LoadShape, LoadSpec, Pattern, Sample,
    SizeShare, Wrong,
};
use load_engine::{
    Ended, Engine, ErrorPolicy, Interface, OpenTarget, RingCase, RingError, RingOptions, RingOutcome,
    RingTargets, TrimKind, run, verify,
};
use storage_target::{Guard, Roots, StorageSpec, TargetSpec, WritePermit, inspect};
use test_support::{Nbdkit, Statistic, wait_until};

const MIB: u64 = 1 << 20;
const MS: u64 = 1_000_000;

/// A directory in memory, so that no disk decides how long a test takes.
fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

fn permit(directory: &Path, name: &str, size_bytes: u64) -> WritePermit {
    let text = format!("file:{},size={size_bytes}", directory.join(name).display());
    let TargetSpec::Storage(spec) = TargetSpec::parse(&text).unwrap() else { panic!("{text}") };
    let looked_at = inspect(&Roots::default(), &spec).unwrap();
    Guard::default().permit_write(&looked_at, &[]).unwrap()
}

fn spec(pattern: Pattern, runtime_ms: u64) -> LoadSpec {
    LoadSpec {
        pattern,
        rwmixread: 70,
        bs_bytes: 4096,
        numjobs: 2,
        iodepth: 8,
        offset_bytes: 0,
        size_bytes: None,
        rate_iops: None,
        ramp_ns: 0,
        runtime_ns: runtime_ms * MS,
        interval_ns: 50 * MS,
        seed: 7,
        shape: LoadShape::default(),
    }
}

fn drive(
    targets: RingTargets,
    load: &LoadSpec,
    options: &RingOptions,
) -> Result<(RingOutcome, Vec<Sample>), RingError> {
    drive_until(targets, load, options, &AtomicBool::new(false))
}

fn drive_until(
    targets: RingTargets,
    load: &LoadSpec,
    options: &RingOptions,
    stop: &AtomicBool,
) -> Result<(RingOutcome, Vec<Sample>), RingError> {
    let mut samples = Vec::new();
    let case = RingCase { targets, load, options, io_size_bytes: None, journal: None };
    let outcome = run(&case, &mut |sample| samples.push(sample), &mut |_| {}, stop)?;
    Ok((outcome, samples))
}

/// Limit on waiting for a condition: far beyond what any takes on a busy machine, so that it ends only what hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// State of a load that is disturbed.
#[derive(Default)]
struct UnderLoad {
    /// Reads that its samples have counted so far.
    answered: AtomicU64,
    /// Set by whoever stops it.
    stop: AtomicBool,
    /// True once it has ended.
    is_over: AtomicBool,
}

/// Drives random reads for a minute, and disturbs them once more than ten were answered.
fn drive_disturbed<T: Send>(
    target: &[OpenTarget],
    options: &RingOptions,
    disturb: impl FnOnce(&UnderLoad) -> T + Send,
) -> (RingOutcome, Vec<Sample>, T) {
    let load = spec(Pattern::Randread, 60_000);
    let case = RingCase {
        targets: RingTargets::Open(target),
        load: &load,
        options,
        io_size_bytes: None,
        journal: None,
    };
    let state = UnderLoad::default();
    let mut samples = Vec::new();
    let mut keep = |sample: Sample| {
        state.answered.fetch_add(sample.read.ios, Ordering::Relaxed);
        samples.push(sample);
    };
    let (outcome, disturbed) = std::thread::scope(|scope| {
        let disturbance = scope.spawn(|| {
            wait_until(PATIENCE, "more than ten reads are answered", || {
                state.answered.load(Ordering::Relaxed) > 10
            });
            disturb(&state)
        });
        let outcome = run(&case, &mut keep, &mut |_| {}, &state.stop).unwrap();
        state.is_over.store(true, Ordering::Relaxed);
        (outcome, disturbance.join().unwrap())
    });
    (outcome, samples, disturbed)
}

const INTERFACES: [Interface; 2] = [Interface::IoUring, Interface::Threads];

fn with(interface: Interface) -> RingOptions {
    RingOptions { interface, ..RingOptions::default() }
}

/// Proves that intervals cover the run without gaps, that the ramp is flagged and not counted, and that the totals are
/// the exact sum of the samples, for mixed loads through io_uring and through threads, direct and buffered.
#[test]
fn totals_are_the_sum_of_samples() {
    let directory = directory();
    let permit = permit(directory.path(), "t", 8 * MIB);
    for interface in INTERFACES {
        for direct in [true, false] {
            let target = [OpenTarget::writing(&permit, direct).unwrap()];
            let load = LoadSpec { ramp_ns: 70 * MS, ..spec(Pattern::Randrw, 300) };
            let (outcome, samples) = drive(RingTargets::Open(&target), &load, &with(interface)).unwrap();
            assert_eq!(outcome.ended, Ended::Completed);
            assert_eq!(outcome.interface, interface);
            assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
            let ends: Vec<u64> = [0, 50, 70, 120, 170, 220, 270, 320, 370].map(|ms| ms * MS).to_vec();
            let found: Vec<(u64, u64, bool)> =
                samples.iter().map(|sample| (sample.start_ns, sample.end_ns, sample.is_ramp)).collect();
            let expected: Vec<(u64, u64, bool)> =
                ends.windows(2).map(|pair| (pair[0], pair[1], pair[1] <= 70 * MS)).collect();
            assert_eq!(found, expected);
            assert_eq!(outcome.runtime_ns, 300 * MS);
            for direction in [Direction::Read, Direction::Write] {
                let counted = samples.iter().filter(|sample| !sample.is_ramp);
                let mut sum = load::DirectionSample::default();
                counted.for_each(|sample| sum.merge(sample.direction(direction)));
                let total = if direction == Direction::Read { &outcome.read } else { &outcome.write };
                assert_eq!(total, &sum);
                assert!(total.ios > 100 && total.bytes == total.ios * 4096);
                assert_eq!(total.latency.count(), total.ios);
            }
            let share = outcome.read.ios as f64 / outcome.delivered_ios() as f64;
            let error = (0.21 / outcome.delivered_ios() as f64).sqrt();
            assert!((share - 0.7).abs() < 5.0 * error, "{share}");
            assert!(outcome.cpu_ns_per_io > 10.0);
        }
    }
}

/// Proves that every shape that a plan can ask for runs through the ring and keeps its mixes: sizes, trims, streams,
/// distributions, limits for each direction.
#[test]
fn every_shape_is_driven() {
    let directory = directory();
    let permit = permit(directory.path(), "t", 16 * MIB);
    let target = [OpenTarget::writing(&permit, true).unwrap()];
    let sizes =
        [(512, 20), (4096, 70), (65_536, 10)].map(|(bs_bytes, weight)| SizeShare { bs_bytes, weight });
    let plain = LoadShape::default();
    let shapes = [
        (Pattern::Randrw, LoadShape { sizes: sizes.to_vec(), trim_percent: 10, ..plain.clone() }),
        (Pattern::Rw, LoadShape { streams: 3, ..plain.clone() }),
        (Pattern::Randread, LoadShape { distribution: Distribution::Zipf { theta: 1.1 }, ..plain.clone() }),
        (
            Pattern::Randwrite,
            LoadShape { distribution: Distribution::NoRepeat, working_set_percent: 50, ..plain.clone() },
        ),
        (
            Pattern::Randwrite,
            LoadShape { content: Content { compress_percent: 50, dedupe_percent: 30 }, ..plain.clone() },
        ),
        (
            Pattern::Randrw,
            LoadShape {
                rates: DirectionRates { read_iops: Some(4000.0), write_iops: Some(1000.0), trim_iops: None },
                ..plain.clone()
            },
        ),
        (Pattern::Randrw, LoadShape { arrival: Some(Arrival::poisson(5000.0)), ..plain }),
    ];
    for (pattern, shape) in shapes {
        let load = LoadSpec { rwmixread: 80, shape: shape.clone(), ..spec(pattern, 250) };
        let (outcome, samples) = drive(RingTargets::Open(&target), &load, &RingOptions::default()).unwrap();
        assert_eq!(outcome.ended, Ended::Completed, "{shape:?}");
        assert!(outcome.errors.is_empty(), "{shape:?}: {:?}", outcome.errors);
        let total = outcome.delivered_ios() as f64;
        assert!(total > 200.0, "{shape:?}: {total}");
        assert_eq!(samples.len(), 5);
        if shape.trim_percent > 0 {
            assert!((outcome.trim.ios as f64 / total - 0.1).abs() < 5.0 * (0.09 / total).sqrt());
            let mean = (outcome.read.bytes + outcome.write.bytes) as f64
                / (outcome.read.ios + outcome.write.ios) as f64;
            // 0.2 × 512 + 0.7 × 4096 + 0.1 × 65536, whose standard deviation is 18.6 KB.
            assert!((mean - 9523.2).abs() < 5.0 * 18_700.0 / total.sqrt(), "{mean}");
        }
        if shape.rates.write_iops.is_some() {
            assert!(
                outcome.write.ios <= 260 && outcome.read.ios <= 1020,
                "{} {}",
                outcome.write.ios,
                outcome.read.ios
            );
        }
        if shape.content.dedupe_percent > 0 {
            let content = outcome.content.unwrap();
            let share = content.duplicates_meant as f64 / content.blocks as f64;
            assert!((share - 0.3).abs() < 5.0 * (0.21 / content.blocks as f64).sqrt(), "{share}");
        }
    }
}

/// Proves that where a device has no queues to poll, or the kernel no thread to give, the load is driven all the same with
/// a word about it, and that submissions that a thread of the kernel takes are all answered.
#[test]
fn polling_is_done_or_said() {
    let directory = directory();
    let permit = permit(directory.path(), "t", 8 * MIB);
    let target = [OpenTarget::writing(&permit, true).unwrap()];
    let load = spec(Pattern::Randrw, 200);
    let driven = |options: RingOptions| drive(RingTargets::Open(&target), &load, &options).unwrap().0;
    // A file in memory has no interrupts to save.
    let polled = driven(RingOptions { poll: true, ..RingOptions::default() });
    assert!(polled.warnings[0].contains("completions cannot be polled for"), "{:?}", polled.warnings);
    assert!(polled.warnings[0].contains("/t: "), "{:?}", polled.warnings);
    let taken = driven(RingOptions { sqpoll: true, ..RingOptions::default() });
    assert!(
        taken.warnings.iter().all(|warning| warning.contains("no thread of the kernel")),
        "{:?}",
        taken.warnings
    );
    let threads = driven(RingOptions { sqpoll: true, poll: true, ..with(Interface::Threads) });
    assert_eq!(threads.warnings.len(), 2, "{:?}", threads.warnings);
    for outcome in [polled, taken, threads] {
        assert_eq!((outcome.ended.clone(), outcome.errors.len()), (Ended::Completed, 0));
        assert!(outcome.read.ios > 100 && outcome.write.ios > 50 && outcome.stuck_ios == 0, "{outcome:?}");
    }
}

/// Proves that workers run on the processors that they are pinned to, through io_uring and through threads, and that a
/// processor that is not there is told.
#[test]
fn workers_are_pinned() {
    let directory = directory();
    let permit = permit(directory.path(), "t", 8 * MIB);
    let target = [OpenTarget::writing(&permit, true).unwrap()];
    for interface in INTERFACES {
        for cpu in [0, std::thread::available_parallelism().unwrap().get() - 1] {
            let options = RingOptions { cpus: vec![cpu], ..with(interface) };
            let load = spec(Pattern::Randread, 300);
            let (is_pinned, found) = std::thread::scope(|scope| {
                let running = scope.spawn(|| drive(RingTargets::Open(&target), &load, &options).unwrap().0);
                let mut found = Vec::new();
                let mut is_pinned = false;
                // A busy host starts and pins the threads late.
                while !is_pinned && !running.is_finished() {
                    std::thread::sleep(Duration::from_millis(5));
                    found = allowed_processors("ring-");
                    is_pinned = found.contains(&cpu.to_string());
                }
                assert!(running.join().unwrap().warnings.is_empty());
                (is_pinned, found)
            });
            assert!(is_pinned, "{cpu}: {found:?}");
        }
    }
    let options = RingOptions { cpus: vec![4000], ..RingOptions::default() };
    let null = RingTargets::Null { capacity_bytes: 1 << 30 };
    let (outcome, _) = drive(null, &spec(Pattern::Randread, 20), &options).unwrap();
    assert!(outcome.warnings[0].contains("processor 4000"), "{:?}", outcome.warnings);
}

/// Returns what the threads of this process whose names begin so may run on, as the kernel says.
fn allowed_processors(name: &str) -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    // Threads may end meanwhile.
    tasks
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("status")).ok())
        .filter(|status| status.lines().next().is_some_and(|line| line.contains(name)))
        .filter_map(|status| {
            let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
            Some(line.trim().to_owned())
        })
        .collect()
}

/// Proves that what lies on the target after a load is as compressible and has as many duplicates as was asked for, by a
/// compressor and by comparing every block, and that the outcome says the same of itself.
#[test]
fn content_arrives_as_asked() {
    let directory = directory();
    let blocks = 8 * MIB as usize / 4096;
    for (number, (compress_percent, dedupe_percent)) in
        [(0, 25), (30, 0), (50, 30), (80, 60), (100, 100)].into_iter().enumerate()
    {
        let name = format!("t{number}");
        let permit = permit(directory.path(), &name, 8 * MIB);
        let target = [OpenTarget::writing(&permit, true).unwrap()];
        let content = Content { compress_percent, dedupe_percent };
        let shape = LoadShape { content, distribution: Distribution::NoRepeat, ..LoadShape::default() };
        let load = LoadSpec { shape, ..spec(Pattern::Randwrite, 20_000) };
        let options = RingOptions::default();
        let (targets, io_size_bytes) = (RingTargets::Open(&target), Some(16 * MIB));
        let case = RingCase { targets, load: &load, options: &options, io_size_bytes, journal: None };
        let outcome = run(&case, &mut |_| {}, &mut |_| {}, &AtomicBool::new(false)).unwrap();
        assert_eq!(outcome.warnings, [""; 0], "{content:?}");
        let bytes = std::fs::read(directory.path().join(&name)).unwrap();
        let mut counts: BTreeMap<&[u8], u32> = BTreeMap::new();
        bytes.chunks(4096).for_each(|block| *counts.entry(block).or_insert(0) += 1);
        let repeated: u32 = counts.values().filter(|count| **count > 1).sum();
        let compressed: usize = bytes
            .chunks(4096)
            .step_by(16)
            .map(|block| miniz_oxide::deflate::compress_to_vec(block, 6).len())
            .sum();
        let lies = [
            100.0 * (1.0 - compressed as f64 * 16.0 / bytes.len() as f64),
            100.0 * f64::from(repeated) / blocks as f64,
        ];
        let tally = outcome.content.unwrap();
        let counted = [tally.compress_percent().unwrap(), tally.dedupe_percent().unwrap()];
        let requested = [f64::from(compress_percent), f64::from(dedupe_percent)];
        for share in 0..2 {
            assert!((lies[share] - requested[share]).abs() < 5.0, "{content:?}: {lies:?} lie there");
            assert!((counted[share] - requested[share]).abs() < 5.0, "{content:?}: {counted:?} said");
        }
    }
}

/// Proves that in open loop at half of what the target can do the delivered rate is the offered one within 0.5 %, and
/// the offered one follows the Poisson process; and that latency is counted beside service.
#[test]
fn open_loop_delivers_its_rate() {
    let directory = directory();
    let permit = permit(directory.path(), "t", 8 * MIB);
    let target = [OpenTarget::writing(&permit, true).unwrap()];
    let shape = LoadShape { arrival: Some(Arrival::poisson(4000.0)), ..LoadShape::default() };
    let load = LoadSpec { iodepth: 64, shape, ..spec(Pattern::Randread, 2000) };
    OPEN_LOOP.check(|_| {
        let (outcome, _) = drive(RingTargets::Open(&target), &load, &RingOptions::default()).unwrap();
        let offered = outcome.offered_ios.unwrap();
        assert!((offered as f64 - 8000.0).abs() < 5.0 * 8000f64.sqrt(), "{offered}");
        let service = outcome.read.service.as_ref().unwrap();
        assert_eq!(service.count(), outcome.read.ios);
        assert!(service.sum_ns() <= outcome.read.latency.sum_ns());
        let delivered = outcome.read.ios;
        let is_near = (delivered as f64 / offered as f64 - 1.0).abs() < 0.005;
        if is_near { Ok(()) } else { Err(format!("{delivered} of {offered} delivered")) }
    });
}

const OPEN_LOOP: Statistic = Statistic {
    rounds: 5,
    outside_at_most: 4,
    because: "a host that stops the workers for 10 ms as a round ends keeps that many I/Os from being delivered",
};

/// Proves that without enough places in the queue a rate that is too high shows as latency from the intended arrival and
/// as a warning, and does not become a lower rate in silence.
#[test]
fn an_impossible_rate_is_told() {
    let shape = LoadShape { arrival: Some(Arrival::regular(1e9)), ..LoadShape::default() };
    let load = LoadSpec { numjobs: 1, shape, ..spec(Pattern::Randread, 400) };
    let targets = RingTargets::Null { capacity_bytes: 1 << 30 };
    let (outcome, _) = drive(targets, &load, &RingOptions::default()).unwrap();
    assert_eq!(outcome.offered_ios, Some(400_000_000));
    assert!(
        outcome.warnings.iter().any(|warning| warning.contains("400000000 I/Os were asked for")),
        "{:?}",
        outcome.warnings
    );
    let service = outcome.read.service.as_ref().unwrap();
    assert!(outcome.read.latency.percentile_ns(500_000) > 10 * service.percentile_ns(500_000));
    assert!(outcome.read.latency.max_ns() > 50 * MS);
}

/// A loop device over a file, detached when dropped.
struct Loop(PathBuf);

impl Loop {
    fn new(file: &Path) -> Loop {
        let output = Command::new("losetup")
            .args(["-f", "--show", "--direct-io=on"])
            .arg(file)
            .output()
            .expect("losetup is installed");
        assert!(output.status.success(), "losetup needs root: {}", String::from_utf8_lossy(&output.stderr));
        Loop(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.0).status();
    }
}

/// A file whose server can be stopped, which no file system of the kernel offers.
struct Stalling {
    server: Nbdkit,
    client: Child,
    mount: PathBuf,
}

impl Stalling {
    /// A file of zeros behind nbdkit and nbdfuse, as `mount/file`.
    fn new(directory: &Path) -> Stalling {
        Stalling::of_size(directory, "16M")
    }

    fn of_size(directory: &Path, size: &str) -> Stalling {
        Stalling::with(directory, &["memory", size])
    }

    /// Of a plugin, with filters and their parameters.
    fn with(directory: &Path, arguments: &[&str]) -> Stalling {
        let mount = directory.join("file");
        File::create(&mount).unwrap();
        let server = Nbdkit::start(directory.join("socket"), arguments);
        let client = Command::new("nbdfuse")
            .arg(&mount)
            .arg(server.uri())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nbdfuse is installed");
        wait_until(PATIENCE, "nbdfuse shows its file", || {
            std::fs::metadata(&mount).is_ok_and(|found| found.len() > 0)
        });
        Stalling { server, client, mount }
    }
}

impl Drop for Stalling {
    fn drop(&mut self) {
        self.server.signal("-CONT");
        let _ = self.client.kill();
        let _ = self.client.wait();
        // Lazily: a thread that gave up waiting may still hold the file.
        let _ = Command::new("fusermount").args(["-u", "-z"]).arg(&self.mount).status();
    }
}

fn open_for_reading(path: &Path) -> OpenTarget {
    let TargetSpec::Storage(spec) = TargetSpec::parse(&path.display().to_string()).unwrap() else {
        panic!("{path:?}")
    };
    let looked_at = inspect(&Roots::default(), &spec).unwrap();
    OpenTarget::reading(&Guard::default().permit_read(&looked_at).unwrap(), false).unwrap()
}

/// Proves that a target stalled for one second shows it fully in p99.9 from the intended arrival, though only a few I/Os
/// were in flight meanwhile.
#[test]
fn a_stall_cannot_hide() {
    STALLS.check(|_| stall_is_shown());
}

const STALLS: Statistic = Statistic {
    rounds: 5,
    outside_at_most: 4,
    because: "where the host stalls too, I/Os beside the stall of the target are late as well",
};

/// Stalls a target; what was seen where that is not what a stall of one second looks like, as when the host stalls too.
fn stall_is_shown() -> Result<(), String> {
    let directory = tempfile::tempdir().unwrap();
    let stalling = Stalling::new(directory.path());
    let target = [open_for_reading(&stalling.mount)];
    let shape = LoadShape { arrival: Some(Arrival::regular(500.0)), ..LoadShape::default() };
    let load = LoadSpec { numjobs: 1, iodepth: 4, shape, ..spec(Pattern::Randread, 3000) };
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(700));
            stalling.server.signal("-STOP");
            std::thread::sleep(Duration::from_millis(1000));
            stalling.server.signal("-CONT");
        });
        drive(RingTargets::Open(&target), &load, &RingOptions::default()).unwrap().0
    });
    let latency = &outcome.read.latency;
    // A third of the arrivals fell into the stall, and waited half of it on average.
    let (longest_ns, half_ns) = (latency.percentile_ns(999_000), latency.percentile_ns(850_000));
    // Only the few in flight saw it, and every arrival was answered in the end.
    let (service_ns, ios) = (outcome.read.service.as_ref().unwrap().percentile_ns(950_000), outcome.read.ios);
    if longest_ns > 980 * MS
        && half_ns > 400 * MS
        && service_ns < 500 * MS
        && (ios as f64 - 1500.0).abs() < 10.0
    {
        return Ok(());
    }
    Err(format!("{ios} I/Os, p99.9 {longest_ns} ns, p85 {half_ns} ns, p95 of service {service_ns} ns"))
}

/// Proves that a stop ends the run within a second with the samples kept, also while the device does not answer, through
/// io_uring and through threads.
#[test]
fn a_stop_is_quick_even_while_the_device_hangs() {
    for interface in INTERFACES {
        let directory = tempfile::tempdir().unwrap();
        let stalling = Stalling::new(directory.path());
        let target = [open_for_reading(&stalling.mount)];
        let begun = Instant::now();
        let (outcome, samples, requested) = drive_disturbed(&target, &with(interface), |load| {
            stalling.server.signal("-STOP");
            // The target hangs for as long.
            std::thread::sleep(Duration::from_millis(300));
            load.stop.store(true, Ordering::Relaxed);
            Instant::now()
        });
        let took = requested.elapsed();
        assert!(took < Duration::from_secs(1), "{interface:?}: {took:?}");
        assert_eq!(outcome.ended, Ended::Interrupted);
        assert!(outcome.read.ios > 10 && outcome.unanswered_ios > 0, "{interface:?}: {outcome:?}");
        let last = samples.last().unwrap();
        // The load begins after `begun` and ends within half a second of the request.
        let requested_ns = (requested - begun).as_nanos() as u64;
        let end = 300 * MS..requested_ns + 500 * MS;
        assert!(end.contains(&last.end_ns), "{interface:?}: {}, requested at {requested_ns}", last.end_ns);
        assert_eq!(samples.iter().map(|sample| sample.read.ios).sum::<u64>(), outcome.read.ios);
    }
}

/// Proves that a target which answers nothing after the end of a load is told with how many I/Os hang for how long, that
/// they are waited for and that the outcome says whether they came back, through io_uring and through threads.
#[test]
fn a_hang_is_told_and_waited_for() {
    for interface in INTERFACES {
        for comes_back in [true, false] {
            let directory = tempfile::tempdir().unwrap();
            // Too large for the page cache to answer in its place.
            let stalling = Stalling::of_size(directory.path(), "8G");
            let target = [open_for_reading(&stalling.mount)];
            let (hang_after, hang_limit) = (Duration::from_millis(400), Duration::from_millis(3000));
            let options = RingOptions { hang_after, hang_limit, ..with(interface) };
            let load = spec(Pattern::Randread, 800);
            let begun = Instant::now();
            let outcome = std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(300));
                    stalling.server.signal("-STOP");
                    if comes_back {
                        std::thread::sleep(Duration::from_millis(1700));
                        stalling.server.signal("-CONT");
                    }
                });
                drive(RingTargets::Open(&target), &load, &options).unwrap().0
            });
            let case = format!("{interface:?}, comes back: {comes_back}");
            let hang = outcome.hang.unwrap_or_else(|| panic!("{case}: {outcome:?}"));
            assert_eq!(outcome.ended, Ended::Completed, "{case}");
            assert_eq!((hang.ios, hang.is_over), (outcome.unanswered_ios, comes_back), "{case}");
            assert_eq!(outcome.is_pending(), !comes_back, "{case}");
            // It hangs since 300 ms, and is first called so at 1200 ms.
            assert!(hang.longest_ns > 800 * MS, "{case}: {hang:?}");
            let message = outcome.not_answered().unwrap();
            assert!(message.contains(&format!("{} I/Os were not answered", hang.ios)), "{case}: {message}");
            let took = begun.elapsed();
            let waited = if comes_back { 1900..3700 } else { 3700..9000 };
            assert!(waited.contains(&took.as_millis()), "{case}: {took:?}");
        }
    }
}

/// Proves that a deep queue on a slow target is no hang: as long as answers come, the last is waited for, also beyond the
/// limits of a hang.
#[test]
fn a_slow_queue_is_no_hang() {
    let directory = tempfile::tempdir().unwrap();
    // One read after the other, half a second each.
    let slow = ["--threads", "1", "--filter=delay", "memory", "1G", "rdelay=500ms"];
    let stalling = Stalling::with(directory.path(), &slow);
    let target = [open_for_reading(&stalling.mount)];
    let (hang_after, hang_limit) = (Duration::from_millis(2200), Duration::from_millis(2500));
    let options = RingOptions { hang_after, hang_limit, ..RingOptions::default() };
    let load = LoadSpec { numjobs: 1, iodepth: 32, ..spec(Pattern::Randread, 600) };
    let begun = Instant::now();
    let outcome = drive(RingTargets::Open(&target), &load, &options).unwrap().0;
    assert!(begun.elapsed() > hang_limit + Duration::from_millis(600), "{:?}", begun.elapsed());
    assert!(outcome.unanswered_ios > 8 && outcome.stuck_ios == 0, "{outcome:?}");
    assert!(outcome.hang.is_none() && !outcome.is_pending(), "{:?}", outcome.hang);
}

/// Proves that a load of which no I/O was answered in time is told, also where all were answered a moment later, and so
/// is one of which every I/O failed.
#[test]
fn a_load_without_an_answer_is_told() {
    for interface in INTERFACES {
        let directory = tempfile::tempdir().unwrap();
        let stalling = Stalling::new(directory.path());
        let target = [open_for_reading(&stalling.mount)];
        stalling.server.signal("-STOP");
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(900));
                stalling.server.signal("-CONT");
            });
            drive(RingTargets::Open(&target), &spec(Pattern::Randread, 500), &with(interface)).unwrap().0
        });
        let message = outcome.not_answered().unwrap_or_else(|| panic!("{interface:?}: {outcome:?}"));
        assert!(outcome.delivered_ios() == 0 && outcome.unanswered_ios > 0, "{interface:?}: {outcome:?}");
        assert!(message.contains("no I/O was answered in time") && !outcome.is_pending(), "{message}");
    }
    let directory = directory();
    let permit = permit(directory.path(), "t", MIB);
    let target = [OpenTarget::writing(&permit, false).unwrap()];
    File::options().write(true).open(directory.path().join("t")).unwrap().set_len(0).unwrap();
    let options = RingOptions { on_error: ErrorPolicy::Continue, ..RingOptions::default() };
    let all_failed = drive(RingTargets::Open(&target), &spec(Pattern::Randread, 100), &options).unwrap().0;
    let message = all_failed.not_answered().unwrap_or_else(|| panic!("{all_failed:?}"));
    assert!(message.contains("no I/O"), "{message}");

    // A rate whose first I/O is due after the end is no hang.
    let idle = LoadSpec { ramp_ns: 100 * MS, rate_iops: Some(1.0), ..spec(Pattern::Randread, 100) };
    let null = RingTargets::Null { capacity_bytes: MIB };
    assert_eq!(drive(null, &idle, &RingOptions::default()).unwrap().0.not_answered(), None);
}

/// Proves that a device whose other end goes away under a load ends it at once as gone, through io_uring and through
/// threads, also where errors shall not end it, with what was counted kept and nothing left hanging.
#[test]
fn a_device_that_goes_away_ends_the_load() {
    for interface in INTERFACES {
        let directory = tempfile::tempdir().unwrap();
        let mut stalling = Stalling::new(directory.path());
        let target = [open_for_reading(&stalling.mount)];
        let options = RingOptions { on_error: ErrorPolicy::Continue, ..with(interface) };
        let begun = Instant::now();
        let client = &mut stalling.client;
        let (outcome, samples, ()) = drive_disturbed(&target, &options, |_| client.kill().unwrap());
        assert!(begun.elapsed() < Duration::from_secs(10), "{interface:?}: {:?}", begun.elapsed());
        assert!(matches!(outcome.ended, Ended::DeviceGone(_)), "{interface:?}: {:?}", outcome.ended);
        assert!(!outcome.errors.is_empty() && outcome.read.ios > 10, "{interface:?}: {outcome:?}");
        assert_eq!(outcome.stuck_ios, 0, "{interface:?}");
        assert_eq!(samples.iter().map(|sample| sample.read.ios).sum::<u64>(), outcome.read.ios);
    }
}

/// Proves that a stop is quick also where the file system itself no longer answers, so that even cached blocks wait for it
/// once the attributes of the file are out of date.
#[test]
fn a_stopped_file_system_does_not_hold_the_engine() {
    for interface in INTERFACES {
        let directory = tempfile::tempdir().unwrap();
        let stalling = Stalling::new(directory.path());
        let target = [open_for_reading(&stalling.mount)];
        let client = stalling.client.id().to_string();
        let signal = |signal: &str| Command::new("kill").args([signal, &client]).status().unwrap();
        let (outcome, _, took) = drive_disturbed(&target, &with(interface), |load| {
            signal("-STOP");
            // Attributes that the kernel keeps of a file are out of date after a second.
            std::thread::sleep(Duration::from_millis(1500));
            load.stop.store(true, Ordering::Relaxed);
            let requested = Instant::now();
            // A run that is held is let go, to fail and not to hang.
            while !load.is_over.load(Ordering::Relaxed) && requested.elapsed() < Duration::from_secs(10) {
                std::thread::sleep(Duration::from_millis(5));
            }
            signal("-CONT");
            requested.elapsed()
        });
        assert!(took < Duration::from_secs(2), "{interface:?}: {took:?}");
        assert_eq!(outcome.ended, Ended::Interrupted, "{interface:?}");
        assert!(outcome.read.ios > 10 && outcome.unanswered_ios > 0, "{interface:?}: {outcome:?}");
    }
}

/// Proves that a load whose target is cut short meanwhile counts the errors by kind, and stops or goes on as asked.
#[test]
fn errors_are_counted_by_kind() {
    let directory = directory();
    let permit = permit(directory.path(), "t", 8 * MIB);
    for interface in INTERFACES {
        for on_error in [ErrorPolicy::Stop, ErrorPolicy::Continue] {
            let path = directory.path().join("t");
            File::options().write(true).open(&path).unwrap().set_len(8 * MIB).unwrap();
            let target = [OpenTarget::writing(&permit, false).unwrap()];
            File::options().write(true).open(&path).unwrap().set_len(4 * MIB).unwrap();
            let options = RingOptions { on_error, ..with(interface) };
            let (outcome, _) =
                drive(RingTargets::Open(&target), &spec(Pattern::Randread, 150), &options).unwrap();
            let short =
                outcome.errors.iter().find(|error| error.kind == load_engine::ErrorKind::Short).unwrap();
            assert_eq!(short.direction, Direction::Read);
            match on_error {
                ErrorPolicy::Stop => assert_eq!(outcome.ended, Ended::Failed(load_engine::ErrorKind::Short)),
                ErrorPolicy::Continue => {
                    assert_eq!(outcome.ended, Ended::Completed);
                    assert!(short.count > 50 && outcome.read.ios > 50);
                    assert!(
                        outcome.read.errors.abs_diff(short.count) <= 16,
                        "{} {}",
                        outcome.read.errors,
                        short.count
                    );
                }
            }
        }
    }
}

/// Proves that a load that writes is refused on a target opened for reading, and that what does not fit a device's blocks
/// or a single ring is refused before anything is issued.
#[test]
fn what_does_not_fit_is_refused() {
    let directory = directory();
    let path = directory.path().join("t");
    std::fs::write(&path, vec![1; 4 * MIB as usize]).unwrap();
    let read_only = [open_for_reading(&path)];
    let refused = |load: &LoadSpec, options: &RingOptions| {
        drive(RingTargets::Open(&read_only), load, options).map(|_| ()).unwrap_err().to_string()
    };
    let options = RingOptions::default();
    assert!(refused(&spec(Pattern::Randrw, 10), &options).contains("for reading only"));
    let trims = LoadShape { trim_percent: 1, ..LoadShape::default() };
    assert!(
        refused(&LoadSpec { shape: trims, ..spec(Pattern::Randread, 10) }, &options)
            .contains("for reading only")
    );
    let deep = LoadSpec { numjobs: 1, iodepth: 40_000, ..spec(Pattern::Randread, 10) };
    assert!(
        refused(&deep, &RingOptions { interface: Interface::IoUring, ..options.clone() })
            .contains("one ring")
    );
    assert!(
        refused(&spec(Pattern::Randread, 10), &RingOptions { workers: Some(0), ..options.clone() })
            .contains("0 workers")
    );
    let beyond = LoadSpec { offset_bytes: 8 * MIB, ..spec(Pattern::Randread, 10) };
    assert!(refused(&beyond, &options).contains("size"));
    assert_eq!(std::fs::read(&path).unwrap(), vec![1; 4 * MIB as usize]);
}

/// Proves that a stripe over three files puts every chunk where it belongs, and that blocks written through it are
/// found right through it, and wrong once two files change places.
#[test]
fn a_stripe_is_exact() {
    let directory = directory();
    let permits: Vec<WritePermit> =
        ["a", "b", "c"].iter().map(|name| permit(directory.path(), name, 2 * MIB)).collect();
    let open = || -> Vec<OpenTarget> {
        permits.iter().map(|permit| OpenTarget::writing(permit, true).unwrap()).collect()
    };
    let targets = open();
    let shape = LoadShape { verify: true, distribution: Distribution::NoRepeat, ..LoadShape::default() };
    let load = LoadSpec { bs_bytes: 16_384, shape, ..spec(Pattern::Randwrite, 400) };
    let options =
        RingOptions { stripe_chunk_bytes: 8192, fsync_every: 50, fua: true, ..RingOptions::default() };
    let (outcome, _) = drive(RingTargets::Open(&targets), &load, &options).unwrap();
    assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
    assert!(outcome.syncs.count() > 2);
    let stop = AtomicBool::new(false);
    let report = verify(&targets, 8192, &outcome.written, &stop).unwrap();
    assert_eq!((report.checked, report.wrong), (6 * MIB / 16_384, 0), "{:?}", report.named);
    // The third chunk of the load is the first of the third file.
    let mut first = vec![0; 24];
    File::open(directory.path().join("b")).unwrap().read_exact_at(&mut first, 8192).unwrap();
    assert_eq!(u64::from_le_bytes(first[8..16].try_into().unwrap()), 4 * 8192);
    let swapped: Vec<OpenTarget> = {
        let mut targets = open();
        targets.swap(0, 1);
        targets
    };
    assert!(verify(&swapped, 8192, &outcome.written, &stop).unwrap().wrong > 200);
}

/// Proves that after a verified load every flipped bit and every swapped pair planted in the file is found and named, the
/// first first, and that an untouched file gives no alarm; one in ten of the counts, and half a second of load in place of
/// a minute, unless `ARRAYLAB_LONG` is set.
#[test]
fn verification_finds_what_was_planted() {
    let is_long = test_support::is_long();
    let (rounds, runtime_ms) = if is_long { (1000, 60_000) } else { (100, 500) };
    let directory = directory();
    let permit = permit(directory.path(), "t", 4 * MIB);
    let target = [OpenTarget::writing(&permit, true).unwrap()];
    let sizes = [(4096, 3), (16_384, 1)].map(|(bs_bytes, weight)| SizeShare { bs_bytes, weight });
    let shape = LoadShape { verify: true, sizes: sizes.to_vec(), ..LoadShape::default() };
    let load = LoadSpec { iodepth: 16, rwmixread: 30, shape, ..spec(Pattern::Randrw, runtime_ms) };
    let (outcome, _) = drive(RingTargets::Open(&target), &load, &RingOptions::default()).unwrap();
    let stop = AtomicBool::new(false);
    let check = || verify(&target, 0, &outcome.written, &stop).unwrap();
    let clean = check();
    assert_eq!((clean.checked, clean.wrong), (1024, 0), "{:?}", clean.named);
    let path = directory.path().join("t");
    let file = File::options().read(true).write(true).open(&path).unwrap();
    let mut random = load::Random::from_seed(5);
    for _ in 0..rounds {
        let bit = random.below(4 * MIB * 8);
        let mut byte = [0];
        file.read_exact_at(&mut byte, bit / 8).unwrap();
        file.write_all_at(&[byte[0] ^ (1 << (bit % 8))], bit / 8).unwrap();
        let report = check();
        assert_eq!(report.wrong, 1, "bit {bit}");
        assert_eq!(report.named[0].address_bytes, bit / 8 / 4096 * 4096);
        file.write_all_at(&byte, bit / 8).unwrap();
    }
    for _ in 0..rounds {
        let (first, second) = (random.below(1024), random.below(1024));
        if first == second {
            continue;
        }
        let (mut one, mut other) = (vec![0; 4096], vec![0; 4096]);
        file.read_exact_at(&mut one, first * 4096).unwrap();
        file.read_exact_at(&mut other, second * 4096).unwrap();
        file.write_all_at(&other, first * 4096).unwrap();
        file.write_all_at(&one, second * 4096).unwrap();
        let report = check();
        assert_eq!(report.wrong, 2, "{first} and {second}");
        assert_eq!(report.named[0].address_bytes, first.min(second) * 4096);
        assert_eq!(report.named[0].wrong, Wrong::Address { found: first.max(second) * 4096 });
        file.write_all_at(&one, first * 4096).unwrap();
        file.write_all_at(&other, second * 4096).unwrap();
    }
    assert_eq!(check(), clean);
}

const TRIALS: Statistic = Statistic {
    rounds: 5,
    outside_at_most: 4,
    because: "another program may take the processor in all trials of a round, which then count nothing",
};

/// Proves that a load of a second on a quick target tries every way of handing I/O over first, counts nothing of that, says
/// what it took, and takes what it is told; and that a short load tries nothing.
#[test]
fn handing_over_is_chosen_and_can_be_forced() {
    if !Engine::probe().io_uring {
        return;
    }
    let directory = directory();
    let permit = permit(directory.path(), "t", 8 * MIB);
    let target = [OpenTarget::writing(&permit, true).unwrap()];
    let targets = RingTargets::Open(&target);
    let ways = if Engine::probe().deferred_completion { 4 } else { 2 };
    TRIALS.check(|_| {
        let load = spec(Pattern::Randwrite, 1000);
        let (outcome, samples) = drive(targets, &load, &RingOptions::default()).unwrap();
        let choice = outcome.handover.clone().unwrap();
        assert_eq!(samples.first().unwrap().start_ns, 0);
        let counted: u64 = samples.iter().map(|sample| sample.write.ios).sum();
        assert_eq!((outcome.read.ios, outcome.write.ios), (0, counted));
        assert!(choice.trial_ios > 0);
        assert!(choice.trials.is_empty() || choice.trials.iter().any(|(way, _)| *way == choice.chosen));
        if choice.trials.len() == ways {
            Ok(())
        } else {
            Err(format!("{} ways were tried", choice.trials.len()))
        }
    });
    for force_async in [true, false] {
        let options = RingOptions {
            force_async: Some(force_async),
            deferred_completion: Some(false),
            ..RingOptions::default()
        };
        let (outcome, _) = drive(targets, &spec(Pattern::Randread, 1000), &options).unwrap();
        let choice = outcome.handover.unwrap();
        assert_eq!((choice.chosen.force_async, choice.chosen.deferred_completion), (force_async, false));
        assert_eq!((choice.trials, choice.trial_ios), (Vec::new(), 0));
        assert!(outcome.issued_ios >= outcome.read.ios + outcome.unanswered_ios && outcome.read.ios > 0);
    }
    let (outcome, _) = drive(targets, &spec(Pattern::Randread, 100), &RingOptions::default()).unwrap();
    assert_eq!(outcome.handover.unwrap().trials, []);
}

/// Proves that discards reach a block device as discards, through the ring and from threads, and zeroing as no discard: as the kernel
/// counts them; and that what was written reads as zeros.
#[test]
fn trims_reach_a_block_device() {
    let directory = directory();
    let path = directory.path().join("backing");
    std::fs::write(&path, vec![0xa5; 4 * MIB as usize]).unwrap();
    for (trim, interface) in [
        (TrimKind::Discard, Interface::IoUring),
        (TrimKind::Discard, Interface::Threads),
        (TrimKind::WriteZeroes, Interface::IoUring),
        (TrimKind::WriteZeroes, Interface::Threads),
    ] {
        if interface == Interface::IoUring && !Engine::probe().block_discard {
            continue;
        }
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .write_all_at(&vec![0xa5; 4 * MIB as usize], 0)
            .unwrap();
        let device = Loop::new(&path);
        let looked_at = inspect(&Roots::default(), &StorageSpec::Path(device.0.clone())).unwrap();
        let consents: Vec<String> = looked_at.consent_id.clone().into_iter().collect();
        let permit = Guard::default().permit_write(&looked_at, &consents).unwrap();
        let target = [OpenTarget::writing(&permit, true).unwrap()];
        assert_eq!((target[0].capacity_bytes(), target[0].alignment_bytes()), (4 * MIB, 512));
        let shape =
            LoadShape { trim_percent: 100, distribution: Distribution::NoRepeat, ..LoadShape::default() };
        let load = LoadSpec { bs_bytes: 65_536, numjobs: 1, shape, ..spec(Pattern::Randread, 30_000) };
        let options = RingOptions { trim, ..with(interface) };
        // Every block once, however long this host takes.
        let (targets, io_size_bytes) = (RingTargets::Open(&target), Some(4 * MIB));
        let case = RingCase { targets, load: &load, options: &options, io_size_bytes, journal: None };
        // A loop device counts on from its last file.
        let before = discards_of(&device.0);
        let outcome = run(&case, &mut |_| {}, &mut |_| {}, &AtomicBool::new(false)).unwrap();
        assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
        assert_eq!(outcome.trim.ios, 64);
        let discarded = if trim == TrimKind::Discard { 64 } else { 0 };
        assert_eq!(discards_of(&device.0) - before, discarded, "{trim:?} {interface:?}");
        drop((target, permit, device));
        assert!(std::fs::read(&path).unwrap().iter().all(|&byte| byte == 0), "{trim:?}");
    }
}

/// Discards that a block device has completed, with those that the kernel merged into them because they lay side by side
/// (Documentation/admin-guide/iostats.rst, fields 12 and 13).
fn discards_of(device: &Path) -> u64 {
    let name = device.file_name().unwrap().to_str().unwrap();
    let stat = std::fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
    stat.split_ascii_whitespace().skip(11).take(2).map(|count| count.parse::<u64>().unwrap()).sum()
}

/// Proves that what a worker count, an interface or a ring changes is not the load: with a fixed number of arrivals, the
/// addresses that reach the file are the same.
#[test]
fn workers_and_interfaces_do_not_change_the_load() {
    let directory = directory();
    let mut written: BTreeMap<Vec<u64>, u32> = BTreeMap::new();
    for (workers, interface) in [(1, Interface::IoUring), (4, Interface::IoUring), (2, Interface::Threads)] {
        let name = format!("t{workers}");
        let permit = permit(directory.path(), &name, 8 * MIB);
        let target = [OpenTarget::writing(&permit, true).unwrap()];
        let shape =
            LoadShape { arrival: Some(Arrival::regular(2000.0)), verify: true, ..LoadShape::default() };
        let load = LoadSpec { numjobs: 4, iodepth: 32, shape, ..spec(Pattern::Randwrite, 30_000) };
        let options = RingOptions { workers: Some(workers), ..with(interface) };
        // Ended by their bytes and not by the clock: what a busy host issues late is not left out.
        let (targets, io_size_bytes) = (RingTargets::Open(&target), Some(1000 * 4096));
        let case = RingCase { targets, load: &load, options: &options, io_size_bytes, journal: None };
        let outcome = run(&case, &mut |_| {}, &mut |_| {}, &AtomicBool::new(false)).unwrap();
        assert_eq!(outcome.write.ios, 1000);
        let bytes = std::fs::read(directory.path().join(&name)).unwrap();
        let touched: Vec<u64> = bytes
            .chunks(4096)
            .enumerate()
            .filter(|(_, block)| block[0] != 0)
            .map(|(index, _)| index as u64)
            .collect();
        *written.entry(touched).or_insert(0) += 1;
    }
    assert_eq!(written.len(), 1, "{:?}", written.keys().map(Vec::len).collect::<Vec<_>>());
}
