//! Reports of runs in the store: a shipped plan on its twin, a device with failures, a run of a thousand cases.

use load::{DirectionSample, Histogram, NEVER_STOPPED, Sample};
use serde_json::{Map, Value, json};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;
use store::{
    CaseOutcome, CaseStatus, Event, LoadOutcome, Manifest, ManifestTarget, NewCase, Run, RunEnd, RunReader,
    SourceText,
};

const SECOND_NS: u64 = 1_000_000_000;

/// A directory in memory: no disk decides how long thousands of small commits take.
fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

fn manifest(plan: SourceText, target: &str, engine: &str) -> Manifest {
    Manifest {
        arraylab_version: "0.1.0".into(),
        run_id: "20261120T134000Z-01020304".into(),
        created_utc: "2026-11-20T13:40:00Z".into(),
        seed: 1,
        plan,
        targets: vec![ManifestTarget { spec: target.into(), identity: Value::Null }],
        engine: engine.into(),
        interval_ns: SECOND_NS,
        ..Manifest::default()
    }
}

fn outcome(status: CaseStatus, target: &str, duration_ns: u64, load: Option<LoadOutcome>) -> CaseOutcome {
    CaseOutcome {
        status,
        engine: "sim".into(),
        target: target.into(),
        duration_ns,
        loads: load.into_iter().collect(),
        error: (status != CaseStatus::Done).then(|| "Input/output error at byte 4096".to_owned()),
        warnings: Vec::new(),
        extrapolation: None,
    }
}

/// The plan of the FlashSystem 840 without its last stage, a fraction of a second a case, on its twin.
fn twin_run(directory: &Path) -> RunReader {
    let loaded = plan::load_plan("flashsystem-840").unwrap();
    let array = plan::load_array("flashsystem-840").unwrap();
    let selection = plan::Selection {
        stages: ["seq-read", "seq-write", "peak-4k", "block-size", "read-share"].map(String::from).to_vec(),
        set: vec![("runtime".into(), "0.2".into()), ("ramp_time".into(), "0.1".into())],
        ..plan::Selection::default()
    };
    let cases = plan::expand(&loaded.plan, &selection).unwrap();
    let mut manifest = manifest(
        SourceText { name: loaded.name, source: loaded.source, text: loaded.text },
        "twin:flashsystem-840",
        "sim",
    );
    let text = plan::with_resolved_values(&array.text, &array.description.parts);
    manifest.array = Some(SourceText { name: array.name, source: array.source, text });
    manifest.selection.set = selection.set.clone();
    manifest.interval_ns = 20_000_000;
    let new_cases: Vec<NewCase> = cases
        .iter()
        .map(|case| NewCase {
            plan: case.plan.clone(),
            stage: case.stage.clone(),
            name: case.name.clone(),
            settings: case.settings.clone(),
            estimated_duration_ns: case.estimated_duration_ns,
            estimated_write_bytes: case.estimated_write_bytes,
        })
        .collect();
    let mut run = Run::create(directory, &manifest, &new_cases).unwrap();
    for (index, case) in cases.iter().enumerate() {
        let index = index as u32;
        run.begin_case(index).unwrap();
        let mut twin = twin::Twin::build(&array.description, &Map::new(), 1).unwrap();
        let mut spec = case.load.clone();
        spec.interval_ns = 20_000_000;
        let mut load = LoadOutcome { name: "main".into(), ..LoadOutcome::default() };
        let mut samples = Vec::new();
        load::run_simulated(&mut twin, &spec, &NEVER_STOPPED, &mut |_, sample| {
            samples.push(sample);
            ControlFlow::Continue(())
        })
        .unwrap();
        samples.iter().for_each(|sample| load.add(sample));
        run.append_samples(index, "main", &samples).unwrap();
        let end = outcome(CaseStatus::Done, "twin:flashsystem-840", spec.runtime_ns, Some(load));
        run.finish_case(index, &end).unwrap();
    }
    run.end(&RunEnd::Done).unwrap();
    RunReader::open(directory).unwrap()
}

/// Proves that the report of a shipped plan on its twin says that it is simulated, draws the bench, sets published
/// and declared figures beside the run's, charts each axis and time, and names what was not run.
#[test]
fn a_shipped_plan_on_its_twin() {
    let directory = directory();
    let run = twin_run(&directory.path().join("run"));
    let report = report::from_run(&run).unwrap();
    assert_eq!(report.origin, report::Origin::Simulated { twin: "flashsystem-840".into() });
    assert_eq!(report.headlines.len(), 3);
    assert!(report.bench.as_ref().is_some_and(|bench| bench.layers.iter().any(|layer| layer.count == 8)));
    let captions: Vec<&str> = report.comparisons.iter().map(|table| table.caption.text()).collect();
    assert_eq!(
        captions,
        [
            "Measured ÷ declared",
            "Published figures beside this run’s",
            "What the published test concluded, judged on this run"
        ]
    );
    assert!(!report.conclusions.is_empty(), "what was found comes first");
    // Every published row has a case here: 3 block sizes with 3 figures (4k in two stages), and the read shares.
    assert!(report.comparisons[1].rows.len() >= 16, "{:?}", report.comparisons[1].rows.len());
    assert!(report.comparisons[1].rows.iter().all(|row| row[4].ends_with(" %")));
    assert!(report.not_run[0].rows.iter().any(|row| row[0] == "firmware-update"));
    let block_size = report.sections.iter().find(|section| section.id == "stage-block-size").unwrap();
    for title in ["IOPS by block size", "Bandwidth by block size", "IOPS against time"] {
        assert!(block_size.charts.iter().any(|chart| chart.title == title), "{title}");
    }
    let published =
        |chart: &report::Chart| chart.series.iter().any(|series| series.role == report::Role::Published);
    assert!(block_size.charts.iter().any(|chart| chart.title.contains("atency") && published(chart)));
    assert!(report.warnings.iter().any(|warning| warning.contains("runtime=0.2")));
    let (html, markdown) = (report.html(), report.markdown());
    assert!(html.contains("Simulated, not measured.") && markdown.contains("Simulated, not measured."));
    assert_eq!(report::from_run(&run).unwrap().html(), html, "the same run gives the same bytes");
    keep("flashsystem-840.html", &html);
    keep("flashsystem-840.md", &markdown);
}

/// `ARRAYLAB_SCREENSHOTS=DIR` keeps reports for a look at them.
fn keep(name: &str, text: &str) {
    if let Some(directory) = std::env::var_os("ARRAYLAB_SCREENSHOTS") {
        std::fs::write(Path::new(&directory).join(name), text).unwrap();
    }
}

fn sample(second: u64, ios: u64) -> Sample {
    let mut latency = Histogram::new();
    latency.add_bin(load::bin_index(1_000_000 + ios * 100), ios);
    Sample {
        start_ns: second * SECOND_NS,
        end_ns: (second + 1) * SECOND_NS,
        is_ramp: second == 0,
        read: DirectionSample { ios, bytes: ios * 4096, latency, ..DirectionSample::default() },
        ..Sample::default()
    }
}

/// A run of invented cases on a device: `intervals` a case, statuses as `status` says.
fn device_run(
    directory: &Path,
    settings: &[Map<String, Value>],
    intervals: u64,
    status: fn(u32) -> CaseStatus,
) -> RunReader {
    run_of("title: x\nstages: 1\n", directory, settings, intervals, status)
}

/// The same with a plan of one's own. The first case has a warning.
fn run_of(
    text: &str,
    directory: &Path,
    settings: &[Map<String, Value>],
    intervals: u64,
    status: fn(u32) -> CaseStatus,
) -> RunReader {
    let text = text.to_owned();
    let manifest = manifest(
        SourceText { name: "sweep".into(), source: "sweep.yaml".into(), text },
        "/dev/nvme0n1",
        "fio",
    );
    let cases: Vec<NewCase> = settings
        .iter()
        .enumerate()
        .map(|(index, settings)| NewCase {
            plan: "sweep".into(),
            stage: "grid".into(),
            name: format!("case-{index}"),
            settings: settings.clone(),
            ..NewCase::default()
        })
        .collect();
    let mut run = Run::create(directory, &manifest, &cases).unwrap();
    for index in 0..cases.len() as u32 {
        run.begin_case(index).unwrap();
        let samples: Vec<Sample> =
            (0..intervals).map(|second| sample(second, 100 + u64::from(index) + second % 7)).collect();
        let mut load = LoadOutcome { name: "main".into(), ..LoadOutcome::default() };
        samples.iter().for_each(|sample| load.add(sample));
        let status = status(index);
        let is_done = status == CaseStatus::Done;
        if is_done {
            run.append_samples(index, "main", &samples).unwrap();
        }
        if index == 1 {
            let text = "cable <pulled>".to_owned();
            run.append_event(&Event {
                case_index: Some(1),
                case_at_ns: Some(3 * SECOND_NS),
                kind: "mark".into(),
                text,
                ..Event::default()
            })
            .unwrap();
        }
        let mut outcome =
            outcome(status, "/dev/nvme0n1", (intervals - 1) * SECOND_NS, is_done.then_some(load));
        if index == 0 {
            outcome.warnings.push("the device was slow at first".into());
        }
        run.finish_case(index, &outcome).unwrap();
    }
    run.end(&RunEnd::Done).unwrap();
    RunReader::open(directory).unwrap()
}

fn grid(counts: [u64; 3]) -> Vec<Map<String, Value>> {
    let mut cases = Vec::new();
    for bs in 0..counts[0] {
        for numjobs in 0..counts[1] {
            for share in 0..counts[2] {
                let settings = json!({"rw": "randrw", "bs": 512u64 << bs, "numjobs": 1u64 << numjobs, "iodepth": 8, "rwmixread": share * 100 / (counts[2] - 1).max(1)});
                cases.push(settings.as_object().unwrap().clone());
            }
        }
    }
    cases
}

/// Proves that failed, refused and unsettable cases are listed with their reasons, leave gaps in the lines and
/// enter no figure; that marks are drawn; and that a plan which cannot be read is said, not fatal.
#[test]
fn a_device_with_failures() {
    let directory = directory();
    let status = |index| match index {
        2 => CaseStatus::Failed,
        3 => CaseStatus::Refused,
        4 => CaseStatus::NotSettable,
        _ => CaseStatus::Done,
    };
    let run = device_run(&directory.path().join("run"), &grid([6, 1, 1]), 9, status);
    let report = report::from_run(&run).unwrap();
    assert_eq!(report.origin, report::Origin::Measured { target: "/dev/nvme0n1".into() });
    let rows = &report.not_run[0].rows;
    let statuses: Vec<&str> = rows.iter().map(|row| row[2].text()).collect();
    assert_eq!(statuses, ["failed", "refused", "not-settable"]);
    assert!(rows.iter().all(|row| row[3].contains("Input/output error")));
    assert_eq!(report.sections[0].tables[0].rows.len(), 3);
    assert!(report.warnings.iter().any(|warning| warning.contains("cannot be read by this version")));
    let chart = &report.sections[0].charts[0];
    let drawn: Vec<bool> = chart.series[0].points.iter().map(|point| point.y.is_some()).collect();
    assert_eq!(drawn, [true, true, false, false, false, true], "missing cases leave a gap");
    let time = report.sections[0].charts.iter().find(|chart| chart.title == "IOPS against time").unwrap();
    let labels: Vec<&str> = time.marks.iter().map(|mark| mark.label.as_str()).collect();
    assert_eq!(labels, ["ramp, not counted", "cable <pulled> (1k)"]);
    let html = report.html();
    keep("device.html", &html);
    assert!(html.contains("cable &lt;pulled&gt;"));
    assert!(report.facts.iter().any(|fact| fact.value == "3 done, 1 failed, 1 refused, 1 not-settable"));
}

/// Proves that the report of 1,000 cases of 120 intervals is made in under 20 s in a debug build (10 s in a
/// release build) and is under 10 MB, and that it says what it leaves out.
#[test]
fn a_thousand_cases() {
    let directory = directory();
    let run = device_run(&directory.path().join("run"), &grid([10, 10, 10]), 120, |_| CaseStatus::Done);
    let started = Instant::now();
    let report = report::from_run(&run).unwrap();
    let html = report.html();
    let seconds = started.elapsed().as_secs_f64();
    keep("thousand.html", &html);
    let limit = if cfg!(debug_assertions) { 20.0 } else { 10.0 };
    println!(
        "{} bytes in {seconds:.2} s, {} charts",
        html.len(),
        html.matches("<svg class=\"plot\"").count()
    );
    assert!(seconds < limit, "{seconds} s");
    assert!(html.len() < 10_000_000, "{} bytes", html.len());
    assert_eq!(report.sections[0].tables[0].rows.len(), 1000);
    for axis in ["by block size", "by jobs", "by share of reads"] {
        assert!(report.sections[0].charts.iter().any(|chart| chart.title.contains(axis)), "{axis}");
    }
    let notes: Vec<&str> = report.sections[0].notes.iter().map(|note| note.text()).collect();
    let notes = notes.join(" ");
    for phrase in ["left out", "not drawn against time"] {
        assert!(notes.contains(phrase), "{phrase}: {notes}");
    }
}

const TRADE: &str = "title: Trade
stages:
  grid:
    settings: { rw: randread, rwmixread: 100, bs: 4k, runtime: 8 }
    matrix: { numjobs: [1, 2, 4] }
require:
  - { says: ninety a second, quantity: iops, at_least: 90, stage: grid }
  - { says: reads within a microsecond, quantity: read.latency_ns.mean, at_most: 1us, stage: grid }
show:
  - { title: Latency against IOPS, stages: [grid], y: [read.latency_ns.mean], x: iops }
";

fn trade_cases() -> Vec<Map<String, Value>> {
    let settings = |jobs: u64| json!({"rw": "randread", "rwmixread": 100, "bs": 4096, "numjobs": jobs, "iodepth": 1, "runtime": 8});
    [1, 2, 4].map(|jobs| settings(jobs).as_object().unwrap().clone()).to_vec()
}

/// Proves that a chart against a measured quantity, which was refused, is drawn with a point for each case.
#[test]
fn latency_against_iops_is_drawn() {
    let directory = directory();
    let run = run_of(TRADE, &directory.path().join("run"), &trade_cases(), 9, |_| CaseStatus::Done);
    let report = report::from_run(&run).unwrap();
    let charts = report.sections.iter().flat_map(|section| &section.charts);
    let chart = charts.into_iter().find(|chart| chart.title == "Latency against IOPS").expect("the chart");
    assert_eq!(chart.x.label, "IOPS");
    let points = &chart.series[0].points;
    assert_eq!(points.len(), 3, "{points:?}");
    assert!(points.iter().all(|point| (90.0..120.0).contains(&point.x) && point.y.is_some()), "{points:?}");
}

/// Proves that the first page of a run that failed its requirements says so before anything else, and names a case that failed.
#[test]
fn a_failed_run_says_so_first() {
    let directory = directory();
    let status = |index| if index == 2 { CaseStatus::Failed } else { CaseStatus::Done };
    let run = run_of(TRADE, &directory.path().join("run"), &trade_cases(), 9, status);
    let report = report::from_run(&run).unwrap();
    assert_eq!(report.verdict.passed, Some(false));
    let html = report.html();
    let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(at("✗ FAIL") < at("id=\"in-short\""), "the verdict stands first");
    let says = report.verdict.because.iter().map(|line| line.text()).collect::<Vec<_>>().join(" ");
    assert!(says.contains("Not kept: reads within a microsecond (grid, case-0)"), "{says}");
    assert!(says.contains("case-0) and in 1 further case."), "a limit is named once: {says}");
    assert!(says.contains("Without a result: grid case-2 (failed)"), "{says}");
    assert_eq!(report.json()["verdict"], "fail");
    assert!(report.markdown().contains("**✗ FAIL**"));
}

/// Proves that a warning of one case stands once, where it was counted with its case and with the run.
#[test]
fn a_warning_is_counted_once() {
    let directory = directory();
    let run = device_run(&directory.path().join("run"), &grid([3, 1, 1]), 9, |_| CaseStatus::Done);
    let report = report::from_run(&run).unwrap();
    let warnings: Vec<&str> = report.warnings.iter().map(|warning| warning.text()).collect();
    assert!(warnings.contains(&"the device was slow at first"), "{warnings:?}");
}
