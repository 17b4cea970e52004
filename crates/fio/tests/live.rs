//! The installed fio on memory: what we make of a run against fio's own report of the same run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fio::{Engine, FioCase, FioError, FioOutcome, Target};
use load::{Direction, DirectionSample, LoadSpec, Pattern, bin_index};
use serde_json::Value;
use test_support::{Nbdkit, wait_until};

const DIRECTIONS: [(Direction, &str); 2] = [(Direction::Read, "read"), (Direction::Write, "write")];

fn engine() -> Engine {
    Engine::find().expect("this test needs fio: apt-get install fio")
}

/// In `/dev/shm`, so that no disk decides how the test goes.
fn directory() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("arraylab-fio-").tempdir_in("/dev/shm").unwrap()
}

fn file(directory: &Path, length_bytes: usize) -> Target {
    let path = directory.join("target:1");
    std::fs::write(&path, vec![1; length_bytes]).unwrap();
    Target::Path(path)
}

fn load(pattern: Pattern) -> LoadSpec {
    LoadSpec {
        pattern,
        rwmixread: pattern.fixed_read_share().unwrap_or(70),
        bs_bytes: 4096,
        numjobs: 1,
        iodepth: 1,
        offset_bytes: 0,
        size_bytes: None,
        rate_iops: None,
        ramp_ns: 0,
        runtime_ns: 1_000_000_000,
        interval_ns: 250_000_000,
        seed: 7,
        shape: load::LoadShape::default(),
    }
}

fn run_with(
    directory: &Path,
    target: &Target,
    load: &LoadSpec,
    options: &[(&str, &str)],
) -> Result<FioOutcome, FioError> {
    let options: Vec<_> = options.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let case = directory.join("case");
    std::fs::create_dir_all(&case).unwrap();
    let fio_case = FioCase { target, load, io_size_bytes: None, options: &options, directory: &case };
    engine().run(&fio_case, &mut |_| {}, &AtomicBool::new(false))
}

/// fio's own numbers of a direction, read here without the crate: I/Os, bytes, latency sum, count, smallest, largest.
fn fios_own(outcome: &FioOutcome, direction: &str) -> (u64, u64, f64, u64, u64, u64) {
    let text = std::fs::read_to_string(&outcome.output_file).unwrap();
    let json: Value = serde_json::from_str(&text[text.find("{\n").unwrap()..]).unwrap();
    let (mut ios, mut bytes, mut sum_ns, mut count, mut min_ns, mut max_ns) = (0, 0, 0.0, 0, u64::MAX, 0);
    for job in json["jobs"].as_array().unwrap() {
        let part = &job[direction];
        let of = |name: &str| part["clat_ns"][name].as_f64().unwrap();
        ios += part["total_ios"].as_u64().unwrap();
        bytes += part["io_bytes"].as_u64().unwrap();
        count += of("N") as u64;
        sum_ns += of("mean") * of("N");
        if of("N") > 0.0 {
            min_ns = min_ns.min(of("min") as u64);
            max_ns = max_ns.max(of("max") as u64);
        }
    }
    (ios, bytes, sum_ns, count, if count > 0 { min_ns } else { 0 }, max_ns)
}

fn assert_agrees(outcome: &FioOutcome) {
    for (direction, name) in DIRECTIONS {
        let totals = outcome.direction(direction);
        let (ios, bytes, sum_ns, count, min_ns, max_ns) = fios_own(outcome, name);
        assert_eq!((totals.ios, totals.bytes, totals.errors), (ios, bytes, 0), "{name}");
        assert_eq!(
            (totals.latency.count(), totals.latency.min_ns(), totals.latency.max_ns()),
            (count, min_ns, max_ns),
            "{name}"
        );
        assert!((totals.latency.sum_ns() as f64 - sum_ns).abs() <= sum_ns * 1e-9 + 1.0, "{name}");
        let mut merged = DirectionSample::default();
        outcome.samples.iter().for_each(|sample| merged.merge(sample.direction(direction)));
        assert_eq!((merged.ios, merged.bytes), (totals.ios, totals.bytes), "{name}");
        assert_eq!(merged.latency, totals.latency, "{name}");
    }
}

/// With one job, fio's percentiles are those of the case.
fn assert_percentiles_agree(outcome: &FioOutcome) {
    let text = std::fs::read_to_string(&outcome.output_file).unwrap();
    let json: Value = serde_json::from_str(&text[text.find("{\n").unwrap()..]).unwrap();
    let mut compared = 0;
    for (direction, name) in DIRECTIONS {
        for (share, value) in json["jobs"][0][name]["clat_ns"]["percentile"].as_object().into_iter().flatten()
        {
            let millionths = (share.parse::<f64>().unwrap() * 1e4).round() as u32;
            let ours = outcome.direction(direction).latency.percentile_ns(millionths);
            assert!(
                bin_index(ours).abs_diff(bin_index(value.as_u64().unwrap())) <= 1,
                "{name} {share}: {ours} {value}"
            );
            compared += 1;
        }
    }
    assert!(compared >= 14, "only {compared} percentiles");
}

/// Proves on a file that counts, bytes, means, extremes and percentiles are fio's, and that intervals add up.
#[test]
fn a_file_agrees_with_fio() {
    let directory = directory();
    let target = file(directory.path(), 16 << 20);
    let outcome =
        run_with(directory.path(), &target, &LoadSpec { iodepth: 8, ..load(Pattern::Randrw) }, &[]).unwrap();
    assert_eq!(outcome.warnings, Vec::<String>::new());
    // On a busy host fio ends late, and the overhang is an interval of its own.
    assert!((4..=5).contains(&outcome.samples.len()), "{outcome:?}");
    assert!(outcome.read.ios > 1000 && outcome.write.ios > 400, "{outcome:?}");
    assert_agrees(&outcome);
    assert_percentiles_agree(&outcome);
    let job_file = std::fs::read_to_string(&outcome.job_file).unwrap();
    assert!(job_file.contains("ioengine=libaio") && job_file.contains("target\\:1"), "{job_file}");
    for sample in &outcome.samples[..4] {
        assert!(
            sample.read.ios * 16 > outcome.read.ios,
            "an interval has far less than its quarter: {outcome:?}"
        );
    }
}

/// Proves that a ramp is not counted, that intervals start after it, and that four jobs are merged into one histogram.
#[test]
fn a_ramp_and_four_jobs_agree_with_fio() {
    let directory = directory();
    let target = file(directory.path(), 16 << 20);
    let load = LoadSpec { numjobs: 4, iodepth: 4, ramp_ns: 600_000_000, ..load(Pattern::Randread) };
    let outcome = run_with(directory.path(), &target, &load, &[]).unwrap();
    assert_agrees(&outcome);
    assert_eq!(outcome.samples[0].start_ns, 600_000_000);
    assert!((4..=5).contains(&outcome.samples.len()), "{outcome:?}");
    assert_eq!(outcome.write.ios, 0);
    for sample in &outcome.samples[..4] {
        assert!(sample.read.ios * 16 > outcome.read.ios, "{:?}", outcome.samples);
    }
}

/// Proves that a rate is kept as a total over jobs.
#[test]
fn a_rate_agrees_with_fio() {
    let directory = directory();
    let target = file(directory.path(), 16 << 20);
    let load = LoadSpec { numjobs: 3, rate_iops: Some(2000.0), ..load(Pattern::Randwrite) };
    let outcome = run_with(directory.path(), &target, &load, &[]).unwrap();
    assert_agrees(&outcome);
    assert!(outcome.write.ios.abs_diff(2000) <= 100, "{outcome:?}");
}

/// Proves that a mix of sizes has fio's bytes, shared out over the intervals; and that a rate which fio does not reach
/// is told: with mixed sizes it takes `rate_iops` times the smallest size as a limit on bytes (measured with 3.33).
#[test]
fn a_size_mix_agrees_with_fio() {
    let directory = directory();
    let target = file(directory.path(), 16 << 20);
    let load = LoadSpec { rate_iops: Some(2000.0), ..load(Pattern::Randwrite) };
    let outcome = run_with(directory.path(), &target, &load, &[("bssplit", "4k/50:64k/50")]).unwrap();
    assert_agrees(&outcome);
    for sample in &outcome.samples[..4] {
        assert!(
            sample.write.bytes * 16 > outcome.write.bytes,
            "an interval has far less than its quarter: {outcome:?}"
        );
    }
    assert!((20_000..50_000).contains(&(outcome.write.bytes / outcome.write.ios)), "{outcome:?}");
    assert!(
        outcome.warnings.iter().any(|line| line.contains("instead of rate_iops 2000")),
        "{:?}",
        outcome.warnings
    );
}

/// Proves that sequential jobs each read their own part of the range.
#[test]
fn sequential_jobs_read_their_parts() {
    let directory = directory();
    let target = file(directory.path(), 16 << 20);
    let load = LoadSpec { numjobs: 4, bs_bytes: 65_536, ..load(Pattern::Read) };
    let outcome = run_with(directory.path(), &target, &load, &[]).unwrap();
    assert_agrees(&outcome);
    let job_file = std::fs::read_to_string(&outcome.job_file).unwrap();
    assert!(job_file.contains("offset_increment=4194304\nsize=4194304\n"), "{job_file}");
}

/// Starts nbdkit, and returns it with its address.
fn nbdkit(directory: &Path, arguments: &[&str]) -> (Nbdkit, Target) {
    let nbdkit = Nbdkit::start(directory.join("nbd.sock"), arguments);
    let target = Target::Nbd(nbdkit.uri());
    (nbdkit, target)
}

/// Proves the same on an NBD address, where fio needs its own I/O engine and has no file.
#[test]
fn an_nbd_address_agrees_with_fio() {
    let directory = directory();
    let (_server, target) = nbdkit(directory.path(), &["memory", "16M"]);
    let outcome =
        run_with(directory.path(), &target, &LoadSpec { iodepth: 4, ..load(Pattern::Randrw) }, &[]).unwrap();
    assert!(outcome.read.ios > 100 && outcome.write.ios > 40, "{outcome:?}");
    assert_agrees(&outcome);
    assert_percentiles_agree(&outcome);
}

/// Proves that an I/O error of the device is a failure with its cause and with what was done until then.
#[test]
fn an_io_error_is_told() {
    let directory = directory();
    let (_server, target) =
        nbdkit(directory.path(), &["--filter=error", "memory", "16M", "error-pread-rate=1%", "error=EIO"]);
    let error = run_with(directory.path(), &target, &load(Pattern::Randread), &[]).unwrap_err();
    let FioError::Failed { cause, errno, .. } = &error else { panic!("{error:?}") };
    assert_eq!(*errno, Some(5), "{cause}");
    assert!(cause.contains("Input/output error"), "{cause}");
}

/// Proves that with `continue_on_error` the run is done although I/Os fail, whichever error of the block layer it is, and
/// that they are counted by direction and kind.
#[test]
fn errors_are_passed_over_where_that_is_asked_for() {
    for (error, says) in [("EIO", "Input/output error"), ("ENOSPC", "No space left on device")] {
        let directory = directory();
        let filter = ["--filter=error", "memory", "16M", "error-pwrite-rate=10%", &format!("error={error}")];
        let (_server, target) = nbdkit(directory.path(), &filter);
        let options = [("continue_on_error", "all")];
        let outcome = run_with(directory.path(), &target, &load(Pattern::Randrw), &options).unwrap();
        let (read, write) = (&outcome.read, &outcome.write);
        assert!(read.errors == 0 && read.ios > 0 && write.errors > 0 && write.ios > 0, "{outcome:?}");
        let warning = format!("{} writes failed: {says}", units::with_thousands(write.errors));
        assert!(outcome.warnings.iter().any(|one| one.starts_with(&warning)), "{:?}", outcome.warnings);
        let counted: u64 = outcome.samples.iter().map(|sample| sample.write.errors).sum();
        assert_eq!(counted, write.errors);
    }
}

/// Proves that a device that is full is told as such: a campaign stops there and can be resumed.
#[test]
fn a_full_device_is_told() {
    let directory = directory();
    let (_server, target) = nbdkit(
        directory.path(),
        &["--filter=error", "memory", "16M", "error-pwrite-rate=1%", "error=ENOSPC"],
    );
    let error = run_with(directory.path(), &target, &load(Pattern::Randwrite), &[]).unwrap_err();
    let FioError::Failed { cause, errno, partial: Some(partial) } = &error else { panic!("{error:?}") };
    assert_eq!(*errno, Some(28), "{cause}");
    assert!(cause.contains("No space left on device") && partial.write.errors > 0, "{cause} {partial:?}");
}

/// Proves that an address without a server and a file that is gone are failures in fio's words.
#[test]
fn a_missing_target_is_told() {
    let directory = directory();
    let target = Target::Nbd("nbd+unix:///?socket=/dev/shm/arraylab-fio-no-such-socket".into());
    let error = run_with(directory.path(), &target, &load(Pattern::Randread), &[]).unwrap_err();
    assert!(matches!(&error, FioError::Failed { cause, .. } if cause.contains("No such file")), "{error:?}");
    let target = Target::Path(directory.path().join("gone"));
    let error = run_with(directory.path(), &target, &load(Pattern::Randread), &[]).unwrap_err();
    assert!(matches!(&error, FioError::Io { .. }), "{error:?}");
}

/// Proves that a job file which fio refuses is told in fio's words.
#[test]
fn a_refused_option_is_told() {
    let directory = directory();
    let target = file(directory.path(), 1 << 20);
    let error = run_with(directory.path(), &target, &load(Pattern::Randread), &[("no_such_option", "1")])
        .unwrap_err();
    let FioError::Refused { reason } = &error else { panic!("{error:?}") };
    assert!(reason.contains("Bad option <no_such_option=1>"), "{reason}");
}

/// Proves that fio's note on a depth that it cannot reach becomes a warning.
#[test]
fn a_depth_that_is_not_reached_is_told() {
    let directory = directory();
    let target = file(directory.path(), 1 << 20);
    let load = LoadSpec { iodepth: 16, runtime_ns: 300_000_000, ..load(Pattern::Randread) };
    let outcome = run_with(directory.path(), &target, &load, &[("ioengine", "psync")]).unwrap();
    assert!(
        outcome.warnings.iter().any(|line| line.contains("queue depth will be capped at 1")),
        "{:?}",
        outcome.warnings
    );
}

/// Returns true if a process in this directory has a thread besides fio's first two, which start and watch its jobs.
fn has_job_thread(directory: &Path) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let is_in_directory =
        |process: &PathBuf| std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == directory);
    processes
        .filter(is_in_directory)
        .any(|process| std::fs::read_dir(process.join("task")).is_ok_and(|tasks| tasks.count() > 2))
}

/// Proves that an interrupted run ends soon and keeps what was done, and that progress is told until then.
#[test]
fn an_interrupted_run_keeps_what_was_done() {
    let directory = directory();
    let target = file(directory.path(), 1 << 20);
    let load = LoadSpec { runtime_ns: 60_000_000_000, rate_iops: Some(1000.0), ..load(Pattern::Randread) };
    let case = directory.path().join("case");
    std::fs::create_dir_all(&case).unwrap();
    let interrupt = AtomicBool::new(false);
    let start = Instant::now();
    let mut progress_reports = 0;
    // fio that is interrupted before its job runs has nothing to report, and on a busy host it takes seconds to begin.
    let mut begun: Option<Instant> = None;
    let mut on_progress = |progress: fio::Progress| {
        progress_reports += 1;
        assert!(progress.elapsed_ns < progress.expected_ns);
        if begun.is_none() && has_job_thread(&case) {
            begun = Some(Instant::now());
        }
        let is_due = begun.is_some_and(|begun| begun.elapsed() > Duration::from_secs(2));
        interrupt.store(is_due, Ordering::Relaxed);
    };
    let fio_case =
        FioCase { target: &target, load: &load, io_size_bytes: None, options: &[], directory: &case };
    let error = engine().run(&fio_case, &mut on_progress, &interrupt).unwrap_err();
    assert!(
        start.elapsed() < Duration::from_secs(15) && progress_reports >= 2,
        "{:?} {progress_reports}",
        start.elapsed()
    );
    let FioError::Interrupted { partial: Some(partial) } = error else { panic!("{error:?}") };
    assert!(partial.read.ios >= 100, "{partial:?}");
    assert_agrees(&partial);
}

/// Proves that a fio which waits for a target that does not answer is ended after a limit, and the failure says how many
/// I/Os hang for how long.
#[test]
fn a_hang_is_told() {
    let directory = directory();
    let (server, target) = nbdkit(directory.path(), &["memory", "16M"]);
    let load = LoadSpec { iodepth: 4, ..load(Pattern::Randread) };
    let case = directory.path().join("case");
    std::fs::create_dir_all(&case).unwrap();
    let engine = Engine { overtime_limit: Duration::from_secs(2), ..engine() };
    let fio_case =
        FioCase { target: &target, load: &load, io_size_bytes: None, options: &[], directory: &case };
    let mut is_stopped = false;
    let mut on_progress = |_| {
        if !std::mem::replace(&mut is_stopped, true) {
            server.signal("-STOP");
        }
    };
    let start = Instant::now();
    let error = engine.run(&fio_case, &mut on_progress, &AtomicBool::new(false)).unwrap_err();
    server.signal("-CONT");
    assert!(matches!(error, FioError::Hung { ios: 4, is_pending: false, .. }), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("up to 4 I/Os were not answered for 2 s"), "{message}");
    assert!(start.elapsed() < Duration::from_secs(25), "{:?}", start.elapsed());
}

/// A program that says it is fio 3.33 and then runs `body`. Another process writes it: were it open for writing here, a
/// fork in another test's thread would inherit that, and running the program would fail with ETXTBSY.
fn impostor(directory: &Path, body: &str) -> Engine {
    let path = directory.join("impostor");
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in --version) echo fio-3.33; exit;; --enghelp) printf 'engines:\\n\\tpsync\\n'; exit;; esac\n{body}\n"
    );
    let write = "printf %s \"$2\" > \"$1\" && chmod 755 \"$1\"";
    assert!(Command::new("sh").args(["-c", write, "sh"]).arg(&path).arg(script).status().unwrap().success());
    Engine::at(&path).unwrap()
}

/// Proves that a fio which is killed, writes nothing or writes nonsense is a failure with that cause.
#[test]
fn a_fio_that_breaks_is_told() {
    let directory = directory();
    let target = file(directory.path(), 1 << 20);
    let load = load(Pattern::Randread);
    for (body, says) in [
        ("kill -9 $$", "signal 9 (SIGKILL)"),
        ("exit 0", "holds no JSON object; is the file system that holds the run full?"),
        ("exit 7", "ended with status 7 and said nothing"),
        ("printf '{\\n\"jobs\" : 5\\n}\\n' > fio.json", "line 1"),
        ("echo 'fio: out of memory' >&2; exit 1", "out of memory"),
    ] {
        let engine = impostor(directory.path(), body);
        let fio_case = FioCase {
            target: &target,
            load: &load,
            io_size_bytes: None,
            options: &[],
            directory: directory.path(),
        };
        let error = engine.run(&fio_case, &mut |_| {}, &AtomicBool::new(false)).unwrap_err();
        assert!(error.to_string().contains(says), "{body}: {error}");
    }
}

/// Proves that fio ends with the thread that started it, as it must when arraylab is killed.
#[test]
fn fio_does_not_outlive_its_laboratory() {
    let directory = directory();
    let target = file(directory.path(), 1 << 20);
    let load = load(Pattern::Randread);
    let marker = directory.path().join("pid");
    let engine = impostor(directory.path(), &format!("echo $$ > {}; exec sleep 60", marker.display()));
    let case_directory = directory.path().to_path_buf();
    // A panic in the callback ends the thread as a death of the process would: without waiting for fio.
    let thread = std::thread::spawn(move || {
        let fio_case = FioCase {
            target: &target,
            load: &load,
            io_size_bytes: None,
            options: &[],
            directory: &case_directory,
        };
        let _ = engine.run(&fio_case, &mut |_| panic!("the laboratory dies"), &AtomicBool::new(false));
    });
    assert!(thread.join().is_err());
    let pid: u32 = std::fs::read_to_string(&marker).unwrap().trim().parse().unwrap();
    // Nobody waits for it, so it stays as a zombie of this process: state Z.
    wait_until(Duration::from_secs(5), "the process has ended", || {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "))
    });
}
