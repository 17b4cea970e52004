//! Fixtures of the tests of the run directory.
#![allow(dead_code, reason = "each test file uses its part")]

use load::{DirectionSample, Histogram, Sample};
use serde_json::json;
use store::{CaseOutcome, CaseStatus, LoadOutcome, Manifest, NewCase, SourceText};

/// One second, in nanoseconds.
pub const SECOND_NS: u64 = 1_000_000_000;

pub fn manifest() -> Manifest {
    Manifest {
        seed: u64::MAX,
        plan: SourceText { name: "quick".into(), source: "shipped".into(), text: "plan: quick\n".into() },
        engine: "sim".into(),
        interval_ns: 5 * SECOND_NS,
        command_line: vec!["arraylab".into(), "run".into(), "quick".into()],
        ..Manifest::default()
    }
}

pub fn new_cases(count: u32) -> Vec<NewCase> {
    (0..count)
        .map(|index| NewCase {
            plan: "quick".into(),
            stage: "corners".into(),
            name: format!("bs=4096,iodepth={index}"),
            settings: json!({"bs": 4096, "rw": "randrw", "iodepth": index}).as_object().unwrap().clone(),
            estimated_duration_ns: 60 * SECOND_NS,
            estimated_write_bytes: 1 << 30,
        })
        .collect()
}

pub fn direction(ios: u64, base_ns: u64) -> DirectionSample {
    let mut latency = Histogram::new();
    for io in 0..ios {
        latency.record(base_ns + io * 977);
    }
    DirectionSample { ios, bytes: ios * 4096, errors: 0, latency, service: None }
}

/// The n-th five-second interval of a case; the first is the ramp.
pub fn sample(number: u64) -> Sample {
    Sample {
        start_ns: number * 5 * SECOND_NS,
        end_ns: (number + 1) * 5 * SECOND_NS,
        is_ramp: number == 0,
        read: direction(80, 100_000 + number),
        write: direction(20, 200_000 + number),
        ..Sample::default()
    }
}

pub fn outcome(loads: Vec<LoadOutcome>) -> CaseOutcome {
    CaseOutcome {
        status: CaseStatus::Done,
        engine: "sim".into(),
        target: "twin:flashsystem-840".into(),
        duration_ns: 10 * SECOND_NS,
        loads,
        error: None,
        warnings: Vec::new(),
        extrapolation: None,
    }
}
