//! Time that is skipped during long rebuilds, beside exact simulation.

mod common;

use common::{Run, array, parts, settings};
use load::{Arrival, LoadShape, LoadSpec, NEVER_STOPPED, Pattern, Random};
use serde_json::Map;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use twin::{ArrayDescription, Event, FastForwardCase, Twin, compare_fast_forward};

const SECOND_NS: u64 = 1_000_000_000;
const RUNTIME_S: u64 = 240;
/// Arrays whose rebuild of a drive takes hours: RAID with spares, pools over nodes, flash modules.
const ARRAYS: [&str; 5] = [
    "examples/all-nvme-raid6",
    "composite-flash",
    "examples/erasure-12-nodes",
    "examples/replicas-12-nodes",
    "flashsystem-840",
];
/// So many draws for each case that is wanted: in most of them something is skipped.
const DRAWS_PER_CASE: u64 = 4;
/// Rates that are drawn, in I/Os a second: what the exact run of each is waited for.
const RATES: [f64; 4] = [5_000.0, 10_000.0, 30_000.0, 60_000.0];

/// A shipped array with a hot spare, where drives are in RAID levels, and without a read cache, which would fill all the time.
fn with_spare(name: &str) -> ArrayDescription {
    let mut description = array(name);
    let array = parts(&mut description);
    if array.pools.is_empty() && array.groups[0].keys.spares.value == 0 {
        array.groups[0].count.count.value += 1;
        array.groups[0].keys.spares.value = 1;
    }
    array.cache.read.value = 0;
    description
}

/// An array with a rebuild that takes hours, and a load.
fn drawn(random: &mut Random) -> (ArrayDescription, LoadSpec) {
    let mut of = |choices: u64| random.below(choices);
    let mut description = with_spare(ARRAYS[of(ARRAYS.len() as u64) as usize]);
    let rebuild = &mut parts(&mut description).rebuild;
    rebuild.delay.value = SECOND_NS * (1 + of(20));
    rebuild.rate.value = [30, 100, 300, 1000][of(4) as usize] * 1_000_000;
    let pattern = [Pattern::Randread, Pattern::Randwrite, Pattern::Randrw, Pattern::Randrw][of(4) as usize];
    let mut load = LoadSpec {
        pattern,
        rwmixread: pattern.fixed_read_share().unwrap_or([30, 70, 90][of(3) as usize]),
        bs_bytes: [4096, 8192, 16384, 65536][of(4) as usize],
        numjobs: [1, 4, 16][of(3) as usize],
        iodepth: [1, 4, 16][of(3) as usize],
        offset_bytes: 0,
        size_bytes: None,
        rate_iops: None,
        ramp_ns: 0,
        runtime_ns: RUNTIME_S * SECOND_NS,
        interval_ns: RUNTIME_S * SECOND_NS / 60,
        seed: 1 + of(1 << 30),
        shape: LoadShape::default(),
    };
    let rate = RATES[of(4) as usize];
    match of(3) {
        0 if load.outstanding() <= 16 => {}
        1 => {
            load.shape.arrival = Some(Arrival::poisson(rate));
            load.iodepth = load.iodepth.max(64);
        }
        _ => load.rate_iops = Some(rate),
    }
    (description, load)
}

/// Proves that time skipped during a rebuild that takes hours leaves rates, intervals, means and percentiles of random arrays and loads
/// within the bounds of fast-forward, and that what is claimed covers the exact values; a tenth of the cases unless `ARRAYLAB_LONG` is
/// set.
#[test]
fn skips_during_long_rebuilds_are_within_their_bounds() {
    let begun = Instant::now();
    let clock = || -> Duration { begun.elapsed() };
    let cases = if test_support::is_long() { 40 } else { 3 };
    let (mut compared, mut covered, mut claimed, mut beyond) = (0, 0, 0, Vec::new());
    for seed in 0..DRAWS_PER_CASE * cases {
        let (description, load) = drawn(&mut Random::from_seed(seed));
        let case = FastForwardCase {
            description,
            changes: Map::new(),
            settings: Map::new(),
            load,
            events: vec![(10.0, "drive-failure".to_owned(), Map::new())],
        };
        // Nothing is skipped where a write cache fills all the time, or a rate is only sure at the end.
        let Some(row) = compare_fast_forward(seed, &case, &clock).unwrap() else { continue };
        println!("{}", serde_json::to_string(&row).unwrap());
        (compared, covered, claimed) = (compared + 1, covered + row.covered, claimed + row.intervals);
        beyond.extend(row.beyond.into_iter().map(|what| (seed, what)));
        if compared == cases {
            break;
        }
    }
    println!("{covered} of {claimed} claimed values are covered");
    assert_eq!(compared, cases, "the others are simulated whole");
    assert!(beyond.is_empty(), "{beyond:#?}");
    assert!(covered as f64 >= 0.93 * claimed as f64, "{covered} of {claimed}");
}

/// Runs one I/O at a time, with a drive lost after 10 s; returns the twin and how much was skipped.
fn light_run(description: &ArrayDescription, is_exact: bool, runtime_s: u64) -> (Twin, u64) {
    let exact = if is_exact { "on" } else { "off" };
    let mut twin = Twin::build(description, &settings(&[("exact", exact.into())]), 1).unwrap();
    twin.schedule(10 * SECOND_NS, Event::DriveFailure).unwrap();
    let pattern = Pattern::Randread;
    let run = Run { pattern, rwmixread: 100, bs_bytes: 4096, numjobs: 1, iodepth: 1, ramp_s: 0, runtime_s };
    let extrapolation = twin.run(&run.spec(), &NEVER_STOPPED, &mut |_, _| ControlFlow::Continue(())).unwrap();
    (twin, extrapolation.carried_ns)
}

/// Proves that a rebuild under RAID 5, in a pool with an erasure code and in one with replicas has come as far after time was skipped as
/// where all was simulated, within 1 %.
#[test]
fn rebuilds_go_on_in_skipped_time() {
    for name in ["composite-flash", "examples/erasure-12-nodes", "examples/replicas-12-nodes"] {
        let mut description = with_spare(name);
        parts(&mut description).rebuild.delay.value = SECOND_NS;
        let (fast, skipped_ns) = light_run(&description, false, RUNTIME_S);
        let (exact, _) = light_run(&description, true, RUNTIME_S);
        let [fast, exact] = [fast, exact].map(|twin| twin.rebuilt_share().expect("a rebuild"));
        println!("{name}: {fast:.6} and {exact:.6} rebuilt, {} s skipped", skipped_ns / SECOND_NS);
        assert!(skipped_ns > 100 * SECOND_NS, "{name}: {skipped_ns}");
        assert!((fast / exact - 1.0).abs() < 0.01, "{name}: {fast} {exact}");
    }
}

/// Proves that a rebuild of minutes, of which time is skipped until its last two, ends when it does where all is simulated, within 1 %.
#[test]
fn a_rebuild_ends_when_it_should() {
    let mut description = with_spare("composite-flash");
    let array = parts(&mut description);
    array.value_mut("groups[0].drives.capacity").unwrap().1.value = 4 << 30;
    array.rebuild.delay.value = SECOND_NS;
    array.rebuild.rate.value = 8_000_000;
    let (mut fast, skipped_ns) = light_run(&description, false, 800);
    let (mut exact, _) = light_run(&description, true, 800);
    let [fast, exact] = [&mut fast, &mut exact].map(|twin| {
        let notes = twin.take_notes();
        notes
            .iter()
            .find(|note| note.says == "the rebuild is done")
            .unwrap_or_else(|| panic!("{notes:?}"))
            .at_ns
    });
    println!(
        "done after {} and {} s, {} s skipped",
        fast / SECOND_NS,
        exact / SECOND_NS,
        skipped_ns / SECOND_NS
    );
    assert!(skipped_ns > 200 * SECOND_NS && exact > 300 * SECOND_NS, "{skipped_ns} {exact}");
    assert!(fast.abs_diff(exact) < exact / 100, "{fast} {exact}");
}
