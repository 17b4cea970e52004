use super::*;
use crate::histogram::Histogram;
use crate::run::{Case, Event, Totals};
use serde_json::json;

/// Requirement, model error and latencies of a made-up answer: 1 ms at the workload, 8 ms at twice that, none at four times.
const LIMIT_NS: f64 = 4_000_000.0;

fn case(times: f64, latency_ns: u64, iops: u64) -> Case {
    let settings = [("array", json!("made-up")), ("times", json!(times))];
    let settings = settings.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
    let read = Totals { ios: iops, latency: Histogram::of_one(latency_ns), ..Totals::default() };
    Case {
        stage: "healthy".into(),
        name: format!("array=made-up,times={times:.4}"),
        settings,
        state: "done".into(),
        duration_s: 1.0,
        totals: [read, Totals::default()],
        ..Case::default()
    }
}

/// A run of assumed parts whose answer its cases give.
fn run() -> Run {
    let cases = vec![case(1.0, 1_000_000, 1000), case(2.0, 8_000_000, 2000), case(4.0, 90_000_000, 2500)];
    let latencies: Vec<f64> =
        cases.iter().map(|case| case.quantity("read.latency_ns.mean").unwrap()).collect();
    let point = |place: usize, times: f64, kept_up: bool| {
        let latency = latencies[place];
        json!({
            "times": times, "iops": cases[place].iops(), "mean_ns": latency, "p99_ns": latency, "kept_up": kept_up, "is_steady": true,
            "required": [{ "latency_ns": latency, "latency_ns_95": [latency / 2.0, latency * 2.0], "sampling_95": 0.0 }],
        })
    };
    // Between the first two points, by the logarithms of both: 1 ms at once, 8 ms at twice the workload.
    let crossing =
        |bound: f64| 2.0_f64.powf((bound / latencies[0]).ln() / (latencies[1] / latencies[0]).ln());
    let error = json!({ "over": 1.0, "under": 0.5, "validated": "assumed" });
    let headroom = crossing(LIMIT_NS);
    let low = crossing(LIMIT_NS / 2.0) / 2.0;
    // At eight milliseconds, which may be four, the second point is under the bound as well, and the third is not delivered.
    let high = if latencies[1] <= 2.0 * LIMIT_NS { 8.0_f64.sqrt() } else { crossing(2.0 * LIMIT_NS) } / 0.5;
    let answer = json!({
        "array": "made-up", "design": {}, "state": "healthy", "verdict": "too-close-to-call",
        "because": "the range of the headroom has 1 inside",
        "headroom": headroom, "headroom_95": [low, high],
        "breaks_in_year": 2, "breaks_in_year_95": [1, null],
        "usable_bytes": 1e12, "full_in_year": 3, "drives": 6, "pareto": true, "left_out": null,
        "model_error": { "iops": error, "required": [error] },
        "points": [point(0, 1.0, true), point(1, 2.0, true), point(2, 4.0, false)],
        "cases": cases.iter().map(|case| format!("healthy/{}", case.name)).collect::<Vec<_>>(),
        "at_peak": { "requirement": "mean < 4 ms", "limit_ns": LIMIT_NS, "latency_ns": latencies[0],
                     "latency_ns_95": [latencies[0] / 2.0, latencies[0] * 2.0], "iops": 1000.0 },
        "first_full": { "part": "drives", "share": 0.9, "case": "healthy/array=made-up,times=2.0000" },
    });
    let question = json!({
        "workload": "w", "iops": 1000.0, "capacity_bytes": 5e11, "growth": { "per_year": 0.3, "years": 3 },
        "requirements": [{ "text": "mean < 4 ms", "measure": "mean", "latency_ns": LIMIT_NS }],
    });
    let event = |kind: &str, text: &str, data: Value| Event {
        kind: kind.into(),
        text: text.into(),
        at_s: None,
        data,
    };
    Run {
        manifest: json!({ "created_utc": "2026-11-25T10:00:00Z", "arrays": [{ "name": "made-up", "source": "file" }] }),
        cases,
        events: vec![
            event("size-question", "workload: w; required: mean < 4 ms", question),
            event("size", "made-up, healthy: too-close-to-call", answer),
        ],
        ..Run::default()
    }
}

fn contradictions(run: &Run) -> Vec<String> {
    let mut found = Findings(Vec::new());
    let answers = Answers::of(run).expect("a sizing run");
    recompute::check(&mut found, run, &answers);
    found.0.into_iter().map(|one| one.to_string()).collect()
}

/// Proves that an answer which its cases give has no contradiction, and that each altered figure, verdict, year, range, error, case and
/// front is found.
#[test]
fn altered_answers_are_found() {
    assert_eq!(contradictions(&run()), Vec::<String>::new());
    let alterations: [(&str, Value); 25] = [
        ("/headroom", json!(1.9)),
        ("/headroom_95/0", json!(1.01)),
        ("/headroom_95/1", json!(9.0)),
        ("/verdict", json!("meets")),
        ("/verdict", json!("fails")),
        ("/verdict", json!("not-shown")),
        ("/breaks_in_year", json!(3)),
        ("/breaks_in_year", Value::Null),
        ("/breaks_in_year_95/0", json!(2)),
        ("/full_in_year", Value::Null),
        ("/pareto", json!(false)),
        ("/model_error/iops/over", json!(0.1)),
        ("/model_error/required/0/under", json!(0.1)),
        ("/model_error/iops/validated", json!("unseen")),
        ("/points/0/required/0/latency_ns", json!(900_000.0)),
        ("/points/0/required/0/latency_ns_95/1", json!(1_100_000.0)),
        ("/points/0/required/0/sampling_95", json!(-0.1)),
        ("/points/1/iops", json!(2100.0)),
        ("/points/1/p99_ns", json!(1_000_000)),
        ("/points/2/kept_up", json!(true)),
        ("/cases/1", json!("healthy/array=made-up,times=1.0000")),
        ("/at_peak/latency_ns", json!(800_000.0)),
        ("/at_peak/latency_ns_95/1", json!(1_500_000.0)),
        ("/at_peak/limit_ns", json!(5_000_000.0)),
        ("/first_full/case", json!("healthy/array=made-up,times=4.0000")),
    ];
    for (path, value) in alterations {
        let mut altered = run();
        *altered.events[1].data.pointer_mut(path).unwrap_or_else(|| panic!("no {path}")) = value.clone();
        if path == "/verdict" {
            altered.events[1].text = format!("made-up, healthy: {}", value.as_str().unwrap());
        }
        assert!(!contradictions(&altered).is_empty(), "{path} = {value}");
    }
    // Shares of the time are shares, and what cannot settle is not shown.
    let mut unsettled = run();
    unsettled.events[1].data["points"][0]["is_steady"] = json!(false);
    assert!(contradictions(&unsettled).iter().any(|one| one.contains("not-shown")));
}

/// Proves that a headroom which goes beyond what the links carry at their line rate is found, and one that ends there is not.
#[test]
fn a_headroom_ends_at_the_line_rate_of_the_links() {
    let mut run = run();
    run.cases.iter_mut().for_each(|case| case.totals[0].bytes = 4096 * case.totals[0].ios);
    // Three times the workload, and 13 % more with smaller headers.
    run.events[1].data["links_bytes_per_s"] = json!(3.0 * 4096.0 * 1000.0);
    let found = contradictions(&run);
    assert!(found.iter().any(|one| one.contains("headroom_95.1") && one.contains("give 3.3")), "{found:?}");
    run.events[1].data["headroom_95"][1] = json!(3.39);
    assert_eq!(contradictions(&run), Vec::<String>::new());
}
