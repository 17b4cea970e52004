//! Served arrays of every layout, and the programs that use them.

#![allow(dead_code, reason = "each test binary uses a part")]

pub mod server_process;
pub mod verified;

use nbd::Client;
use serde_json::Value;
use serve::{Announcement, Endpoint, Options, ServedArray, ctl, parse_speed, quick_directory, serve_array};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than anything takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A tenth of `long` unless tests run in full.
pub fn count(long: u64) -> u64 {
    if test_support::is_long() { long } else { long / 10 }
}

/// A directory whose syncs are quick.
pub fn directory() -> TempDir {
    quick_directory().unwrap()
}

/// `NAME,key=value…` of an array in the repository.
pub fn array(text: &str) -> ServedArray {
    let (name, settings) = text.split_once(',').expect("arrays of tests are made small");
    let path = format!("{}/../../arrays/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    ServedArray::parse(&format!("{path},{settings}")).unwrap()
}

/// An array of each layout, and how many drives it may lose.
pub fn arrays() -> Vec<(ServedArray, u32)> {
    [
        ("dorado-2100-g2,raid=0,capacity=4m", 0),
        ("dorado-2100-g2,capacity=4m", 1),
        ("flashsystem-840,capacity=16m", 1),
        ("raid-levels,raid=1,disks=2,capacity=32m", 1),
        ("raid-levels,raid=10,disks=6,capacity=16m", 1),
        ("raid-levels,raid=6,disks=6,capacity=16m", 2),
        ("e2700,layout=ddp,capacity=16m", 2),
        ("storpool,capacity=16m", 2),
    ]
    .into_iter()
    .map(|(text, tolerance)| (array(text), tolerance))
    .collect()
}

/// An array that is served by a thread of this process.
pub struct Served {
    pub socket: PathBuf,
    pub control: PathBuf,
    pub uri: String,
    pub metrics: Option<SocketAddr>,
    stop: Arc<AtomicBool>,
    server: Option<JoinHandle<()>>,
}

pub fn options(directory: &Path) -> Options {
    Options::untimed("", directory)
}

pub fn serve(array: &ServedArray, directory: &Path) -> Served {
    serve_with(array, options(directory))
}

/// At the array's own speed.
pub fn serve_timed(array: &ServedArray, directory: &Path) -> Served {
    let speed_millionths = parse_speed(false, None).unwrap();
    let metrics = "127.0.0.1:0".parse().ok();
    serve_with(array, Options { speed_millionths, metrics, ..options(directory) })
}

pub fn serve_with(array: &ServedArray, options: Options) -> Served {
    let array = array.clone();
    let stop = Arc::new(AtomicBool::new(false));
    let (ready, is_ready) = mpsc::channel();
    let control = options.control_path();
    let socket = match &options.endpoint {
        Endpoint::Unix(path) => path.clone(),
        Endpoint::Tcp(_) => PathBuf::new(),
    };
    let stopping = stop.clone();
    let server = std::thread::spawn(move || {
        let announce = |at: &Announcement<'_>| ready.send((at.uri.to_owned(), at.metrics)).unwrap();
        serve_array(array, &options, &stopping, &announce).expect("the array is served");
    });
    let (uri, metrics) = is_ready.recv_timeout(PATIENCE).expect("the server is ready");
    Served { socket, control, uri, metrics, stop, server: Some(server) }
}

impl Served {
    pub fn client(&self) -> Client {
        self.client_of("")
    }

    pub fn client_of(&self, export: &str) -> Client {
        Client::connect(UnixStream::connect(&self.socket).unwrap(), export, true, PATIENCE).unwrap()
    }

    pub fn ctl(&self, words: &str) -> Value {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        ctl(&self.control, &words).unwrap()
    }

    /// Asks until the status is as wanted.
    pub fn wait_until(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let status = self.ctl("status");
            if is_so(&status) {
                return status;
            }
            assert!(Instant::now() < deadline, "never {what}: {status}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Stops it, whatever comes of that.
    pub fn stop_anyhow(mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }

    /// Scrubs the whole array and returns the report.
    pub fn scrub(&self) -> Value {
        self.ctl("scrub");
        let status =
            self.wait_until("scrubbed", |status| status["background"]["scrub"]["is_running"] == false);
        status["background"]["scrub"]["report"].clone()
    }

    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(server) = self.server.take()
            && server.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the server failed");
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.end();
    }
}

/// No drive is lost or being rebuilt, and nothing waits for a new home.
pub fn is_whole(status: &Value) -> bool {
    status["volume"]["drives"].as_array().unwrap().iter().all(|drive| drive["condition"] == "present")
}

/// A scrub finds nothing to put right.
pub fn is_clean(served: &Served, what: &str) {
    let report = served.scrub();
    for key in ["repaired_sectors", "unrepairable_sectors", "parity_rewritten_stripes"] {
        assert_eq!(report[key], 0, "{what}: {report}");
    }
}

/// Runs a program, which must exist and succeed.
pub fn tool(program: &str, arguments: &[&str]) -> Output {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{program} is needed by this test and cannot be run: {error}"));
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Undoes what a test set up, last first, also when it fails.
#[derive(Default)]
pub struct Teardown(Vec<(String, Vec<String>)>);

impl Teardown {
    pub fn add(&mut self, program: &str, arguments: &[&str]) {
        self.0.push((program.to_owned(), arguments.iter().map(|&argument| argument.to_owned()).collect()));
    }
}

impl Drop for Teardown {
    fn drop(&mut self) {
        for (program, arguments) in self.0.drain(..).rev() {
            // Done already where the test went well.
            let _ = Command::new(program).args(arguments).output();
        }
    }
}

/// A linear congruential generator (Knuth's MMIX constants), high bits.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}
