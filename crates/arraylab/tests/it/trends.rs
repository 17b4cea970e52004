//! Many runs of one plan: trend, changes of the inventory, and the report of a comparison.

use crate::support::{arraylab, json_lines, refuse, succeed, text};
use std::path::Path;

const PLAN: &str = "title: Months\nwatch: { interval: 0.2 }\nstages:\n  mixed:\n    settings: { rw: randrw, rwmixread: 70, runtime: 4, \
                    ramp_time: 0.4, numjobs: 8, iodepth: 4, raid: 5, disks: 6 }\n    matrix: { bs: [4k, 16k] }\n";

/// Six runs, the last three on fewer disks.
fn runs(directory: &Path) -> Vec<String> {
    let plan = directory.join("months.yaml");
    std::fs::write(&plan, PLAN).unwrap();
    let run = |number: usize| {
        let run = directory.join(format!("run-{number}"));
        let disks = if number > 3 { "disks=4" } else { "disks=6" };
        let seed = number.to_string();
        let words =
            ["run", plan.to_str().unwrap(), "--target", "twin:raid-levels", "--set", disks, "--seed", &seed];
        succeed(&[&words[..], &["--out", run.to_str().unwrap()]].concat());
        run.to_str().unwrap().to_owned()
    };
    (1..=6).map(run).collect()
}

/// Proves that a trend over six runs finds the change of every headline rate where it was made, with what changed in the
/// inventory just there and nowhere else, and that runs which differ by their seed alone show no change.
#[test]
fn a_trend_finds_when_and_what_changed() {
    let directory = tempfile::tempdir().unwrap();
    let runs = runs(directory.path());
    let paths: Vec<&str> = runs.iter().map(String::as_str).collect();
    let output = arraylab(&[&["compare"], &paths[..], &["--trend", "--json"]].concat());
    assert_eq!(output.status.code(), Some(1), "the last runs are slower: {}", text(&output.stderr));
    let lines = json_lines(&text(&output.stdout));
    let of = |quantity: &str| -> Vec<&serde_json::Value> {
        lines.iter().filter(|line| line["quantity"] == quantity).collect()
    };
    let peak = of("peak-iops")[0];
    let changes = peak["changes"].as_array().unwrap();
    assert_eq!(
        (changes.len(), changes[0]["run"].as_u64(), &changes[0]["is_better"]),
        (1, Some(4), &false.into()),
        "{peak}"
    );
    assert!(peak["noise_percent"].as_f64().unwrap() < 10.0, "{peak}");
    assert_eq!(of("iops").len(), 2, "one for each case");
    let settings: Vec<&serde_json::Value> =
        of("inventory").into_iter().filter(|line| line["place"] == "setting disks").collect();
    assert_eq!(settings.len(), 1, "{settings:?}");
    assert_eq!((settings[0]["run"].as_u64(), settings[0]["before"].as_str()), (Some(4), Some("6")));
    let words = text(&arraylab(&[&["compare"], &paths[..], &["--trend"]].concat()).stdout);
    assert!(words.contains("levels that changed beyond noise") && words.contains("setting disks"), "{words}");
    // Three runs of the same.
    let alone = succeed(&["compare", paths[0], paths[1], paths[2], "--trend"]);
    assert!(alone.contains("no level changed beyond noise"), "{alone}");
}

/// Proves that the report of a comparison marks what differs beyond noise, says what changed, is refused beyond eight runs, and
/// that every digit of its JSON lies within a number that names its source.
#[test]
fn a_report_sets_runs_side_by_side() {
    let directory = tempfile::tempdir().unwrap();
    let runs = runs(directory.path());
    let report = directory.path().join("beside.html");
    let json = directory.path().join("beside.json");
    let words = ["compare", &runs[0], &runs[1], &runs[5], "--report"];
    for file in [&report, &json] {
        let output = arraylab(&[&words[..], &[file.to_str().unwrap()]].concat());
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    }
    let page = std::fs::read_to_string(&report).unwrap();
    assert!(
        page.contains("✗ FAIL") && page.contains("Simulated, not measured."),
        "its verdict and its origin"
    );
    assert!(page.contains("▼▼ ") && page.contains("setting disks") && page.contains("Peak IOPS by run"));
    // In a cell: the caption has the mark too.
    assert!(page.contains(">▼▼ "), "a regression is marked");
    let document: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(document["verdict"], "fail");
    let mut texts = 0;
    check(&document["sentences"], &mut texts);
    check(&document["tables"], &mut texts);
    check(&document["tiles"], &mut texts);
    assert!(texts > 40, "{texts}");
    let too_many: Vec<&str> = std::iter::repeat_n(runs[0].as_str(), 9).collect();
    let (code, message) = refuse(&[&["compare"], &too_many[..], &["--report", "x.html"]].concat());
    assert_eq!(code, Some(2), "{message}");
    assert!(message.contains("at most 8 runs"), "{message}");
}

/// Every digit of every text within a value lies within one of its numbers, each of which has a source.
fn check(value: &serde_json::Value, texts: &mut usize) {
    if let (Some(text), Some(numbers)) = (value["text"].as_str(), value["numbers"].as_array()) {
        *texts += 1;
        let mut letters: Vec<char> = text.chars().collect();
        for number in numbers {
            assert!(number["from"].as_str().is_some_and(|from| from.contains(':')), "{number}");
            let from = number["at"].as_u64().unwrap() as usize;
            let length = number["text"].as_str().unwrap().chars().count();
            letters[from..from + length].fill('·');
        }
        assert!(!letters.iter().any(char::is_ascii_digit), "{text}");
        return;
    }
    for one in value
        .as_array()
        .into_iter()
        .flatten()
        .chain(value.as_object().into_iter().flat_map(|map| map.values()))
    {
        check(one, texts);
    }
}
