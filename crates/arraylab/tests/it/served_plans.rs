//! Plans on a served array in real time: the plan sets it, places its events, and finds what it finds on the twin.

use crate::support::{arraylab, consent_id, json_lines, query, results, succeed, text, wait_until};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;
use test_support::Statistic;

/// One array at a time: two that keep to the clock on the processors of one would both be late.
static CLOCK: Mutex<()> = Mutex::new(());

/// A served array, ended with the test, and a place for plans and runs.
struct Served {
    process: Child,
    directory: TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Served {
    /// In memory: what a paced run waits for is the model.
    fn start(array: &str) -> Served {
        Served::start_with(tempfile::tempdir_in("/dev/shm").unwrap(), array, &[])
    }

    fn start_with(directory: TempDir, array: &str, options: &[&str]) -> Served {
        let alone = CLOCK.lock().unwrap_or_else(PoisonError::into_inner);
        let process = Command::new(env!("CARGO_BIN_EXE_arraylab"))
            .args(["serve", array, "--socket"])
            .arg(directory.path().join("s"))
            .arg("--data")
            .arg(directory.path().join("data"))
            .args(options)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let served = Served { process, directory, _alone: alone };
        wait_until("the array is served", || served.control().exists());
        served
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn control(&self) -> PathBuf {
        self.path("s.ctl")
    }

    fn status(&self) -> Value {
        json_lines(&succeed(&["ctl", self.control().to_str().unwrap(), "status"])).remove(0)
    }

    /// The run of a plan with fio in real time, with consent to what it overwrites.
    fn in_real_time(&self, plan: &str) -> PathBuf {
        self.in_real_time_on(&[""], plan)
    }

    /// The same on volumes, one for each load.
    fn in_real_time_on(&self, volumes: &[&str], plan: &str) -> PathBuf {
        let (driver, plan, out) =
            (format!("ctl:{}", self.control().display()), self.write("real.yaml", plan), self.path("real"));
        let socket = self.path("s");
        let target = |volume: &&str| format!("nbd+unix:///{volume}?socket={}", socket.display());
        let targets: Vec<String> = volumes.iter().map(target).collect();
        let mut arguments = vec!["run", plan.to_str().unwrap(), "--array", &driver];
        targets.iter().for_each(|target| arguments.extend(["--target", target]));
        arguments.extend(["--out", out.to_str().unwrap()]);
        let mut output = arraylab(&arguments);
        if text(&output.stderr).contains("--overwrite-data") {
            let consent = consent_id(&arguments);
            arguments.extend(["--overwrite-data", &consent]);
            output = arraylab(&arguments);
        }
        assert!(output.status.success(), "{}", text(&output.stderr));
        out
    }

    /// The run of a plan on a twin in simulated time.
    fn simulated(&self, plan: &str, twin: &str) -> PathBuf {
        let (plan, out) = (self.write("simulated.yaml", plan), self.path("simulated"));
        let (target, out_text) = (format!("twin:{twin}"), out.to_str().unwrap());
        succeed(&["run", plan.to_str().unwrap(), "--target", &target, "--out", out_text]);
        out
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// I/Os of each interval, case after case.
fn by_interval(run: &Path) -> Vec<u64> {
    let sql = "SELECT coalesce(sum(samples.ios), 0) FROM intervals LEFT JOIN samples ON interval_id = intervals.id \
               WHERE is_ramp = 0 GROUP BY intervals.id ORDER BY attempt_id, start_ns";
    query(run, sql).lines().map(|line| line.parse().unwrap()).collect()
}

/// Runs of fio against a served array in real time. The same plan on the twin in simulated time has to show it always.
const IN_REAL_TIME: Statistic = Statistic {
    rounds: 5,
    outside_at_most: 4,
    because: "a busy machine shifts and stalls fio, the array and the plan's events, so that a run may show nothing",
};

const LIMITS: &str = "
title: Limits, shortened
watch: { interval: 1 }
defaults: { rw: randread, bs: 4k, numjobs: 1, iodepth: 16, runtime: 8 }
stages:
  limits:
    settings: {}
    matrix: { volume: [nvme, hybrid] }
    events:
      - { at: 25%, action: limit, with: { iops: 500 } }
      - { at: 75%, action: limit, with: { iops: none } }
";

/// Proves that a plan chooses the volume of a served array, sets and lifts its limit while fio runs in real time, and
/// that the rate falls to the limit and comes back, as on the twin.
#[test]
fn limits_are_set_by_a_plan() {
    let served = Served::start("storpool,capacity=256m");
    IN_REAL_TIME.check(|_| {
        let _ = fs::remove_dir_all(served.path("real"));
        shows_the_limits(&served.in_real_time(LIMITS))
    });
    let volumes = served.status()["volumes"].clone();
    for index in 0..2 {
        assert!(volumes[index]["served"]["read"]["ios"].as_u64().unwrap() > 3000, "{volumes}");
    }
}

/// Checks that a run shows limits that came and went; the error has what it shows instead.
fn shows_the_limits(run: &Path) -> Result<(), String> {
    let statuses: Vec<Value> = results(run).iter().map(|result| result["status"].clone()).collect();
    assert_eq!(statuses, ["done", "done"]);
    assert_eq!(query(run, "SELECT count(*) FROM events WHERE text = 'limit'"), "4");
    // Ten intervals of 0.8 s for each of the two cases; fio takes a moment to start, so on its clock the limit comes and
    // goes a little earlier than after a quarter and three quarters.
    let rates = by_interval(run);
    let is_limited = |ios: &u64| (200..=412).contains(ios);
    let shows = |rates: &[u64]| {
        rates.windows(3).any(|three| three.iter().all(is_limited)) && rates[0] > 1000 && rates[9] > 1000
    };
    if rates.len() == 20 && rates.chunks(10).all(shows) { Ok(()) } else { Err(format!("{rates:?}")) }
}

const FIRMWARE: &str = "
title: A firmware update, shortened
watch: { interval: 0.5 }
defaults: { rw: randrw, rwmixread: 80, bs: 8k, numjobs: 1, iodepth: 32, rate_iops: 1000, runtime: 10 }
stages:
  firmware-update:
    settings: {}
    events: [{ at: 20%, action: firmware-update }]
";

/// The shipped array with an update of seconds instead of hours.
fn hasty_flashsystem() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../arrays/flashsystem-840.yaml");
    let mut text = fs::read_to_string(path).unwrap();
    for (key, before, after) in [
        ("away", "300s", "1.5s"),
        ("gap", "60s", "1s"),
        ("path", "2s", "800ms"),
        ("verify", "1.87TB", "400MB"),
    ] {
        let (before, after) = (format!("{key}: {{ value: {before},"), format!("{key}: {{ value: {after},"));
        assert!(text.contains(&before), "{before}");
        text = text.replace(&before, &after);
    }
    text
}

/// Proves that a plan's firmware update takes place on a served array while fio runs in real time, and that I/O dips
/// where it dips on the twin in simulated time: as each of the two controllers leaves, until hosts have noticed.
#[test]
fn a_firmware_update_dips_as_on_the_twin() {
    IN_REAL_TIME.check(|_| -> Result<(), String> {
        let directory = tempfile::tempdir_in("/dev/shm").unwrap();
        let array = directory.path().join("hasty.yaml");
        fs::write(&array, hasty_flashsystem()).unwrap();
        let array = array.to_str().unwrap().to_owned();
        let served = Served::start_with(directory, &format!("{array},capacity=64m"), &[]);
        shows_the_dips(&served.in_real_time(FIRMWARE))?;
        let notes = served.status()["model"]["notes"].to_string();
        for words in
            ["controller-0 leaves", "controller-1 is back", "verification of the RAID stripes is done"]
        {
            assert!(notes.contains(words), "{words}: {notes}");
        }
        assert_eq!(shows_the_dips(&served.simulated(FIRMWARE, &array)), Ok(()));
        Ok(())
    });
}

/// Checks that a run shows a dip as each controller leaves; the error has what it shows instead.
fn shows_the_dips(run: &Path) -> Result<(), String> {
    let rates = by_interval(run);
    let mut sorted = rates.clone();
    sorted.sort_unstable();
    let usual = sorted[sorted.len() / 2];
    // The second controller leaves 2.5 s, or five intervals, after the first. fio takes a moment to start, so in real
    // time the event comes a little earlier on its clock.
    let dips = |index: usize| rates[index] < usual * 3 / 4;
    let has_both = || (1..rates.len() - 6).any(|first| dips(first) && (first + 4..=first + 6).any(dips));
    let shows = (400..=520).contains(&usual) && rates.len() > 6 && has_both();
    if shows { Ok(()) } else { Err(format!("{rates:?}")) }
}

/// I/Os of one load, second by second. By its name: which of two loads in real time has the lower number is a matter of
/// which one ended first.
fn by_second(run: &Path, load: &str) -> Vec<f64> {
    let sql = format!(
        "SELECT coalesce(sum(samples.ios), 0) FROM intervals LEFT JOIN samples ON interval_id = intervals.id \
         WHERE is_ramp = 0 AND load_id = (SELECT id FROM loads WHERE name = '{load}') \
         GROUP BY intervals.id ORDER BY start_ns"
    );
    query(run, &sql).lines().map(|line| line.parse().unwrap()).collect()
}

fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / rates.len() as f64
}

const NEIGHBOUR: &str = "
title: A noisy neighbour, shortened
watch: { interval: 1 }
defaults: { numjobs: 1, runtime: 12, size: 192m }
stages:
  neighbour:
    settings: { volume: hdd, host: client, write_cache: off, rw: randread, bs: 4k, iodepth: 8 }
    loads:
      victim: {}
      noisy:
        start: 25%
        settings: { volume: hybrid, host: client, rw: randwrite, bs: 16k, iodepth: 32 }
    events:
      - { at: 50%, action: limit, with: { volume: hybrid, iops: 20 } }
      - { at: 75%, action: limit, with: { volume: hybrid, iops: none } }
";

/// Proves that StorPool's noisy neighbour is found on a served array in real time as on the twin: reads of hard disks fall
/// when a neighbour writes to the same disks, come back while the neighbour is limited, and fall again when it is let
/// go; and that the limit is kept meanwhile.
#[test]
fn a_noisy_neighbour_is_limited_as_on_the_twin() {
    let served = Served::start("storpool,capacity=256m");
    IN_REAL_TIME.check(|_| {
        let _ = fs::remove_dir_all(served.path("real"));
        shows_the_neighbour(&served.in_real_time_on(&["hdd", "hybrid"], NEIGHBOUR))
    });
    assert_eq!(shows_the_neighbour(&served.simulated(NEIGHBOUR, "storpool")), Ok(()));
}

/// Checks that a run shows the effect of the noisy neighbour; the error has what it shows instead.
fn shows_the_neighbour(run: &Path) -> Result<(), String> {
    let (victim, noisy) = (by_second(run, "victim"), by_second(run, "noisy"));
    // On a busy host fio may end early, or late with one interval more.
    let is_whole = (12..=13).contains(&victim.len());
    let shows = || {
        let [alone, beside, relieved, again] =
            [&victim[0..2], &victim[4..6], &victim[7..9], &victim[10..12]].map(mean);
        beside < 0.8 * alone
            && relieved > 1.25 * beside
            && again < 0.9 * relieved
            // The neighbour's seconds begin with its start; fio takes a moment to start, so the limit may come early.
            && noisy.windows(2).any(|two| two.iter().all(|&ios| ios <= 20.0))
    };
    if is_whole && shows() { Ok(()) } else { Err(format!("{victim:?} beside {noisy:?}")) }
}

const TEMPLATE: &str = "
title: A volume moved between classes of drives, shortened
watch: { interval: 1 }
defaults: { numjobs: 1, runtime: 10, size: 64m }
stages:
  template:
    settings: { volume: hdd, host: client, rw: randrw, rwmixread: 70, bs: 4k, iodepth: 4, rate_iops: 2000 }
    events:
      - { at: 30%, action: template, with: { template: nvme } }
";

/// Proves that StorPool's change of template is found on a served array in real time as on the twin: on hard disks the
/// volume does a fraction of the rate, on NVMe all of it, and no I/O takes a second on the way.
#[test]
fn a_template_changes_as_on_the_twin() {
    IN_REAL_TIME.check(|_| -> Result<(), String> {
        let served = Served::start("storpool,capacity=256m");
        shows_the_move(&served.in_real_time(TEMPLATE))?;
        let status = served.status();
        assert_eq!(status["volumes"][2]["kept"]["template"], "nvme");
        assert_eq!(status["volumes"][2]["pieces"]["hdd"], 0, "the bytes have moved as well");
        assert_eq!(shows_the_move(&served.simulated(TEMPLATE, "storpool")), Ok(()));
        Ok(())
    });
}

/// Checks that a run shows a volume that got quicker without a pause; the error has what it shows instead.
fn shows_the_move(run: &Path) -> Result<(), String> {
    let rates: Vec<f64> = by_interval(run).into_iter().map(|ios| ios as f64).collect();
    let is_whole = rates.len() >= 10;
    let shows = || {
        let (disks, flash) = (mean(&rates[0..2]), mean(&rates[7..9]));
        disks < 800.0 && flash > 2.0 * disks && flash < 2200.0
    };
    let longest_ns: Vec<f64> = results(run)
        .iter()
        .flat_map(|result| ["read", "write"].map(|direction| result[direction]["latency_ns"]["max"].clone()))
        .map(|most| most.as_f64().unwrap())
        .collect();
    let has_no_pause = longest_ns.len() == 2 && longest_ns.iter().all(|most| *most < 1e9);
    let found = is_whole && shows() && has_no_pause;
    if found { Ok(()) } else { Err(format!("{rates:?}, longest {longest_ns:?}")) }
}

const GROUP_1: &str = "
title: Group 1, shortened
watch: { interval: 1 }
defaults: { numjobs: 1, iodepth: 1, runtime: 3, size: 16m }
stages:
  group-1:
    settings: { raid: 5, coverage: 100, rw: randwrite }
    matrix:
      scenario:
        1: { write_cache: off }
        2: { write_cache: on }
        4: { write_cache: off, rw: randrw, rwmixread: 50 }
      bs: [4k, 64k]
";

/// Proves that scenarios of the Dorado's group 1 run on a served array in real time, set by the plan, and order as on the
/// twin: the write cache makes writes quicker, reads are quicker than writes, large writes slower than small ones; and
/// that nothing is quicker than the twin.
#[test]
fn group_1_runs_as_on_the_twin() {
    let served = Served::start("dorado-2100-g2,capacity=64m");
    // A served array's host is a real one.
    let simulated = served.simulated(GROUP_1, "dorado-2100-g2,host=off");
    assert_eq!(shows_the_order(&simulated), Ok(()));
    IN_REAL_TIME.check(|_| {
        let _ = fs::remove_dir_all(served.path("real"));
        let real = served.in_real_time(GROUP_1);
        for (scenario, bs) in [(1, 4096), (2, 4096), (4, 4096), (1, 65536), (2, 65536), (4, 65536)] {
            let [served_ms, twin_ms] = [&real, &simulated].map(|run| mean_ms(run, scenario, bs, "write"));
            assert!(served_ms > 0.95 * twin_ms, "{scenario}, {bs}: {served_ms} ms, {twin_ms} ms on the twin");
        }
        shows_the_order(&real)
    });
}

/// Mean latency of a case of group 1.
fn mean_ms(run: &Path, scenario: u64, bs: u64, direction: &str) -> f64 {
    let all = results(run);
    let is_it =
        |result: &&Value| result["settings"]["scenario"] == scenario && result["settings"]["bs"] == bs;
    let result = all.iter().find(is_it).unwrap();
    assert_eq!(result["status"], "done");
    result[direction]["latency_ns"]["mean"].as_f64().unwrap() / 1e6
}

/// Checks that a run of group 1 shows the order of its scenarios; the error has what it shows instead.
fn shows_the_order(run: &Path) -> Result<(), String> {
    let (through, cached) = (mean_ms(run, 1, 4096, "write"), mean_ms(run, 2, 4096, "write"));
    let (read, written) = (mean_ms(run, 4, 4096, "read"), mean_ms(run, 4, 4096, "write"));
    let large = mean_ms(run, 1, 65536, "write");
    if cached < 0.9 * through && read < written && large > through {
        return Ok(());
    }
    Err(format!(
        "{cached} ms cached, {through} ms through, {large} ms large; {read} ms read, {written} ms written"
    ))
}

/// Scenario 1 of the shipped plan with other seconds and intervals.
fn short_group_1(runtime_s: f64, interval_s: f64) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans/dorado-2100-g2-short.yaml");
    let mut plan = fs::read_to_string(path).unwrap();
    for (key, shipped, value) in [("interval", "0.25", interval_s), ("runtime", "12", runtime_s)] {
        let shipped = format!("{key}: {shipped}\n");
        assert!(plan.contains(&shipped), "{shipped}");
        plan = plan.replace(&shipped, &format!("{key}: {value}\n"));
    }
    let is_other = |line: &str| ["        2: {", "        4: {"].iter().any(|start| line.starts_with(start));
    plan.lines().filter(|line| !is_other(line)).map(|line| format!("{line}\n")).collect()
}

/// Returns a run's findings on the write cliff of each scenario: bytes until it, and bytes a second before and after.
fn cliffs(run: &Path) -> Vec<[f64; 3]> {
    let findings = json_lines(&succeed(&["findings", run.to_str().unwrap(), "--json"]));
    let of = |finding: &Value| {
        let rate = |side: &str| finding[side]["bw_bytes_per_s"].as_f64().unwrap();
        [finding["bytes_written"].as_f64().unwrap(), rate("before"), rate("after")]
    };
    findings.iter().filter(|finding| finding["kind"] == "write-cliff").map(of).collect()
}

/// Proves that the write cliff of the Dorado's group 1, scenario 1, is found on a served array with fio in real time where it
/// is found on the twin in simulated time: after the same bytes, between the same two rates. The array goes at a tenth of
/// its speed or less, so that its bytes keep up on a small machine; it has a 400th of its room, in the long run a hundredth.
#[test]
fn the_write_cliff_is_found_as_on_the_twin() {
    let is_long = test_support::is_long();
    let (shrink, runtime_s, interval_s) = if is_long { (100, 12.0, 0.25) } else { (400, 1.4, 0.05) };
    // The plan asks for RAID 5, which the array has.
    let array = format!("dorado-2100-g2,shrink={shrink}");
    let plan = |times: f64| short_group_1(runtime_s * times, interval_s * times);
    IN_REAL_TIME.check(|round| {
        // Where the machine did not keep up, half as fast.
        let speed = 0.1 * 0.5f64.powi(round.min(2) as i32);
        let directory = tempfile::tempdir_in("/dev/shm").unwrap();
        let served = Served::start_with(directory, &array, &["--speed", &speed.to_string()]);
        let real = cliffs(&served.in_real_time(&plan(1.0 / speed)));
        let simulated = cliffs(&served.simulated(&plan(1.0), &format!("{array},host=off")));
        println!("{real:?} in real time, {simulated:?} in simulated time");
        assert_eq!(simulated.len(), 1, "{simulated:?}");
        let is_near = |real: &[f64; 3], simulated: &[f64; 3]| {
            // Bytes, the rate before and the rate after. Nearer than a fifth is a matter of how busy the machine is; the
            // fall itself is two fifths.
            [1.0, speed, speed].into_iter().enumerate().all(|(index, expected)| {
                let share = real[index] / simulated[index] / expected;
                (share - 1.0).abs() < 0.2
            })
        };
        // Other work on the machine may stall the bytes so that a fall is no more than noise; none is found where none is.
        let is_found = real.len() == simulated.len() && is_near(&real[0], &simulated[0]);
        if is_found { Ok(()) } else { Err(format!("{real:?} instead of {simulated:?}")) }
    });
}
