//! Engine benchmark against the installed fio, in alternating rounds.

mod scratch;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use diagnostic::{Problem, text_with_causes};
use load::{LoadShape, LoadSpec, Pattern};
use serde::Serialize;

use self::scratch::{Loop, Scratch};
use crate::{HandoverChoice, OpenTarget, RingCase, RingError, RingOptions, RingOutcome, RingTargets, run};

/// Length of the file that is read.
const FILE_BYTES: u64 = 512 << 20;
/// Capacity that a null target pretends to have.
const NULL_BYTES: u64 = 1 << 40;
const NULL_DEPTH: u32 = 32;
const DEVICE_DEPTH: u32 = 64;
/// Samples of the measured engine: it counts into histograms that change hands this often.
const INTERVAL_NS: u64 = 100_000_000;

/// Settings of the benchmark.
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
    /// Directory of the file; in a file system in memory, so that the device is not the limit.
    pub directory: PathBuf,
    /// Settings of our engine, beside those of the scenario.
    pub options: RingOptions,
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
            options: RingOptions::default(),
        }
    }
}

/// One scenario's figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchResult {
    /// Name of the scenario.
    pub scenario: &'static str,
    /// Unit of the numbers: `ns_per_io` or `iops`.
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
    /// Of ours, what is spent in the program.
    pub ours_user_ns: Option<f64>,
    /// Of ours, what is spent in the kernel by the thread that issues the load.
    pub ours_kernel_ns: Option<f64>,
    /// Of fio's, what is spent in the program.
    pub fio_user_ns: Option<f64>,
    /// Of fio's, what is spent in the kernel by the thread that issues the load.
    pub fio_kernel_ns: Option<f64>,
    /// Processor time of an I/O of ours with the kernel's threads that carried it out.
    pub ours_process_ns: Option<f64>,
    /// The same of fio, without what it takes to start.
    pub fio_process_ns: Option<f64>,
    /// Handover of our I/O in the last round, and what was measured to choose it.
    pub handover: Option<HandoverChoice>,
    /// Reason why a number is missing.
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

/// Polling in place of interrupts and system calls.
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
        Err(problem) => {
            let why = text_with_causes(&problem);
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
        ours_user_ns: None,
        ours_kernel_ns: None,
        fio_user_ns: None,
        fio_kernel_ns: None,
        ours_process_ns: None,
        fio_process_ns: None,
        handover: None,
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
    let (mut our_costs, mut their_costs) = (Costs::default(), Costs::default());
    let (mut note, mut handover) = (None, None);
    let fio = settings.fio.as_ref().filter(|_| !scenario.fio_options.is_empty());
    let start_ns = fio.and_then(|fio| fio_start_ns(fio, scenario, path));
    let their_round = || fio.map(|fio| measure_fio(fio, settings, scenario, path, start_ns));
    for round in 0..settings.rounds.max(1) {
        // Either begins in turn, so that a host that slows down troubles both.
        let before = if round % 2 == 1 { their_round() } else { None };
        let outcome = measure_ours(settings, scenario, targets, u64::from(round))?;
        // A round without what the scenario is about would carry its name wrongly.
        if scenario.polling != Polling::Nothing && !outcome.warnings.is_empty() {
            return Ok(missing(scenario, outcome.warnings.join("; ")));
        }
        let our_iops = outcome.delivered_ios() as f64 / (outcome.runtime_ns as f64 / 1e9);
        our_costs.push(&Cost {
            user_ns: outcome.cpu_ns_per_io - outcome.kernel_ns_per_io,
            kernel_ns: outcome.kernel_ns_per_io,
            process_ns: Some(outcome.process_ns_per_io),
        });
        handover = outcome.handover;
        let in_unit = |iops: f64| if scenario.is_cost { 1e9 / iops } else { iops };
        ours.push(in_unit(our_iops));
        match before.or_else(their_round) {
            Some(Ok((iops, cost))) => {
                their_costs.push(&cost);
                theirs.push(in_unit(iops));
                ratios.push(our_iops / iops);
            }
            Some(Err(problem)) => note = Some(text_with_causes(&problem)),
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
        ours_cpu_ns: median(&mut our_costs.cpu_ns),
        fio_cpu_ns: median(&mut their_costs.cpu_ns),
        ours_user_ns: median(&mut our_costs.user_ns),
        ours_kernel_ns: median(&mut our_costs.kernel_ns),
        fio_user_ns: median(&mut their_costs.user_ns),
        fio_kernel_ns: median(&mut their_costs.kernel_ns),
        ours_process_ns: median(&mut our_costs.process_ns),
        fio_process_ns: median(&mut their_costs.process_ns),
        handover,
        note,
    })
}

/// Processor time of an I/O in one round.
struct Cost {
    user_ns: f64,
    kernel_ns: f64,
    process_ns: Option<f64>,
}

/// Of all rounds.
#[derive(Default)]
struct Costs {
    cpu_ns: Vec<f64>,
    user_ns: Vec<f64>,
    kernel_ns: Vec<f64>,
    process_ns: Vec<f64>,
}

impl Costs {
    fn push(&mut self, cost: &Cost) {
        self.cpu_ns.push(cost.user_ns + cost.kernel_ns);
        self.user_ns.push(cost.user_ns);
        self.kernel_ns.push(cost.kernel_ns);
        self.process_ns.extend(cost.process_ns);
    }
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
        ..settings.options.clone()
    };
    let case = RingCase { targets, load: &load, options: &options, io_size_bytes: None, journal: None };
    run(&case, &mut |_| {}, &mut |_| {}, &AtomicBool::new(false))
}

/// Processor time that fio takes to start and end, by a load of a millisecond.
fn fio_start_ns(fio: &Path, scenario: &Scenario, path: &Path) -> Option<u64> {
    let before_ns = children_ns();
    let output = fio_command(fio, scenario, path, 1, 0).output().ok()?;
    output.status.success().then(|| children_ns().saturating_sub(before_ns))
}

fn fio_command(fio: &Path, scenario: &Scenario, path: &Path, runtime_ms: u64, ramp_ms: u64) -> Command {
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
    command.arg(format!("--runtime={runtime_ms}ms"));
    command.arg(format!("--ramp_time={ramp_ms}ms"));
    if path == Path::new("null") {
        command.arg(format!("--size={NULL_BYTES}"));
    } else {
        command.arg(format!("--filename={}", path.display())).arg(format!("--size={FILE_BYTES}"));
    }
    command
}

fn measure_fio(
    fio: &Path,
    settings: &BenchSettings,
    scenario: &Scenario,
    path: &Path,
    start_ns: Option<u64>,
) -> Result<(f64, Cost), Problem> {
    let (runtime_ms, ramp_ms) = (settings.runtime_ns / 1_000_000, settings.runtime_ns / 10_000_000);
    let before_ns = children_ns();
    let output = fio_command(fio, scenario, path, runtime_ms, ramp_ms)
        .output()
        .map_err(|error| Problem::new("fio did not start").caused_by(error))?;
    let took_ns = children_ns().saturating_sub(before_ns);
    let text = String::from_utf8_lossy(&output.stdout);
    let answer =
        text.find('{').and_then(|start| serde_json::from_str::<serde_json::Value>(&text[start..]).ok());
    answer
        .and_then(|answer| {
            let job = &answer["jobs"][0];
            let iops = job["read"]["iops"].as_f64().filter(|&iops| iops > 0.0)?;
            // Shares of one processor, in percent.
            let of_processor = |share: &str| Some(job[share].as_f64()? / 100.0 * 1e9 / iops);
            // The ramp is in it.
            let ios = iops * (runtime_ms + ramp_ms) as f64 / 1e3;
            let cost = Cost {
                user_ns: of_processor("usr_cpu")?,
                kernel_ns: of_processor("sys_cpu")?,
                process_ns: start_ns.map(|start_ns| took_ns.saturating_sub(start_ns) as f64 / ios),
            };
            Some((iops, cost))
        })
        .filter(|_| output.status.success())
        .ok_or_else(|| {
            let message = String::from_utf8_lossy(&output.stderr);
            Problem::from(format!("fio failed: {}", message.lines().next().unwrap_or("it said nothing")))
        })
}

/// Processor time of the children that have ended, with their threads of the kernel.
fn children_ns() -> u64 {
    // SAFETY: an all-zero usage is a valid one.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the usage outlives the call, which only fills it in.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    ns(usage.ru_utime) + ns(usage.ru_stime)
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
