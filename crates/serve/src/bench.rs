//! Serving benchmark against nbdkit's memory plugin, with fio as the client.

use crate::run::{bench_error, serve_array};
use crate::{Options, ServeError, Served, ServedArray};
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Size of the export: too large for a processor's cache, small enough for /dev/shm.
const EXPORT_BYTES: u64 = 256 << 20;
/// RAID 5 over seven drives, as the FlashSystem 840 has it.
pub(crate) const ARRAY: &str = "flashsystem-840,capacity=64m";
const START_LIMIT: Duration = Duration::from_secs(10);

/// One line of `bench serve --json`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct BenchRow {
    /// Name of the scenario.
    pub scenario: String,
    /// I/Os a second of a served array, the median of the rounds.
    pub ours: f64,
    /// Of nbdkit's memory plugin.
    pub nbdkit: f64,
    /// Ours by nbdkit's, the median of the rounds' ratios.
    pub ratio: f64,
    /// The least and the most of the rounds' ratios.
    pub ratio_spread: [f64; 2],
    /// Processor time of the server a request, the median of the rounds: what fio takes does not count.
    pub ours_processor_us: f64,
    /// Of nbdkit.
    pub nbdkit_processor_us: f64,
}

/// Their names, and what fio does in a round.
const SCENARIOS: [(&str, &[&str]); 8] = [
    ("randread-4k-qd64", &["--rw=randread", "--bs=4k", "--iodepth=64"]),
    ("randread-4k-qd1", &["--rw=randread", "--bs=4k", "--iodepth=1"]),
    ("randwrite-4k-qd64", &["--rw=randwrite", "--bs=4k", "--iodepth=64"]),
    ("randwrite-4k-qd1", &["--rw=randwrite", "--bs=4k", "--iodepth=1"]),
    ("read-1m-qd4", &["--rw=read", "--bs=1m", "--iodepth=4"]),
    ("write-1m-qd4", &["--rw=write", "--bs=1m", "--iodepth=4"]),
    ("randread-4k-4x16", &["--rw=randread", "--bs=4k", "--iodepth=16", "--numjobs=4"]),
    ("randwrite-4k-4x16", &["--rw=randwrite", "--bs=4k", "--iodepth=16", "--numjobs=4"]),
];

/// The names of what [`bench`] measures.
pub fn scenarios() -> impl Iterator<Item = &'static str> {
    SCENARIOS.iter().map(|(scenario, _)| *scenario)
}

/// Random 4 KiB at depth 64 and 1 and by four connections, and sequential MiB, of a served array and of nbdkit,
/// `seconds` each, in `rounds` rounds in which they take turns; of the scenarios those that `is_wanted` names.
pub fn bench(
    seconds: u32,
    rounds: usize,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<BenchRow>, ServeError> {
    let scenarios: Vec<_> = SCENARIOS.into_iter().filter(|(scenario, _)| is_wanted(scenario)).collect();
    if scenarios.is_empty() {
        return Ok(Vec::new());
    }
    let directory = quick_directory().map_err(ServeError::io("make a directory"))?;
    let theirs = directory.path().join("nbdkit");
    let options = Options::untimed(ARRAY, directory.path());
    let ours = directory.path().join("nbd");
    let array = ServedArray::parse(ARRAY)?;
    let nbdkit = Nbdkit::start(&theirs)?;
    served_meanwhile(array, &options, || {
        measure([&ours, &theirs], &nbdkit, &scenarios, seconds, rounds.max(1))
    })
    .map(|(rows, _)| rows)
}

/// A directory whose syncs are quick, for what is thrown away: in `/dev/shm` where there is one.
pub fn quick_directory() -> io::Result<TempDir> {
    let base = if Path::new("/dev/shm").is_dir() { "/dev/shm" } else { "/tmp" };
    tempfile::tempdir_in(base)
}

/// Serves an array while something is done with it.
pub(crate) fn served_meanwhile<T>(
    array: ServedArray,
    options: &Options,
    work: impl FnOnce() -> Result<T, ServeError>,
) -> Result<(T, Served), ServeError> {
    let stop = AtomicBool::new(false);
    let (ready, is_ready) = mpsc::channel();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            serve_array(array, options, &stop, &|_| {
                // Nobody waits any more if that fails.
                let _ = ready.send(());
            })
        });
        let done = match is_ready.recv_timeout(START_LIMIT) {
            Ok(()) => work(),
            Err(_) => Err(bench_error("start the server", "it was not ready in time")),
        };
        stop.store(true, Ordering::Release);
        match server.join() {
            // Why it did not start, rather than that it did not.
            Ok(served) => served.and_then(|served| Ok((done?, served))),
            Err(_) => Err(bench_error("serve", "the server failed")),
        }
    })
}

fn measure(
    [ours, theirs]: [&Path; 2],
    nbdkit: &Nbdkit,
    scenarios: &[(&str, &[&str])],
    seconds: u32,
    rounds: usize,
) -> Result<Vec<BenchRow>, ServeError> {
    // Both are full of bytes before anything is read.
    for socket in [ours, theirs] {
        fio(socket, &["--rw=write", "--bs=1m", "--iodepth=4"])?;
    }
    let runtime = format!("--runtime={seconds}");
    let mut rows = Vec::new();
    for (scenario, arguments) in scenarios {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--time_based", &runtime]).collect();
        let mut figures = Figures::default();
        for _ in 0..rounds {
            // fio is a process of its own: what this one takes meanwhile is the server's.
            let began_ns = processor_ns(ClockId::ProcessCPUTime);
            let done = fio(ours, &arguments)?;
            figures.ours.push(done.iops);
            figures
                .ours_processor_us
                .push((processor_ns(ClockId::ProcessCPUTime) - began_ns) as f64 / 1e3 / done.requests);
            let began_ns = nbdkit.processor_ns()?;
            let done = fio(theirs, &arguments)?;
            figures.nbdkit.push(done.iops);
            figures
                .nbdkit_processor_us
                .push((nbdkit.processor_ns()? - began_ns) as f64 / 1e3 / done.requests);
        }
        rows.push(figures.row(scenario));
    }
    Ok(rows)
}

/// Figures of each round.
#[derive(Default)]
struct Figures {
    ours: Vec<f64>,
    nbdkit: Vec<f64>,
    ours_processor_us: Vec<f64>,
    nbdkit_processor_us: Vec<f64>,
}

impl Figures {
    fn row(self, scenario: &str) -> BenchRow {
        let mut ratios: Vec<f64> =
            self.ours.iter().zip(&self.nbdkit).map(|(ours, nbdkit)| ours / nbdkit).collect();
        ratios.sort_by(f64::total_cmp);
        BenchRow {
            scenario: scenario.to_owned(),
            ours: median(self.ours),
            nbdkit: median(self.nbdkit),
            ratio_spread: [ratios[0], ratios[ratios.len() - 1]],
            ratio: median(ratios),
            ours_processor_us: median(self.ours_processor_us),
            nbdkit_processor_us: median(self.nbdkit_processor_us),
        }
    }
}

pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Processor time by the clock of this thread, or of this process with threads that have ended.
pub(crate) fn processor_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Result of a run of fio.
struct Done {
    iops: f64,
    requests: f64,
}

/// Runs fio on a socket.
fn fio(socket: &Path, arguments: &[&str]) -> Result<Done, ServeError> {
    let mut command = Command::new("fio");
    command
        .args(["--name=bench", "--ioengine=nbd", "--output-format=json", "--randrepeat=0"])
        .arg("--group_reporting")
        .arg(format!("--uri=nbd+unix:///?socket={}", socket.display()))
        .arg(format!("--size={EXPORT_BYTES}"))
        .args(arguments);
    let report = wait_for_fio(&mut command)?;
    let job = &report["jobs"][0];
    let sum = |field: &str| {
        ["read", "write"].iter().map(|direction| job[direction][field].as_f64().unwrap_or(0.0)).sum()
    };
    match (sum("iops"), sum("total_ios")) {
        (iops, requests) if iops > 0.0 && requests > 0.0 => Ok(Done { iops, requests }),
        _ => Err(bench_error("run fio", "it did nothing")),
    }
}

/// Runs fio and returns its report.
pub(crate) fn wait_for_fio(command: &mut Command) -> Result<serde_json::Value, ServeError> {
    let output = command.output().map_err(ServeError::io("run fio"))?;
    if !output.status.success() {
        return Err(bench_error("run fio", String::from_utf8_lossy(&output.stderr)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let start = text.find('{').unwrap_or(0);
    serde_json::from_str(&text[start..]).map_err(|error| {
        bench_error("read fio's report", format!("{}: {text}", diagnostic::text_with_causes(&error)))
    })
}

/// nbdkit, ended when this goes.
struct Nbdkit(Child);

impl Nbdkit {
    fn start(socket: &Path) -> Result<Self, ServeError> {
        // The socket appears before nbdkit listens on it, and its PID file after (`nbdkit(1)`, --pidfile).
        let pid_file = socket.with_extension("pid");
        let child = Command::new("nbdkit")
            .args(["--foreground", "--exit-with-parent", "--unix"])
            .arg(socket)
            .arg("--pidfile")
            .arg(&pid_file)
            .arg("memory")
            .arg(EXPORT_BYTES.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(ServeError::io("run nbdkit"))?;
        let nbdkit = Nbdkit(child);
        let deadline = Instant::now() + START_LIMIT;
        while !pid_file.exists() {
            if Instant::now() > deadline {
                return Err(bench_error("start nbdkit", "it was not ready in time"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(nbdkit)
    }

    /// Processor time of the process, with threads that have ended, in the kernel's ticks of 10 ms (`proc(5)`).
    fn processor_ns(&self) -> Result<u64, ServeError> {
        let path = format!("/proc/{}/stat", self.0.id());
        let stat = std::fs::read_to_string(&path).map_err(ServeError::io("read nbdkit's processor time"))?;
        // Fields 14 and 15, counted from behind the name, which may hold anything.
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
        let ticks: Vec<u64> = fields.skip(11).take(2).filter_map(|ticks| ticks.parse().ok()).collect();
        match ticks[..] {
            [user, system] => Ok((user + system) * 1_000_000_000 / rustix::param::clock_ticks_per_second()),
            _ => Err(bench_error("read nbdkit's processor time", format!("{path} has no such fields"))),
        }
    }
}

impl Drop for Nbdkit {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
