//! Every shipped plan, from end to end on its twin: shortened, and thinned in a normal run.

use crate::kept_levels::kept_levels_are_found_ones;
use crate::support::{arraylab, json_lines, results, succeed, text};
use serde_json::Value;
use std::path::Path;

/// A plan on a twin, and what makes it short.
struct Shortened {
    plan: &'static str,
    twin: &'static str,
    set: &'static [&'static str],
    /// Selection of cases for a normal run; `make test-long` runs all.
    only: &'static [&'static str],
}

impl Shortened {
    fn selection(&self) -> Vec<&'static str> {
        let is_long = test_support::is_long();
        let only: &[&str] = if is_long { &[] } else { self.only };
        let set = self.set.iter().flat_map(|set| ["--set", set]);
        set.chain(only.iter().flat_map(|only| ["--only", only])).collect()
    }

    fn run(&self, run: &Path, more: &[&str]) {
        let target = format!("twin:{}", self.twin);
        let arguments = ["run", self.plan, "--target", &target, "--out", run.to_str().unwrap()];
        let output = arraylab(&[&arguments, self.selection().as_slice(), more].concat());
        let printed = text(&output.stderr);
        // A shortened case may be too short to show that it keeps a limit; none is broken.
        let is_too_short = printed.contains("the case is too short") && !printed.contains("FAIL");
        let wanted = Some(i32::from(is_too_short));
        assert_eq!(output.status.code(), wanted, "{}: {printed}", self.plan);
    }

    fn expanded(&self) -> Vec<Value> {
        json_lines(&succeed(&[&["expand", self.plan, "--json"], self.selection().as_slice()].concat()))
    }
}

const QUICK: Shortened =
    Shortened { plan: "quick", twin: "flashsystem-840", set: &["runtime=0.1", "ramp_time=0.02"], only: &[] };
const ACCEPTANCE: Shortened = Shortened {
    plan: "acceptance",
    twin: "dorado-2100-g2",
    set: &["runtime=0.05", "ramp_time=0.01"],
    only: &["bs=4k,1m"],
};
const FLASHSYSTEM: Shortened = Shortened {
    plan: "flashsystem-840",
    twin: "flashsystem-840",
    set: &["runtime=0.05", "ramp_time=0.01"],
    only: &[],
};
const RAID_LEVELS: Shortened = Shortened {
    plan: "raid-levels",
    twin: "raid-levels",
    set: &["runtime=2", "ramp_time=0.5"],
    only: &["disks=4,12"],
};
const E2700: Shortened =
    Shortened { plan: "e2700", twin: "e2700", set: &["runtime=0.2"], only: &["bs=4k,16k,512k"] };
const STORPOOL: Shortened =
    Shortened { plan: "storpool", twin: "storpool", set: &["runtime=0.4", "ramp_time=0.1"], only: &[] };
const DORADO: Shortened = Shortened {
    plan: "dorado-2100-g2",
    twin: "dorado-2100-g2",
    set: &["runtime=0.02", "ramp_time=0.01"],
    only: &["bs=16k", "numjobs=8,64"],
};

const DORADO_SHORT: Shortened = Shortened {
    plan: "dorado-2100-g2-short",
    twin: "dorado-2100-g2,shrink=400",
    set: &["runtime=0.5"],
    only: &[],
};

/// Runs a plan and what can be asked of its run afterwards.
fn is_carried_out(shortened: &Shortened) {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    shortened.run(&run, &[]);
    let (expanded, results) = (shortened.expanded(), results(&run));
    assert_eq!(results.len(), expanded.len(), "{}", shortened.plan);
    for (result, case) in results.iter().zip(&expanded) {
        assert_eq!((&result["stage"], &result["case"]), (&case["stage"], &case["case"]));
        assert_eq!(result["status"], "done", "{result}");
        assert!(result["iops"].as_f64().unwrap() > 0.0, "{result}");
    }
    kept_levels_are_found_ones(&run, 0);
    let run = run.to_str().unwrap();
    assert_eq!(succeed(&["results", run, "--csv"]).lines().count(), results.len() + 1);
    json_lines(&succeed(&["findings", run, "--json"]));
    json_lines(&succeed(&["claims", run, "--json"]));
    let report = directory.path().join("report.html");
    succeed(&["report", run, "--out", report.to_str().unwrap()]);
    let html = std::fs::read_to_string(report).unwrap();
    assert!(html.starts_with("<!") && html.trim_end().ends_with("</html>"));
}

/// Proves that the plans for any target run whole on a twin.
#[test]
fn quick_and_acceptance() {
    is_carried_out(&QUICK);
    is_carried_out(&ACCEPTANCE);
}

/// Proves that the FlashSystem 840's plan runs on its twin, the firmware update with it.
#[test]
fn flashsystem_840() {
    is_carried_out(&FLASHSYSTEM);
}

/// Proves that the plan of RAID levels runs on its twin.
#[test]
fn raid_levels() {
    is_carried_out(&RAID_LEVELS);
}

/// Proves that the E2700's plan runs on its twin, segments and file system with it.
#[test]
fn e2700() {
    is_carried_out(&E2700);
}

/// Proves that StorPool's plan runs on its twin.
#[test]
fn storpool() {
    is_carried_out(&STORPOOL);
}

/// Proves that the Dorado's plans run on its twin, the fill with them.
#[test]
fn dorado_2100_g2() {
    is_carried_out(&DORADO);
    is_carried_out(&DORADO_SHORT);
}

/// Proves that two loads at once on a twin are results of their own that add up to the case's, that a limit set and lifted
/// meanwhile acts on its volume and lets the other recover (claim S8), and that the same seed gives the same bytes with one
/// thread and with two.
#[test]
fn two_loads_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let run = |name: &str, threads: &str| {
        let path = directory.path().join(name);
        let path = path.to_str().unwrap();
        succeed(&[
            "run",
            "storpool",
            "--target",
            "twin:storpool",
            "--out",
            path,
            "--stage",
            "neighbour",
            "--set",
            "runtime=60",
            "--threads",
            threads,
        ]);
        succeed(&["results", path, "--json"])
    };
    let printed = run("once", "1");
    assert_eq!(printed, run("again", "2"));
    let result = json_lines(&printed).remove(0);
    let loads = result["loads"].as_array().unwrap();
    let of = |index: usize, key: &str| loads[index][key].clone();
    assert_eq!((of(0, "load"), of(1, "load")), ("victim".into(), "noisy".into()));
    assert_eq!(of(0, "target"), "twin:storpool,volume=nvme,host=client");
    assert_eq!(of(1, "target"), "twin:storpool,volume=hybrid,host=client");
    assert_eq!((of(0, "duration_s"), of(1, "duration_s")), (60.0.into(), 45.0.into()));
    assert_eq!(result["read"]["ios"], loads[0]["read"]["ios"]);
    assert_eq!(result["write"]["ios"], loads[1]["write"]["ios"]);
    assert!(loads[0]["write"].is_null() && loads[1]["read"].is_null());
    let path = directory.path().join("once");
    let claims = json_lines(&succeed(&["claims", path.to_str().unwrap(), "--json"]));
    let neighbour = claims.iter().find(|claim| claim["id"] == "S8").unwrap();
    assert_eq!(neighbour["verdict"], "holds", "{neighbour}");
}
