use super::*;
use crate::histogram::Histogram;
use crate::run::{Case, Event, Totals};
use serde_json::json;

fn case(stage: &str, change: &str, part: Option<(&str, f64)>, iops: u64, latency_ns: u64) -> Case {
    let mut settings = json!({ "change": change });
    let mut name = format!("change={change}");
    if let Some((part, times)) = part {
        name = format!("{name},part={part},times={times}");
        settings["part"] = json!(part);
        settings["times"] = json!(times);
    }
    let read =
        Totals { ios: iops, bytes: 4096 * iops, latency: Histogram::of_one(latency_ns), ..Totals::default() };
    Case {
        stage: stage.into(),
        name,
        settings: settings.as_object().expect("settings").clone(),
        state: "done".into(),
        duration_s: 1.0,
        totals: [read, Totals::default()],
        ..Case::default()
    }
}

/// Answer whose cases give it: drives limit, in proportion.
fn answer(change: &Value, name: &str, stage: &str, iops: u64, latency_ns: f64) -> Value {
    let error = json!({ "over": 1.0, "under": 0.5, "validated": "assumed" });
    let both = |value: f64| json!([value / 2.0, value / 0.5]);
    let more = |part: &str, rate: u64| json!({ "iops": rate, "gain": rate as f64 / iops as f64 - 1.0, "case": format!("more-of-a-part/change={name},part={part},times=1.25") });
    json!({
        "change": change, "iops": iops, "iops_95": both(iops as f64), "bw_bytes_per_s": 4096 * iops,
        "latency_ns": { "mean": latency_ns, "p99": latency_ns, "mean_95": both(latency_ns), "p99_95": both(latency_ns) },
        "read": { "latency_ns": { "mean": latency_ns } }, "write": null, "limit": "drives",
        "elasticity": { "links": 0.0, "drives": 1.0 }, "busy": { "drives": 0.95, "links": 0.2 }, "validated": "assumed",
        "model_error": { "iops": error, "mean": error, "p99": error }, "sampling_95": 0.0,
        "latency_sampling_95": { "mean": 0.0, "p99": 0.0 }, "is_steady": true, "counted_s": 1.0,
        "case": format!("{stage}/change={name}"),
        "alone": { "mean_ns": 100_000.0, "case": format!("one-io/change={name}") },
        "more": { "links": more("links", iops), "drives": more("drives", iops * 5 / 4) },
    })
}

/// A run about an array of assumed parts, one change of it and one step of the walk.
fn run() -> Run {
    let mut cases = Vec::new();
    let mut answers = Vec::new();
    let rows = [
        (json!({}), "none", "as it is", "changes", 1600, 800_000),
        (json!({ "links.count": 4 }), "links.count=4", "links.count=4", "changes", 1200, 900_000),
        (json!({ "drives": 1.25 }), "drives*1.25", "drives*1.25", "bottlenecks", 2000, 700_000),
    ];
    for (change, name, text, stage, iops, latency_ns) in rows {
        cases.push(case(stage, name, None, iops, latency_ns));
        cases.push(case("one-io", name, None, 10, 100_000));
        cases.push(case("more-of-a-part", name, Some(("links", 1.25)), iops, latency_ns));
        cases.push(case("more-of-a-part", name, Some(("drives", 1.25)), iops * 5 / 4, latency_ns));
        let mut data = answer(&change, name, stage, iops, latency_ns as f64);
        data["alone"]["mean_ns"] = json!(cases[1].quantity("read.latency_ns.mean"));
        if stage == "bottlenecks" {
            data["bottleneck"] = json!({
                "part": "drives", "elasticity": 1.0, "iops_before": 1600, "gain_of_doubling": 2.0,
                "second": { "iops": 2500, "case": "more-of-a-part/change=none,part=drives,times=1.5625" },
            });
        }
        answers.push((format!("{text}: limit drives"), data));
    }
    cases.push(case("more-of-a-part", "none", Some(("drives", 1.5625)), 2500, 600_000));
    let event = |kind: &str, text: String, data: Value| Event { kind: kind.into(), text, at_s: None, data };
    let question = json!({ "load": "w", "array": "made-up", "iops": null, "find_bottleneck": true });
    let question_event = event("what-if-question", "load: w; array: made-up".into(), question);
    let answers = answers.into_iter().map(|(text, data)| event("what-if", text, data));
    Run {
        manifest: json!({ "arrays": [{ "name": "made-up", "source": "file" }] }),
        cases,
        events: std::iter::once(question_event).chain(answers).collect(),
        ..Run::default()
    }
}

fn contradictions(run: &Run) -> Vec<String> {
    let mut found = Findings(Vec::new());
    let answers = Answers::of(run).expect("a run about changes");
    recompute::check(&mut found, run, &answers);
    walk::check(&mut found, run, &answers);
    found.0.into_iter().map(|one| one.to_string()).collect()
}

/// Proves that answers which their cases give have no contradiction, and that each altered figure, range, error, gain, limit, case and
/// step is found, as are a case that no answer rests on and a rate whose range ends above what the load asks for.
#[test]
fn altered_answers_are_found() {
    assert_eq!(contradictions(&run()), Vec::<String>::new());
    let alterations: [(usize, &str, Value); 30] = [
        (1, "/iops", json!(1700)),
        (1, "/iops_95/0", json!(900)),
        (1, "/bw_bytes_per_s", json!(1)),
        (1, "/latency_ns/mean", json!(1)),
        (1, "/latency_ns/p99", json!(1)),
        (1, "/latency_ns/p99_95/1", json!(900_000)),
        (1, "/read/latency_ns/mean", json!(1)),
        (1, "/write", json!({ "latency_ns": { "mean": 1 } })),
        (1, "/limit", json!("links")),
        (1, "/limit", json!("concurrency")),
        (1, "/elasticity/drives", json!(0.9)),
        (1, "/more/drives/gain", json!(0.3)),
        (1, "/more/drives/iops", json!(2100)),
        (1, "/more/drives/case", json!("more-of-a-part/change=none,part=links,times=1.25")),
        (1, "/alone/mean_ns", json!(700_000)),
        (1, "/model_error/iops/over", json!(0.1)),
        (1, "/model_error/mean/validated", json!("fitted")),
        (1, "/validated", json!("unseen")),
        (1, "/sampling_95", json!(-0.1)),
        (2, "/change", json!({ "links.count": 5 })),
        (2, "/case", json!("changes/change=none")),
        (2, "/more", json!({})),
        (3, "/change/drives", json!(1.5)),
        (3, "/change", json!({ "drives": 1.25, "links": 1.25 })),
        (3, "/bottleneck/part", json!("links")),
        (3, "/bottleneck/elasticity", json!(0.5)),
        (3, "/bottleneck/iops_before", json!(1200)),
        (3, "/bottleneck/gain_of_doubling", json!(1.8)),
        (3, "/bottleneck/second/iops", json!(2400)),
        (3, "/bottleneck/second/case", json!("more-of-a-part/change=none,part=drives,times=1.25")),
    ];
    for (event, path, value) in alterations {
        let mut altered = run();
        let own = &mut altered.events[event];
        *own.data.pointer_mut(path).unwrap_or_else(|| panic!("no {path}")) = value.clone();
        if path == "/limit" {
            own.text = own.text.replace("drives", value.as_str().expect("a limit"));
        }
        assert!(!contradictions(&altered).is_empty(), "{path} = {value}");
    }
    let mut further = run();
    further.cases.push(case("changes", "links.count=9", None, 1, 1000));
    assert!(contradictions(&further).iter().any(|one| one.contains("no answer rests on")));
    let mut unasked = run();
    unasked.events[0].data["find_bottleneck"] = json!(false);
    assert!(contradictions(&unasked).iter().any(|one| one.contains("nobody asked")));
    let mut bounded = run();
    bounded.events[0].data["iops"] = json!(1500);
    assert!(contradictions(&bounded).iter().any(|one| one.contains("iops_95.1 is")));
    let mut renamed = run();
    renamed.events[2].text = "links.count=16: limit drives".into();
    assert!(!contradictions(&renamed).is_empty());
}

/// Proves that a rate whose range goes beyond what the links carry at their line rate is found, and the mean latency of a closed loop whose
/// range is shorter than they allow; and that those which end there are not.
#[test]
fn ranges_end_at_the_line_rate_of_the_links() {
    let mut run = run();
    // A quarter more than the first answer's 1,600, and 13 % more with smaller headers.
    run.events[1].data["links_bytes_per_s"] = json!(2000.0 * 4096.0);
    let found = contradictions(&run);
    assert!(found.iter().any(|one| one.contains("iops_95.1") && one.contains("2260")), "{found:?}");
    run.events[1].data["iops_95"][1] = json!(2260.0);
    assert_eq!(contradictions(&run), Vec::<String>::new());
    let mean_ns = run.events[1].data["latency_ns"]["mean"].as_f64().unwrap();
    run.events[1].data["closed_loop"] = json!(true);
    let found = contradictions(&run);
    assert!(matches!(&found[..], [one] if one.contains("latency_ns.mean_95.0")), "{found:?}");
    run.events[1].data["latency_ns"]["mean_95"][0] = json!(mean_ns * 1600.0 / 2260.0);
    assert_eq!(contradictions(&run), Vec::<String>::new());
}
