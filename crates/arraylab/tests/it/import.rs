//! Other tools' files.

use crate::support::{json_lines, succeed};
use std::fs;

/// Proves that a fio job file becomes a plan that expands to its load, and that what is left out is said.
#[test]
fn a_job_file_becomes_a_plan() {
    let directory = tempfile::tempdir().unwrap();
    let job = directory.path().join("test.fio");
    fs::write(&job, "[global]\nioengine=libaio\ndirect=1\nbs=8k\nruntime=30\ntime_based\n[reads]\nrw=randread\niodepth=16\n").unwrap();
    let plan = directory.path().join("plan.yaml");
    fs::write(&plan, succeed(&["import", job.to_str().unwrap()])).unwrap();
    let cases = json_lines(&succeed(&["expand", plan.to_str().unwrap(), "--json"]));
    assert_eq!(cases.len(), 1);
    assert_eq!(cases[0]["settings"]["bs"], 8192);
    assert_eq!(cases[0]["settings"]["iodepth"], 16);
}

/// Proves that fio's JSON becomes a run with fio's own counts, that has results and a report.
#[test]
fn fio_results_become_a_run() {
    let directory = tempfile::tempdir().unwrap();
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../fio/tests/samples/fio-3.42/mixed.json");
    let run = directory.path().join("run");
    let printed_text = succeed(&["import", sample, "--out", run.to_str().unwrap()]);
    assert_eq!(printed_text.trim(), run.to_str().unwrap());
    let results = json_lines(&succeed(&["results", printed_text.trim(), "--json"]));
    let text = fs::read_to_string(sample).unwrap();
    let report: serde_json::Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
    let ios = |direction: &str| -> u64 {
        report["jobs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|job| job[direction]["total_ios"].as_u64().unwrap())
            .sum()
    };
    let ours = |direction: &str| -> u64 {
        results.iter().map(|result| result[direction]["ios"].as_u64().unwrap_or(0)).sum()
    };
    assert_eq!((ours("read"), ours("write")), (ios("read"), ios("write")));
    succeed(&["report", printed_text.trim()]);
    assert!(fs::read_to_string(run.join("report.html")).unwrap().contains("<svg"));
}
