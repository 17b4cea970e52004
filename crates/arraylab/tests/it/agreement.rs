//! `quick` with fio on real storage: our figures against fio's own report of the same run.

use crate::support::{LoopDevice, NbdServer, consent_id, results, run_on, succeed, text};
use load::bin_index;
use serde_json::Value;
use std::path::Path;

/// Runs `quick` and compares every case with the `fio.json` that was kept with it.
fn quick_agrees_with_fio(target: &str) {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let output = run_on("quick", target, &run, &["--set", "runtime=2", "--engine", "fio"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let results = results(&run);
    assert_eq!(results.len(), 5);
    for (index, result) in results.iter().enumerate() {
        assert_eq!(result["status"], "done", "{result}");
        assert_eq!(result["engine"], "fio");
        let report = fio_report(&run, index);
        for direction in ["read", "write"] {
            agree(result, &report, direction);
        }
    }
    let page = succeed(&["report", run.to_str().unwrap(), "--format", "md"]);
    let page = std::fs::read_to_string(page.trim()).unwrap();
    assert!(page.contains("**Measured** on") && page.contains("5 done"), "{page}");
}

fn fio_report(run: &Path, index: usize) -> Value {
    let prefix = format!("{index:04}-");
    let case = std::fs::read_dir(run.join("cases"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&prefix))
        .expect("the case's directory is kept");
    assert!(case.join("jobs.fio").exists(), "the job file is kept");
    let text = std::fs::read_to_string(case.join("fio.json")).unwrap();
    serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap()
}

fn agree(result: &Value, report: &Value, direction: &str) {
    let jobs: Vec<&Value> = report["jobs"].as_array().unwrap().iter().map(|job| &job[direction]).collect();
    let sum = |field: &str| jobs.iter().map(|job| job[field].as_u64().unwrap()).sum::<u64>();
    let ours = &result[direction];
    if sum("total_ios") == 0 {
        assert!(ours.is_null(), "{direction}: {ours}");
        return;
    }
    assert_eq!(ours["ios"].as_u64(), Some(sum("total_ios")), "{direction}");
    assert_eq!(ours["bytes"].as_u64(), Some(sum("io_bytes")), "{direction}");
    let counted: f64 = jobs.iter().map(|job| job["clat_ns"]["N"].as_f64().unwrap()).sum();
    let total_ns: f64 = jobs
        .iter()
        .map(|job| job["clat_ns"]["mean"].as_f64().unwrap() * job["clat_ns"]["N"].as_f64().unwrap())
        .sum();
    let mean_ns = ours["latency_ns"]["mean"].as_f64().unwrap();
    // fio prints means to six digits after the point.
    assert!(
        (mean_ns - total_ns / counted).abs() < 0.001,
        "{direction}: mean {mean_ns} against {}",
        total_ns / counted
    );
    if let [job] = jobs[..] {
        let p99_ns = job["clat_ns"]["percentile"]["99.000000"].as_u64().unwrap();
        let our_p99_ns = ours["latency_ns"]["p99"].as_u64().unwrap();
        let apart = bin_index(p99_ns).abs_diff(bin_index(our_p99_ns));
        assert!(apart <= 1, "{direction}: p99 {our_p99_ns} against {p99_ns}");
    }
}

/// Proves that a run on a file has fio's own counts, bytes, means and percentiles.
#[test]
fn on_a_file() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    quick_agrees_with_fio(&format!("file:{},size=256m", directory.path().join("test.img").display()));
}

/// Proves that a run on a block device has fio's own figures, and needs the device named twice.
#[test]
fn on_a_loop_device() {
    let device = LoopDevice::new(256 << 20);
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("refused");
    consent_id(&["run", "quick", "--target", &device.path, "--out", run.to_str().unwrap()]);
    assert!(!run.exists(), "a refused run writes nothing");
    quick_agrees_with_fio(&device.path);
}

/// Proves that a run on an NBD address has fio's own figures, and needs the export named twice.
#[test]
fn on_an_nbd_address() {
    quick_agrees_with_fio(&NbdServer::new("256M").uri());
}
