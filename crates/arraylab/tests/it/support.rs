//! Running the binary, and the real clients and devices around it. Whatever a test sets up is taken down when it
//! ends, also when it fails.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use test_support::Nbdkit;

/// The binary under test.
pub fn arraylab(arguments: &[&str]) -> Output {
    command(arguments).output().expect("arraylab starts")
}

/// The binary under test, to be started by the caller.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_arraylab"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs a command that must succeed, and gives its standard output.
pub fn succeed(arguments: &[&str]) -> String {
    let output = arraylab(arguments);
    assert!(
        output.status.success(),
        "arraylab {arguments:?} ended with {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    text(&output.stdout)
}

/// Exit status and standard error of a command.
pub fn refuse(arguments: &[&str]) -> (Option<i32>, String) {
    let output = arraylab(arguments);
    (output.status.code(), text(&output.stderr))
}

/// Bytes that must be text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// The lines of JSON in a text.
pub fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// `results --json` of a run.
pub fn results(run: &Path) -> Vec<Value> {
    json_lines(&succeed(&["results", run.to_str().unwrap(), "--json"]))
}

/// Warnings of a result, without the one that its target lies in memory, as those of tests do.
pub fn warnings(result: &Value) -> Vec<String> {
    let all = result["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str);
    all.filter(|text| !text.contains("through this host's memory")).map(str::to_owned).collect()
}

/// Returns the result of a query of the run's database.
pub fn query(run: &Path, sql: &str) -> String {
    tool("sqlite3", &[run.join("run.sqlite").to_str().unwrap(), sql]).trim().to_owned()
}

/// Full counts in `make test-long`, a tenth in `make test`.
pub fn full_or_tenth(full: u32) -> u32 {
    if test_support::is_long() { full } else { full.div_ceil(10) }
}

/// Limit on waiting for a condition: far beyond what any takes on a busy machine, so that it ends only what hangs.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until a condition holds; fails by its name where it never does.
pub fn wait_until(what: &str, is_so: impl FnMut() -> bool) {
    test_support::wait_until(PATIENCE, what, is_so);
}

/// A program that a test needs; the test fails by the program's name where it is missing.
pub fn tool(name: &str, arguments: &[&str]) -> String {
    let output = Command::new(name).args(arguments).stdin(Stdio::null()).output().unwrap_or_else(|error| {
        panic!("{name} is needed (scripts/install-test-clients.sh installs it): {error}")
    });
    assert!(
        output.status.success(),
        "{name} {arguments:?}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    text(&output.stdout)
}

/// Writes a program. Another process does: were it open for writing here, a process that another test is starting would
/// inherit that, and running the program would fail with ETXTBSY.
pub fn write_program(path: &Path, text: &str) {
    tool("sh", &["-c", "printf %s \"$2\" > \"$1\" && chmod 755 \"$1\"", "sh", path.to_str().unwrap(), text]);
}

/// A loop device over a file in `/dev/shm`, with direct I/O.
pub struct LoopDevice {
    pub path: String,
    /// Not held open: a device whose file another process has open for writing is never written.
    backing: tempfile::TempPath,
}

impl LoopDevice {
    pub fn new(size_bytes: u64) -> LoopDevice {
        // Made by another process: a file open here is open, for a moment, in every process that another test starts.
        let make = |path: &Path| -> std::io::Result<()> {
            tool("truncate", &["--size", &size_bytes.to_string(), path.to_str().unwrap()]);
            Ok(())
        };
        let made = tempfile::Builder::new().make_in("/dev/shm", make).expect("a file in /dev/shm");
        let backing = made.into_temp_path();
        let file = backing.to_str().unwrap();
        let path = tool("losetup", &["--find", "--show", "--direct-io=on", file]).trim().to_owned();
        LoopDevice { path, backing }
    }

    /// Returns the number of flush requests to the device.
    pub fn flushes(&self) -> u64 {
        let name = self.path.trim_start_matches("/dev/");
        let stat =
            std::fs::read_to_string(format!("/sys/block/{name}/stat")).expect("statistics of the device");
        stat.split_whitespace().nth(15).expect("flushes").parse().expect("a number")
    }

    /// Returns the bytes allocated behind the device: trimmed ranges take none.
    pub fn allocated_bytes(&self) -> u64 {
        std::os::unix::fs::MetadataExt::blocks(&self.backing.metadata().expect("metadata")) * 512
    }

    /// Takes the bytes from here on away: the device answers with errors there, and still has its size.
    pub fn cut(&self, at_bytes: u64) {
        let file = std::fs::OpenOptions::new().write(true).open(&self.backing).expect("the file");
        file.set_len(at_bytes).expect("a shorter file");
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.path]).status();
    }
}

/// A mounted file system, unmounted in the end.
pub struct Mount {
    pub directory: PathBuf,
}

impl Mount {
    pub fn new(arguments: &[&str], directory: &Path) -> Mount {
        let mut all: Vec<&str> = arguments.to_vec();
        all.push(directory.to_str().unwrap());
        tool("mount", &all);
        Mount { directory: directory.to_owned() }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.directory).status();
    }
}

/// An NBD server of nbdkit's memory plugin.
pub struct NbdServer {
    pub nbdkit: Nbdkit,
    _directory: tempfile::TempDir,
}

impl NbdServer {
    pub fn new(size: &str) -> NbdServer {
        let directory = tempfile::tempdir().unwrap();
        let nbdkit = Nbdkit::start(directory.path().join("nbd.sock"), &["memory", size]);
        NbdServer { nbdkit, _directory: directory }
    }

    pub fn uri(&self) -> String {
        self.nbdkit.uri()
    }
}

/// The export of an NBD server as a file, by nbdfuse: what is in flight on it hangs while the server is stopped.
pub struct NbdFile {
    pub path: PathBuf,
    client: Child,
}

impl NbdFile {
    pub fn new(server: &NbdServer, path: &Path) -> NbdFile {
        std::fs::File::create(path).unwrap();
        let client = Command::new("nbdfuse")
            .arg(path)
            .arg(server.uri())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("nbdfuse is needed (scripts/install-test-clients.sh installs it): {error}")
            });
        wait_until("nbdfuse shows its file", || std::fs::metadata(path).is_ok_and(|found| found.len() > 0));
        NbdFile { path: path.to_owned(), client }
    }
}

impl Drop for NbdFile {
    fn drop(&mut self) {
        let _ = self.client.kill();
        let _ = self.client.wait();
        let _ = Command::new("fusermount").args(["-u", "-z"]).arg(&self.path).status();
    }
}

/// `arraylab run` of a plan on a target into a directory, with more words behind; names the target a second time where it
/// holds data already.
pub fn run_on(plan: &str, target: &str, run: &Path, more: &[&str]) -> Output {
    let plain = ["run", plan, "--target", target, "--out", run.to_str().unwrap()];
    let is_new = target.starts_with("file:") || target.starts_with("twin:");
    let id = if is_new { None } else { Some(consent_id(&plain)) };
    let consent = id.iter().flat_map(|id| ["--overwrite-data", id.as_str()]);
    arraylab(&plain.into_iter().chain(more.iter().copied()).chain(consent).collect::<Vec<_>>())
}

/// The consent ID that a refusal prints, as a user would copy it.
pub fn consent_id(arguments: &[&str]) -> String {
    let (code, printed_text) = refuse(arguments);
    assert_eq!(code, Some(2), "{printed_text}");
    let (_, rest) = printed_text
        .split_once("--overwrite-data ")
        .unwrap_or_else(|| panic!("no consent ID in: {printed_text}"));
    rest.split_whitespace().next().expect("an ID").trim_matches(['`', '\'', '"', '.', ',', ';']).to_owned()
}
