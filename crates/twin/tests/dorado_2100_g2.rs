//! The Dorado 2100 G2 twin against the published figures, and what it must do as an array.

mod common;

use std::ops::ControlFlow;

use load::{LoadShape, LoadSpec, NEVER_STOPPED, Pattern, Sample};
use serde_json::{Map, Value};
use twin::{ArrayDescription, Twin, TwinError};

const SECOND_NS: u64 = 1_000_000_000;

fn description() -> ArrayDescription {
    common::array("dorado-2100-g2")
}

fn build(settings: &[(&str, &str)]) -> Result<Twin, TwinError> {
    let settings: Map<String, Value> =
        settings.iter().map(|&(key, value)| (key.into(), value.into())).collect();
    Twin::build(&description(), &settings, seed())
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
        seed: seed(),
        shape: LoadShape::default(),
    }
}

fn samples(settings: &[(&str, &str)], spec: &LoadSpec) -> Vec<Sample> {
    let mut samples = Vec::new();
    build(settings)
        .unwrap()
        .run(spec, &NEVER_STOPPED, &mut |_, sample| {
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

/// Samples of the long random writes of group 1.
fn scenario(settings: &[(&str, &str)], bs_bytes: u32, runtime_s: u64) -> Vec<Sample> {
    samples(settings, &spec(bs_bytes, 0, 64, 64, runtime_s))
}

/// Returns where the rate of writes falls: the sample that begins below nine tenths of the first 50 s, and the bytes
/// written until then, with those of the ramp at the same rate.
fn cliff(all: &[Sample]) -> (usize, f64) {
    let before = iops(&all[..10]);
    let first = all.iter().position(|one| iops(std::slice::from_ref(one)) < 0.9 * before).expect("a cliff");
    let bytes: u64 = all[..first].iter().map(|one| one.write.bytes).sum();
    (first, bytes as f64 * all[first].start_ns as f64 / (all[first].start_ns - 3 * SECOND_NS) as f64)
}

/// The rows of a published file, as lists of cells.
fn published(file: &str) -> Vec<Vec<String>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../published/dorado-2100-g2/");
    let text = std::fs::read_to_string(format!("{path}{file}")).unwrap();
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// The seed of `ARRAYLAB_SEED`, or 1.
fn seed() -> u64 {
    std::env::var("ARRAYLAB_SEED").map_or(1, |seed| seed.parse().unwrap())
}

/// The difference, printed as a row of a table; whether it is more than the bound.
fn misses(what: &str, published: f64, measured: f64, bound: f64) -> bool {
    let error = measured / published - 1.0;
    println!("| {what} | {published} | {measured:.2} | {:+.1} % |", error * 100.0);
    error.abs() > bound
}

/// Proves the write cliff of scenario 1 and the sustained rows: throughput falls once, 1.5 to 3 minutes in (2 to 3 at 4K,
/// after 30 to 50 GB of host data), and the second half of what follows is within 5 % of `published/`.
#[test]
fn the_cliff_and_the_level_after_it_are_those_published() {
    let mut missed = Vec::new();
    for row in published("sustained.csv") {
        let (raid, bs_bytes): (&str, u32) = (&row[0], row[1].parse().unwrap());
        if !test_support::is_long() && matches!(bs_bytes, 8192 | 16_384 | 32_768) {
            continue;
        }
        let all = scenario(&[("raid", raid)], bs_bytes, 2400);
        let (first, bytes) = cliff(&all);
        let onset_s = all[first].start_ns / SECOND_NS;
        println!("RAID {raid}, {bs_bytes} B: cliff after {onset_s} s and {:.1} GB", bytes / 1e9);
        if raid == "5" {
            let (earliest_s, most_bytes) = if bs_bytes == 4096 { (120, 50e9) } else { (90, f64::MAX) };
            assert!((earliest_s..=180).contains(&onset_s), "{bs_bytes} B: {onset_s} s");
            assert!((30e9..=most_bytes).contains(&bytes), "{bs_bytes} B: {bytes} bytes");
        }
        let before = iops(&all[..10]);
        // Level: no minute after the first two that follow the cliff is far from their mean.
        let level = &all[first + 24..];
        let (mean, minutes) = (iops(level), level.chunks_exact(12).map(iops));
        let (least, most) = minutes.fold((f64::MAX, 0.0f64), |(a, b), rate| (a.min(rate), b.max(rate)));
        println!(
            "RAID {raid}, {bs_bytes} B: minutes from {:.3} to {:.3} of their mean",
            least / mean,
            most / mean
        );
        assert!(least > 0.94 * mean && most < 1.06 * mean, "{bs_bytes} B: {least} to {most}, mean {mean}");
        let sustained = all[first + 6..].chunks(12).map(iops).fold(0.0, f64::max);
        assert!(sustained < 0.6 * before, "{bs_bytes} B: a minute at {sustained} after {before}");
        let settled = iops(&all[(first + 2 + all.len()) / 2..]);
        let what = format!("RAID {raid}, {bs_bytes} B, MB/s");
        if misses(&what, row[2].parse().unwrap(), settled * f64::from(bs_bytes) / 1e6, 0.05) {
            missed.push(what);
        }
        if let Ok(published) = row[3].parse::<f64>()
            && misses(&format!("RAID {raid}, {bs_bytes} B, IOPS"), published, settled, 0.05)
        {
            missed.push(format!("RAID {raid}, {bs_bytes} B, IOPS"));
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

/// Proves D4 and D5: neither the write cache nor 70 % coverage moves the cliff by more than one interval or the level
/// after it by more than 5 %.
#[test]
fn cache_and_coverage_leave_the_cliff_where_it_is() {
    let sizes: &[u32] = if test_support::is_long() {
        &[4096, 8192, 16_384, 32_768, 65_536, 1 << 20]
    } else {
        &[32_768, 1 << 20]
    };
    for &bs_bytes in sizes {
        let failover = |settings: &[(&str, &str)]| {
            let all = scenario(settings, bs_bytes, 420);
            let (first, _) = cliff(&all);
            (all[first].start_ns / SECOND_NS, iops(&all[first + 12..]))
        };
        let (plain_s, plain) = failover(&[]);
        for settings in [[("write_cache", "on")], [("coverage", "70")]] {
            let (onset_s, level) = failover(&settings);
            println!(
                "{bs_bytes} B, {settings:?}: {onset_s} s for {plain_s} s, {:.3} of the level",
                level / plain
            );
            assert!(onset_s.abs_diff(plain_s) <= 5, "{bs_bytes} B, {settings:?}: {onset_s} s, {plain_s} s");
            assert!((level / plain - 1.0).abs() < 0.05, "{bs_bytes} B, {settings:?}: {level}, {plain}");
        }
    }
}

/// Proves D1: parity that is made by the first write costs, so a fresh set is written more slowly than a written one.
#[test]
fn first_writes_to_a_fresh_set_are_slower() {
    let load = LoadSpec { pattern: Pattern::Write, ramp_ns: 0, ..spec(16_384, 0, 8, 32, 3) };
    let rate = |condition| iops(&samples(&[("condition", condition), ("exact", "on")], &load));
    let (fresh, written) = (rate("fresh"), rate("written"));
    println!("first writes {fresh:.0}, rewrites {written:.0} a second");
    assert!(fresh < 0.97 * written, "{fresh} {written}");
}

/// Block sizes that a cell names: `4k/8k`, or `16k-64k` for a range of powers of two.
fn sizes(cell: &str) -> Vec<u32> {
    let bytes = |text: &str| match text.strip_suffix('m') {
        Some(text) => text.parse::<u32>().unwrap() << 20,
        None => text.trim_end_matches('k').parse::<u32>().unwrap() << 10,
    };
    match cell.split_once('-') {
        Some((least, most)) => std::iter::successors(Some(bytes(least)), |size| Some(size * 2))
            .take_while(|size| *size <= bytes(most))
            .collect(),
        None => cell.split('/').map(bytes).collect(),
    }
}

/// Jobs and depth of the plan's grid at which the most outstanding I/Os come nearest to `outstanding`, as a ratio.
fn nearest_case(depths: &[u32], outstanding: f64) -> (u32, u32) {
    let grid = depths.iter().flat_map(|&depth| (0..9).map(move |power| (1u32 << power, depth)));
    let distance = |(jobs, depth): (u32, u32)| (f64::from(jobs * depth) / outstanding).ln().abs();
    grid.min_by(|one, other| distance(*one).total_cmp(&distance(*other))).unwrap()
}

/// Proves the maxima: asynchronous rows within 8 %, "about" rows within 10 %, IOPS at the case whose jobs × depth is
/// nearest IOPS × latency with the latency within 10 %, bandwidths as the most over the grid; least latencies within 10 %.
/// The synchronous RAID 5 rows contradict each other (88,000 IOPS × 2.5 ms are 220 I/Os outstanding, 91,000 × 0.7 ms are 64)
/// and are printed only.
#[test]
fn maxima_are_those_published() {
    let mut missed = Vec::new();
    for row in published("maxima.csv") {
        // The source is quoted and has commas of its own.
        let [raid, share, engine, sizes_cell, depth, quantity, value, mean_ms, source @ ..] = &row[..] else {
            panic!("a row of nine cells: {row:?}")
        };
        let (Ok(value), Ok(rwmixread)) = (value.parse::<f64>(), share.parse::<u8>()) else { continue };
        let bound = if source.concat().contains("about") { 0.10 } else { 0.08 };
        let depths: Vec<u32> = match depth.as_str() {
            "" => vec![32, 64],
            depth => depth.split('/').map(|depth| depth.parse().unwrap()).collect(),
        };
        let run = |bs_bytes: u32, jobs: u32, depth: u32| {
            let ns = if bs_bytes > 65_536 { SECOND_NS } else { SECOND_NS / 5 };
            let load =
                LoadSpec { ramp_ns: ns / 2, runtime_ns: ns, ..spec(bs_bytes, rwmixread, jobs, depth, 1) };
            let all = samples(&[("raid", raid), ("exact", "on")], &load);
            let latency = if rwmixread > 0 { &all[0].read.latency } else { &all[0].write.latency };
            (iops(&all), latency.mean_ns() / 1e6)
        };
        for bs_bytes in sizes(sizes_cell) {
            let what = format!("RAID {raid}, {share} % reads, {engine}, {bs_bytes} B");
            match quantity.as_str() {
                "iops" => {
                    let mean_ms: f64 = mean_ms.parse().unwrap();
                    let (jobs, depth) = nearest_case(&depths, value * mean_ms / 1e3);
                    let (measured, ms) = run(bs_bytes, jobs, depth);
                    let what = format!("{what}, {jobs} × {depth}");
                    let is_off = misses(&format!("{what}, IOPS"), value, measured, bound)
                        | misses(&format!("{what}, ms"), mean_ms, ms, 0.10);
                    if is_off && engine == "async" {
                        missed.push(what);
                    }
                }
                "mb_per_s" => {
                    let cases = [(2, 32), (4, 32), (8, 32), (16, 64), (64, 64)];
                    let most = cases
                        .map(|(jobs, depth)| run(bs_bytes, jobs, depth).0)
                        .into_iter()
                        .fold(0.0, f64::max);
                    if misses(&format!("{what}, MB/s"), value, most * f64::from(bs_bytes) / 1e6, bound) {
                        missed.push(what);
                    }
                }
                "min_latency_ms" => {
                    if misses(&format!("{what}, least ms"), value, run(bs_bytes, 1, 1).1, 0.10) {
                        missed.push(what);
                    }
                }
                other => panic!("an unknown quantity: {other}"),
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Proves that the cliff is garbage collection's: with its cost switched off there is none.
#[test]
fn no_collection_no_cliff() {
    let all = samples(&[("gc", "off")], &spec(4096, 0, 64, 64, 240));
    assert!(iops(&all[40..]) > 0.98 * iops(&all[..10]));
}

/// Proves that the mechanisms outside the drives that can be switched off act where they should.
#[test]
fn every_switch_acts() {
    // A second is long against every queue here.
    let part = if test_support::is_long() { 1 } else { 5 };
    let peak = |switches: &[(&str, &str)], bs_bytes, rwmixread, jobs, depth| {
        let load = spec(bs_bytes, rwmixread, jobs, depth, 5);
        let (ramp_ns, runtime_ns) = (load.ramp_ns / part, load.runtime_ns / part);
        iops(&samples(switches, &LoadSpec { ramp_ns, runtime_ns, ..load }))
    };
    for (switch, bs_bytes, rwmixread, jobs, depth) in [
        ("host", 4096, 100, 1, 64),
        ("links", 1 << 20, 100, 16, 4),
        ("balancing", 1 << 20, 100, 16, 4),
        ("processors", 4096, 100, 64, 8),
        ("parity", 65_536, 0, 16, 32),
        ("parity_engine", 65_536, 0, 16, 32),
        ("crowding", 4096, 100, 64, 64),
    ] {
        let on = peak(&[], bs_bytes, rwmixread, jobs, depth);
        let off = peak(&[(switch, "off")], bs_bytes, rwmixread, jobs, depth);
        println!("{switch} off: × {:.2}", off / on);
        assert!((off / on - 1.0).abs() > 0.03, "{switch}: {on} and {off}");
    }
    // What acts only where drives collect: without a reserve they do at once.
    let collecting = |switches: &[(&str, &str)]| iops(&samples(switches, &spec(65_536, 0, 64, 64, 5)));
    let with_reserve = collecting(&[]);
    let without = collecting(&[("reserve", "off")]);
    let unlimited = collecting(&[("reserve", "off"), ("parity_updates", "off")]);
    println!(
        "reserve off: × {:.2}; parity_updates off then: × {:.2}",
        without / with_reserve,
        unlimited / without
    );
    assert!(without < 0.6 * with_reserve, "reserve: {with_reserve} and {without}");
    assert!(unlimited > 1.1 * without, "parity_updates: {without} and {unlimited}");
}

/// Proves that carrying over agrees with simulating everything within 2 %, over the whole load and over what follows the
/// cliff, with the cliff in the same interval or the next, and that `exact` carries nothing.
#[test]
fn fast_forward_agrees_with_exact_over_the_cliff() {
    let cases: &[(u32, u64)] = if test_support::is_long() {
        &[(4096, 2400), (8192, 2400), (16_384, 2400), (32_768, 2400), (65_536, 2400), (1 << 20, 2400)]
    } else {
        &[(65_536, 240), (1 << 20, 900)]
    };
    for &(bs_bytes, runtime_s) in cases {
        let fast = scenario(&[], bs_bytes, runtime_s);
        let exact = scenario(&[("exact", "on")], bs_bytes, runtime_s);
        assert!(fast.iter().any(|sample| sample.is_extrapolated));
        assert!(!exact.iter().any(|sample| sample.is_extrapolated));
        let ((fast_onset, _), (onset, _)) = (cliff(&fast), cliff(&exact));
        assert!(fast_onset.abs_diff(onset) <= 1, "{bs_bytes} B: {fast_onset}, exact {onset}");
        let whole = iops(&fast) / iops(&exact);
        let after = iops(&fast[onset + 6..]) / iops(&exact[onset + 6..]);
        println!("| {bs_bytes} B, {runtime_s} s | {whole:.4} | {after:.4} |");
        assert!((whole - 1.0).abs() < 0.02 && (after - 1.0).abs() < 0.02, "{bs_bytes} B: {whole} {after}");
    }
}

/// Proves that a cliff comes in the same moment, within 0.2 s of 60, whether the time before it is skipped or simulated:
/// the drive that by chance has taken most of its erased flash is the first to collect.
#[test]
fn the_cliff_of_a_minute_is_not_late() {
    for numjobs in [4, 8] {
        let load = LoadSpec { interval_ns: SECOND_NS, ..spec(1 << 20, 0, numjobs, 64, 60) };
        let fast = samples(&[("raid", "0")], &load);
        let exact = samples(&[("raid", "0"), ("exact", "on")], &load);
        let skipped = fast.iter().filter(|sample| sample.is_extrapolated).count();
        println!("{numjobs} jobs: {skipped} intervals of which a part was skipped");
        assert!(skipped > 0 || fast == exact, "nothing was skipped, and it differs");
        // Seconds at the first rate that the I/Os of the last ten are.
        let level = iops(&exact[..50]);
        let [fast_s, exact_s] = [&fast, &exact].map(|all| iops(&all[50..]) * 10.0 / level);
        println!("{numjobs} jobs: {fast_s:.2} s, exact {exact_s:.2} s");
        assert!(exact_s < 9.5, "no cliff: {exact_s}");
        assert!((fast_s - exact_s).abs() < 0.2, "{fast_s} {exact_s}");
    }
}

/// The write cliff of eight 64K writes at a time on an array with so many times less room: the host's bytes until the
/// rate falls, and the rate before and after it. In so many intervals an array of any size has written as much of itself.
fn shrunk_cliff(times: u64) -> (f64, f64, f64) {
    let interval_ns = 1000 * SECOND_NS / (50 * times);
    let load = LoadSpec { ramp_ns: 0, runtime_ns: 60 * interval_ns, interval_ns, ..spec(65_536, 0, 1, 8, 0) };
    let shrink = times.to_string();
    let all = samples(&[("shrink", &shrink), ("host", "off"), ("exact", "on")], &load);
    let before = iops(&all[2..10]);
    let first = all.iter().position(|one| iops(std::slice::from_ref(one)) < 0.85 * before).expect("a cliff");
    let bytes: u64 = all[..first].iter().map(|one| one.write.bytes).sum();
    (bytes as f64, before, iops(&all[first + 5..]))
}

/// Proves that an array with less room has the same write cliff after the same share of its room, between the same two
/// rates: what a short run in real time rests on.
#[test]
fn a_shrunk_array_falls_after_the_same_share_of_its_room() {
    let described = if test_support::is_long() { 1 } else { 40 };
    let (bytes, before, after) = shrunk_cliff(described);
    assert!(after < 0.7 * before, "{before} and {after} IOPS");
    for times in [100, 400] {
        let (shrunk_bytes, shrunk_before, shrunk_after) = shrunk_cliff(times);
        let share = shrunk_bytes * times as f64 / (bytes * described as f64);
        println!("shrink={times}: cliff after × {share:.3}, {shrunk_before:.0} and {shrunk_after:.0} IOPS");
        assert!((share - 1.0).abs() < 0.08, "{times}: the cliff comes after {share} of what it should");
        assert!((shrunk_before / before - 1.0).abs() < 0.02, "{times}: {shrunk_before}, {before} before");
        assert!((shrunk_after / after - 1.0).abs() < 0.03, "{times}: {shrunk_after}, {after} after");
    }
}

/// Proves that an array too small to be shrunk is refused.
#[test]
fn nothing_is_shrunk_away() {
    let mut small = description();
    for bytes in [1_u64 << 27, 1 << 24, 131_072] {
        let parts = common::parts(&mut small);
        parts.value_mut("groups[0].drives.capacity").unwrap().1.value = bytes;
        parts.value_mut("groups[0].drives.reserve").unwrap().1.value = bytes / 20;
        let settings = Map::from_iter([("shrink".to_owned(), Value::from(400))]);
        assert!(Twin::build(&small, &settings, 1).is_err(), "{bytes}");
    }
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
    let bad =
        [("coverage", "101"), ("raid", "6"), ("condition", "old"), ("colour", "red"), ("shrink", "401")];
    for (name, value) in bad {
        assert!(build(&[(name, value)]).is_err(), "{name}");
    }
    let load = spec(4096, 0, 16, 32, 5);
    assert!(iops(&samples(&[("raid", "0")], &load)) > 2.5 * iops(&samples(&[], &load)));
}
