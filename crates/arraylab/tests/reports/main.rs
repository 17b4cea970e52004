//! Reports of all shipped plans, held against their runs by a checker that shares nothing with what writes them.

mod contradictions;
mod sizing;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A shipped plan on a twin, shortened.
pub struct Shortened {
    plan: &'static str,
    twin: &'static str,
    arguments: &'static [&'static str],
}

const fn short(plan: &'static str, twin: &'static str, arguments: &'static [&'static str]) -> Shortened {
    Shortened { plan, twin, arguments }
}

const SHORT: &[&str] = &["--set", "runtime=0.5", "--set", "ramp_time=0.1"];
const FEW_SIZES: &[&str] = &["--set", "runtime=0.5", "--set", "ramp_time=0.1", "--only", "bs=4k"];
const ROUNDS: &[&str] = &["--set", "runtime=0.1"];
const FEW_WAITS: &[&str] = &["--set", "runtime=0.1", "--stage", "settle", "--stage", "wait-5"];

/// Every shipped plan. What is set and chosen makes all of them together a matter of seconds.
const PLANS: &[Shortened] = &[
    short("acceptance", "composite-flash", SHORT),
    short("quick", "composite-flash", SHORT),
    short("features", "reduced-flash", SHORT),
    short("purchase", "all-nvme-raid6", SHORT),
    short("calibrate", "all-nvme-raid6", SHORT),
    // One controller: a stage is left out.
    short("purchase", "nas-raid5", SHORT),
    short("flashsystem-840", "flashsystem-840", SHORT),
    short("raid-levels", "raid-levels", SHORT),
    short("storpool", "storpool", SHORT),
    short("e2700", "e2700", SHORT),
    short("dorado-2100-g2", "dorado-2100-g2", FEW_SIZES),
    short("dorado-2100-g2-short", "dorado-2100-g2", SHORT),
    short("snia-iops", "small-flash", ROUNDS),
    short("snia-throughput", "small-flash", ROUNDS),
    short("snia-latency", "small-flash", ROUNDS),
    short("snia-write-saturation", "small-flash", ROUNDS),
    short("snia-host-idle-recovery", "small-flash", FEW_WAITS),
    short("snia-cross-stimulus-recovery", "small-flash", ROUNDS),
    short("snia-demand-intensity", "small-flash", ROUNDS),
    short("snia-composite-blocks", "small-flash", ROUNDS),
];

/// The published tables of the repository.
fn published() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../published")
}

/// A run and its report.
pub struct Reported {
    /// The plan.
    pub name: String,
    /// The run.
    pub run: report_check::Run,
    /// The report.
    pub json: Value,
    _directory: tempfile::TempDir,
}

fn arraylab(arguments: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_arraylab")).args(arguments).output().expect("the binary runs")
}

/// Runs a plan and reads its report.
pub fn reported(plan: &str, twin: &str, arguments: &[&str]) -> Reported {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("run");
    let out = path.to_str().expect("a path").to_owned();
    let target = format!("twin:{twin}");
    let mut all = vec!["run", plan, "--target", &target, "--out", &out];
    all.extend(arguments);
    let ran = arraylab(&all);
    assert!(path.join("run.sqlite").exists(), "{plan}: {}", String::from_utf8_lossy(&ran.stderr));
    let output = arraylab(&["report", &out, "--format", "json"]);
    assert!(output.status.success(), "{plan}: {}", String::from_utf8_lossy(&output.stderr));
    let json = serde_json::from_slice(&output.stdout).expect("one JSON object");
    let run = report_check::Run::open(&path, &published()).expect("the run can be read");
    Reported { name: plan.to_owned(), run, json, _directory: directory }
}

/// The reports in which contradictions are planted, made once.
pub fn samples() -> &'static [Reported] {
    static SAMPLES: OnceLock<Vec<Reported>> = OnceLock::new();
    SAMPLES.get_or_init(|| {
        vec![
            reported("acceptance", "composite-flash", SHORT),
            reported("flashsystem-840", "flashsystem-840", SHORT),
            reported("storpool", "storpool", SHORT),
        ]
    })
}

/// All numbers of a report.
pub fn numbers(json: &Value) -> usize {
    match json {
        Value::Array(items) => items.iter().map(numbers).sum(),
        Value::Object(fields) => {
            let own = fields.get("numbers").and_then(Value::as_array).map_or(0, Vec::len);
            own + fields.values().map(numbers).sum::<usize>()
        }
        _ => 0,
    }
}

fn no_contradictions(shortened: &[&Shortened]) {
    for one in shortened {
        let started = std::time::Instant::now();
        let made;
        let reported = match samples().iter().find(|sample| sample.name == one.plan) {
            Some(sample) => sample,
            None => {
                made = reported(one.plan, one.twin, one.arguments);
                &made
            }
        };
        let found = report_check::check(&reported.run, &reported.json);
        let shown: Vec<String> = found.iter().take(12).map(ToString::to_string).collect();
        assert!(found.is_empty(), "{}: {} contradictions:\n{}", one.plan, found.len(), shown.join("\n"));
        let count = numbers(&reported.json);
        assert!(count > 50, "{}: {count} numbers", one.plan);
        println!("{}: {count} numbers, {:.1} s", one.plan, started.elapsed().as_secs_f64());
    }
}

/// Proves that in the reports of every second shipped plan each number names its source, is what the source gives, is printed as what
/// it is, and is said of the case that it belongs to.
#[test]
fn no_report_contradicts_its_run() {
    no_contradictions(&PLANS.iter().step_by(2).collect::<Vec<_>>());
}

/// Proves the same of the others.
#[test]
fn no_other_report_contradicts_its_run() {
    no_contradictions(&PLANS.iter().skip(1).step_by(2).collect::<Vec<_>>());
}

/// Proves that every shipped plan is among those whose reports are checked.
#[test]
fn every_shipped_plan_is_checked() {
    let output = arraylab(&["plans"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for name in text.lines().skip(1).filter_map(|line| line.split_whitespace().next()) {
        assert!(PLANS.iter().any(|one| one.plan == name), "{name} is not checked");
    }
}

/// Proves that one report says one number of one thing: the lowest mean latency and the peak of the acceptance plan are the same
/// on the tile, in the sentence and under the bound, where they were 103, 107 and 106 µs, and 1,000,002 beside 1,195,472 IOPS.
#[test]
fn acceptance_says_one_number_of_one_thing() {
    let json = &samples()[0].json;
    let tile = |label: &str| {
        let tiles = json["tiles"].as_array().expect("tiles");
        let tile = tiles.iter().find(|tile| tile["label"] == label).expect("the tile");
        tile["value"]["numbers"][0].clone()
    };
    let sentence = |start: &str| {
        let sentences = json["sentences"].as_array().expect("sentences");
        let found =
            sentences.iter().find(|one| one["text"].as_str().is_some_and(|text| text.starts_with(start)));
        found.unwrap_or_else(|| panic!("no sentence begins with {start}"))["numbers"].clone()
    };
    assert_eq!(tile("Lowest mean latency")["from"], sentence("The lowest mean latency")[0]["from"]);
    assert_eq!(tile("Lowest mean latency")["value"], sentence("The lowest mean latency")[0]["value"]);
    assert_eq!(tile("Peak IOPS")["from"], sentence("At most")[0]["from"]);
    assert_eq!(sentence("With mean latency of no more than")[1]["from"], sentence("At most")[0]["from"]);
}
