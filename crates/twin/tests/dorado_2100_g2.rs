//! The Dorado 2100 G2 twin against the published figures, and what it must do as an array.

use std::ops::ControlFlow;

use load::{LoadShape, LoadSpec, Pattern, Sample};
use serde_json::{Map, Value};
use twin::{ArrayDescription, Twin, TwinError};

const SECOND_NS: u64 = 1_000_000_000;

fn description() -> ArrayDescription {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../arrays/dorado-2100-g2.yaml");
    serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn build(settings: &[(&str, &str)]) -> Result<Twin, TwinError> {
    let settings: Map<String, Value> =
        settings.iter().map(|&(key, value)| (key.into(), value.into())).collect();
    Twin::build(&description(), &settings, 1)
}

fn spec(bs_bytes: u32, rwmixread: u8, numjobs: u32, iodepth: u32, runtime_s: u64) -> LoadSpec {
    LoadSpec {
        pattern: Pattern::Randrw,
        rwmixread,
        bs_bytes,
        numjobs,
        iodepth,
        offset_bytes: 0,
        size_bytes: None,
        rate_iops: None,
        ramp_ns: 3 * SECOND_NS,
        runtime_ns: runtime_s * SECOND_NS,
        interval_ns: 5 * SECOND_NS,
        seed: 1,
        shape: LoadShape::default(),
    }
}

fn samples(settings: &[(&str, &str)], spec: &LoadSpec) -> Vec<Sample> {
    let mut samples = Vec::new();
    build(settings)
        .unwrap()
        .run(spec, &mut |_, sample| {
            if !sample.is_ramp {
                samples.push(sample);
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    samples
}

fn iops(samples: &[Sample]) -> f64 {
    let ios: u64 = samples.iter().map(|sample| sample.read.ios + sample.write.ios).sum();
    let ns: u64 = samples.iter().map(Sample::duration_ns).sum();
    ios as f64 * 1e9 / ns as f64
}

/// Proves that the sustained rows of `published/` are met within 5 % over the published 40 minutes.
#[test]
fn sustained_rows_are_met() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../published/dorado-2100-g2/sustained.csv");
    let text = std::fs::read_to_string(path).unwrap();
    let mut misses = Vec::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let (raid, bs_bytes): (&str, u32) = (cells[0], cells[1].parse().unwrap());
        let published: f64 = cells[2].parse().unwrap();
        let all = samples(&[("raid", raid)], &spec(bs_bytes, 0, 64, 64, 2400));
        let after: Vec<Sample> = all.into_iter().filter(|sample| sample.start_ns > 300 * SECOND_NS).collect();
        let measured = iops(&after) * f64::from(bs_bytes) / 1e6;
        let error = measured / published - 1.0;
        println!("| RAID {raid}, {bs_bytes} B | {published} | {measured:.1} | {:+.1} % |", error * 100.0);
        if error.abs() > 0.05 {
            misses.push(format!("RAID {raid} {bs_bytes} B: {measured:.1} for {published}"));
        }
    }
    assert!(misses.is_empty(), "{misses:?}");
}

/// Proves D2, D4 and D5 on the twin: one cliff, 2 to 3 minutes in at 4K, and neither the write cache nor 70 % coverage
/// moves it by more than one interval.
#[test]
fn the_cliff_comes_once_and_stays_where_it_is() {
    let onset_s = |settings: &[(&str, &str)]| {
        let all = samples(settings, &spec(4096, 0, 64, 64, 240));
        let before = iops(&all[..10]);
        let rates: Vec<f64> = all.iter().map(|sample| iops(std::slice::from_ref(sample))).collect();
        let first = rates.iter().position(|rate| *rate < 0.9 * before).expect("a cliff");
        assert!(rates[first + 6..].iter().all(|rate| *rate < 0.6 * before), "{rates:?}");
        all[first].start_ns / SECOND_NS
    };
    let plain = onset_s(&[]);
    assert!((118..=180).contains(&plain), "{plain}");
    for settings in [[("write_cache", "on")], [("coverage", "70")]] {
        assert!(onset_s(&settings).abs_diff(plain) <= 5, "{settings:?}");
    }
}

/// Proves that the cliff is garbage collection's: with its cost switched off there is none.
#[test]
fn no_collection_no_cliff() {
    let all = samples(&[("gc", "off")], &spec(4096, 0, 64, 64, 240));
    assert!(iops(&all[40..]) > 0.98 * iops(&all[..10]));
}

/// Proves that carrying over agrees with simulating everything within 2 % up to the cliff, and that `exact` carries nothing.
#[test]
fn fast_forward_agrees_with_exact_up_to_the_cliff() {
    let load = spec(65_536, 0, 64, 64, 80);
    let fast = samples(&[], &load);
    let exact = samples(&[("exact", "on")], &load);
    assert!(fast.iter().any(|sample| sample.is_extrapolated));
    assert!(!exact.iter().any(|sample| sample.is_extrapolated));
    let ratio = iops(&fast[..15]) / iops(&exact[..15]);
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
}

/// Proves that the same seed gives the same samples.
#[test]
fn same_seed_same_samples() {
    let load = spec(8192, 50, 4, 16, 10);
    assert_eq!(samples(&[], &load), samples(&[], &load));
}

/// Proves that settings out of range are refused by name, and that D9 holds: RAID 0 writes are faster.
#[test]
fn settings_are_checked_and_act() {
    for (name, value) in [("coverage", "101"), ("raid", "6"), ("condition", "old"), ("colour", "red")] {
        assert!(build(&[(name, value)]).is_err(), "{name}");
    }
    let load = spec(4096, 0, 16, 32, 5);
    assert!(iops(&samples(&[("raid", "0")], &load)) > 2.5 * iops(&samples(&[], &load)));
}
