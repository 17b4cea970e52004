//! Settings of the host after `kill -9`: this program starts itself as the process that is killed.
//!
//! Without libtest, because the victim must not be a test. It prints what it did and ends with 101 on a failure, as a
//! test would.

use driver::host::{HostRoots, HostSetting, HostSettings, recover};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const KILLS: u32 = 20;
const VICTIM: &str = "victim";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some(VICTIM) => be_the_victim(&arguments[2..]),
        // `cargo test` may ask for the names of the tests; it has two.
        Some("--list") => println!("on_a_recorded_tree: test\non_a_loop_device: test"),
        _ => {
            on_a_recorded_tree();
            on_a_loop_device();
        }
    }
}

/// Sets and puts back without end, a few settings at a time, until it is killed.
fn be_the_victim(arguments: &[String]) {
    let [sysfs, proc, state, device, sysctl] = arguments else { panic!("five arguments") };
    let roots = HostRoots { sysfs: sysfs.into(), proc: proc.into() };
    let settings = |turn: u32| {
        let scheduler = if turn.is_multiple_of(2) { "none" } else { "mq-deadline" };
        let mut settings = vec![
            ("queue.read_ahead_kb", (512 + 4 * (turn % 7)).to_string()),
            ("queue.nomerges", (1 + turn % 2).to_string()),
            ("queue.scheduler", scheduler.to_owned()),
            ("queue.rq_affinity", "2".to_owned()),
        ];
        // Not always, so that the kernel's own reset of it shows.
        if turn.is_multiple_of(4) {
            settings.push(("queue.nr_requests", (16 + turn % 3).to_string()));
        }
        if !sysctl.is_empty() {
            settings.push((sysctl, (1 + turn % 5).to_string()));
        }
        settings
            .into_iter()
            .map(|(name, value)| HostSetting::parse(name, &value).expect("a setting"))
            .collect::<Vec<_>>()
    };
    let (mut host, _) = HostSettings::open(roots, Path::new(state)).expect("opened");
    println!("begun");
    for turn in 0.. {
        host.apply(&settings(turn), std::slice::from_ref(device)).expect("applied");
        if turn % 3 == 2 {
            let back = host.put_back().expect("put back");
            assert!(back.problems.is_empty(), "{back:?}");
        }
    }
}

struct Place {
    roots: HostRoots,
    device: String,
    sysctl: &'static str,
    /// The files that must be as before.
    files: Vec<PathBuf>,
}

/// Kills the victim `KILLS` times after 0 to 40 ms of work; after each, the next run puts everything back.
fn kill_and_recover(what: &str, place: &Place) {
    let state = tempfile::tempdir().expect("a state directory");
    let before = contents(&place.files);
    let mut put_back = 0;
    for kill in 0..KILLS {
        let mut victim = Command::new(std::env::current_exe().expect("this program"))
            .arg(VICTIM)
            .args([&place.roots.sysfs, &place.roots.proc])
            .arg(state.path())
            .args([place.device.as_str(), place.sysctl])
            .stdout(Stdio::piped())
            .spawn()
            .expect("a victim");
        let mut line = String::new();
        BufReader::new(victim.stdout.take().expect("a pipe")).read_line(&mut line).expect("read");
        assert_eq!(line, "begun\n", "{what}: the victim failed");
        if kill == 0 {
            let live = recover(&place.roots, state.path()).expect("looked");
            assert_eq!(live.live, [victim.id()], "{what}: a live run's settings must stay");
            assert!(live.put_back.changes.is_empty(), "{what}: {live:?}");
        }
        std::thread::sleep(random_pause());
        victim.kill().expect("killed");
        let status = victim.wait().expect("ended");
        assert_eq!(status.code(), None, "{what}: the victim ended by itself: {status}");
        let recovered = recover(&place.roots, state.path()).expect("recovered");
        assert!(recovered.put_back.problems.is_empty(), "{what}, kill {kill}: {recovered:?}");
        assert!(recovered.live.is_empty(), "{what}: {recovered:?}");
        put_back += usize::from(!recovered.put_back.changes.is_empty());
        assert_eq!(contents(&place.files), before, "{what}: after kill {kill}");
        let again = recover(&place.roots, state.path()).expect("recovered");
        assert_eq!(again, Default::default(), "{what}: nothing is put back twice");
    }
    assert!(put_back > 0, "{what}: no kill left anything to put back, so nothing was shown");
    println!("{what}: {KILLS} kills, {put_back} of them with settings to put back; all as before");
}

fn random_pause() -> Duration {
    let mut byte = [0];
    std::io::Read::read_exact(&mut File::open("/dev/urandom").expect("random"), &mut byte).expect("random");
    Duration::from_micros(u64::from(byte[0]) * 157)
}

fn contents(files: &[PathBuf]) -> Vec<(PathBuf, String)> {
    files.iter().map(|path| (path.clone(), fs::read_to_string(path).expect("read"))).collect()
}

/// Proves on a recorded tree of multipath (a device-mapper device over two disks) that 20 kills leave every file as it
/// was, including those of the devices below and a sysctl.
fn on_a_recorded_tree() {
    let tree = tempfile::tempdir().expect("a tree");
    let mut files = Vec::new();
    let mut file = |path: &str, text: &str| {
        let path = tree.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(&path, format!("{text}\n")).expect("written");
        files.push(path);
    };
    for device in ["dm-3", "sdb", "sdc"] {
        for (attribute, value) in [
            ("read_ahead_kb", "128"),
            ("nomerges", "0"),
            ("scheduler", "bfq"),
            ("rq_affinity", "1"),
            ("nr_requests", "256"),
            ("wbt_lat_usec", "75000"),
        ] {
            file(&format!("sys/block/{device}/queue/{attribute}"), value);
        }
    }
    file("proc/sys/vm/dirty_ratio", "20");
    file("sys/block/dm-3/dm/uuid", "mpath-3600508b4");
    fs::create_dir_all(tree.path().join("sys/block/dm-3/slaves")).expect("a directory");
    for slave in ["sdb", "sdc"] {
        std::os::unix::fs::symlink(
            tree.path().join("sys/block").join(slave),
            tree.path().join("sys/block/dm-3/slaves").join(slave),
        )
        .expect("a link");
    }
    let roots = HostRoots { sysfs: tree.path().join("sys"), proc: tree.path().join("proc") };
    let place = Place { roots, device: "dm-3".to_owned(), sysctl: "sysctl.vm.dirty_ratio", files };
    kill_and_recover("a recorded tree", &place);
}

/// Proves the same on the queue attributes of a real loop device, where the kernel resets the number of requests and
/// the scheduler's tunables with each change of the scheduler.
fn on_a_loop_device() {
    let directory = tempfile::tempdir().expect("a directory");
    let image = directory.path().join("image");
    File::create(&image).and_then(|file| file.set_len(64 << 20)).expect("an image");
    let attached = Command::new("losetup").arg("--find").arg("--show").arg(&image).output().expect("losetup");
    assert!(
        attached.status.success(),
        "a loop device is needed (run as root): {}",
        String::from_utf8_lossy(&attached.stderr)
    );
    let path = String::from_utf8(attached.stdout).expect("a path").trim().to_owned();
    let _detach = Detach(path.clone());
    let device = path.trim_start_matches("/dev/").to_owned();
    let queue = Path::new("/sys/block").join(&device).join("queue");
    // Not the default, so that what the kernel resets shows.
    fs::write(queue.join("scheduler"), "mq-deadline").expect("a scheduler");
    fs::write(queue.join("nr_requests"), "100").expect("requests");
    fs::write(queue.join("iosched/fifo_batch"), "77").expect("a tunable of the scheduler");
    let attributes = [
        "read_ahead_kb",
        "nomerges",
        "scheduler",
        "rq_affinity",
        "nr_requests",
        "wbt_lat_usec",
        "iosched/fifo_batch",
    ];
    let files = attributes
        .into_iter()
        .map(|attribute| queue.join(attribute))
        .filter(|path| fs::read_to_string(path).is_ok())
        .collect();
    let place = Place { roots: HostRoots::system(), device, sysctl: "", files };
    kill_and_recover("a loop device", &place);
}

struct Detach(String);

impl Drop for Detach {
    fn drop(&mut self) {
        let queue = Path::new("/sys/block").join(self.0.trim_start_matches("/dev/")).join("queue/scheduler");
        let _ = fs::write(queue, "none");
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}
