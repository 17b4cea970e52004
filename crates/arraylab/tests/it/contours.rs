//! Contour charts of plans, on twins and on devices.

use crate::support::succeed;
use serde_json::Value;
use std::path::Path;

const CONTOUR: &str = "show:\n  - { title: Latency over reads and writes, chart: contour, stages: [plane], x: read.iops, y: [write.iops], \
     of: [read.latency_ns.mean, write.latency_ns.mean] }\n";

/// Checks a run's report and gives its page.
fn page(run: &Path) -> String {
    let name = run.to_str().unwrap();
    let report: Value = serde_json::from_str(&succeed(&["report", name, "--format", "json"])).unwrap();
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../published");
    let checked = report_check::Run::open(run, &published).unwrap();
    let found = report_check::check(&checked, &report);
    assert!(found.is_empty(), "{found:?}");
    let page = run.with_extension("html");
    succeed(&["report", name, "--out", page.to_str().unwrap()]);
    std::fs::read_to_string(page).unwrap()
}

/// The figure of an identifier.
fn figure<'a>(page: &'a str, id: &str) -> &'a str {
    let from =
        page.find(&format!("<figure class=\"chart\" id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}"));
    &page[from..from + page[from..].find("</figure>").unwrap()]
}

/// Proves that the calibration of an array has a contour of latency over read rate and write rate for each block size, whose table has a row
/// for each case with its rates and its mean latency over all I/Os, and whose words say where each line begins and ends.
#[test]
fn a_calibration_has_contours() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let name = run.to_str().unwrap();
    let settings = ["--set", "runtime=0.1", "--set", "ramp_time=0.02"];
    let run_it = ["run", "calibrate", "--target", "twin:small-flash", "--stage", "depth", "--out", name];
    succeed(&[&run_it[..], &settings[..]].concat());
    let page = page(&run);
    let results = crate::support::results(&run);
    for (place, bs, size) in [(1, 4096, "4k"), (2, 8192, "8k")] {
        let figure = figure(&page, &format!("stage-depth-contour-{place}"));
        assert!(figure.contains(&format!("Latency over reads and writes a second, {size}")), "{figure}");
        let own = results.iter().filter(|result| result["settings"]["bs"] == bs);
        assert_eq!(own.clone().count(), 20);
        assert_eq!(figure.matches("<tr>").count(), 1 + 20, "a head and a row for each case");
        assert!(figure.matches("class=\"curve").count() >= 2, "lines of equal latency");
        assert!(figure.contains("<desc>Write rate (IOPS) against Read rate (IOPS). "), "{figure}");
        let mixed = own
            .clone()
            .find(|result| result["settings"]["rwmixread"] == 50 && result["settings"]["iodepth"] == 16);
        let of = |side: &str, path: &str| mixed.unwrap()[side].pointer(path).and_then(Value::as_f64).unwrap();
        let rates = ["read", "write"].map(|side| of(side, "/iops"));
        let means = ["read", "write"].map(|side| of(side, "/latency_ns/mean"));
        let mean_us = (rates[0] * means[0] + rates[1] * means[1]) / (rates[0] + rates[1]) / 1e3;
        let row = figure.split("<tr>").find(|row| row.contains("50 % reads") && row.contains("depth 16"));
        let cells: Vec<f64> = row
            .unwrap_or_else(|| panic!("no row of that case: {figure}"))
            .split("<td class=\"n\">")
            .skip(1)
            .filter_map(|cell| cell.split('<').next()?.replace(',', "").parse().ok())
            .collect();
        let scale = if figure.contains("writes (ms)") { 1e3 } else { 1.0 };
        for (cell, expected) in cells.iter().zip([rates[0], rates[1], mean_us / scale]) {
            assert!((cell / expected - 1.0).abs() < 1e-3, "{cells:?}: {expected}");
        }
        assert_eq!(cells.len(), 3);
    }
    // The charts that the stage's matrix suggests are still there.
    assert!(page.contains("id=\"stage-depth-") && page.matches("<figure").count() > 4);
}

/// Proves that a device has a contour likewise, and that cases which differ in one setting only are told as not drawn.
#[test]
fn a_device_has_a_contour() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let plan = |name: &str, shares: &str| {
        let text = format!(
            "title: Plane\n{CONTOUR}stages:\n  plane:\n    settings: {{ rw: randrw, bs: 4k, numjobs: 1, runtime: 0.2, size: 16m }}\n    \
             matrix: {{ rwmixread: [{shares}], iodepth: [1, 8] }}\n"
        );
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let run_on = |plan: &Path, name: &str| {
        let run = directory.path().join(name);
        let target = format!("file:{},size=32m", directory.path().join(format!("{name}.img")).display());
        succeed(&["run", plan.to_str().unwrap(), "--target", &target, "--out", run.to_str().unwrap()]);
        page(&run)
    };
    let drawn = run_on(&plan("plane.yaml", "100, 50, 0"), "plane");
    assert_eq!(figure(&drawn, "stage-plane-contour-1").matches("<tr>").count(), 1 + 6);
    let line = run_on(&plan("line.yaml", "50"), "line");
    assert!(
        !line.contains("contour-1")
            && line.contains("Not drawn: the contour “Latency over reads and writes”")
    );
}
