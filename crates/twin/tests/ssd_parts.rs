//! The Dorado as an array of parts against the kind that it was described by until November 2026: what parts of solid-state drives
//! must do. Figures of the kind are those of its last version, with the same loads and seeds.

mod common;

use std::ops::ControlFlow;

use common::{array, settings};
use load::{FastForward as _, LoadShape, LoadSpec, NEVER_STOPPED, Pattern, Sample, run_simulated};
use serde_json::Value;
use twin::Twin;

const SECOND_NS: u64 = 1_000_000_000;

fn spec(bs_bytes: u32, rwmixread: u8, numjobs: u32, iodepth: u32) -> LoadSpec {
    LoadSpec {
        pattern: Pattern::Randrw,
        rwmixread,
        bs_bytes,
        numjobs,
        iodepth,
        offset_bytes: 0,
        size_bytes: None,
        rate_iops: None,
        ramp_ns: SECOND_NS / 2,
        runtime_ns: 2 * SECOND_NS,
        interval_ns: SECOND_NS,
        seed: 1,
        shape: LoadShape::default(),
    }
}

fn samples(own: &[(&str, &str)], load: &LoadSpec) -> Vec<Sample> {
    let own: Vec<(&str, Value)> = own.iter().map(|&(name, value)| (name, value.into())).collect();
    let mut twin = Twin::build(&array("dorado-2100-g2"), &settings(&own), 1).unwrap();
    let mut all = Vec::new();
    twin.run(load, &NEVER_STOPPED, &mut |_, sample| {
        all.push(sample);
        ControlFlow::Continue(())
    })
    .unwrap();
    all
}

fn iops(samples: &[Sample]) -> f64 {
    let ios: u64 = samples.iter().map(|sample| sample.read.ios + sample.write.ios).sum();
    ios as f64 * 1e9 / (samples.last().unwrap().end_ns - samples[0].start_ns) as f64
}

/// Proves that parts give the rates of the kind within 2 %: what limits each is a mechanism that parts have learned of it (code paths
/// with parity, crowding, adapters, queues, changes of parity, the parity engine's two rates, collection with relocation), and each
/// that can be switched off changes what the kind's changes.
#[test]
fn parts_do_what_the_kind_does() {
    for (own, bs_bytes, rwmixread, numjobs, iodepth, kind) in [
        (&[][..], 4096, 100, 16, 64, 127_539.0),
        (&[], 4096, 0, 16, 32, 103_434.0),
        (&[], 65_536, 0, 16, 32, 15_166.0),
        (&[("raid", "0")], 4096, 0, 16, 32, 311_866.0),
        (&[("raid", "0")], 1 << 20, 70, 16, 4, 3_879.0),
        (&[("reserve", "off"), ("condition", "steady")], 65_536, 0, 64, 64, 5_396.0),
        (
            &[("reserve", "off"), ("condition", "steady"), ("parity_updates", "off")],
            65_536,
            0,
            64,
            64,
            6_691.0,
        ),
        (&[("crowding", "off")], 4096, 100, 64, 64, 146_755.0),
        (&[("parity_engine", "off")], 65_536, 0, 16, 32, 18_697.0),
        (&[("host", "off")], 4096, 100, 1, 64, 108_816.0),
        (&[("gc", "off"), ("condition", "steady")], 4096, 0, 16, 32, 103_434.0),
        (&[("write_cache", "on")], 65_536, 0, 64, 64, 20_657.0),
        (&[("condition", "fresh")], 16_384, 0, 8, 32, 1_404.0),
        (&[("coverage", "70")], 8192, 70, 8, 8, 84_319.0),
    ] {
        let parts = iops(&samples(own, &spec(bs_bytes, rwmixread, numjobs, iodepth)));
        println!("{own:?} {bs_bytes} B, {rwmixread} %, {numjobs} x {iodepth}: {kind:.0} and {parts:.0}");
        assert!((parts / kind - 1.0_f64).abs() < 0.02, "{own:?}, {bs_bytes} B: {kind} and {parts}");
    }
}

/// Proves that a lone write takes the log of its parity longer, a lone read not, and that a cached one is answered after the time of
/// the cache, within 1 %.
#[test]
fn lone_ios_take_as_long() {
    for (raid, cache, rwmixread, kind) in
        [("5", "off", 0, 1098.0), ("0", "off", 0, 2050.0), ("5", "off", 100, 1655.0), ("5", "on", 0, 3289.0)]
    {
        let own = [("raid", raid), ("write_cache", cache)];
        let parts = iops(&samples(&own, &spec(4096, rwmixread, 1, 1)));
        println!("RAID {raid}, cache {cache}, {rwmixread} % reads: {kind:.0} and {parts:.0}");
        assert!((parts / kind - 1.0_f64).abs() < 0.01, "{own:?}, {rwmixread}: {kind} and {parts}");
    }
}

/// Proves that the write cliff of parts comes where that of the kind does, within 2 % of the bytes, and to the same level within 3 %;
/// and that skipped time moves neither by more than an interval and 3 %.
#[test]
fn the_cliff_is_where_the_kind_has_it() {
    let cliff = |exact: &str, interval_s: u64| {
        let interval_ns = interval_s * SECOND_NS;
        let load =
            LoadSpec { ramp_ns: 0, runtime_ns: 240 * SECOND_NS, interval_ns, ..spec(65_536, 0, 64, 64) };
        let all = samples(&[("exact", exact)], &load);
        assert_eq!(all.iter().any(|sample| sample.is_extrapolated), exact == "off");
        let before = iops(&all[..10]);
        let falls = |sample: &Sample| iops(std::slice::from_ref(sample)) < 0.8 * before;
        let first = all.iter().position(falls).expect("a cliff");
        let bytes: u64 = all[..first].iter().map(|sample| sample.write.bytes).sum();
        let level = iops(&all[first + (30 / interval_s) as usize..]);
        (all[first].start_ns, bytes as f64, level)
    };
    let (bytes, level) = (97_053_638_656.0, 5_704.0);
    let (exact_ns, parts_bytes, parts_level) = cliff("on", 1);
    println!("{bytes} and {parts_bytes} bytes, then {level} and {parts_level}");
    assert!((parts_bytes / bytes - 1.0_f64).abs() < 0.02, "{bytes} and {parts_bytes}");
    assert!((parts_level / level - 1.0_f64).abs() < 0.03, "{level} and {parts_level}");
    let (fast_ns, _, fast_level) = cliff("off", 5);
    println!("skipped: {fast_ns} ns for {exact_ns}, then {fast_level}");
    assert!(fast_ns.abs_diff(exact_ns) <= 5 * SECOND_NS, "{fast_ns} {exact_ns}");
    assert!((fast_level / parts_level - 1.0).abs() < 0.03, "{fast_level} and {parts_level}");
}

/// Proves that each drive that begins to collect is a change for a fast-forward, which then looks for the level anew: of an array
/// whose drives fall one after the other, no time is skipped at the rate before the first.
#[test]
fn drives_that_begin_to_collect_end_a_level() {
    let parts = array("dorado-2100-g2");
    let mut twin = Twin::build(&parts, &settings(&[("shrink", 400.into())]), 1).unwrap();
    let load =
        LoadSpec { ramp_ns: 0, runtime_ns: SECOND_NS, interval_ns: SECOND_NS / 100, ..spec(65_536, 0, 8, 8) };
    let mut counts = Vec::new();
    run_simulated(&mut twin, &load, &NEVER_STOPPED, &mut |twin: &mut Twin, _| {
        counts.push(twin.change_count());
        ControlFlow::Continue(())
    })
    .unwrap();
    println!("{counts:?}");
    assert!(counts[0] == 0 && counts.is_sorted() && counts.last() == Some(&25), "{counts:?}");
    assert!(counts.iter().any(|count| (1..25).contains(count)), "{counts:?}");
}

/// Proves that an array of parts with so many times less room falls so many times sooner, and that what has nothing to fill, or no
/// volumes that share the room, refuses the settings.
#[test]
fn room_can_be_shrunk_and_covered() {
    let parts = array("dorado-2100-g2");
    let capacity = |own: &[(&str, Value)]| {
        use load::Device as _;
        Twin::build(&parts, &settings(own), 1).unwrap().capacity_bytes() as f64
    };
    let whole = capacity(&[]);
    assert!((capacity(&[("shrink", 100.into())]) / whole - 0.01).abs() < 0.0001);
    assert!((capacity(&[("coverage", 70.into())]) / whole - 0.7).abs() < 0.0001);
    for (name, own) in
        [("e2700", ("coverage", 70)), ("e2700", ("shrink", 10)), ("flashsystem-840", ("shrink", 10))]
    {
        let error = Twin::build(&array(name), &settings(&[(own.0, own.1.into())]), 1).unwrap_err();
        assert!(error.to_string().contains(own.0), "{name}: {error}");
    }
}

/// Proves that a range which is rewritten in many parts, each from where the last ended, is given to the drives once, as it is at once; and that
/// random writes are given as often as was asked for.
#[test]
fn parts_of_a_range_are_rewritten_once() {
    let build =
        || Twin::build(&array("linux-md-nvme"), &settings(&[("condition", "steady".into())]), 1).unwrap();
    let given = |rewrite: &dyn Fn(&mut Twin)| {
        let mut twin = build();
        let before = twin.flash_units();
        rewrite(&mut twin);
        twin.flash_units().since(before).given as f64
    };
    let (offset_bytes, length_bytes) = (7_000_000_000, 1_000_000_000_000);
    let at_once = given(&|twin| twin.rewrite_in_order(0, offset_bytes, length_bytes));
    let in_parts = given(&|twin| {
        let bound = |part: u64| length_bytes * part / 100_003;
        for part in 0..100_003 {
            twin.rewrite_in_order(0, offset_bytes + bound(part), bound(part + 1) - bound(part));
        }
    });
    let share = build().share_of_drives(0, offset_bytes, length_bytes).unwrap();
    let at_random = given(&|twin| twin.rewrite_at_random(0, offset_bytes, length_bytes, share));
    assert!((in_parts / at_once - 1.0).abs() < 0.001, "{in_parts} of {at_once}");
    assert!((at_random / at_once - 1.0).abs() < 0.01, "{at_random} of {at_once}");
}
