//! Engine benchmark against the installed fio, in alternating rounds.

mod scratch;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use load::{LoadShape, LoadSpec, Pattern};
use serde::Serialize;

use self::scratch::{Loop, Scratch};
use crate::{OpenTarget, RingCase, RingError, RingOptions, RingOutcome, RingTargets, run};

/// Length of the file that is read.
const FILE_BYTES: u64 = 512 << 20;
/// What a null target pretends to have.
const NULL_BYTES: u64 = 1 << 40;
const NULL_DEPTH: u32 = 32;
const DEVICE_DEPTH: u32 = 64;
/// Samples of the measured engine: it counts into histograms that change hands this often.
const INTERVAL_NS: u64 = 100_000_000;

/// How long to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchSettings {
    /// Rounds of each scenario; the median counts.
    pub rounds: u32,
    /// Length of each measurement.
    pub runtime_ns: u64,
    /// The fio to compare with; `None` measures the engine alone.
    pub fio: Option<PathBuf>,
    /// Only scenarios whose names begin so; empty is all.
    pub only: String,
    /// Where the file lies; a file system in memory, so that the device is not the limit.
    pub directory: PathBuf,
}

impl Default for BenchSettings {
    fn default() -> Self {
        BenchSettings {
            // Many short rounds: on a shared machine the rates of one engine differ twofold from one second to another.
            rounds: 9,
            runtime_ns: 1_000_000_000,
            fio: Some(PathBuf::from("fio")),
            only: String::new(),
            directory: PathBuf::from("/dev/shm"),
        }
    }
}

/// One scenario's figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchResult {
    /// Which.
    pub scenario: &'static str,
    /// What the numbers are: `ns_per_io` or `iops`.
    pub unit: &'static str,
    /// Median of our rounds.
    pub ours: Option<f64>,
    /// Median of fio's rounds.
    pub fio: Option<f64>,
    /// Median over the rounds of how many times better we are than fio in the same round.
    pub ratio: Option<f64>,
    /// Smallest and largest of the rounds' ratios.
    pub ratio_spread: Option<[f64; 2]>,
    /// Smallest and largest of our rounds.
    pub ours_spread: Option<[f64; 2]>,
    /// Smallest and largest of fio's rounds.
    pub fio_spread: Option<[f64; 2]>,
    /// Median processor time that an I/O of ours costs, which other programs disturb less than rates.
    pub ours_cpu_ns: Option<f64>,
    /// The same of fio.
    pub fio_cpu_ns: Option<f64>,
    /// Why a number is missing.
    pub note: Option<String>,
}

/// Batching of both engines where fio is tuned.
const TUNED_BATCH: u32 = 16;

struct Scenario {
    name: &'static str,
    batch_complete_min: u32,
    polling: Polling,
    is_cost: bool,
    depth: u32,
    fio_options: &'static [&'static str],
}

/// What is polled in place of interrupts and system calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Polling {
    Nothing,
    /// The kernel polls for submissions.
    Submissions,
    /// We poll for completions.
    Completions,
}

const FIO_NULL_DEFAULT: &[&str] = &["--ioengine=null"];
const FIO_NULL_BATCHED: &[&str] = &[
    "--ioengine=null",
    "--norandommap=1",
    "--gtod_reduce=1",
    "--iodepth_batch=32",
    "--iodepth_batch_complete=32",
];
const FIO_TUNED: &[&str] = &[
    "--ioengine=io_uring",
    "--direct=1",
    "--fixedbufs=1",
    "--registerfiles=1",
    "--norandommap=1",
    "--iodepth_batch_submit=16",
    "--iodepth_batch_complete_min=16",
    "--iodepth_batch_complete_max=64",
];
const FIO_DEFAULT: &[&str] = &["--ioengine=io_uring", "--direct=1"];
const FIO_SQPOLL: &[&str] = &["--ioengine=io_uring", "--direct=1", "--sqthread_poll=1"];
const FIO_IOPOLL: &[&str] = &["--ioengine=io_uring", "--direct=1", "--hipri=1"];

/// Measures every scenario; `on_result` gets each as it is known.
pub fn bench(settings: &BenchSettings, on_result: &mut dyn FnMut(&BenchResult)) -> Result<(), RingError> {
    let wanted = |scenario: &Scenario| scenario.name.starts_with(&settings.only);
    let null = |name, fio_options| Scenario {
        name,
        is_cost: true,
        depth: NULL_DEPTH,
        batch_complete_min: 1,
        polling: Polling::Nothing,
        fio_options,
    };
    let (nothing, ring) = (
        RingTargets::Null { capacity_bytes: NULL_BYTES },
        RingTargets::NullRing { capacity_bytes: NULL_BYTES },
    );
    for (scenario, targets) in [
        (null("null-qd32", FIO_NULL_DEFAULT), nothing),
        (null("null-qd32-fio-batched", FIO_NULL_BATCHED), nothing),
        (null("null-ring-qd32", &[]), ring),
    ] {
        if wanted(&scenario) {
            on_result(&measure(settings, &scenario, targets, Path::new("null"))?);
        }
    }
    let ways = |names: [&'static str; 4]| {
        let ways = [
            (1, Polling::Nothing, FIO_DEFAULT),
            (TUNED_BATCH, Polling::Nothing, FIO_TUNED),
            (1, Polling::Submissions, FIO_SQPOLL),
            (1, Polling::Completions, FIO_IOPOLL),
        ];
        let scenarios =
            names.into_iter().zip(ways).map(|(name, (batch_complete_min, polling, fio_options))| Scenario {
                name,
                is_cost: false,
                depth: DEVICE_DEPTH,
                batch_complete_min,
                polling,
                fio_options,
            });
        scenarios.filter(wanted).collect::<Vec<_>>()
    };
    let on_file = ways([
        "shm-randread-4k-qd64",
        "shm-randread-4k-qd64-fio-tuned",
        "shm-randread-4k-qd64-sqpoll",
        "shm-randread-4k-qd64-iopoll",
    ]);
    let on_loop = ways([
        "loop-randread-4k-qd64",
        "loop-randread-4k-qd64-fio-tuned",
        "loop-randread-4k-qd64-sqpoll",
        "loop-randread-4k-qd64-iopoll",
    ]);
    if on_file.is_empty() && on_loop.is_empty() {
        return Ok(());
    }
    let file = Scratch::create(&settings.directory)?;
    let mut measure_on = |path: &Path, scenarios: &[Scenario]| {
        let target = [OpenTarget::open(path, false, true)?];
        for scenario in scenarios {
            on_result(&measure(settings, scenario, RingTargets::Open(&target), path)?);
        }
        Ok(())
    };
    measure_on(&file.path, &on_file)?;
    if on_loop.is_empty() {
        return Ok(());
    }
    match Loop::attach(&file.path) {
        Ok(device) => measure_on(&device.path, &on_loop),
        Err(why) => {
            on_loop.iter().for_each(|scenario| on_result(&missing(scenario, why.clone())));
            Ok(())
        }
    }
}

fn missing(scenario: &Scenario, why: String) -> BenchResult {
    BenchResult {
        scenario: scenario.name,
        unit: "iops",
        ours: None,
        fio: None,
        ratio: None,
        ratio_spread: None,
        ours_spread: None,
        fio_spread: None,
        ours_cpu_ns: None,
        fio_cpu_ns: None,
        note: Some(why),
    }
}

fn measure(
    settings: &BenchSettings,
    scenario: &Scenario,
    targets: RingTargets,
    path: &Path,
) -> Result<BenchResult, RingError> {
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let (mut our_cpu_ns, mut their_cpu_ns) = (Vec::new(), Vec::new());
    let mut note = None;
    let their_round = || match &settings.fio {
        Some(fio) if !scenario.fio_options.is_empty() => Some(measure_fio(fio, settings, scenario, path)),
        _ => None,
    };
    for round in 0..settings.rounds.max(1) {
        // Either begins in turn, so that a host that slows down troubles both.
        let before = if round % 2 == 1 { their_round() } else { None };
        let outcome = measure_ours(settings, scenario, targets, u64::from(round))?;
        // A round without what the scenario is about would carry its name wrongly.
        if scenario.polling != Polling::Nothing && !outcome.warnings.is_empty() {
            return Ok(missing(scenario, outcome.warnings.join("; ")));
        }
        let our_iops = outcome.delivered_ios() as f64 / (outcome.runtime_ns as f64 / 1e9);
        our_cpu_ns.push(outcome.cpu_ns_per_io);
        let in_unit = |iops: f64| if scenario.is_cost { 1e9 / iops } else { iops };
        ours.push(in_unit(our_iops));
        match before.or_else(their_round) {
            Some(Ok((iops, cpu_ns))) => {
                their_cpu_ns.push(cpu_ns);
                theirs.push(in_unit(iops));
                ratios.push(our_iops / iops);
            }
            Some(Err(why)) => note = Some(why),
            None => {}
        }
    }
    Ok(BenchResult {
        scenario: scenario.name,
        unit: if scenario.is_cost { "ns_per_io" } else { "iops" },
        ours_spread: spread(&ours),
        fio_spread: spread(&theirs),
        ours: median(&mut ours),
        fio: median(&mut theirs),
        ratio_spread: spread(&ratios),
        ratio: median(&mut ratios),
        ours_cpu_ns: median(&mut our_cpu_ns),
        fio_cpu_ns: median(&mut their_cpu_ns),
        note,
    })
}

/// 4K random reads by one thread, with a histogram for each interval.
fn measure_ours(
    settings: &BenchSettings,
    scenario: &Scenario,
    targets: RingTargets,
    seed: u64,
) -> Result<RingOutcome, RingError> {
    let load = LoadSpec {
        pattern: Pattern::Randread,
        rwmixread: 100,
        bs_bytes: 4096,
        numjobs: 1,
        iodepth: scenario.depth,
        offset_bytes: 0,
        size_bytes: None,
        rate_iops: None,
        ramp_ns: settings.runtime_ns / 10,
        runtime_ns: settings.runtime_ns,
        interval_ns: INTERVAL_NS,
        seed,
        shape: LoadShape::default(),
    };
    let options = RingOptions {
        batch_complete_min: scenario.batch_complete_min,
        sqpoll: scenario.polling == Polling::Submissions,
        poll: scenario.polling == Polling::Completions,
        ..RingOptions::default()
    };
    let case = RingCase { targets, load: &load, options: &options, io_size_bytes: None, journal: None };
    run(&case, &mut |_| {}, &mut |_| {}, &AtomicBool::new(false))
}

fn measure_fio(
    fio: &Path,
    settings: &BenchSettings,
    scenario: &Scenario,
    path: &Path,
) -> Result<(f64, f64), String> {
    let mut command = Command::new(fio);
    command.args([
        "--name=bench",
        "--rw=randread",
        "--bs=4k",
        "--time_based=1",
        "--output-format=json",
        "--thread=1",
    ]);
    command.args(scenario.fio_options);
    command.arg(format!("--iodepth={}", scenario.depth));
    command.arg(format!("--runtime={}ms", settings.runtime_ns / 1_000_000));
    command.arg(format!("--ramp_time={}ms", settings.runtime_ns / 10_000_000));
    if path == Path::new("null") {
        command.arg(format!("--size={NULL_BYTES}"));
    } else {
        command.arg(format!("--filename={}", path.display())).arg(format!("--size={FILE_BYTES}"));
    }
    let output = command.output().map_err(|error| format!("fio did not start: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let answer =
        text.find('{').and_then(|start| serde_json::from_str::<serde_json::Value>(&text[start..]).ok());
    answer
        .and_then(|answer| {
            let job = &answer["jobs"][0];
            let iops = job["read"]["iops"].as_f64().filter(|&iops| iops > 0.0)?;
            // Shares of one processor, in percent.
            let busy = job["usr_cpu"].as_f64()? + job["sys_cpu"].as_f64()?;
            Some((iops, busy / 100.0 * 1e9 / iops))
        })
        .filter(|_| output.status.success())
        .ok_or_else(|| {
            let message = String::from_utf8_lossy(&output.stderr);
            format!("fio failed: {}", message.lines().next().unwrap_or("it said nothing"))
        })
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values {
        [] => None,
        _ if values.len() % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

fn spread(values: &[f64]) -> Option<[f64; 2]> {
    let smallest = values.iter().copied().min_by(f64::total_cmp)?;
    let largest = values.iter().copied().max_by(f64::total_cmp)?;
    Some([smallest, largest])
}
