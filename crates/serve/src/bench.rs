//! Serving benchmark against nbdkit's memory plugin, with fio as the client.

use crate::run::{bench_error, serve_array};
use crate::{Options, ServeError, Served, ServedArray};
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// What is read: large enough to be no processor's cache, small enough for /dev/shm.
const EXPORT_BYTES: u64 = 256 << 20;
/// RAID 5 over seven drives, as the FlashSystem 840 has it.
const ARRAY: &str = "flashsystem-840,capacity=64m";
const ROUNDS: usize = 3;
const START_LIMIT: Duration = Duration::from_secs(10);

/// One line of `bench serve --json`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct BenchRow {
    /// What was done.
    pub scenario: String,
    /// I/Os a second of a served array.
    pub ours: f64,
    /// Of nbdkit's memory plugin.
    pub nbdkit: f64,
    /// Ours by nbdkit's.
    pub ratio: f64,
}

/// Random reads and writes of 4 KiB at depth 64 and 1, side by side, `seconds` each, the median of three rounds
/// that take turns.
pub fn bench(seconds: u32) -> Result<Vec<BenchRow>, ServeError> {
    let directory = quick_directory().map_err(ServeError::io("make a directory"))?;
    let theirs = directory.path().join("nbdkit");
    let options = Options::untimed(ARRAY, directory.path());
    let ours = directory.path().join("nbd");
    let array = ServedArray::parse(ARRAY)?;
    let _nbdkit = Nbdkit::start(&theirs)?;
    served_meanwhile(array, &options, || measure(&ours, &theirs, seconds)).map(|(rows, _)| rows)
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

fn measure(ours: &Path, theirs: &Path, seconds: u32) -> Result<Vec<BenchRow>, ServeError> {
    // Both are full of bytes before anything is read.
    for socket in [ours, theirs] {
        fio(socket, &["--rw=write", "--bs=1m", "--iodepth=4"])?;
    }
    let runtime = format!("--runtime={seconds}");
    let mut rows = Vec::new();
    for (scenario, arguments) in [
        ("randread-4k-qd64", ["--rw=randread", "--iodepth=64"]),
        ("randread-4k-qd1", ["--rw=randread", "--iodepth=1"]),
        ("randwrite-4k-qd64", ["--rw=randwrite", "--iodepth=64"]),
    ] {
        let arguments = [arguments[0], arguments[1], "--bs=4k", "--time_based", &runtime];
        let mut rates = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            for (rates, socket) in rates.iter_mut().zip([ours, theirs]) {
                rates.push(fio(socket, &arguments)?);
            }
        }
        let [ours, nbdkit] = rates.map(|mut rates| {
            rates.sort_by(f64::total_cmp);
            rates[ROUNDS / 2]
        });
        rows.push(BenchRow { scenario: scenario.to_owned(), ours, nbdkit, ratio: ours / nbdkit });
    }
    Ok(rows)
}

/// Runs fio and returns its I/Os a second.
fn fio(socket: &Path, arguments: &[&str]) -> Result<f64, ServeError> {
    let mut command = Command::new("fio");
    command
        .args(["--name=bench", "--ioengine=nbd", "--output-format=json", "--randrepeat=0"])
        .arg(format!("--uri=nbd+unix:///?socket={}", socket.display()))
        .arg(format!("--size={EXPORT_BYTES}"))
        .args(arguments);
    let report = wait_for_fio(&mut command)?;
    let job = &report["jobs"][0];
    let rate = |direction: &str| job[direction]["iops"].as_f64().unwrap_or(0.0);
    match rate("read") + rate("write") {
        iops if iops > 0.0 => Ok(iops),
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
    serde_json::from_str(&text[start..])
        .map_err(|error| bench_error("read fio's report", format!("{error}: {text}")))
}

/// nbdkit, ended when this goes.
struct Nbdkit(Child);

impl Nbdkit {
    fn start(socket: &Path) -> Result<Self, ServeError> {
        let child = Command::new("nbdkit")
            .args(["--foreground", "--exit-with-parent", "--unix"])
            .arg(socket)
            .arg("memory")
            .arg(EXPORT_BYTES.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(ServeError::io("run nbdkit"))?;
        let nbdkit = Nbdkit(child);
        let deadline = Instant::now() + START_LIMIT;
        while !socket.exists() {
            if Instant::now() > deadline {
                return Err(bench_error("start nbdkit", "it was not ready in time"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(nbdkit)
    }
}

impl Drop for Nbdkit {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
