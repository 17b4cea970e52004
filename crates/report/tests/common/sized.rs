//! Made-up sizing run: an array that meets its load, one that is too close to call, and designs of a space.

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

/// Writes the run: of two arrays, or of a space.
pub fn run(directory: &Path, is_space: bool) -> RunReader {
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
    event("size-question", "workload: database; required: p99 < 1 ms".into(), question);
    match is_space {
        false => {
            for (array, headroom, verdict) in [("first", 2.2, "meets"), ("second", 1.4, "too-close-to-call")]
            {
                event("size", format!("{array}, healthy: {verdict}"), answer(array, None, headroom, verdict));
            }
        }
        true => {
            for (drives, headroom) in [(4, 1.6), (6, 1.8), (6, 1.4), (6, 1.3), (8, 2.5)] {
                let answer = answer("first", Some(drives), headroom, "meets");
                event("size", format!("first drives.count={drives} h{headroom}, healthy: meets"), answer);
            }
        }
    }
    run.end(&RunEnd::Done).expect("ended");
    RunReader::open(directory).expect("a run")
}
