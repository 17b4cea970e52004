//! Verdicts on runs: limits that a plan requires, and runs that are compared.

use crate::support::{arraylab, text};

fn run_plan(plan: &str, more: &[&str]) -> (Option<i32>, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("limits.yaml");
    std::fs::write(&path, plan).unwrap();
    let run = directory.path().join("run");
    let mut words =
        vec!["run", path.to_str().unwrap(), "--target", "twin:raid-levels", "--out", run.to_str().unwrap()];
    words.extend(more);
    let output = arraylab(&words);
    (output.status.code(), text(&output.stderr))
}

fn plan(requirement: &str) -> String {
    format!(
        "title: t\ndefaults: {{ raid: 5, disks: 4, bs: 4k, runtime: 1 }}\nstages:\n  reads:\n    settings: {{ rw: randread }}\n  \
         both:\n    matrix: {{ rw: [randread, randwrite] }}\nrequire:\n  - {requirement}\n"
    )
}

/// Proves that a limit that cannot be judged is no pass (exit status 1, with the limit and the reason), that a limit on a
/// direction which no case of its stage has is refused before the start, and that one on a direction is about the cases that
/// have it.
#[test]
fn limits_that_cannot_be_judged() {
    let (code, said) = run_plan(&plan("{ quantity: sustained.iops, at_least: 1, stage: reads }"), &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("(reads reads): neither a cliff nor a steady state was found"), "{said}");
    let (code, said) = run_plan(&plan("{ quantity: write.latency_ns.p99, at_most: 10s, stage: reads }"), &[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("limits.yaml:9:"), "{said}");
    let (code, said) = run_plan(&plan("{ quantity: write.latency_ns.p99, at_most: 10s, stage: both }"), &[]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(said.matches("PASS").count(), 1, "{said}");
}
