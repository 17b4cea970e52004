//! Our own engine on files and loop devices, as a user runs it.

use crate::support::{
    LoopDevice, NbdFile, NbdServer, arraylab, command, consent_id, full_or_tenth, query, refuse, results,
    succeed, text, tool, wait_until, warnings,
};
use serde_json::Value;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A directory with a plan.
struct PlanDirectory {
    directory: tempfile::TempDir,
}

impl PlanDirectory {
    fn new(plan: &str) -> PlanDirectory {
        let directory = tempfile::tempdir_in("/dev/shm").expect("a directory in /dev/shm");
        fs::write(directory.path().join("plan.yaml"), plan).unwrap();
        PlanDirectory { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn file_target(&self) -> String {
        format!("file:{},size=16m", self.text("target"))
    }
}

fn words<'a>(plan: &'a str, run: &'a str, targets: &'a [String]) -> Vec<&'a str> {
    let mut words = vec!["run", plan, "--out", run];
    for target in targets {
        words.extend(["--target", target]);
    }
    words
}

/// Proves that a case whose I/Os hang is `failed` with their number, that no case begins while they are pending, that the
/// run then ends with status 3, and that it is resumed once the target answers again.
#[test]
fn a_hung_target_fails_its_case_and_stops_the_run() {
    let plan = "\
title: hang
watch: { interval: 200ms }
defaults: { rw: randread, bs: 4k, numjobs: 1, iodepth: 4, direct: 0 }
stages:
  before: { settings: { runtime: 0.5 } }
  hangs: { settings: { runtime: 3 } }
  after: { settings: { runtime: 0.5 } }
";
    let bench = PlanDirectory::new(plan);
    // Too large for the page cache to answer in its place.
    let server = NbdServer::new("8G");
    let file = NbdFile::new(&server, &bench.path("nbd"));
    let (plan, run, target) = (bench.text("plan.yaml"), bench.text("run"), file.path.to_str().unwrap());
    let mut child = command(&["run", &plan, "--out", &run, "--target", target])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let sql = "select count(*) from intervals where attempt_id = 2";
    wait_until("the second case has begun", || {
        // The manifest is written when the database has its tables.
        bench.path("run/manifest.json").exists() && query(&bench.path("run"), sql) != "0"
    });
    server.nbdkit.signal("-STOP");
    let status = child.wait().unwrap();
    let mut printed_text = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut printed_text).unwrap();
    server.nbdkit.signal("-CONT");
    assert_eq!(status.code(), Some(3), "{printed_text}");
    let of = |results: &[Value]| -> Vec<String> {
        results.iter().map(|result| result["status"].as_str().unwrap().to_owned()).collect()
    };
    let first = results(&bench.path("run"));
    assert_eq!(of(&first)[..2], ["done", "failed"], "{printed_text}");
    assert_eq!(first.len(), 2, "no case began while I/Os were pending: {first:?}");
    let error = first[1]["error"].as_str().unwrap();
    assert!(error.contains("the target hangs: 4 I/Os were not answered for"), "{error}");
    assert!(error.contains("still pending"), "{error}");

    succeed(&["run", "--resume", &run]);
    assert_eq!(of(&results(&bench.path("run"))), ["done", "done", "done"], "the failed case is run again");
}

const SHAPES: &str = "\
title: shapes
watch: { interval: 100ms }
defaults: { rw: randrw, rwmixread: 70, bs: 4k, numjobs: 2, iodepth: 8, runtime: 0.4 }
stages:
  closed: { settings: {} }
  open: { settings: { rate_iops: 1000, rate_process: poisson } }
  sizes: { settings: { bssplit: 4k/50:16k/50 } }
  hot: { settings: { random_distribution: \"zipf:1.1\" } }
  verified: { settings: { rw: randwrite, verify: crc32c } }
  ends: { settings: { rw: write, bs: 64k, io_size: 100%, runtime: 30 } }
";

/// Proves that without `--engine` our own engine runs a plan's shapes on a file, that each case has intervals that add up
/// to its result, its processor time, both latencies where the load is open, and ends with its bytes where it shall.
#[test]
fn shapes_on_a_file() {
    let bench = PlanDirectory::new(SHAPES);
    let (plan, run) = (bench.text("plan.yaml"), bench.text("run"));
    succeed(&words(&plan, &run, &[bench.file_target()]));
    let results = results(&bench.path("run"));
    let of = |stage: &str| results.iter().find(|result| result["stage"] == stage).expect(stage);
    for result in &results {
        assert_eq!((&result["engine"], &result["status"]), (&Value::from("ring"), &Value::from("done")));
        assert!(result["cpu_ns_per_io"].as_f64().is_some_and(|ns| ns > 0.0), "{result}");
    }
    let rate = of("open")["iops"].as_f64().unwrap();
    assert!((1800.0..2200.0).contains(&rate), "{rate}");
    assert!(of("open")["read"]["service_ns"]["mean"].is_number());
    assert!(of("closed")["read"]["service_ns"].is_null());
    let bytes = of("sizes")["read"]["bytes"].as_f64().unwrap() / of("sizes")["read"]["ios"].as_f64().unwrap();
    assert!((8192.0..12288.0).contains(&bytes), "{bytes}");
    assert_eq!(of("ends")["write"]["bytes"], 16 << 20, "each job wrote its half once");
    let sums = tool(
        "sqlite3",
        &[
            &bench.text("run/run.sqlite"),
            "SELECT count(*), sum(ok) FROM (SELECT sum(s.ios) = (SELECT sum(ios) FROM totals t WHERE t.attempt_id = \
             i.attempt_id) AS ok FROM samples s JOIN intervals i ON i.id = s.interval_id GROUP BY i.attempt_id);",
        ],
    );
    assert_eq!(sums.trim(), "6|6", "intervals add up to results");
    // The last case has overwritten what was verified.
    let (code, printed_text) = refuse(&["verify", &run]);
    assert!(code == Some(2) && printed_text.contains("wrote to the target last"), "{printed_text}");
}

/// Proves that a rate that cannot be delivered is said with what was asked for and what came, and does not become a lower
/// rate in silence; and that one that can be is delivered without a word.
#[test]
fn an_impossible_rate_is_said() {
    let bench = PlanDirectory::new(
        "title: t\ndefaults: { rw: randread, bs: 4k, iodepth: 4, rate_process: poisson, runtime: 0.4 }\nstages:\n  rates: { matrix: { rate_iops: [200, 20000000] } }\n",
    );
    let (plan, run) = (bench.text("plan.yaml"), bench.text("run"));
    succeed(&words(&plan, &run, &[bench.file_target()]));
    let results = results(&bench.path("run"));
    let shortfall = |result: &Value| -> Option<(u64, u64)> {
        let warnings = warnings(result);
        let (requested, rest) =
            warnings.iter().find_map(|text| text.split_once(" I/Os were asked for and "))?;
        let delivered = rest.split_once(" delivered")?.0;
        Some((requested.parse().unwrap(), delivered.parse().unwrap()))
    };
    // A busy machine may fall short of the possible rate too; then what it delivered is less than 99 % of what is named. That
    // nothing is said of more than that is a test of `ring`.
    let is_true = |result: &Value, (requested, delivered): (u64, u64)| {
        result["read"]["ios"] == delivered && delivered * 100 < requested * 99
    };
    assert!(shortfall(&results[0]).is_none_or(|short| is_true(&results[0], short)), "{results:?}");
    assert!(shortfall(&results[1]).is_some_and(|short| is_true(&results[1], short)), "{results:?}");
    // What waited for a place waited from its intended arrival on.
    let latency = |of: &str| results[1]["read"][of]["p50"].as_f64().unwrap();
    assert!(latency("latency_ns") > 10.0 * latency("service_ns"), "{}", results[1]);
}

/// Proves that one load over three files goes to each of them as the plan's stripe says, and that several loads at once
/// have results of their own.
#[test]
fn a_stripe_and_several_loads() {
    let bench = PlanDirectory::new(
        "title: t\ndefaults: { rw: write, bs: 64k, runtime: 20, iodepth: 4, io_size: 100% }\nstages:\n  striped: { stripe: { unit: 64k, columns: 3 }, settings: { verify: crc32c } }\n",
    );
    let targets: Vec<String> =
        ["a", "b", "c"].map(|name| format!("file:{},size=4m", bench.text(name))).to_vec();
    let (plan, run) = (bench.text("plan.yaml"), bench.text("run"));
    succeed(&words(&plan, &run, &targets));
    assert_eq!(results(&bench.path("run"))[0]["write"]["bytes"], 12 << 20);
    for (number, name) in ["a", "b", "c"].into_iter().enumerate() {
        // The second chunk of a target is chunk 3 + its number of the whole; each unit names its address.
        let mut header = [0; 16];
        File::open(bench.path(name)).unwrap().read_exact_at(&mut header, 65536).unwrap();
        assert_eq!(&header[..8], b"arraylab");
        let address = u64::from_le_bytes(header[8..].try_into().unwrap());
        assert_eq!(address, (3 + number as u64) * 65536, "{name}");
    }
    let checked = succeed(&["verify", &run]);
    assert!(checked.contains("192 blocks checked, 0 wrong"), "{checked}");
    let (code, printed_text) =
        refuse(&[&words(&plan, &bench.text("other"), &targets)[..], &["--engine", "fio"]].concat());
    assert_eq!(code, Some(2));
    assert!(printed_text.contains("--engine ring"), "{printed_text}");

    fs::write(
        bench.path("plan.yaml"),
        "title: t\ndefaults: { rw: randread, bs: 4k, runtime: 0.5 }\nstages:\n  both: { loads: { one: {}, two: { settings: { rw: randwrite, bs: 8k } } } }\n",
    )
    .unwrap();
    let run = bench.text("loads");
    succeed(&words(&plan, &run, &targets[..2]));
    let result = &results(&bench.path("loads"))[0];
    let loads = result["loads"].as_array().unwrap();
    assert_eq!((&loads[0]["load"], &loads[1]["load"]), (&Value::from("one"), &Value::from("two")));
    assert!(loads[0]["read"]["ios"].as_u64() > Some(0) && loads[1]["write"]["ios"].as_u64() > Some(0));
}

/// Proves that a run killed in the middle of a verified load keeps its intervals up to the last, and that what was
/// acknowledged before the kill is verified afterwards: no false alarm, and a damaged block named with what was expected.
#[test]
fn killed_and_verified() {
    let bench = PlanDirectory::new(
        "title: t\nwatch: { interval: 50ms }\ndefaults: { rw: randwrite, bs: 4k, numjobs: 2, iodepth: 8, runtime: 60 }\nstages:\n  crash: { settings: { verify: crc32c } }\n",
    );
    let (plan, run) = (bench.text("plan.yaml"), bench.text("run"));
    let targets = [bench.file_target()];
    let mut child =
        command(&words(&plan, &run, &targets)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let intervals = || intervals_so_far(&bench.path("run"));
    wait_until("15 intervals are kept", || intervals() >= 15);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(intervals() >= 15, "{} intervals", intervals());
    let intact = succeed(&["verify", &run, "--json"]);
    let intact: Value = serde_json::from_str(intact.trim()).unwrap();
    assert!(intact["checked_blocks"].as_u64() > Some(100), "{intact}");
    assert_eq!(intact["wrong_blocks"], 0, "{intact}");

    let target = File::options().read(true).write(true).open(bench.path("target")).unwrap();
    let damaged = first_written_block(&target);
    let mut byte = [0];
    target.read_exact_at(&mut byte, damaged + 1000).unwrap();
    target.write_all_at(&[byte[0] ^ 4], damaged + 1000).unwrap();
    let output = arraylab(&["verify", &run]);
    let printed_text = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{printed_text}");
    assert!(
        printed_text.contains(&format!("block at byte {damaged} "))
            && printed_text.contains("expected: write "),
        "{printed_text}"
    );
}

fn first_written_block(target: &File) -> u64 {
    let mut magic = [0; 8];
    (0..4096)
        .map(|block| block * 4096)
        .find(|&at| target.read_exact_at(&mut magic, at).is_ok() && &magic == b"arraylab")
        .expect("a written block")
}

/// Proves that Ctrl-C ends a load within a second and that the intervals so far are kept.
#[test]
fn ctrl_c_is_quick() {
    let bench = PlanDirectory::new(
        "title: t\nwatch: { interval: 50ms }\ndefaults: { rw: randrw, bs: 4k, iodepth: 8, runtime: 60 }\nstages:\n  long: {}\n",
    );
    let (plan, run) = (bench.text("plan.yaml"), bench.text("run"));
    let targets = [bench.file_target()];
    let mut child =
        command(&words(&plan, &run, &targets)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let count = || intervals_so_far(&bench.path("run"));
    wait_until("three intervals are kept", || count() >= 3);
    let requested = Instant::now();
    tool("kill", &["-INT", &child.id().to_string()]);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(requested.elapsed() < Duration::from_secs(1), "ended after {:?}", requested.elapsed());
    assert!(count() >= 3);
}

/// Proves that errors of a device end a case as failed, or are counted by kind while it goes on, as the plan says: the file
/// behind a loop device is cut short, so that half of the device answers with errors.
#[test]
fn errors_are_counted_or_end_the_case() {
    let device = LoopDevice::new(16 << 20);
    let bench = PlanDirectory::new(
        "title: t\nread_only: true\ndefaults: { rw: randread, bs: 4k, iodepth: 4, runtime: 0.5 }\nstages:\n  stops: { settings: { continue_on_error: none } }\n  goes-on: { settings: { continue_on_error: all } }\n",
    );
    device.cut(8 << 20);
    let (plan, run) = (bench.text("plan.yaml"), bench.text("run"));
    let targets = [device.path.clone()];
    let output = arraylab(&words(&plan, &run, &targets));
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let results = results(&bench.path("run"));
    assert_eq!(results[0]["status"], "failed");
    assert!(results[0]["error"].as_str().unwrap().contains("continue_on_error: all"), "{}", results[0]);
    assert_eq!(results[1]["status"], "done");
    assert!(results[1]["read"]["ios"].as_u64() > Some(0), "{}", results[1]);
    let errors = results[1]["read"]["errors"].as_u64().unwrap();
    assert!(errors > 0, "{}", results[1]);
    assert!(results[1]["warnings"].to_string().contains("reads failed: "), "{}", results[1]);
}

/// Proves that a file that is cut short under a load, so that reads come back with fewer bytes than asked for, ends the case
/// as failed, or is counted by kind while the case goes on to its end, as the plan says; and that nothing hangs.
#[test]
fn short_reads_are_counted_or_end_the_case() {
    for (policy, code) in [("none", 3), ("all", 0)] {
        let bench = PlanDirectory::new(&format!(
            "title: t\nwatch: {{ interval: 50ms }}\ndefaults: {{ rw: randread, bs: 4k, iodepth: 4, numjobs: 2, direct: 0, runtime: 3, continue_on_error: {policy} }}\nstages:\n  cut: {{}}\n"
        ));
        let (plan, run) = (bench.text("plan.yaml"), bench.text("run"));
        let targets = [bench.file_target()];
        let child = command(&words(&plan, &run, &targets)).stderr(Stdio::piped()).spawn().unwrap();
        wait_until("five intervals are kept", || intervals_so_far(&bench.path("run")) >= 5);
        let begun = Instant::now();
        // Half of the file, and 512 bytes: one block is there in part, the others behind it not at all.
        File::options().write(true).open(bench.path("target")).unwrap().set_len((8 << 20) + 512).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(40), "it hung for {:?}", begun.elapsed());
        assert_eq!(output.status.code(), Some(code), "{policy}: {}", text(&output.stderr));
        let result = &results(&bench.path("run"))[0];
        let printed_text = result["warnings"].to_string();
        assert!(printed_text.contains("reads failed: fewer bytes than asked for"), "{policy}: {result}");
        assert!(result["read"]["ios"].as_u64() > Some(100), "{policy}: what was counted is kept: {result}");
        let errors = result["read"]["errors"].as_u64().unwrap();
        if policy == "all" {
            assert!(errors > 100 && result["duration_s"] == 3.0, "{result}");
        } else {
            let why = result["error"].as_str().unwrap();
            assert!(why.contains("fewer bytes than asked for"), "{why}");
            assert!((1..=8).contains(&errors), "no more than were under way: {result}");
        }
    }
}

/// Intervals that a run under way has kept; 0 before it has any.
fn intervals_so_far(run: &Path) -> u64 {
    let database = run.join("run.sqlite");
    let output = std::process::Command::new("sqlite3")
        .args(["-readonly", database.to_str().unwrap(), "SELECT count(*) FROM intervals;"])
        .output()
        .expect("sqlite3 is needed (scripts/install-test-clients.sh installs it)");
    text(&output.stdout).trim().parse().unwrap_or(0)
}

/// Proves that threads of a load run on the processors that the plan names, one after the other, and that what fio does
/// otherwise is refused where fio is asked for.
#[test]
fn threads_are_pinned_as_the_plan_says() {
    let bench = PlanDirectory::new(
        "title: t\ndefaults: { rw: randread, bs: 4k, numjobs: 2, runtime: 3, cpus_allowed: \"0-1\" }\nstages:\n  pinned: {}\n",
    );
    let (plan, run) = (bench.text("plan.yaml"), bench.text("run"));
    let targets = [bench.file_target()];
    let mut child =
        command(&words(&plan, &run, &targets)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    let mut allowed = Vec::new();
    while child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the load does not end: {allowed:?}");
        std::thread::sleep(Duration::from_millis(20));
        allowed = processors_of(child.id(), "ring-");
        // A thread is there before it is pinned.
        if allowed == ["0", "1"] {
            break;
        }
    }
    assert_eq!(allowed, ["0", "1"]);
    assert!(child.wait().unwrap().success());
    fs::write(
        bench.path("plan.yaml"),
        "title: t\nstages:\n  zeroed: { settings: { rw: randread, bs: 4k, rwmixtrim: 100, trim_by: zeroes, runtime: 1 } }\n",
    )
    .unwrap();
    let other = bench.text("other");
    let (code, printed_text) = refuse(&[&words(&plan, &other, &targets)[..], &["--engine", "fio"]].concat());
    assert!(code == Some(2) && printed_text.contains("a trim of fio is a discard"), "{printed_text}");
}

/// Returns the processors allowed to the threads of a process with this prefix of their names, as the kernel lists them, in
/// order.
fn processors_of(process: u32, name: &str) -> Vec<String> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    let mut allowed: Vec<String> = tasks
        .filter_map(|task| fs::read_to_string(task.ok()?.path().join("status")).ok())
        .filter(|status| status.lines().next().is_some_and(|line| line.contains(name)))
        .filter_map(|status| {
            Some(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim().to_owned())
        })
        .collect();
    allowed.sort();
    allowed
}

/// Proves that a plan's trims write zeroes where it says so and give ranges up elsewhere, on a device that had data, and that
/// writes that must be on stable storage have the device told so, each of them, and an fsync as often as asked.
#[test]
fn zeroes_and_stable_writes_on_a_device() {
    let bench = PlanDirectory::new(
        "title: t\ndefaults: { bs: 64k, runtime: 20, io_size: 100% }\nstages:\n  data: { settings: { rw: write, sync: dsync, fsync: 8 } }\n  zeroed: { settings: { rw: read, rwmixtrim: 100, trim_by: zeroes } }\n  given-up: { settings: { rw: read, rwmixtrim: 100 } }\n",
    );
    let plan = bench.text("plan.yaml");
    // Zeroes that were written are there; a range that was given up is not. Each on a device of its own: a kernel whose
    // loop device cannot zero a file without writing gives up discarding on it as well.
    for (stage, is_there) in [("zeroed", true), ("given-up", false)] {
        let device = LoopDevice::new(4 << 20);
        let targets = [device.path.clone()];
        let written = || fs::read(&device.path).unwrap().iter().filter(|byte| **byte != 0).count();
        let once = |run: &str, stage: &str| {
            let words = [&words(&plan, run, &targets)[..], &["--stage", stage]].concat();
            let id = consent_id(&words);
            succeed(&[&words[..], &["--overwrite-data", &id]].concat());
            results(Path::new(run)).remove(0)
        };
        let before = device.flushes();
        let data = once(&bench.text(&format!("data-{stage}")), "data");
        // Each of 64 writes by itself, and every eighth once more.
        assert!(device.flushes() - before >= 72, "{} flushes", device.flushes() - before);
        assert_eq!((&data["write"]["ios"], &data["write"]["errors"]), (&64.into(), &0.into()), "{data}");
        assert!(written() > 3 << 20);
        let trimmed = once(&bench.text(stage), stage);
        assert_eq!(
            (&trimmed["trim"]["ios"], &trimmed["trim"]["errors"]),
            (&64.into(), &0.into()),
            "{trimmed}"
        );
        assert_eq!(written(), 0);
        assert_eq!(device.allocated_bytes() > 0, is_there, "{stage}: {}", device.allocated_bytes());
    }
}

/// Proves that a result of a target that answers from memory says so, in its warnings and in the report, and that one of a
/// disk does not: a loop device over the page cache, a file in a tmpfs, and a load through the page cache.
#[test]
fn memory_is_not_storage() {
    let bench =
        PlanDirectory::new("title: t\nstages:\n  a: { settings: { rw: randread, bs: 4k, runtime: 0.2 } }\n");
    let on_disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let backing = on_disk.path().join("backing");
    File::create(&backing).unwrap().set_len(16 << 20).unwrap();
    let device = |direct: &str| {
        let file = backing.to_str().unwrap();
        tool("losetup", &["--find", "--show", direct, file]).trim().to_owned()
    };
    let printed_text = |name: &str, target: &str, more: &[&str]| {
        let (plan, run) = (bench.text("plan.yaml"), bench.text(name));
        let targets = [target.to_owned()];
        succeed(&[&words(&plan, &run, &targets)[..], more].concat());
        let report = bench.text(&format!("{name}.md"));
        succeed(&["report", &run, "--format", "md", "--out", &report]);
        let text = results(&bench.path(name))[0]["warnings"].to_string();
        (text, fs::read_to_string(report).unwrap())
    };
    let cached = device("--direct-io=off");
    let (warning, report) = printed_text("cached", &cached, &[]);
    tool("losetup", &["--detach", &cached]);
    let goes_through = format!("loop device {cached} goes through the page cache of");
    assert!(warning.contains("not as storage") && warning.contains(&goes_through), "{warning}");
    assert!(report.contains("through this host's memory"), "{report}");
    let direct = device("--direct-io=on");
    let (warning, _) = printed_text("direct", &direct, &[]);
    let (buffered, _) = printed_text("buffered", &direct, &["--set", "direct=0"]);
    tool("losetup", &["--detach", &direct]);
    assert!(!warning.contains("not as storage"), "{warning}");
    assert!(buffered.contains("through the page cache (`direct: 0`)"), "{buffered}");
    let (warning, _) = printed_text("tmpfs", &bench.file_target(), &[]);
    assert!(warning.contains("lies in memory (tmpfs)"), "{warning}");
}

/// Proves that what content came to is kept with its case, and that nothing is said where it is as asked.
#[test]
fn content_is_measured_and_kept() {
    let bench = PlanDirectory::new(
        "title: t\nstages:\n  content: { settings: { rw: randwrite, bs: 8k, io_size: 100%, runtime: 20, buffer_compress_percentage: 60, dedupe_percentage: 25 } }\n",
    );
    let (plan, run) = (bench.text("plan.yaml"), bench.text("run"));
    succeed(&words(&plan, &run, &[bench.file_target()]));
    let result = &results(&bench.path("run"))[0];
    assert!(warnings(result).is_empty(), "{result}");
    let kept: Value =
        serde_json::from_str(&query(&bench.path("run"), "SELECT data FROM events WHERE kind = 'content';"))
            .unwrap();
    assert_eq!(kept["blocks"], 4096, "{kept}");
    for (share, requested) in [("compress_percent", 60.0), ("dedupe_percent", 25.0)] {
        assert!((kept[share].as_f64().unwrap() - requested).abs() < 5.0, "{kept}");
    }
}

/// Proves that a load at half a million I/Os a second, sampled ten times a second into the run directory, stays under 200 MB
/// of memory and does not grow: ten minutes with `ARRAYLAB_LONG`, six seconds without. Where this host cannot deliver
/// the rate, the result says what was delivered.
#[test]
fn memory_is_bounded() {
    let seconds = if full_or_tenth(10) == 10 { 600 } else { 6 };
    let bench = PlanDirectory::new(&format!(
        "title: t\nwatch: {{ interval: 100ms }}\nstages:\n  fast: {{ settings: {{ rw: randread, bs: 4k, numjobs: 2, iodepth: 64, rate_iops: 250000, rate_process: poisson, runtime: {seconds} }} }}\n",
    ));
    let (plan, run) = (bench.text("plan.yaml"), bench.text("run"));
    let targets = [format!("file:{},size=64m", bench.text("target"))];
    let mut child =
        command(&words(&plan, &run, &targets)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let peak_kib = |process: u32| -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix(" kB")?.trim().parse().ok()
    };
    let (begun, mut peaks) = (Instant::now(), Vec::new());
    while child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(seconds + 60), "it does not end");
        peaks.extend(peak_kib(child.id()).map(|kib| (begun.elapsed(), kib)));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(child.wait().unwrap().success());
    let result = &results(&bench.path("run"))[0];
    // The kernel's counts lag by a little, in both directions.
    let most_kib = peaks.iter().map(|(_, kib)| *kib).max().expect("it ran");
    let settled =
        peaks.iter().find(|(since, _)| *since > Duration::from_secs(3)).expect("it ran for seconds").1;
    println!(
        "{} IOPS, {most_kib} KiB at most, {} more than after 3 s",
        result["iops"],
        most_kib.saturating_sub(settled)
    );
    assert!(most_kib < 200_000_000 / 1024, "{most_kib} KiB");
    assert!(
        most_kib.saturating_sub(settled) < 16 * 1024,
        "it grew by {} KiB",
        most_kib.saturating_sub(settled)
    );
    let rate = result["iops"].as_f64().unwrap();
    assert!(
        rate > 495_000.0 || result["warnings"].to_string().contains("I/Os were asked for and"),
        "what was delivered is said: {result}"
    );
    let intervals: u64 = query(&bench.path("run"), "SELECT count(*) FROM intervals;").parse().unwrap();
    assert_eq!(intervals, seconds * 10);
}

/// Proves that a device that goes away in the middle of a load ends the case, that nothing hangs, and that what was counted
/// is kept.
#[test]
fn a_device_that_disappears() {
    let device = LoopDevice::new(16 << 20);
    let bench = PlanDirectory::new(
        "title: t\nwatch: { interval: 50ms }\nread_only: true\ndefaults: { rw: randread, bs: 4k, iodepth: 4, runtime: 30, continue_on_error: all }\nstages:\n  gone: {}\n",
    );
    let (plan, run) = (bench.text("plan.yaml"), bench.text("run"));
    let targets = [device.path.clone()];
    let child =
        command(&words(&plan, &run, &targets)).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("five intervals are kept", || intervals_so_far(&bench.path("run")) >= 5);
    // Everything behind it is gone: each I/O fails from now on.
    device.cut(0);
    let failed = "SELECT coalesce(sum(errors), 0) FROM samples";
    wait_until("failed I/Os are counted", || query(&bench.path("run"), failed) != "0");
    tool("kill", &["-INT", &child.id().to_string()]);
    let requested = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(requested.elapsed() < Duration::from_secs(2), "ended after {:?}", requested.elapsed());
    assert!(matches!(output.status.code(), Some(3 | 130)), "{}", text(&output.stderr));
    let kept = tool(
        "sqlite3",
        &[&bench.text("run/run.sqlite"), "SELECT sum(ios) > 0, sum(errors) > 0 FROM samples;"],
    );
    assert_eq!(kept.trim(), "1|1", "I/Os before, errors after");
}

/// Proves that where the kernel forbids io_uring, threads issue the load, and that stderr and the result say so.
#[test]
fn threads_where_io_uring_is_forbidden() {
    let bench = PlanDirectory::new(
        "title: t\ndefaults: { rw: randrw, bs: 4k, iodepth: 4, runtime: 0.3 }\nstages:\n  one: {}\n",
    );
    let (plan, run) = (bench.text("plan.yaml"), bench.text("run"));
    let targets = [bench.file_target()];
    let mut command = command(&words(&plan, &run, &targets));
    // SAFETY: between fork and exec only system calls are made; nothing is allocated and no lock is taken.
    unsafe { command.pre_exec(forbid_io_uring) };
    let output = command.output().unwrap();
    let printed_text = text(&output.stderr);
    assert!(output.status.success(), "{printed_text}");
    assert!(
        printed_text.contains("io_uring is forbidden")
            && printed_text.contains("threads with pread and pwrite"),
        "{printed_text}"
    );
    let result = &results(&bench.path("run"))[0];
    assert_eq!((&result["engine"], &result["status"]), (&Value::from("ring"), &Value::from("done")));
    assert!(result["read"]["ios"].as_u64() > Some(0) && result["write"]["ios"].as_u64() > Some(0));
    assert!(result["warnings"].to_string().contains("threads with pread and pwrite"), "{result}");
}

/// Has the kernel refuse `io_uring_setup` with EPERM, as a container's filter does.
fn forbid_io_uring() -> std::io::Result<()> {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let mut filter = [
        // The number of the system call is the first word of what the filter sees.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter {
            code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
            jt: 0,
            jf: 1,
            k: libc::SYS_io_uring_setup as u32,
        },
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program and its filter live until both calls have returned; the kernel copies them.
    let failed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) != 0
    };
    if failed { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

/// Proves that a device with data is written only with its ID, by our own engine too, and that NBD needs fio.
#[test]
fn consent_and_nbd() {
    let device = LoopDevice::new(16 << 20);
    let bench = PlanDirectory::new(
        "title: t\ndefaults: { rw: randwrite, bs: 4k, runtime: 0.2 }\nstages:\n  one: {}\n",
    );
    let (plan, run) = (bench.text("plan.yaml"), bench.text("run"));
    let targets = [device.path.clone()];
    let ring = [&words(&plan, &run, &targets)[..], &["--engine", "ring"]].concat();
    let id = consent_id(&ring);
    succeed(&[&ring[..], &["--overwrite-data", &id]].concat());
    assert_eq!(results(Path::new(&run))[0]["engine"], "ring");
    let nbd = ["nbd+unix:///?socket=/nowhere".to_owned()];
    let (code, printed_text) =
        refuse(&[&words(&plan, &bench.text("other"), &nbd)[..], &["--engine", "ring"]].concat());
    assert_eq!(code, Some(2));
    assert!(printed_text.contains("--engine fio"), "{printed_text}");
}

/// Proves that a null target takes a load of our own engine at the rate that is asked for, is said to be one, keeps nothing to
/// verify, and is refused by name to fio and as a part of a stripe.
#[test]
fn a_null_target_answers_at_once() {
    let bench = PlanDirectory::new(
        "title: No target\ndefaults: { rw: randrw, bs: 4k, runtime: 1s }\nstages:\n  paced: { settings: { rate_iops: 5000 } }\n  \
         verified: { settings: { rw: randwrite, verify: crc32c, rate_iops: 1000 } }\n",
    );
    let (plan, run) = (bench.text("plan.yaml"), bench.text("run"));
    let (status, message) = refuse(&["run", &plan, "--out", &run, "--target", "null:1g"]);
    assert_eq!(status, Some(3), "{message}");
    let results = results(&bench.path("run"));
    let warned = results[0]["warnings"].to_string();
    assert!(warned.contains("a null target answers at once and stores nothing"), "{warned}");
    // A machine that stalls at the end of the second loses what was due then.
    let iops = results[0]["iops"].as_f64().unwrap();
    assert!((4000.0..5250.0).contains(&iops), "{}", results[0]);
    assert!(results[1]["error"].as_str().unwrap().contains("keeps nothing"), "{}", results[1]);
    let (status, message) =
        refuse(&["run", &plan, "--out", &bench.text("fio"), "--target", "null:1g", "--engine", "fio"]);
    assert_eq!(status, Some(2), "{message}");
    assert!(message.contains("ioengine=null"), "{message}");
    let two = ["null:1g".to_owned(), "null:1g".to_owned()];
    let striped = bench.text("striped");
    let (_, message) = refuse(&words(&plan, &striped, &two));
    assert!(message.contains("use it alone") || message.contains("twice"), "{message}");
}
