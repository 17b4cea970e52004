//! Stripe of the hosts over the volumes of an entry.

use load::{LoadSpec, Pattern, Random};

use super::{count, load, run, twin_of};

/// Four volumes with a stripe of a unit, each limited, dealt to two controllers in turn.
fn striped(unit_kib: u64, limit: &str) -> String {
    format!(
        "title: striped
controllers: {{ use: midrange-2023, count: 2 }}
groups: [{{ name: g, drives: {{ use: nvme-3840-tlc, count: 6 }}, layout: raid5, segment: 64KiB }}]
volumes: {{ name: v, on: g, count: 4, size: 1GiB, stripe_unit: {unit_kib}KiB{limit} }}
"
    )
}

/// Proves that an I/O becomes one for each unit that it touches, that none of its bytes is lost or doubled, that small ones stay whole,
/// and that nothing is counted with the stripe switched off.
#[test]
fn an_io_becomes_one_for_each_unit() {
    let mut random = Random::from_seed(12);
    for number in 0..12 {
        let unit_kib = 8 << random.below(4);
        let units = 1 + random.below(6);
        let (text, bs_bytes) = (striped(unit_kib, ""), (units * unit_kib) << 10);
        let mut twin = twin_of(&text, &[("host", "off")]);
        let total = run(&mut twin, &load(Pattern::Write, bs_bytes as u32, 4, 30));
        assert!(total.errors == 0 && total.ios > 20, "{number}: {total:?}\n{text}");
        // Those that have begun and not ended are counted too.
        let (split, pieces) =
            (count(&twin, "volume_manager", "split_ios"), count(&twin, "volume_manager", "pieces"));
        assert_eq!(pieces, split * units, "{number}: {units} units\n{text}");
        let split_share = if units > 1 { 1 } else { 0 };
        assert!(
            (total.ios * split_share..=(total.ios + 4) * split_share).contains(&split),
            "{number}: {split}\n{text}"
        );
        let commands = count(&twin, "controller-0", "commands") + count(&twin, "controller-1", "commands");
        assert!(commands >= total.ios * units && commands <= (total.ios + 4) * units, "{number}\n{text}");
        let carried: u64 = (0..4).map(|link| count(&twin, &format!("link-{link}"), "to_array_bytes")).sum();
        assert!(carried >= total.ios * bs_bytes && carried <= (total.ios + 4) * bs_bytes, "{number}\n{text}");
        let off = twin_of(&text, &[("volume_manager", "off")]);
        assert!(off.counters().iter().all(|counter| counter.entity != "volume_manager"));
    }
}

/// Proves that I/Os in order ask all volumes of a stripe alike, so that limits of each add up, and one volume without the stripe.
#[test]
fn limits_of_all_volumes_add_up() {
    let text = striped(64, ", limit: { iops: 500 }");
    let reads = LoadSpec { size_bytes: Some(1 << 28), ..load(Pattern::Read, 65_536, 32, 2000) };
    for (switch, wanted) in [("on", 2000.0), ("off", 500.0)] {
        let mut twin = twin_of(&text, &[("volume_manager", switch)]);
        let iops = run(&mut twin, &reads).ios as f64 / 2.0;
        assert!((iops / wanted - 1.0).abs() < 0.02, "{switch}: {iops} of {wanted}");
    }
    let mut twin = twin_of(&striped(64, ""), &[]);
    run(&mut twin, &reads);
    let (one, other) = (count(&twin, "controller-0", "commands"), count(&twin, "controller-1", "commands"));
    assert!(one.abs_diff(other) <= 32, "{one} {other}");
}
