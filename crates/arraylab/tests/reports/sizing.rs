//! Reports of sizing runs: no contradiction, and planted ones are caught.

use super::contradictions::{Random, plant, sentence, table};
use super::{Reported, arraylab, numbers, published};
use serde_json::{Value, json};
use std::sync::OnceLock;

/// Random contradictions in each report.
const PLANTED: usize = 60;

fn sized(name: &str, arguments: &[&str]) -> Reported {
    let directory = tempfile::tempdir().expect("a directory");
    let workload = directory.path().join("w.yaml");
    let text = "title: A database\nsource: made up\nnot_known: [\"sizes within the mean\"]\ncapacity_bytes: 1500000000000\nstreams:\n  \
                - { name: data, rw: randrw, rwmixread: 70, bs: 8k, iops: 30000, size: 100g }\n";
    std::fs::write(&workload, text).expect("written");
    let workload = workload.to_str().expect("a path");
    let path = directory.path().join("run");
    let out = path.to_str().expect("a path").to_owned();
    let arguments: Vec<&str> =
        arguments.iter().map(|one| if *one == "WORKLOAD" { workload } else { one }).collect();
    let ran = arraylab(&[&["size", "--out", &out], &arguments[..]].concat());
    assert!(ran.status.success(), "{name}: {}", String::from_utf8_lossy(&ran.stderr));
    let output = arraylab(&["report", &out, "--format", "json"]);
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let json = serde_json::from_slice(&output.stdout).expect("one JSON object");
    let run = report_check::Run::open(&path, &published()).expect("the run can be read");
    Reported { name: name.to_owned(), run, json, _directory: directory }
}

/// Arrays with published rows, of assumed parts and too small, in several states; and a space of designs.
fn samples() -> &'static [Reported; 2] {
    static SAMPLES: OnceLock<[Reported; 2]> = OnceLock::new();
    SAMPLES.get_or_init(|| {
        let arrays = [
            "WORKLOAD",
            "--array=flashsystem-840",
            "--array=host-raid10-nvme",
            "--array=small-flash",
            "--require=mean<1ms",
            "--require=read.p99<20ms",
            "--state=healthy",
            "--state=drive-lost",
            "--state=rebuilding",
            "--state=controller-lost",
            "--growth=60%/y:3y",
        ];
        let space = [
            "fio:rw=randread,bs=8k,rate_iops=50,numjobs=2,rate_process=poisson",
            "--array=nas-raid5",
            "--require=mean<60ms",
            "--space=drives.count=4..8/2",
            "--space=groups[0].layout=raid5,raid6",
        ];
        [sized("arrays", &arrays), sized("space", &space)]
    })
}

/// Proves that reports of sizing runs contradict neither their runs nor themselves.
#[test]
fn no_sizing_report_contradicts_its_run() {
    for one in samples() {
        let found = report_check::check(&one.run, &one.json);
        let shown: Vec<String> = found.iter().take(12).map(ToString::to_string).collect();
        assert!(found.is_empty(), "{}: {} contradictions:\n{}", one.name, found.len(), shown.join("\n"));
        assert!(numbers(&one.json) > 50, "{}", one.name);
    }
}

/// Proves that contradictions planted at random in numbers of sizing reports are all caught. `ARRAYLAB_SEED` plants others.
#[test]
fn contradictions_in_sizing_reports_are_caught() {
    let seed = std::env::var("ARRAYLAB_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut random = Random(seed);
    for one in samples() {
        let (mut planted, mut missed) = (0, Vec::new());
        while planted < PLANTED {
            let Some((json, what)) = plant(&one.json, &mut random) else { continue };
            planted += 1;
            if report_check::check(&one.run, &json).is_empty() {
                missed.push(what);
            }
        }
        assert!(
            missed.is_empty(),
            "{}: {} of {planted} missed:\n{}",
            one.name,
            missed.len(),
            missed.join("\n")
        );
    }
}

/// Puts the cells of one row of a table in the place of another's.
fn swap(table: &mut Value, column: usize, rows: [usize; 2]) {
    let cells = rows.map(|row| table["rows"][row][column].clone());
    table["rows"][rows[0]][column] = cells[1].clone();
    table["rows"][rows[1]][column] = cells[0].clone();
}

fn replace(text: &mut Value, from: &str, to: &str) {
    let own = text["text"].as_str().expect("a text").to_owned();
    assert!(own.contains(from), "no {from} in {own}");
    text["text"] = json!(own.replacen(from, to, 1));
}

fn without(json: &mut Value, part: &str) {
    let sentences = json["sentences"].as_array_mut().expect("sentences");
    let before = sentences.len();
    sentences.retain(|one| one["part"] != part);
    assert!(sentences.len() < before, "no {part}");
}

/// Proves that contradictions are caught whose numbers are right by themselves: a verdict, figure, state, order or basis of
/// another array or state, and warnings that are left out.
#[test]
fn coherent_contradictions_in_sizing_reports_are_caught() {
    type Plant = fn(&mut Value);
    let planted: [(usize, &str, Plant); 17] = [
        (0, "an array that fails is said to meet", |json| {
            replace(sentence(json, "small-flash fails"), "fails your load", "meets your load");
        }),
        (0, "a state that fails is said to be met", |json| {
            replace(
                sentence(json, "host-raid10-nvme meets"),
                "; fails: one controller lost",
                ", also with one controller lost",
            );
        }),
        (0, "an answer is left out", |json| {
            let sentences = json["sentences"].as_array_mut().unwrap();
            sentences.retain(|one| !one["text"].as_str().unwrap().starts_with("small-flash fails"));
        }),
        (0, "assumed parts are not said", |json| without(json, "sizing-caution")),
        (0, "the basis is not said", |json| without(json, "sizing-basis")),
        (0, "the reasons are not said", |json| without(json, "sizing-reason")),
        (0, "the order is the other way round", |json| {
            let text = sentence(json, "host-raid10-nvme carries more");
            let own = text["text"].as_str().unwrap().to_owned();
            assert!(own.contains("flashsystem-840"), "{own}");
            let turned = own
                .replace("host-raid10-nvme", "X")
                .replace("flashsystem-840", "host-raid10-nvme")
                .replace('X', "flashsystem-840");
            text["text"] = json!(turned);
        }),
        (0, "verdicts of two states are exchanged", |json| swap(table(json, "size-2-states"), 1, [0, 3])),
        (0, "latencies of two states are exchanged", |json| swap(table(json, "size-1-states"), 2, [0, 2])),
        (0, "headrooms of two states are exchanged", |json| swap(table(json, "size-1-states"), 4, [0, 1])),
        (0, "a state is left out", |json| {
            table(json, "size-1-states")["rows"].as_array_mut().unwrap().remove(1);
        }),
        (0, "a table is of another array", |json| {
            let other = table(json, "size-2-states")["caption"].clone();
            table(json, "size-1-states")["caption"] = other;
        }),
        (0, "properties are those of another array", |json| {
            let other = table(json, "size-2-properties")["rows"].clone();
            table(json, "size-1-properties")["rows"] = other;
        }),
        (0, "drives stand beside the price", |json| {
            let rows = table(json, "size-1-properties")["rows"].as_array_mut().unwrap();
            let place = |name: &str| rows.iter().position(|row| row[0]["text"] == name).unwrap();
            let (drives, price) = (place("Drives"), place("Price"));
            rows[price][1] = rows[drives][1].clone();
        }),
        (0, "a load that was tried is a result", |json| {
            let mut copy = sentence(json, "small-flash fails").clone();
            copy["part"] = json!("found");
            json["sentences"].as_array_mut().unwrap().push(copy);
        }),
        (1, "a design that is beaten is on the front", |json| {
            let table = table(json, "size-designs-table");
            let last = table["rows"].as_array().unwrap().len() - 1;
            table["rows"][last][1] = table["rows"][0][1].clone();
        }),
        (1, "headrooms of two designs are exchanged", |json| {
            swap(table(json, "size-designs-table"), 3, [0, 2]);
        }),
    ];
    let missed: Vec<&str> = planted
        .iter()
        .filter(|(sample, _, plant)| {
            let one = &samples()[*sample];
            let mut json = one.json.clone();
            plant(&mut json);
            report_check::check(&one.run, &json).is_empty()
        })
        .map(|(_, what, _)| *what)
        .collect();
    assert!(missed.is_empty(), "missed: {missed:#?}");
}
