//! Many runs of one plan: trend, changes of the inventory, and the report of a comparison.

use crate::support::{arraylab, json_lines, refuse, succeed, text, tool};
use report_check::{Run, check_comparison};
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
    recomputed(&[&runs[0], &runs[1], &runs[5]], &document);
    let too_many: Vec<&str> = std::iter::repeat_n(runs[0].as_str(), 9).collect();
    let (code, message) = refuse(&[&["compare"], &too_many[..], &["--report", "x.html"]].concat());
    assert_eq!(code, Some(2), "{message}");
    assert!(message.contains("at most 8 runs"), "{message}");
}

/// Recomputes the report of a comparison from its runs, and sees that the checker notices what was altered.
fn recomputed(paths: &[&String], document: &serde_json::Value) {
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../published");
    let runs: Vec<(String, Run)> = paths
        .iter()
        .map(|path| {
            let name = Path::new(path).file_name().unwrap().to_str().unwrap().to_owned();
            (name, Run::open(Path::new(path), &published).unwrap())
        })
        .collect();
    assert_eq!(check_comparison(&runs, document), []);
    let table = |document: &serde_json::Value| {
        let tables = document["tables"].as_array().unwrap();
        tables.iter().position(|table| table["id"].as_str().unwrap().starts_with("compared-")).unwrap()
    };
    type Change = fn(&mut serde_json::Value, usize);
    let changes: [(&str, Change); 5] = [
        ("a figure", |document, table| {
            let number = &mut document["tables"][table]["rows"][0][2]["numbers"][0];
            number["value"] = (number["value"].as_f64().unwrap() * 1.01).into();
        }),
        ("a change", |document, table| {
            let number = &mut document["tables"][table]["rows"][0][4]["numbers"][1];
            number["value"] = (number["value"].as_f64().unwrap() - 0.01).into();
        }),
        ("a mark", |document, table| {
            let text = document["tables"][table]["rows"][0][4]["text"].as_str().unwrap().replace("▼▼", "▲▲");
            document["tables"][table]["rows"][0][4]["text"] = text.into();
        }),
        ("a headline", |document, _| {
            let number = &mut document["tiles"][0]["value"]["numbers"][0];
            number["value"] = (number["value"].as_f64().unwrap() * 1.01).into();
        }),
        ("the verdict", |document, _| document["verdict"] = "pass".into()),
    ];
    for (what, change) in changes {
        let mut altered = document.clone();
        change(&mut altered, table(document));
        assert_ne!(&altered, document, "{what}");
        assert_ne!(check_comparison(&runs, &altered), [], "{what} was altered");
    }
}

/// Proves that a redacted report of a comparison has no name of a host, a device or a directory in any format, paper among them, and
/// that the same host has the same pseudonym in both runs.
#[test]
fn a_redacted_report_of_runs_has_no_names() {
    let directory = tempfile::tempdir().unwrap();
    let plan = directory.path().join("months.yaml");
    std::fs::write(&plan, PLAN.replace("runtime: 4", "runtime: 1")).unwrap();
    let run = |name: &str, disks: &str, serial: &str| {
        let run = directory.path().join(name);
        let words = ["run", plan.to_str().unwrap(), "--target", "twin:raid-levels", "--set", disks, "--out"];
        succeed(&[&words[..], &[run.to_str().unwrap()]].concat());
        let path = run.join("manifest.json");
        let mut manifest: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        manifest["host"]["hostname"] = "zqvault07.example.com".into();
        manifest["host"]["serial"] = serial.into();
        manifest["host"]["mounts"] = format!("10.20.30.40:/srv/{serial} on zqvault07").into();
        std::fs::write(&path, manifest.to_string()).unwrap();
        run.to_str().unwrap().to_owned()
    };
    let runs =
        [run("zqvault07-january", "disks=6", "S4EVNX0R123"), run("zqvault07-june", "disks=4", "S4EVNX0R987")];
    let names = ["zqvault07", "s4evnx0r", "10.20.30.40", "/srv/", "january", "june"];
    for ending in ["html", "md", "json", "pdf"] {
        let file = directory.path().join(format!("beside.{ending}"));
        let file = file.to_str().unwrap();
        let output = arraylab(&["compare", &runs[0], &runs[1], "--report", file, "--redact"]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        let found = match ending {
            "pdf" => tool("pdftotext", &["-layout", file, "-"]),
            _ => std::fs::read_to_string(file).unwrap().replace('\\', ""),
        };
        let lower = found.to_lowercase();
        for name in names {
            assert!(!lower.contains(name), "{name} is in {ending}");
        }
        assert!(found.contains("run-2") && found.contains("serial-2"), "{ending}: {found}");
        assert!(!found.contains("host-2"), "one host has one pseudonym: {ending}");
    }
    let (code, message) = refuse(&["compare", &runs[0], &runs[1], "--redact"]);
    assert!(code == Some(2) && message.contains("--report"), "{message}");
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
