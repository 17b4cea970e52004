//! SNIA's tests as plans, each on a small twin, with the standard's tables in its report.

use crate::support::{json_lines, results, succeed, text};
use std::path::{Path, PathBuf};

struct MethodRun {
    _directory: tempfile::TempDir,
    run: PathBuf,
    /// What was said while it ran.
    said: String,
}

impl MethodRun {
    fn new(plan: &str, more: &[&str]) -> MethodRun {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("run");
        let mut arguments = vec!["run", plan, "--target", "twin:small-flash", "--out", run.to_str().unwrap()];
        arguments.extend(more);
        let output = crate::support::arraylab(&arguments);
        assert!(output.status.success(), "{plan}: {}", String::from_utf8_lossy(&output.stderr));
        MethodRun { said: text(&output.stderr), run, _directory: directory }
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
        assert!(method.said.contains(&format!("stage `rounds` ends with round {rounds}: steady state")));
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
    assert!(method.said.contains("as much is written as the plan asks for"), "{}", method.said);
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

/// Proves that threads by depth are tabled, and that the point of most IOPS keeps the bound of 5 ms.
#[test]
fn demand_intensity() {
    let method = MethodRun::new("snia-demand-intensity", &["--set", "runtime=0.02"]);
    let report = method.report();
    for part in ["Demand variation table", "Max IOPS point", "Response Time Histogram"] {
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
