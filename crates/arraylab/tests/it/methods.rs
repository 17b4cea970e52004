//! SNIA's tests as plans, each on a small twin, with the standard's tables in its report.

use crate::support::{LoopDevice, json_lines, query, results, run_on, succeed, text, tool};
use std::path::{Path, PathBuf};

struct MethodRun {
    _directory: tempfile::TempDir,
    run: PathBuf,
    /// Text that was printed while it ran.
    printed_text: String,
}

impl MethodRun {
    fn new(plan: &str, more: &[&str]) -> MethodRun {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("run");
        let mut arguments = vec!["run", plan, "--target", "twin:small-flash", "--out", run.to_str().unwrap()];
        arguments.extend(more);
        let output = crate::support::arraylab(&arguments);
        assert!(output.status.success(), "{plan}: {}", String::from_utf8_lossy(&output.stderr));
        MethodRun { printed_text: text(&output.stderr), run, _directory: directory }
    }

    fn path(&self) -> &Path {
        &self.run
    }

    fn report(&self) -> String {
        let path = self.run.join("report.html");
        succeed(&["report", self.run.to_str().unwrap()]);
        std::fs::read_to_string(path).unwrap()
    }

    fn findings(&self, kind: &str) -> Vec<serde_json::Value> {
        let all = json_lines(&succeed(&["findings", self.run.to_str().unwrap(), "--json"]));
        all.into_iter().filter(|finding| finding["kind"] == kind).collect()
    }

    /// The last round of a stage that was run.
    fn rounds(&self, stage: &str) -> u64 {
        let of_stage = results(self.path()).into_iter().filter(|result| result["stage"] == stage);
        of_stage.filter_map(|result| result["settings"]["repeat"].as_u64()).max().unwrap()
    }
}

/// Proves that the IOPS test runs whole rounds of 56 cells, ends with the first steady window, and shows the standard's
/// table and its verification.
#[test]
fn iops() {
    let method = MethodRun::new("snia-iops", &["--set", "runtime=0.02"]);
    let rounds = method.rounds("rounds");
    assert!((5..=25).contains(&rounds));
    assert_eq!(results(method.path()).len() as u64, 56 * rounds);
    let steady = &method.findings("steady-rounds")[0];
    if steady["reached"] == true {
        assert_eq!(steady["round"], rounds);
        assert!(
            method.printed_text.contains(&format!("stage `rounds` ends with round {rounds}: steady state"))
        );
        for variable in steady["variables"].as_array().unwrap() {
            assert!(variable["range_percent"].as_f64().unwrap() <= 20.0 + 1e-6, "{variable}");
            assert!(variable["slope_percent"].as_f64().unwrap() <= 10.0 + 1e-6, "{variable}");
        }
    } else {
        assert_eq!(rounds, 25);
    }
    let report = method.report();
    for part in ["Steady state verification", "IOPS measurement table", "65 % reads", "1m"] {
        assert!(report.contains(part), "{part}");
    }
    // Rounds that were not needed make no run incomplete.
    let cases = format!("{} cases", 56 * rounds);
    assert!(report.contains(&cases) && !report.contains("not complete"), "{cases}");
}

/// Proves that throughput is measured for both block sizes, each from its own purge on, and tabled.
#[test]
fn throughput() {
    let method = MethodRun::new("snia-throughput", &["--set", "runtime=0.2"]);
    for stage in ["tp-128k", "tp-1024k"] {
        assert!((5..=25).contains(&method.rounds(stage)), "{stage}");
    }
    assert!(method.report().contains("Throughput measurement table"));
}

/// Proves that latency is tracked to steady state, and that the histogram of the writes after it is drawn.
#[test]
fn latency() {
    let method = MethodRun::new("snia-latency", &["--set", "runtime=0.1"]);
    assert!((5..=25).contains(&method.rounds("rounds")));
    let report = method.report();
    assert!(report.contains("Average Latency") && report.contains("Response Time Histogram"));
}

/// Proves that write saturation begins with a fresh target, stops once four times the capacity is written, and finds the
/// write cliff in the rounds together; and that without garbage collection there is none.
#[test]
fn write_saturation() {
    let method = MethodRun::new("snia-write-saturation", &["--stage", "saturation"]);
    assert!(
        method.printed_text.contains("as much is written as the plan asks for"),
        "{}",
        method.printed_text
    );
    let written: u64 = results(method.path()).iter().map(|r| r["write"]["bytes"].as_u64().unwrap()).sum();
    let capacity = 3 * 4_294_967_296u64;
    assert!((4 * capacity..5 * capacity).contains(&written), "{written}");
    assert_eq!(method.findings("write-cliff").len(), 1);
    let report = method.report();
    assert!(report.contains("WSAT IOPS vs TGBW") && report.contains("Writes fall by"));
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let target =
        ["--target", "twin:small-flash,gc=off", "--stage", "saturation", "--out", run.to_str().unwrap()];
    succeed(&[&["run", "snia-write-saturation"], &target[..]].concat());
    let found = succeed(&["findings", run.to_str().unwrap(), "--json"]);
    assert!(!found.contains("\"kind\":\"write-cliff\""), "garbage collection is what makes the cliff");
}

/// Proves that accesses and waits follow on one another from a settled target on: a wait lets the next writes go faster,
/// and the writes without rest after them do not.
#[test]
fn host_idle_recovery() {
    let stages = ["--stage", "settle", "--stage", "wait-5", "--stage", "after-5"];
    let method =
        MethodRun::new("snia-host-idle-recovery", &[&stages[..], &["--set", "runtime=0.02"]].concat());
    let all = results(method.path());
    assert_eq!(all.iter().filter(|result| result["stage"] == "wait-5").count(), 360);
    assert!(method.report().contains("HIR measurement summary"));
}

/// Proves that sequential and random writes follow on one another in one state, and are drawn as one line.
#[test]
fn cross_stimulus_recovery() {
    let method = MethodRun::new("snia-cross-stimulus-recovery", &["--set", "runtime=20"]);
    assert_eq!(results(method.path()).len(), 3);
    assert!(method.report().contains("XSR throughput vs time"));
}

/// Proves that threads by depth are tabled, that each round of cells is preceded by writes at the largest load, and that the
/// three points are measured anew: the cell of peak IOPS within 5 ms, that nearest to half-way, and the least, by the means of the
/// measurement window.
#[test]
fn demand_intensity() {
    let method = MethodRun::new("snia-demand-intensity", &["--set", "runtime=0.02"]);
    let window = method.findings("steady-rounds").into_iter().find(|one| one["stage"] == "rounds").unwrap();
    let is_counted = |round: &serde_json::Value| window["window_rounds"].as_array().unwrap().contains(round);
    let load =
        |settings: &serde_json::Value| ["numjobs", "iodepth"].map(|name| settings[name].as_u64().unwrap());
    let all = results(method.path());
    // IOPS, mean latency and rounds of each cell.
    let mut cells: std::collections::BTreeMap<[u64; 2], (f64, f64, f64)> = std::collections::BTreeMap::new();
    for result in all.iter().filter(|one| one["stage"] == "rounds" && one["settings"]["scenario"] == 1) {
        if is_counted(&result["settings"]["repeat"]) {
            let cell = cells.entry(load(&result["settings"])).or_default();
            cell.0 += result["write"]["iops"].as_f64().unwrap();
            cell.1 += result["write"]["latency_ns"]["mean"].as_f64().unwrap();
            cell.2 += 1.0;
        }
    }
    assert_eq!(cells.len(), 49);
    let means: Vec<([u64; 2], f64)> = cells
        .iter()
        .filter(|(_, (_, latency_ns, rounds))| latency_ns / rounds <= 5e6)
        .map(|(load, (iops, _, rounds))| (*load, iops / rounds))
        .collect();
    let most = means.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    let half = (most.1 + cells[&[1, 1]].0 / cells[&[1, 1]].2) / 2.0;
    let distance = |iops: f64| (iops - half).abs();
    let nearest = means.iter().map(|(_, iops)| distance(*iops)).fold(f64::INFINITY, f64::min);
    // Of several cells with the same IOPS any will do.
    let is_max = |_: [u64; 2], iops: f64| iops == most.1;
    let is_mid = |_: [u64; 2], iops: f64| distance(iops) == nearest;
    let is_min = |cell: [u64; 2], _: f64| cell == [1, 1];
    type Wanted<'a> = &'a dyn Fn([u64; 2], f64) -> bool;
    let wanted: [(&str, Wanted); 3] = [("max-iops", &is_max), ("mid-iops", &is_mid), ("min-iops", &is_min)];
    let mut points = Vec::new();
    for (stage, is_wanted) in wanted {
        let point = all.iter().position(|one| one["stage"] == stage).unwrap();
        let cell = load(&all[point]["settings"]);
        let (iops, _, rounds) = cells[&cell];
        assert!(is_wanted(cell, iops / rounds), "{stage}: {cell:?} with {iops}, {means:?}");
        points.push(cell);
        // Its writes come before it, at the largest load.
        assert_eq!(load(&all[point - 1]["settings"]), [32, 32]);
        // Outstanding I/Os are rate by latency: the load was issued, and not only recorded.
        let write = &all[point]["write"];
        let outstanding =
            write["iops"].as_f64().unwrap() * write["latency_ns"]["mean"].as_f64().unwrap() / 1e9;
        let [jobs, depth] = cell.map(|count| count as f64);
        // What is under way when 20 ms are over is not counted.
        assert!((outstanding / (jobs * depth) - 1.0).abs() < 0.25, "{stage}: {outstanding} of {cell:?}");
    }
    points.dedup();
    assert_eq!(points.len(), 3, "the three points differ: {points:?}");
    let first = all.iter().position(|one| one["stage"] == "rounds").unwrap();
    assert_eq!(all[first - 1]["stage"], "first-writes");
    let leads = all.iter().filter(|one| one["settings"]["scenario"] == 2).count() as u64;
    assert_eq!(leads, method.rounds("rounds"));
    let report = method.report();
    for part in ["Demand variation table", "Max IOPS point", "Histogram, Max IOPS", "Histogram, Mid IOPS"] {
        assert!(report.contains(part), "{part}");
    }
}

/// Proves that the mix of block sizes is issued in its shares and tabled.
#[test]
fn composite_blocks() {
    let method = MethodRun::new("snia-composite-blocks", &["--set", "runtime=0.05"]);
    let all = results(method.path());
    let sum = |name: &str| -> f64 {
        let both = |result: &serde_json::Value| {
            ["read", "write"].map(|way| result[way][name].as_f64().unwrap_or(0.0)).iter().sum::<f64>()
        };
        all.iter().map(both).sum()
    };
    let mean_bytes = sum("bytes") / sum("ios");
    // 0.04·512 + 0.01·(1024 + … + 3584) + 0.67·4096 + 0.10·8192 + 0.07·16384 + 0.03·(32768 + 65536)
    assert!((mean_bytes - 7_818.0).abs() < 250.0, "{mean_bytes}");
    assert!(method.report().contains("Demand variation table"));
}

/// A test that begins with a purge, and reads what is left of the first bytes of the target before anything is written.
const PURGES: &str = "
title: A purge
author: a test
intro: Reads after a purge.
stages:
  reads:
    settings: { rw: read, bs: 1m, runtime: 0.2, iodepth: 4 }
    precondition: { purge: true }
";

/// Proves that `purge` discards everything on a block device, of which a backing file keeps nothing, with no data written: its
/// blocks are gone, it reads as zeros, and the run says that it was purged; and that the device has to be named twice for it.
#[test]
fn a_purge_discards_a_block_device() {
    let directory = tempfile::tempdir().unwrap();
    let plan = directory.path().join("purges.yaml");
    std::fs::write(&plan, PURGES).unwrap();
    let device = LoopDevice::new(64 << 20);
    std::fs::write(&device.path, vec![0xA5u8; 32 << 20]).unwrap();
    // What is written through the page cache reaches the backing file first.
    tool("sync", &[&device.path]);
    assert!(device.allocated_bytes() >= 32 << 20, "{}", device.allocated_bytes());
    let run = directory.path().join("run");
    let output = run_on(plan.to_str().unwrap(), &device.path, &run, &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed_text = succeed(&["report", run.to_str().unwrap(), "--format", "md"]);
    assert!(!text(&output.stderr).contains("not purged"), "{}", text(&output.stderr));
    assert_eq!(query(&run, "select count(*) from events where kind = 'purge'"), "1", "{printed_text}");
    assert!(device.allocated_bytes() < 1 << 20, "{} bytes are left", device.allocated_bytes());
    let bytes = std::fs::read(&device.path).unwrap();
    assert!(bytes.len() == 64 << 20 && bytes.iter().all(|byte| *byte == 0));
}
