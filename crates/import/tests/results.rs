//! Results of other tools as runs.

use import::{FileKind, import};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use store::{CaseResult, CaseStatus, Run};

fn fio_samples(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fio/tests/samples").join(version)
}

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/results").join(name)
}

/// The results of a run made from files, and its directory.
fn results(paths: &[PathBuf]) -> (Vec<CaseResult>, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let imported = import(paths, &run).unwrap_or_else(|error| panic!("{}", diagnostic::full_text(&error)));
    assert!(imported.plans.is_empty());
    let imported = imported.run.expect("a run");
    let reader = Run::open_read_only(&imported.directory).unwrap();
    let results = reader.results().unwrap();
    assert_eq!(results.len(), imported.cases);
    // The report reads the plan that the run keeps.
    let plan = &reader.manifest().plan;
    plan::parse_plan(&plan.name, &plan.source, &plan.text)
        .unwrap_or_else(|error| panic!("{}", diagnostic::full_text(&error)));
    (results, directory)
}

/// Proves that fio's JSON+ with its logs becomes a run whose counts, means, extremes and percentiles are fio's own,
/// with a sample for each logged interval.
#[test]
fn fio_json_plus_keeps_fios_figures() {
    for version in ["fio-3.33", "fio-3.42"] {
        let path = fio_samples(version).join("mixed.json");
        let json: serde_json::Value = {
            let text = std::fs::read_to_string(&path).unwrap();
            serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap()
        };
        let (results, directory) = results(&[path]);
        assert_eq!(results.len(), 1, "{version}");
        let result = &results[0];
        assert_eq!((result.engine.as_str(), result.status), ("import", CaseStatus::Done));
        let jobs = json["jobs"].as_array().unwrap();
        let loads = result.loads.as_ref().map_or(1, Vec::len);
        let names: std::collections::BTreeSet<&str> =
            jobs.iter().map(|job| job["jobname"].as_str().unwrap()).collect();
        assert_eq!(loads, names.len());
        for (name, part) in [("read", &result.read), ("write", &result.write)] {
            let of_fio = |key: &str| jobs.iter().map(|job| job[name][key].as_u64().unwrap()).sum::<u64>();
            let part = part.as_ref().unwrap();
            assert_eq!((part.ios, part.bytes), (of_fio("total_ios"), of_fio("io_bytes")), "{version} {name}");
            let max = jobs.iter().filter_map(|job| job[name]["clat_ns"]["max"].as_u64()).max();
            assert_eq!(part.latency_ns.max, max);
            assert!(part.latency_ns.p99.is_some());
        }
        let reader = Run::open_read_only(&directory.path().join("run")).unwrap();
        let samples = reader.series(0).unwrap();
        assert!(samples.len() >= 4, "{version}: {} samples", samples.len());
        let reads: u64 = samples.iter().filter_map(|point| point.read).map(|read| read.ios).sum();
        assert_eq!(reads, result.read.as_ref().unwrap().ios);
    }
}

/// Proves that fio's JSON without bins keeps fio's percentiles where they belong to one job, and that JSON with
/// several jobs of a name has none rather than made-up ones.
#[test]
fn fio_json_without_bins_makes_nothing_up() {
    let job = |name: &str| {
        format!(
            r#"{{"jobname":"{name}","groupid":0,"error":0,"job options":{{"rw":"randread","bs":"8k","iodepth":"4","ioengine":"libaio","nice":"1"}},
            "read":{{"io_bytes":8192000,"total_ios":1000,"runtime":2000,"clat_ns":{{"min":1000,"max":90000,"mean":5000.0,"N":1000,
            "percentile":{{"50.000000":4048,"90.000000":8000,"95.000000":9920,"99.000000":20096,"99.900000":60160}}}}}},"write":{{}},"trim":{{}}}}"#
        )
    };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.json");
    std::fs::write(&path, format!("{{\n\"fio version\":\"fio-3.33\",\"jobs\":[{}]}}\n", job("one"))).unwrap();
    let (one, _kept) = results(std::slice::from_ref(&path));
    let latency = one[0].read.as_ref().unwrap().latency_ns;
    assert_eq!((latency.p50, latency.p95, latency.p99), (Some(4048), Some(9920), Some(20_096)));
    assert_eq!((latency.mean, latency.min, latency.max), (5000.0, Some(1000), Some(90_000)));
    assert_eq!(
        (one[0].iops, one[0].case.as_str(), &one[0].settings["iodepth"]),
        (500.0, "one", &serde_json::json!(4))
    );
    std::fs::write(&path, format!("{{\n\"jobs\":[{},{}]}}\n", job("two"), job("two"))).unwrap();
    let (two, _kept) = results(&[path]);
    let latency = two[0].read.as_ref().unwrap().latency_ns;
    assert_eq!(
        (latency.p50, latency.p99_9, latency.min, latency.max),
        (None, None, Some(1000), Some(90_000))
    );
    assert_eq!(latency.mean, 5000.0);
    let line = serde_json::to_string(&two[0]).unwrap();
    assert!(line.contains(r#""p50":null,"p95":null,"p99":null,"p99.9":null"#), "{line}");
}

/// Proves that a case of another tool in which no I/O completed is failed and not done at 0 IOPS.
#[test]
fn a_case_without_an_io_is_failed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hung.json");
    let text = r#"{
"fio version":"fio-3.33","jobs":[{"jobname":"hung","groupid":0,"error":0,"job_runtime":5000,"job options":{"rw":"randread","bs":"4k"},
"read":{"io_bytes":0,"total_ios":0,"runtime":5000},"write":{},"trim":{}}]}
"#;
    std::fs::write(&path, text).unwrap();
    let (all, _kept) = results(&[path]);
    assert_eq!(all[0].status, CaseStatus::Failed, "{:?}", all[0]);
    assert_eq!(all[0].error.as_deref(), Some("no I/O completed in it"));
}

/// Proves that every recorded output of fio is imported or refused with the file's name.
#[test]
fn recorded_outputs_are_imported_or_refused() {
    for version in ["fio-3.33", "fio-3.42"] {
        for entry in std::fs::read_dir(fio_samples(version)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let directory = tempfile::tempdir().unwrap();
                if let Err(error) = import(std::slice::from_ref(&path), &directory.path().join("run")) {
                    assert!(
                        diagnostic::full_text(&error).contains(path.file_name().unwrap().to_str().unwrap()),
                        "{error}"
                    );
                }
            }
        }
    }
}

/// Proves that flatfile.html becomes a case for each run, with vdbench's intervals as samples, its first interval as
/// ramp, and means and maxima without percentiles.
#[test]
fn a_flatfile_becomes_a_run() {
    let (results, directory) = results(&[sample("flatfile.html")]);
    let shown: Vec<(&str, f64, f64)> =
        results.iter().map(|result| (result.case.as_str(), result.duration_s, result.iops)).collect();
    assert_eq!(shown, [("run1", 10.0, 1000.0), ("run1 #2", 10.0, 2000.0)]);
    let first = &results[0];
    let (read, write) = (first.read.as_ref().unwrap(), first.write.as_ref().unwrap());
    assert_eq!((read.ios, write.ios, read.bytes), (7000, 3000, 7000 * 4096));
    assert_eq!((read.latency_ns.mean, write.latency_ns.mean), (8.5e6, 4.0e6));
    assert_eq!(
        (read.latency_ns.max, read.latency_ns.p50, read.latency_ns.min),
        (Some(44_000_000), None, None)
    );
    let expected =
        [("rw", "\"randrw\""), ("bs", "4096"), ("iodepth", "8"), ("rwmixread", "70"), ("ramp_time", "5")];
    for (name, value) in expected {
        assert_eq!(first.settings[name].to_string(), value, "{name}");
    }
    let reader = Run::open_read_only(&directory.path().join("run")).unwrap();
    let series = reader.series(0).unwrap();
    assert_eq!(series.iter().map(|point| point.is_ramp).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(reader.manifest().interval_ns, 5_000_000_000);
}

/// Proves that totals.html, in the columns of older and newer versions, becomes a case for each run.
#[test]
fn totals_become_a_run() {
    let (results, _directory) = results(&[sample("totals.html")]);
    let shown: Vec<(&str, f64, u64)> = results
        .iter()
        .map(|result| (result.case.as_str(), result.duration_s, result.read.as_ref().unwrap().ios))
        .collect();
    assert_eq!(shown, [("run1", 120.0, 84_000), ("rd2", 4.0, 240)]);
    // Older versions print one maximum for both directions, newer ones one for each.
    let max = |index: usize| results[index].read.as_ref().unwrap().latency_ns.max;
    assert_eq!((max(0), max(1)), (None, Some(100_000)));
    assert_eq!(results[0].settings["bs"], 512);
    assert_eq!(results[1].settings["rate_iops"], 100);
}

/// Proves that results of several files and tools become stages of one run, and that plans come out beside it.
#[test]
fn several_files_at_once() {
    let jobs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fio/basic.fio");
    let files =
        [sample("flatfile.html"), jobs, fio_samples("fio-3.33").join("mixed.json"), sample("totals.html")];
    let directory = tempfile::tempdir().unwrap();
    let imported = import(&files, &directory.path().join("run")).unwrap();
    assert_eq!((imported.plans.len(), imported.plans[0].kind), (1, FileKind::FioJobs));
    let run = imported.run.unwrap();
    let stages: Vec<String> = Run::open_read_only(&run.directory)
        .unwrap()
        .cases()
        .unwrap()
        .iter()
        .map(|case| case.stage.clone())
        .collect();
    assert_eq!(stages, ["flatfile", "flatfile", "mixed", "totals", "totals"]);
    let error =
        diagnostic::full_text(&import(&[directory.path().join("gone.fio")], directory.path()).unwrap_err());
    assert!(error.contains("gone.fio"), "{error}");
}

fn texts() -> Vec<String> {
    let mut texts: Vec<String> = ["flatfile.html", "totals.html"]
        .iter()
        .map(|name| std::fs::read_to_string(sample(name)).unwrap())
        .collect();
    texts.push(std::fs::read_to_string(fio_samples("fio-3.33").join("group.json")).unwrap());
    texts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Proves that damaged results are refused or become a run; nothing panics.
    #[test]
    fn damaged_results_are_survived(
        text in prop::sample::select(texts()),
        edits in proptest::collection::vec(
            (any::<prop::sample::Index>(), 0usize..8, "[0-9]{1,25}|[-=;:,.{}\n ]|nan|n/a|avg_9-2|\\PC"), 1..6),
    ) {
        let mut characters: Vec<char> = text.chars().collect();
        for (at, remove, piece) in edits {
            let at = at.index(characters.len() + 1);
            let end = (at + remove).min(characters.len());
            characters.splice(at..end, piece.chars());
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("damaged");
        std::fs::write(&path, characters.into_iter().collect::<String>()).unwrap();
        let _ = import(&[path], &directory.path().join("run"));
    }
}
