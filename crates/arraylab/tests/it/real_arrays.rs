//! Plan features on real targets beside a load: array settings, host settings, writes beforehand, file systems,
//! several loads, limits and budgets.

use crate::support::{
    LoopDevice, arraylab, command, consent_id, query, results, succeed, text, wait_until, warnings,
    write_program,
};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A plan's file.
fn plan(directory: &Path, name: &str, yaml: &str) -> String {
    let path = directory.join(format!("{name}.yaml"));
    fs::write(&path, yaml).unwrap();
    path.to_str().unwrap().to_owned()
}

fn statuses(run: &Path) -> Vec<String> {
    results(run).iter().map(|result| result["status"].as_str().unwrap().to_owned()).collect()
}

const LEVELS: &str = "
title: Two levels
defaults: { rw: randwrite, bs: 4k, iodepth: 4, runtime: 0.2 }
stages:
  levels:
    settings: {}
    matrix: { raid: [5, 6, 0] }
";

/// Proves that without a driver no case is reported under an array setting that was not made, that the settings which
/// `--set` declares are taken for what is so, and that nothing is written for the others.
#[test]
fn nothing_is_reported_under_a_setting_that_was_not_made() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let plan = plan(directory.path(), "levels", LEVELS);
    let target = format!("file:{},size=16m", directory.path().join("t.img").display());
    let run = directory.path().join("none");
    succeed(&["run", &plan, "--target", &target, "--out", run.to_str().unwrap()]);
    assert_eq!(statuses(&run), ["not-settable"; 3]);
    let first = &results(&run)[0];
    assert!(first["error"].as_str().unwrap().contains("raid=5") && first["write"].is_null(), "{first}");
    let declared = directory.path().join("declared");
    succeed(&["run", &plan, "--target", &target, "--out", declared.to_str().unwrap(), "--set", "raid=6"]);
    assert_eq!(statuses(&declared), ["done"]);
}

/// A driver that makes a new loop device for each level, refuses RAID 6, and needs a while to become ready.
struct FakeArray {
    directory: tempfile::TempDir,
}

impl FakeArray {
    fn new() -> FakeArray {
        let directory = tempfile::tempdir_in("/dev/shm").unwrap();
        let script = r#"#!/bin/sh
request=$(cat)
cd "$(dirname "$0")" || exit 1
echo "$1 $request" >>log
case $1 in
set)
    raid=$(printf '%s' "$request" | sed -n 's/.*"raid":\([0-9]*\).*/\1/p')
    [ "$raid" = 6 ] && { echo '{"refused":"this array has no RAID 6"}'; exit 3; }
    [ -f device ] && losetup --detach "$(cat device)"
    truncate -s 16m "backing$raid" || exit 1
    losetup --find --show --direct-io=on "$PWD/backing$raid" >device || exit 1
    rm -f asked
    printf '{"devices":[{"path":"%s","id":"fake-%s"}],"changes":[{"name":"raid","before":null,"after":"%s"}]}\n' "$(cat device)" "$raid" "$raid"
    ;;
ready)
    if [ -f asked ]; then echo '{"ready":true}'; else touch asked; echo '{"ready":false,"progress_percent":50,"message":"initialising"}'; fi
    ;;
status) echo '{"volumes":1}' ;;
event) exit 0 ;;
esac
"#;
        let path = directory.path().join("driver.sh");
        write_program(&path, script);
        FakeArray { directory }
    }

    fn spec(&self) -> String {
        format!("exec:{},poll=0.05s", self.directory.path().join("driver.sh").display())
    }

    fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap()
    }
}

impl Drop for FakeArray {
    fn drop(&mut self) {
        if let Ok(device) = fs::read_to_string(self.directory.path().join("device")) {
            let _ = Command::new("losetup").args(["--detach", device.trim()]).status();
        }
    }
}

/// Proves that a driver is asked for each case's settings, that what it refuses becomes a refused case, that the
/// device which it made is tested without further consent, and that changes, status and events are kept.
#[test]
fn a_driver_sets_the_array_for_each_case() {
    let array = FakeArray::new();
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let with_event =
        LEVELS.replace("settings: {}", "events: [{ at: 50%, action: fail-drive, with: { drive: 3 } }, { when: { written: 1% }, action: blink }]");
    let plan = plan(directory.path(), "levels", &with_event);
    let run = directory.path().join("run");
    let output = arraylab(&[
        "run",
        &plan,
        "--target",
        "/dev/arraylab-test-does-not-exist",
        "--array",
        &array.spec(),
        "--out",
        run.to_str().unwrap(),
    ]);
    let printed_text = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{printed_text}");
    assert!(printed_text.contains("initialising 50.0 %"), "{printed_text}");
    assert_eq!(statuses(&run), ["done", "refused", "done"]);
    assert_eq!(results(&run)[1]["error"], "this array has no RAID 6");
    assert!(results(&run)[0]["write"]["ios"].as_u64().unwrap() > 0);
    let log = array.log();
    assert_eq!(log.lines().filter(|line| line.starts_with("set ")).count(), 3, "{log}");
    // Two cases, each with an event at its time and one that its samples bring about.
    assert_eq!(log.lines().filter(|line| line.starts_with("event ")).count(), 4, "{log}");
    assert!(!results(&run)[0]["warnings"].to_string().contains("condition"), "{}", results(&run)[0]);
    assert!(log.contains("\"drive\":3"), "{log}");
    assert_eq!(
        query(&run, "SELECT group_concat(name || '=' || after_value) FROM settings_changed"),
        "raid=5,raid=0"
    );
    assert_eq!(query(&run, "SELECT count(*) FROM events WHERE text = 'fail-drive'"), "2");
    assert_eq!(query(&run, "SELECT count(*) FROM events WHERE text = 'blink'"), "2");
}

/// Proves that a driver which fails ends the run with status 3, and that the run goes on from there.
#[test]
fn a_failing_driver_ends_the_run() {
    let array = FakeArray::new();
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let plan = plan(directory.path(), "levels", LEVELS);
    let run = directory.path().join("run");
    let script = array.directory.path().join("driver.sh");
    let good = fs::read_to_string(&script).unwrap();
    write_program(&script, "#!/bin/sh\necho 'the controller does not answer' >&2\nexit 1\n");
    let words = ["run", &plan, "--target", "/dev/arraylab-test-none", "--array", &array.spec(), "--out"];
    let output = arraylab(&[&words[..], &[run.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("the controller does not answer"), "{}", text(&output.stderr));
    write_program(&script, &good);
    succeed(&["run", "--resume", run.to_str().unwrap()]);
    assert_eq!(statuses(&run), ["done", "refused", "done"]);
}

fn fio_ios(directory: &Path) -> u64 {
    let text = fs::read_to_string(directory.join("fio.json")).unwrap();
    let report: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
    let jobs = report["jobs"].as_array().unwrap();
    jobs.iter()
        .map(|job| job["read"]["total_ios"].as_u64().unwrap() + job["write"]["total_ios"].as_u64().unwrap())
        .sum()
}

/// Proves that two loads run at once on two targets, that the counts of each equal fio's own, that one begins when the
/// plan says, and that limits make a sheet and status 1.
#[test]
fn two_loads_at_once_count_as_fio_does() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let plan = plan(
        directory.path(),
        "two",
        "
title: A neighbour
defaults: { bs: 4k, iodepth: 4, runtime: 1 }
stages:
  both:
    settings: { rw: randread }
    loads:
      victim: { target: 1 }
      noisy: { target: a.img, start: 40%, settings: { rw: randwrite, bs: 64k } }
require:
  - { says: more than any, quantity: iops, at_least: 1000000000, stage: both }
  - { says: no read fails, quantity: read.errors, at_most: 0, stage: both }
",
    );
    let target = |name: &str| format!("file:{},size=16m", directory.path().join(name).display());
    let run = directory.path().join("run");
    let output = arraylab(&[
        "run",
        &plan,
        "--target",
        &target("a.img"),
        "--target",
        &target("b.img"),
        "--engine",
        "fio",
        "--out",
        run.to_str().unwrap(),
    ]);
    let printed_text = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{printed_text}");
    assert!(
        printed_text.contains("FAIL  more than any") && printed_text.contains("PASS  no read fails"),
        "{printed_text}"
    );
    let result = results(&run).remove(0);
    let case = run.join("cases/0000-both");
    for (load, name, direction, file) in [(0, "victim", "read", "b.img"), (1, "noisy", "write", "a.img")] {
        let load = &result["loads"][load];
        assert_eq!(load["load"], name);
        assert!(load["target"].as_str().unwrap().contains(file), "{load}");
        assert_eq!(load[direction]["ios"].as_u64(), Some(fio_ios(&case.join(name))));
    }
    let noisy_s = result["loads"][1]["duration_s"].as_f64().unwrap();
    assert!((0.5..0.75).contains(&noisy_s), "{noisy_s}");
    let one = arraylab(&[
        "run",
        &plan,
        "--target",
        &target("a.img"),
        "--out",
        directory.path().join("x").to_str().unwrap(),
    ]);
    assert_eq!(one.status.code(), Some(2), "target 1 was not given");
}

/// Proves that writes before a case are made in full, are sampled, and count in no result; and that a load ends with
/// its bytes.
#[test]
fn writes_beforehand_are_made_and_kept() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let plan = plan(
        directory.path(),
        "written",
        "
title: Written twice
stages:
  reads:
    settings: { rw: randread, bs: 4k, iodepth: 4, runtime: 20, io_size: 25% }
    precondition: { times: 2, settings: { rw: write, bs: 64k, numjobs: 2, iodepth: 4 } }
",
    );
    let target = format!("file:{},size=16m", directory.path().join("t.img").display());
    for engine in ["fio", "ring"] {
        let run = directory.path().join(engine);
        let name = run.to_str().unwrap();
        succeed(&["run", &plan, "--target", &target, "--engine", engine, "--out", name]);
        let result = results(&run).remove(0);
        assert_eq!(result["read"]["bytes"], 4 << 20);
        assert!(result["write"].is_null() && warnings(&result).is_empty(), "{result}");
        let kept = "SELECT sum(bytes) FROM samples JOIN intervals ON intervals.id = interval_id JOIN loads ON \
                    loads.id = load_id WHERE name = 'preconditioning'";
        assert_eq!(query(&run, kept), (32 << 20).to_string());
        if engine == "fio" {
            assert_eq!(fio_ios(&run.join("cases/0000-reads/preconditioning")), (32 << 20) / (64 << 10));
        }
    }
}

/// Proves that a file system is made, loaded and unmounted, beside the raw device, and that a file is refused one.
#[test]
fn a_file_system_is_made_and_unmounted() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let plan = plan(
        directory.path(),
        "fs",
        "
title: ext4 beside the device
defaults: { rw: randread, bs: 4k, iodepth: 4, runtime: 0.3 }
stages:
  fs:
    filesystem: { fill: 50, mount: [noatime] }
    matrix: { filesystem: [raw, ext4] }
",
    );
    let device = LoopDevice::new(64 << 20);
    for engine in ["ring", "fio"] {
        let run = directory.path().join(engine);
        let name = run.to_str().unwrap();
        let words = ["run", &plan, "--target", &device.path, "--engine", engine, "--out", name];
        let id = consent_id(&words);
        succeed(&[&words[..], &["--overwrite-data", &id]].concat());
        assert_eq!(statuses(&run), ["done", "done"]);
        assert!(results(&run)[1]["read"]["ios"].as_u64().unwrap() > 0);
        assert!(!fs::read_to_string("/proc/mounts").unwrap().contains(&device.path));
        if engine == "fio" {
            let job = fs::read_to_string(find(&run.join("cases"), "0001").join("jobs.fio")).unwrap();
            assert!(job.contains("filesystem/arraylab.data"), "{job}");
        }
    }
    let file = format!("file:{},size=64m", directory.path().join("t.img").display());
    let other = directory.path().join("other");
    succeed(&["run", &plan, "--target", &file, "--out", other.to_str().unwrap()]);
    assert_eq!(statuses(&other), ["done", "not-settable"]);
}

fn find(directory: &Path, prefix: &str) -> PathBuf {
    let mut entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(prefix)).expect(prefix)
}

/// Proves that host settings are made for a case, put back at its end and, after `kill -9`, by the next run, and that
/// a target without a block queue has no case under them.
#[test]
fn host_settings_are_put_back() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let plan = plan(
        directory.path(),
        "host",
        "
title: Read-ahead of the queue
defaults: { rw: randread, bs: 4k, iodepth: 4, runtime: 0.3 }
stages:
  queue:
    matrix: { queue.read_ahead_kb: [64, 32] }
",
    );
    let device = LoopDevice::new(16 << 20);
    let name = device.path.rsplit('/').next().unwrap();
    let attribute = format!("/sys/block/{name}/queue/read_ahead_kb");
    let now = || fs::read_to_string(&attribute).unwrap().trim().to_owned();
    let before = now();
    let run = directory.path().join("run");
    succeed(&["run", &plan, "--target", &device.path, "--out", run.to_str().unwrap()]);
    assert_eq!(statuses(&run), ["done", "done"]);
    assert_eq!(now(), before);
    let values = query(&run, "SELECT group_concat(after_value) FROM settings_changed WHERE scope = 'host'");
    assert_eq!(values, format!("64,{before},32,{before}"));

    let killed = directory.path().join("killed");
    let killed_words =
        ["run", &plan, "--target", &device.path, "--out", killed.to_str().unwrap(), "--set", "runtime=60"];
    let mut child = command(&killed_words).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the setting is made", || now() == "64");
    child.kill().unwrap();
    child.wait().unwrap();
    // Any run that begins puts back what a dead one left; other tests begin runs as well.
    let file = format!("file:{},size=16m", directory.path().join("t.img").display());
    let next = directory.path().join("next");
    succeed(&["run", &plan, "--target", &file, "--out", next.to_str().unwrap()]);
    assert_eq!(now(), before);
    assert_eq!(statuses(&next), ["not-settable", "not-settable"]);
}

/// Proves that a time budget keeps what matters most, says what it leaves out, and that the run keeps it and can be
/// resumed with it.
#[test]
fn a_budget_leaves_out_what_matters_least() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let plan = plan(
        directory.path(),
        "budget",
        "
title: Three sizes
defaults: { rw: randread, iodepth: 4, runtime: 1 }
stages:
  sizes:
    matrix: { bs: { 4k: { priority: 2 }, 8k: { priority: 1 }, 16k: { priority: 3 } } }
",
    );
    let target = format!("file:{},size=16m", directory.path().join("t.img").display());
    let run = directory.path().join("run");
    let words = ["run", &plan, "--target", &target, "--out", run.to_str().unwrap(), "--time-budget"];
    let output = arraylab(&[&words[..], &["2s"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).contains("left out: sizes bs=16384 (priority 3"),
        "{}",
        text(&output.stderr)
    );
    let cases: Vec<Value> = results(&run).iter().map(|result| result["case"].clone()).collect();
    assert_eq!(cases, ["bs=4096", "bs=8192"]);
    let manifest: Value =
        serde_json::from_str(&fs::read_to_string(run.join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["left_out"][0]["case"], "bs=16384");
    succeed(&["run", "--resume", run.to_str().unwrap()]);
    let none = directory.path().join("none");
    let refused = arraylab(&[
        "run",
        &plan,
        "--target",
        &target,
        "--out",
        none.to_str().unwrap(),
        "--time-budget",
        "0.5s",
    ]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(!none.exists());
}

/// Proves that cases which continue one another do so on a twin, on any number of threads, and from a resume on.
#[test]
fn a_twin_goes_on_where_a_case_left_it() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let plan = plan(
        directory.path(),
        "chain",
        "
title: One after another
defaults: { rw: randwrite, bs: 8k, iodepth: 32, runtime: 0.1 }
stages:
  chain:
    continues: true
    pause: 1
    matrix: { numjobs: [1, 2, 4, 8] }
",
    );
    let run = |name: &str, more: &[&str]| {
        let path = directory.path().join(name);
        let words = ["run", &plan, "--target", "twin:flashsystem-840", "--out", path.to_str().unwrap()];
        succeed(&[&words[..], more].concat());
        succeed(&["results", path.to_str().unwrap(), "--json"])
    };
    let once = run("once", &["--threads", "1"]);
    assert_eq!(once.lines().count(), 4);
    assert_eq!(once, run("again", &["--threads", "2"]));

    let path = directory.path().join("cut");
    let mut child =
        command(&["run", &plan, "--target", "twin:flashsystem-840", "--out", path.to_str().unwrap()])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
    wait_until("the first case has ended", || {
        path.join("manifest.json").exists() && !results(&path).is_empty()
    });
    let _ = child.kill();
    child.wait().unwrap();
    succeed(&["run", "--resume", path.to_str().unwrap()]);
    assert_eq!(once, succeed(&["results", path.to_str().unwrap(), "--json"]));
}
