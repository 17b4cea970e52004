//! Run directories of `arraylab what-if`.

use crate::support::{json_lines, refuse, succeed};
use serde_json::{Value, json};
use std::path::Path;

const LOAD: &str = "fio:rw=randread,bs=8k,iodepth=16,numjobs=8,runtime=1s";

fn ask(array: &str, out: &Path) -> String {
    let question =
        ["what-if", array, "--load", LOAD, "--change", "links.count=4,16", "--find-bottleneck", "--json"];
    succeed(&[&question[..], &["--out", out.to_str().unwrap()]].concat())
}

fn report_of(run: &Path) -> Value {
    let text = succeed(&["report", run.to_str().unwrap(), "--format", "json"]);
    serde_json::from_str(&text).unwrap()
}

fn open(run: &Path) -> report_check::Run {
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../published");
    report_check::Run::open(run, &published).unwrap()
}

fn check(run: &report_check::Run, report: &Value) -> Vec<String> {
    report_check::check(run, report).into_iter().map(|one| one.to_string()).collect()
}

/// Proves that `what-if --out` keeps a run directory with a case for each simulation that an answer rests on, cited by it, with the same
/// rate; that the same question gives the same cases; that a directory with a run in it is refused before anything is simulated; and that
/// the report has the answers with their charts, which the independent checker recomputes without a contradiction.
#[test]
fn a_run_has_the_cases_that_its_answers_cite() {
    let directory = tempfile::tempdir().unwrap();
    let runs = ["first", "second"].map(|name| directory.path().join(name));
    let answers = json_lines(&ask("flashsystem-840", &runs[0]));
    assert_eq!(answers, json_lines(&ask("flashsystem-840", &runs[1])));
    let [first, second] =
        [&runs[0], &runs[1]].map(|run| succeed(&["results", run.to_str().unwrap(), "--json"]));
    assert_eq!(first, second, "the same question gives the same results");
    let results = json_lines(&first);
    let mut cited: Vec<&str> = Vec::new();
    let holds = |case: &Value, field: &str, expected: &Value| {
        let is_its = |result: &&Value| {
            let path = [&result["stage"], &result["case"]].map(|part| part.as_str().unwrap_or_default());
            case.as_str() == Some(&path.join("/"))
        };
        let result = results.iter().find(is_its).unwrap_or_else(|| panic!("no case {case}"));
        let [own, its] = [result.pointer(field).unwrap(), expected].map(|value| value.as_f64().unwrap());
        assert!((own - its).abs() <= 1e-9 * its, "{case}: {own} and {its}");
    };
    let mut steps = 0;
    for answer in &answers {
        holds(&answer["case"], "/iops", &answer["iops"]);
        holds(&answer["case"], "/read/latency_ns/p99", &answer["latency_ns"]["p99"]);
        holds(&answer["alone"]["case"], "/read/latency_ns/mean", &answer["alone"]["mean_ns"]);
        cited.extend([&answer["case"], &answer["alone"]["case"]].map(|case| case.as_str().unwrap()));
        for more in answer["more"].as_object().unwrap().values() {
            holds(&more["case"], "/iops", &more["iops"]);
            cited.push(more["case"].as_str().unwrap());
        }
        if let Some(second) = answer.pointer("/bottleneck/second").filter(|second| !second.is_null()) {
            holds(&second["case"], "/iops", &second["iops"]);
            cited.push(second["case"].as_str().unwrap());
        }
        if !answer["bottleneck"].is_null() {
            steps += 1;
            // With more of a part the array is not the one that published rows are of.
            assert_eq!(answer["validated"], "fitted", "{answer}");
        }
    }
    assert!(steps > 0, "a walk");
    cited.sort_unstable();
    cited.dedup();
    assert_eq!(cited.len(), results.len(), "no case without an answer");

    let run = &runs[0];
    let report = report_of(run);
    let opened = open(run);
    assert_eq!(check(&opened, &report), Vec::<String>::new());
    assert_eq!(
        report["title"]["text"],
        "Changes of flashsystem-840 under 8K random reads, 8 jobs of depth 16"
    );
    let sentences = report["sentences"].as_array().unwrap();
    let of_part = |part: &str| sentences.iter().filter(|one| one["part"] == part).count();
    assert_eq!((of_part("what-if-answer"), of_part("what-if-step")), (3, steps));
    assert!(of_part("found") + of_part("in-short") == 0 && report["tiles"].as_array().unwrap().is_empty());
    let page = directory.path().join("report.html");
    succeed(&["report", run.to_str().unwrap(), "--out", page.to_str().unwrap()]);
    let page = std::fs::read_to_string(page).unwrap();
    for words in [
        "id=\"what-if-rate\"",
        "id=\"what-if-mean\"",
        "id=\"what-if-p99\"",
        "id=\"what-if-gain-of-parts\"",
        "95 % range",
        "1.25 × links",
    ] {
        assert!(page.contains(words), "no {words}");
    }
    let text = std::fs::read_to_string(run.join("what-if.txt")).unwrap();
    assert!(text.contains("links.count=16") && text.contains("Bottlenecks"), "{text}");
    assert_eq!(json_lines(&std::fs::read_to_string(run.join("what-if.jsonl")).unwrap()), answers);

    let (status, message) =
        refuse(&["what-if", "raid-levels", "--load", LOAD, "--out", run.to_str().unwrap()]);
    assert_eq!(status, Some(2), "{message}");
    assert!(message.contains("holds a run already"), "{message}");

    contradictions_are_found(&opened, &report);
}

/// Alters the report in one place after the other.
fn contradictions_are_found(run: &report_check::Run, report: &Value) {
    let place = |part: &str, text: &str| -> String {
        let all = report["sentences"].as_array().unwrap().iter();
        let found = all.enumerate().find(|(_, one)| {
            one["part"] == part && one["text"].as_str().is_some_and(|own| own.contains(text))
        });
        format!("/sentences/{}", found.unwrap_or_else(|| panic!("no {part} with {text}")).0)
    };
    let table = |id: &str| {
        let place = report["tables"].as_array().unwrap().iter().position(|table| table["id"] == id);
        format!("/tables/{}", place.unwrap_or_else(|| panic!("no {id}")))
    };
    let at = |path: &str| report.pointer(path).unwrap_or_else(|| panic!("no {path}")).clone();
    let text = |path: &str, from: &str, to: &str| {
        let text = at(path).as_str().unwrap().replacen(from, to, 1);
        assert_ne!(at(path), text, "{path} has no {from}");
        json!(text)
    };
    let (sixteen, effects) = (place("what-if-answer", "links.count=16"), table("what-if-effects"));
    let step = place("what-if-step", "a quarter more gains");
    let (gains, walk) = (table("what-if-gains"), table("what-if-walk"));
    let rows = |table: &str| at(&format!("{table}/rows"));
    let swapped = |table: &str| {
        let mut rows = rows(table);
        rows.as_array_mut().unwrap().swap(1, 2);
        rows
    };
    let alterations = [
        (format!("{sixteen}/text"), text(&format!("{sixteen}/text"), "limit: ", "limit: no ")),
        (format!("{sixteen}/text"), text(&format!("{sixteen}/text"), "mean latency", "p99 latency")),
        (format!("{step}/text"), text(&format!("{step}/text"), "(predicted)", "(simulated)")),
        (sixteen.clone(), at(&place("what-if-answer", "links.count=4"))),
        (step, at(&place("what-if-basis", "Rates"))),
        (format!("{effects}/rows"), swapped(&effects)),
        (format!("{effects}/rows/1/1"), at(&format!("{effects}/rows/2/1"))),
        (format!("{effects}/rows/1/4"), at(&format!("{effects}/rows/1/5"))),
        (format!("{effects}/columns/4"), at(&format!("{effects}/columns/5"))),
        (format!("{gains}/rows/1/2"), at(&format!("{gains}/rows/1/3"))),
        (format!("{gains}/columns/1"), at(&format!("{gains}/columns/2"))),
        (format!("{walk}/rows/0/4"), at(&format!("{walk}/rows/0/5"))),
        (format!("{walk}/rows"), json!([])),
        (format!("{effects}/id"), json!("another")),
    ];
    for (path, value) in alterations {
        let mut altered = report.clone();
        *altered.pointer_mut(&path).unwrap() = value.clone();
        assert!(!check(run, &altered).is_empty(), "{path} = {value}");
    }
    let mut without = report.clone();
    without["sentences"].as_array_mut().unwrap().retain(|one| one["part"] != "what-if-basis");
    assert!(!check(run, &without).is_empty(), "no basis");
}

/// Proves that the command line and the report say how drives began, of writes in order and of random ones, as the independent checker has it.
#[test]
fn a_report_says_how_drives_began() {
    let directory = tempfile::tempdir().unwrap();
    let by_load = "Drives begin as after many passes of these writes; --change condition=steady shows them after random writes all over.";
    let at_random = "Drives begin as after hours of random writes; --change condition=fresh shows new ones.";
    for (rw, message, other) in [("write", by_load, at_random), ("randwrite", at_random, by_load)] {
        let out = directory.path().join(rw);
        let load = format!("fio:rw={rw},bs=256k,iodepth=8");
        let text = succeed(&["what-if", "small-flash", "--load", &load, "--out", out.to_str().unwrap()]);
        assert!(text.contains(message) && !text.contains(other), "{text}");
        let report = report_of(&out);
        let page = report.to_string();
        assert!(page.contains(message) && !page.contains(other), "{rw}");
        assert_eq!(check(&open(&out), &report), Vec::<String>::new());
    }
}
