//! A run of a thousand cases is written and read in seconds, and its file stays small.

mod common;

use common::{direction, manifest, new_cases, outcome, sample};
use std::time::{Duration, Instant};
use store::{Counter, Run, Sustained};

/// Proves that 1,000 cases of 12 samples in two directions, with counters, take seconds to write and to read, and
/// under 1 KiB a sample.
#[test]
fn a_thousand_cases_take_seconds() {
    let directory = tempfile::tempdir().unwrap();
    let samples: Vec<_> = (0..12)
        .map(|number| {
            let mut sample = sample(number);
            sample.read = direction(2000, 90_000);
            sample
        })
        .collect();
    let started = Instant::now();
    let mut run = Run::create(directory.path(), &manifest(), &new_cases(1000)).unwrap();
    for case in 0..1000 {
        run.begin_case(case).unwrap();
        run.append_samples(case, "main", &samples).unwrap();
        let names = ["a", "b", "c", "d", "e", "f"];
        let counters = names.map(|entity| Counter { source: "twin", entity, name: "busy_ns", value: 1e9 });
        run.append_counters(Some(case), 1, Some(1), &counters).unwrap();
        let totals = run.totals_from_samples(case).unwrap();
        run.finish_case(case, &outcome(totals)).unwrap();
    }
    let written = started.elapsed();
    let started = Instant::now();
    assert_eq!(run.results().unwrap().len(), 1000);
    let results = started.elapsed();
    let started = Instant::now();
    let mut intervals = 0;
    for case in 0..1000 {
        intervals += run.series(case).unwrap().len();
    }
    assert_eq!(intervals, 12_000);
    let series = started.elapsed();
    let status = {
        let started = Instant::now();
        assert_eq!(run.status().unwrap().done, 1000);
        started.elapsed()
    };
    drop(run);
    let bytes = std::fs::metadata(directory.path().join("run.sqlite")).unwrap().len();
    println!("written {written:?}, results {results:?}, series {series:?}, status {status:?}, {bytes} bytes");
    // Over ten times what it takes here, so that only a wrong order of growth fails it.
    assert!(written < Duration::from_secs(60), "{written:?}");
    assert!(results + series + status < Duration::from_secs(20), "{results:?} {series:?} {status:?}");
    assert!(bytes < 24_000 * 1024, "{bytes}");
}

/// Proves that what a probe reads from 200 devices in a second is appended in a small part of that second.
#[test]
fn counters_of_two_hundred_devices_are_cheap() {
    let directory = tempfile::tempdir().unwrap();
    let mut run = Run::create(directory.path(), &manifest(), &new_cases(1)).unwrap();
    run.begin_case(0).unwrap();
    let names: Vec<String> = (0..15).map(|column| format!("column-{column}")).collect();
    let devices: Vec<String> = (0..200).map(|device| format!("sd{device}")).collect();
    let mut counters = Vec::new();
    for entity in &devices {
        counters.extend(names.iter().map(|name| Counter { source: "diskstats", entity, name, value: 0.1 }));
    }
    run.append_counters(Some(0), 0, Some(0), &counters).unwrap();
    let mut took: Vec<Duration> = (1..=20)
        .map(|second| {
            let started = Instant::now();
            run.append_counters(Some(0), second, Some(second), &counters).unwrap();
            started.elapsed()
        })
        .collect();
    took.sort_unstable();
    // The median: a disk that others write to may keep a few back.
    let each = took[10];
    println!("{} counters in {each:?}", counters.len());
    // Nine times what it takes here on a busy machine.
    assert!(each < Duration::from_millis(100), "{each:?}");
    assert_eq!(run.counters(0).unwrap().len(), 3000);
}

/// Proves that a kept level comes back to the bit for its method alone, and that a case that is not done and a level that is no
/// number are refused.
#[test]
fn kept_levels_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let mut run = Run::create(directory.path(), &manifest(), &new_cases(3)).unwrap();
    for case in 0..2 {
        run.begin_case(case).unwrap();
        run.append_sample(case, "main", &sample(0)).unwrap();
        run.finish_case(case, &outcome(run.totals_from_samples(case).unwrap())).unwrap();
    }
    let level = Sustained { iops: 1.0 / 3.0, bw_bytes_per_s: 8192.0 / 3.0 };
    run.keep_sustained(0, 1, Some(level)).unwrap();
    run.keep_sustained(1, 1, None).unwrap();
    assert!(run.keep_sustained(2, 1, Some(level)).is_err());
    assert!(run.keep_sustained(1, 1, Some(Sustained { iops: f64::NAN, ..level })).is_err());
    assert_eq!(run.kept_sustained(1).unwrap(), [(0, Some(level)), (1, None)].into());
    assert!(run.kept_sustained(2).unwrap().is_empty());
}
