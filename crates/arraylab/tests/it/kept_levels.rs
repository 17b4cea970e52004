//! Sustained levels kept at the end of cases, against those found in all samples of the run.

use crate::support::{results, succeed};
use std::path::Path;
use std::process::Command;
use store::{CaseResult, CaseStatus, Run};

/// The results with the levels that the findings of the whole run give.
fn found_levels(run: &Path) -> Vec<CaseResult> {
    let reader = Run::open_read_only(run).unwrap();
    let plan = findings::kept_plan(reader.manifest(), &reader.cases().unwrap()).unwrap();
    let mut results = reader.results().unwrap();
    findings::add_sustained(&mut results, &findings::find(&reader, &plan).unwrap());
    results
}

/// Changes a run with SQL, as no command of ours does.
fn change(run: &Path, sql: &str) {
    let program =
        "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute(sys.argv[2]); db.commit()";
    let status = Command::new("python3").args(["-c", program]).arg(run.join("run.sqlite")).arg(sql).status();
    assert!(status.expect("this test needs python3").success());
}

fn assert_same(run: &Path, found: &[CaseResult]) {
    let results = findings::results(&Run::open_read_only(run).unwrap()).unwrap();
    assert!(results.left_out.is_none());
    assert_eq!(results.cases.len(), found.len());
    for (kept, found) in results.cases.iter().zip(found) {
        assert_eq!(kept, found);
    }
}

/// Asserts that every case that is done has a kept level (but for `killed` cases, whose process may have been killed between outcome
/// and level), that they are those of the findings of the whole run to the bit, and
/// that the results are the same where none, some, or those of another method are kept. The run is left without levels.
pub fn kept_levels_are_found_ones(run: &Path, killed: usize) {
    let found = found_levels(run);
    let done = found.iter().filter(|result| result.status == CaseStatus::Done).count();
    let kept = Run::open_read_only(run).unwrap().kept_sustained(findings::SUSTAINED_METHOD).unwrap();
    let enough = done.saturating_sub(killed)..=done;
    assert!(enough.contains(&kept.len()), "{} of {done} in {}", kept.len(), run.display());
    assert_same(run, &found);
    change(run, "DELETE FROM sustained_levels WHERE attempt_id % 2 = 0");
    assert_same(run, &found);
    change(run, "UPDATE sustained_levels SET method = method + 1, iops = 1.0, bw_bytes_per_s = 1.0");
    assert_same(run, &found);
    change(run, "DELETE FROM sustained_levels");
    assert_same(run, &found);
    change(run, "DROP TABLE sustained_levels");
    assert_same(run, &found);
}

/// A case that sustains a level, one with an event, one under a held rate, and rounds.
const PLAN: &str = "
title: Levels
watch: { interval: 1 }
defaults: { rw: randwrite, bs: 8k, runtime: 20, numjobs: 2 }
stages:
  long: { matrix: { iodepth: [1, 8] } }
  group-1: { settings: { runtime: 3 }, matrix: { iodepth: [1, 4] } }
  held: { settings: { rate_iops: 1000 } }
  disturbed: { settings: { iodepth: 8 }, events: [ { at: 5, action: drive-slow, with: { drive: 1, factor: 3 } } ] }
  rounds: { continues: true, settings: { runtime: 12 }, repeats: { at_most: 6, until_steady: [{ quantity: iops }] } }
";

/// Proves that the level of each kind of case that the findings treat in its own way is kept as they find it, and that levels are
/// kept at all.
#[test]
fn every_kind_of_case() {
    let directory = tempfile::tempdir().unwrap();
    let plan = directory.path().join("plan.yaml");
    std::fs::write(&plan, PLAN).unwrap();
    let run = directory.path().join("run");
    let words = ["run", plan.to_str().unwrap(), "--target", "twin:small-flash", "--out"];
    succeed(&[&words[..], &[run.to_str().unwrap()]].concat());
    assert!(results(&run).iter().any(|result| result["sustained"]["iops"].as_f64() > Some(0.0)));
    kept_levels_are_found_ones(&run, 0);
}
