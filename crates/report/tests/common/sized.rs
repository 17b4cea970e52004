//! Made-up runs of questions: an array that meets its load, one that is too close to call, designs of a space, changes of an array.

use load::{Direction, Sample};
use serde_json::{Value, json};
use std::path::Path;
use store::{
    CaseOutcome, CaseStatus, Event, LoadOutcome, Manifest, ManifestTarget, NewCase, Run, RunEnd, RunReader,
    SourceText,
};

const PEAK_IOPS: f64 = 1000.0;
const TIMES: [f64; 3] = [1.0, 2.0, 4.0];

fn answer(array: &str, drives: Option<u64>, headroom: f64, verdict: &str) -> Value {
    let design = drives.map_or_else(|| json!({}), |count| json!({ "drives.count": count }));
    let error = json!({ "over": 1.0, "under": 0.5, "validated": "assumed" });
    let point = |times: f64| {
        let latency = 400_000.0 * times;
        json!({
            "times": times, "iops": times * PEAK_IOPS, "mean_ns": latency, "p99_ns": latency, "kept_up": times < 4.0, "is_steady": true,
            "required": [{ "latency_ns": latency, "latency_ns_95": [latency / 2.0, latency * 2.0], "sampling_95": 0.01 }],
        })
    };
    json!({
        "array": array, "design": design, "state": "healthy", "verdict": verdict, "because": "the range of the headroom has 1 inside",
        "headroom": headroom, "headroom_95": [headroom / 2.0, headroom * 2.0], "breaks_in_year": 3, "breaks_in_year_95": [1, null],
        "usable_bytes": 8.0e12, "full_in_year": null, "drives": drives.unwrap_or(6), "cost": drives.is_none().then_some(4000.0), "watts": 350.0,
        "write_amplification": 2.0, "flash_write_amplification": 1.2, "endurance_years": 5.3, "rebuild_s": 9000.0, "pareto": headroom > 1.5,
        "left_out": null, "validated": "assumed", "model_error": { "iops": error, "required": [error] },
        "points": TIMES.map(point),
        "at_peak": { "requirement": "p99 < 1 ms", "limit_ns": 1_000_000, "latency_ns": 400_000.0, "latency_ns_95": [200_000.0, 800_000.0],
                     "iops": PEAK_IOPS },
        "first_full": { "part": "drives", "share": 0.97, "case": "healthy/times=4.0000" },
    })
}

/// Answer about a change, or of a step of the walk.
fn effect(change: &Value, iops: f64, step: Option<&str>) -> Value {
    let error = json!({ "over": 1.0, "under": 0.5, "validated": "assumed" });
    let range = |value: f64| json!([value / 2.0, value * 2.0]);
    let more = |gain: f64| json!({ "iops": iops * (1.0 + gain), "gain": gain, "case": "more-of-a-part/c" });
    let mut answer = json!({
        "change": change, "iops": iops, "iops_95": range(iops), "bw_bytes_per_s": 4096.0 * iops,
        "latency_ns": { "mean": 8e8 / iops, "p99": 2e9 / iops, "mean_95": range(8e8 / iops), "p99_95": range(2e9 / iops) },
        "limit": "links", "elasticity": {}, "validated": "assumed", "model_error": { "iops": error, "mean": error, "p99": error },
        "sampling_95": 0.01, "latency_sampling_95": { "mean": 0.01, "p99": 0.02 }, "is_steady": change.get("cache.size").is_none(),
        "drives_began_steady": true, "read_caches_began_warm": change.get("cache.size").is_some(),
        "write_caches_began_warm": step.is_some(), "counted_s": 12.0, "case": "changes/c",
        "more": { "links": more(0.2), "drives": more(0.1), "hosts": more(-0.01) },
    });
    if let Some(part) = step {
        answer["bottleneck"] = json!({ "part": part, "iops_before": iops / 1.2, "gain_of_doubling": 1.7 });
    }
    answer
}

/// Question of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Question {
    /// Two arrays.
    Arrays,
    /// Designs of a space.
    Space,
    /// Changes of an array.
    Changes,
}

/// Writes the run of a question.
pub fn run(directory: &Path, question: Question) -> RunReader {
    let kind = question;
    let name = |times: f64| format!("times={times:.4}");
    let cases = TIMES.map(|times| NewCase {
        plan: "size".into(),
        stage: "healthy".into(),
        name: name(times),
        settings: [("times".to_owned(), json!(times))].into_iter().collect(),
        estimated_duration_ns: 1,
        estimated_write_bytes: 0,
    });
    let plan = r#"{"title": "Arrays for a database", "stages": {"healthy": {"settings": {"rw": "randread", "bs": 4096, "runtime": 60}}}}"#;
    let manifest = Manifest {
        arraylab_version: "0.1.0".into(),
        created_utc: "2026-11-20T13:40:00Z".into(),
        seed: 1,
        plan: SourceText { name: "size".into(), source: "size".into(), text: plan.into() },
        targets: vec![ManifestTarget { spec: "twin:first".into(), identity: Value::Null }],
        engine: "sim".into(),
        ..Manifest::default()
    };
    let mut run = Run::create(directory, &manifest, &cases).expect("a run");
    for (index, times) in TIMES.into_iter().enumerate() {
        let index = index as u32;
        let mut sample = Sample { start_ns: 0, end_ns: 1_000_000_000, ..Sample::default() };
        let reads = sample.direction_mut(Direction::Read);
        for _ in 0..(times * PEAK_IOPS) as u64 {
            reads.ios += 1;
            reads.bytes += 4096;
            reads.latency.record((400_000.0 * times) as u64);
        }
        run.begin_case(index).expect("begun");
        run.append_samples(index, "load", std::slice::from_ref(&sample)).expect("samples");
        let outcome = CaseOutcome {
            status: CaseStatus::Done,
            engine: "sim".into(),
            target: "twin:first".into(),
            duration_ns: 1_000_000_000,
            loads: vec![LoadOutcome::of_samples("load", std::slice::from_ref(&sample))],
            error: None,
            warnings: Vec::new(),
            extrapolation: None,
        };
        run.finish_case(index, &outcome).expect("finished");
    }
    let question = json!({
        "workload": "database", "iops": PEAK_IOPS, "capacity_bytes": 1.5e12, "growth": { "per_year": 0.3, "years": 3 },
        "requirements": [{ "text": "p99 < 1 ms", "measure": "p99", "latency_ns": 1_000_000 }], "not_known": ["sizes within the mean"],
    });
    let mut event = |kind: &str, text: String, data: Value| {
        run.append_event(&Event { kind: kind.into(), text, data: Some(data), ..Event::default() })
            .expect("an event");
    };
    if kind != Question::Changes {
        event("size-question", "workload: database; required: p99 < 1 ms".into(), question);
    }
    match kind {
        Question::Changes => {
            let question = json!({ "load": "database", "array": "first", "iops": null, "find_bottleneck": true, "not_known": ["order"] });
            event("what-if-question", "load: database; array: first".into(), question);
            for (text, change, iops, step) in [
                ("as it is", json!({}), 1000.0, None),
                ("links.count=4", json!({ "links.count": 4 }), 800.0, None),
                ("cache.size=8g", json!({ "cache.size": "8g" }), 1004.0, None),
                ("links*1.25", json!({ "links": 1.25 }), 1200.0, Some("links")),
                ("links*1.25+drives*1.25", json!({ "links": 1.25, "drives": 1.25 }), 1440.0, Some("drives")),
            ] {
                event("what-if", format!("{text}: limit links"), effect(&change, iops, step));
            }
        }
        Question::Arrays => {
            for (array, headroom, verdict) in [("first", 2.2, "meets"), ("second", 1.4, "too-close-to-call")]
            {
                event("size", format!("{array}, healthy: {verdict}"), answer(array, None, headroom, verdict));
            }
        }
        Question::Space => {
            for (drives, headroom) in [(4, 1.6), (6, 1.8), (6, 1.4), (6, 1.3), (8, 2.5)] {
                let answer = answer("first", Some(drives), headroom, "meets");
                event("size", format!("first drives.count={drives} h{headroom}, healthy: meets"), answer);
            }
        }
    }
    run.end(&RunEnd::Done).expect("ended");
    RunReader::open(directory).expect("a run")
}
