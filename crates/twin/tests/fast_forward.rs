//! Fast-forward beside exact simulation: errors within their bounds, claimed confidence that covers the exact values.

mod common;

use common::{array, settings};
use load::{Histogram, LoadShape, LoadSpec, NEVER_STOPPED, Pattern, Sample};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use twin::{ArrayDescription, Event, Twin, bench_fast_forward};

const ARRAYS: [&str; 6] =
    ["composite-flash", "flashsystem-840", "dorado-2100-g2", "small-flash", "storpool", "e2700"];

/// Proves that random cases of arrays, loads and events come out by fast-forward as by exact simulation, in rate, intervals, means and
/// percentiles, and that what is claimed covers the exact values; a tenth of the cases unless `ARRAYLAB_LONG` is set.
#[test]
fn random_cases_are_within_their_bounds() {
    let arrays: Vec<ArrayDescription> = ARRAYS.into_iter().map(array).collect();
    let begun = Instant::now();
    let clock = || -> Duration { begun.elapsed() };
    let cases = if test_support::is_long() { 60 } else { 6 };
    let mut beyond = Vec::new();
    let summary = bench_fast_forward((&arrays, &[]), 11, cases, &clock, &mut |row| {
        println!("{}", serde_json::to_string(row).unwrap());
        if !row.beyond.is_empty() {
            beyond.push((row.case, row.array.clone(), row.beyond.clone()));
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    println!("{}", serde_json::to_string(&summary).unwrap());
    assert_eq!(summary.cases, cases);
    assert!(beyond.is_empty(), "{beyond:#?}");
    // Few cases say less of a share.
    assert!(summary.coverage >= if test_support::is_long() { 0.93 } else { 0.9 }, "{summary:?}");
    assert!(summary.half_width_median <= 0.03, "{summary:?}");
}

fn run(twin: &mut Twin, load: &LoadSpec) -> Vec<Sample> {
    first_samples(twin, load, usize::MAX)
}

/// As many samples of a run, which is ended with the last one.
fn first_samples(twin: &mut Twin, load: &LoadSpec, count: usize) -> Vec<Sample> {
    let mut samples = Vec::new();
    twin.run(load, &NEVER_STOPPED, &mut |_, sample| {
        samples.push(sample);
        if samples.len() < count { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
    .unwrap();
    samples
}

fn ios(samples: &[Sample]) -> f64 {
    samples.iter().map(|sample| (sample.read.ios + sample.write.ios) as f64).sum()
}

fn write_p99_ns(samples: &[Sample]) -> f64 {
    let mut all = Histogram::new();
    samples.iter().for_each(|sample| all.merge(&sample.write.latency));
    all.percentile_by_rank_ns(990_000)
}

/// Proves that the rate falls at once when a drive is lost under a deep queue, and that the slower writes behind it are not missed:
/// before, windows were too short for the queues of its neighbours to fill, and the rate sagged over 20 s.
#[test]
fn a_lost_drive_shows_at_once() {
    let load = LoadSpec {
        pattern: Pattern::Randrw,
        rwmixread: 70,
        bs_bytes: 8192,
        numjobs: 32,
        iodepth: 16,
        offset_bytes: 0,
        size_bytes: None,
        rate_iops: None,
        ramp_ns: 0,
        runtime_ns: 60_000_000_000,
        interval_ns: 1_000_000_000,
        seed: 1,
        shape: LoadShape::default(),
    };
    let description = array("composite-flash");
    // Next to nothing is skipped after the loss, which takes minutes: unless in full, it is sooner, and both runs last only as long as
    // it takes to see the new level.
    let (lost_at_s, seconds) = if test_support::is_long() { (20, 60) } else { (12, 18) };
    let built = |exact: &str| {
        let mut twin = Twin::build(&description, &settings(&[("exact", exact.into())]), 1).unwrap();
        twin.schedule(lost_at_s * 1_000_000_000, Event::DriveFailure).unwrap();
        twin
    };
    let fast = first_samples(&mut built("off"), &load, seconds);
    let exact = run(&mut built("on"), &LoadSpec { runtime_ns: seconds as u64 * 1_000_000_000, ..load });
    assert!(fast.iter().any(|sample| sample.is_extrapolated));
    for (fast, exact) in fast.iter().zip(&exact) {
        let error = ios(std::slice::from_ref(fast)) / ios(std::slice::from_ref(exact)) - 1.0;
        assert!(error.abs() <= 0.02, "at {} s: {:+.2} %", exact.start_ns / 1_000_000_000, error * 100.0);
    }
    let whole = ios(&fast[..seconds]) / ios(&exact) - 1.0;
    assert!(whole.abs() <= 0.01, "{:+.2} %", whole * 100.0);
    let p99 = write_p99_ns(&fast[..seconds]) / write_p99_ns(&exact) - 1.0;
    assert!(p99.abs() <= 0.08, "write p99 {:+.2} %", p99 * 100.0);
}

/// Proves that nothing is skipped before a hybrid volume loses a drive under a deep queue, where the load stalls at a moment that
/// depends on every queue, and that the same load without the loss is skipped over.
#[test]
fn nothing_is_skipped_before_a_chaotic_loss() {
    let load = common::Run {
        pattern: Pattern::Randrw,
        rwmixread: 30,
        bs_bytes: 4096,
        numjobs: 32,
        iodepth: 32,
        ramp_s: 0,
        runtime_s: 60,
    };
    let has_skipped = |loses_a_drive: bool| {
        let settings = settings(&[("volume", "hybrid".into())]);
        let mut twin = Twin::build(&array("storpool"), &settings, 1).unwrap();
        if loses_a_drive {
            twin.schedule(20_000_000_000, Event::DriveFailure).unwrap();
        }
        let mut has_skipped = false;
        twin.run(&load.spec(), &NEVER_STOPPED, &mut |_, sample| {
            has_skipped |= sample.is_extrapolated;
            if sample.start_ns < 20_000_000_000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .unwrap();
        has_skipped
    };
    assert!(has_skipped(false) && !has_skipped(true));
}

/// Proves that the 99th percentile of 2,048 outstanding I/Os, whose queues wander for minutes, is that of exact simulation.
#[test]
fn percentiles_of_wandering_queues_are_exact() {
    let mut description = array("flashsystem-840");
    common::parts(&mut description).controllers.processors.value = 2;
    let load = common::Run {
        pattern: Pattern::Randrw,
        rwmixread: 10,
        bs_bytes: 4096,
        numjobs: 32,
        iodepth: 64,
        ramp_s: 0,
        runtime_s: if test_support::is_long() { 60 } else { 20 },
    };
    let built = |exact: &str| Twin::build(&description, &settings(&[("exact", exact.into())]), 1).unwrap();
    let (fast, exact) = (run(&mut built("off"), &load.spec()), run(&mut built("on"), &load.spec()));
    let error = write_p99_ns(&fast) / write_p99_ns(&exact) - 1.0;
    assert!(error.abs() <= 0.08, "write p99 {:+.2} %", error * 100.0);
}
