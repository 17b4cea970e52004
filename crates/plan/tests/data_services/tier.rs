//! Tier of fast drives before those of the volumes.

use load::{Distribution, LoadShape, LoadSpec, Pattern, Random};

use super::{count, load, run, twin_of};
use twin::Twin;

/// Array whose first drive is the tier of the others, with keys of the tier.
fn tiered(keys: &str) -> String {
    format!(
        "title: tiered
controllers: {{ use: midrange-2023, count: 1 }}
groups:
  - {{ name: flash, drives: {{ use: nvme-1600-mixed, count: 1 }}, layout: single }}
  - {{ name: bulk, drives: {{ use: nvme-3840-tlc, count: 4 }}, layout: raid5 }}
volumes: {{ name: v, on: bulk, size: 1GiB }}
tier: {{ on: flash, extent: 64KiB, {keys} }}
"
    )
}

/// Share of I/Os that the tier served while a load ran.
fn hit_share(twin: &mut Twin, load: &LoadSpec) -> f64 {
    let counts = |twin: &Twin| (count(twin, "tier", "hits"), count(twin, "tier", "misses"));
    let before = counts(twin);
    run(twin, load);
    let after = counts(twin);
    let (hits, misses) = ((after.0 - before.0) as f64, (after.1 - before.1) as f64);
    hits / (hits + misses)
}

/// Extents of the volume, and places of a tier of 0.02 % of 1.6 TB.
const EXTENTS: usize = 1 << 14;
const PLACES: usize = 320_000_000 / 65_536;

/// Proves that under independent references the tier's share of hits is the sum of the largest shares of references that fit into
/// it, within 2 points: for uniform ones the share of extents that fit, for skewed ones that of the most popular extents.
#[test]
fn hits_are_those_of_the_most_popular_extents() {
    for theta in [0.0, 0.8, 1.1] {
        let weights: Vec<f64> = (1..=EXTENTS).map(|rank| (rank as f64).powf(-theta)).collect();
        let wanted = weights[..PLACES].iter().sum::<f64>() / weights.iter().sum::<f64>();
        let distribution = if theta > 0.0 { Distribution::Zipf { theta } } else { Distribution::Uniform };
        let shape = LoadShape { distribution, ..LoadShape::default() };
        let spec = LoadSpec { shape, ..load(Pattern::Randread, 65_536, 64, 4000) };
        let keys = "share: 0.02%, every: 200ms, margin: 0%, decay: 100%, moves: 64, rate: 100GB/s";
        // The second half of one load: what the first did is known from a run that ends there.
        let [half, whole] = [4, 8].map(|seconds| {
            let mut twin = twin_of(&tiered(keys), &[]);
            run(&mut twin, &LoadSpec { runtime_ns: seconds * 1_000_000_000, ..spec.clone() });
            ["hits", "misses", "plans"].map(|name| count(&twin, "tier", name))
        });
        let [hits, misses, plans] = std::array::from_fn(|index| (whole[index] - half[index]) as f64);
        let share = hits / (hits + misses);
        assert!((share - wanted).abs() < 0.02, "theta {theta}: {share} of {wanted}");
        assert_eq!(plans, 20.0);
    }
}

/// Proves that bytes are conserved: what the tier holds is what was promoted less what was demoted, never more than fits, its
/// drives were written what was promoted and what hosts wrote to it, and those of the volumes what was demoted.
#[test]
fn moves_conserve_bytes() {
    let mut random = Random::from_seed(41);
    for number in 0..12 {
        let (extent, places) = (65_536 << random.below(3), 1 + random.below(300));
        let share = (places * extent) as f64 / 1.6e12 * 100.0;
        let keys = format!(
            "share: {share:.6}%, every: {}ms, decay: {}%, margin: {}%, moves: {}, rate: {}MB/s",
            5 + random.below(60),
            random.below(101),
            random.below(100),
            1 + random.below(16),
            100 + random.below(2000)
        );
        let text = tiered(&keys).replace("extent: 64KiB", &format!("extent: {}KiB", extent >> 10));
        let mut twin = twin_of(&text, &[]);
        let fits = (1.6e12 * (share * 1e4).round() / 1e6) as u64 / extent * extent;
        let theta = 0.5 + random.below(10) as f64 / 10.0;
        let shape = LoadShape { distribution: Distribution::Zipf { theta }, ..LoadShape::default() };
        let spec = LoadSpec { shape, size_bytes: Some(1 << 28), ..load(Pattern::Randread, 8192, 8, 300) };
        // Addresses that change places drive some out again.
        for offset_bytes in [0, 1 << 28, 1 << 29] {
            let total = run(&mut twin, &LoadSpec { offset_bytes, ..spec.clone() });
            assert!(total.errors == 0 && total.ios > 100, "{number}: {total:?}\n{text}");
        }
        let of = |name: &str| count(&twin, "tier", name);
        assert!(of("promoted_bytes") > 0 && of("failed_moves") == 0, "{number}\n{text}");
        assert_eq!(of("promoted_bytes") - of("demoted_bytes"), of("fill_bytes"), "{number}\n{text}");
        assert!(of("fill_bytes") <= fits, "{number}: {} of {fits}\n{text}", of("fill_bytes"));
        // Chunks under way are on the drives before their extent is counted.
        let slack = 16 * extent;
        let written = count(&twin, "drive-0", "host_units") * 4096;
        let promoted = of("promoted_bytes");
        assert!(written >= promoted && written <= promoted + slack, "{number}: {written} {promoted}\n{text}");
        let home: u64 =
            (1..5).map(|drive| count(&twin, &format!("drive-{drive}"), "host_units") * 4096).sum();
        assert!(home >= of("demoted_bytes"), "{number}: {home} {}\n{text}", of("demoted_bytes"));
    }
}

/// Proves that the moves keep to their rate, that nothing moves with too few I/Os or with the tier switched off, and that an
/// overwritten extent stays in the tier.
#[test]
fn moves_keep_to_their_rate() {
    let reads = load(Pattern::Randread, 65_536, 16, 1000);
    let mut slow = twin_of(&tiered("share: 1%, every: 100ms, rate: 20MB/s, moves: 8"), &[]);
    run(&mut slow, &reads);
    let promoted = count(&slow, "tier", "promoted_bytes");
    assert!((17_000_000..=18_100_000).contains(&promoted), "{promoted} in 0.9 s at 20 MB/s");
    let mut idle = twin_of(&tiered("share: 1%, every: 100ms, least: 100000"), &[]);
    run(&mut idle, &reads);
    assert_eq!(count(&idle, "tier", "promoted_bytes"), 0);
    let off = twin_of(&tiered("share: 1%, every: 100ms"), &[("tier", "off")]);
    assert!(off.counters().iter().all(|counter| counter.entity != "tier"));
    let mut all = twin_of(&tiered("share: 1%, every: 100ms, least: 1, rate: 100GB/s, moves: 64"), &[]);
    run(&mut all, &load(Pattern::Read, 65_536, 16, 2000));
    run(&mut all, &load(Pattern::Write, 65_536, 16, 2000));
    assert!(hit_share(&mut all, &load(Pattern::Randrw, 4096, 16, 100)) > 0.999);
}

/// Proves that the ceiling of the drives is that of both groups, that a load of which the tier has its part goes beyond that of the
/// volumes' own drives, and that none goes beyond both.
#[test]
fn the_ceiling_is_that_of_both_groups() {
    let ceiling = |text: &str| {
        let parts = *plan::parse_array("array.yaml", text).unwrap().parts;
        let (sets, _) = array::sets(&parts);
        let all = array::ceilings(&parts, &sets);
        let of = |one: &&array::Ceiling| one.part == "drives" && one.is_read && one.block_bytes == 4096;
        assert!(all.iter().all(|one| one.on == "bulk"), "{all:?}");
        all.iter().find(of).unwrap().iops
    };
    // A fifth of the volume on one drive of five.
    let with = tiered(
        "share: 0.0224%, every: 100ms, least: 1, margin: 1000%, decay: 100%, rate: 100GB/s, moves: 64",
    )
    .replace("nvme-1600-mixed", "sata-960-mixed")
    .replace("nvme-3840-tlc", "sata-960-mixed");
    let is_of_tier = |line: &&str| line.contains("flash");
    let without = with.lines().filter(|line| !is_of_tier(line)).collect::<Vec<_>>().join("\n");
    assert!(ceiling(&with) > 1.2 * ceiling(&without), "{} {}", ceiling(&with), ceiling(&without));
    let mut twin = twin_of(&with, &[("host", "off"), ("links", "off"), ("processors", "off")]);
    run(&mut twin, &load(Pattern::Randread, 65_536, 64, 3000));
    run(&mut twin, &load(Pattern::Randread, 4096, 4, 1000));
    let spec = load(Pattern::Randread, 4096, 512, 500);
    let iops = run(&mut twin, &spec).ios as f64 / spec.runtime_ns as f64 * 1e9;
    assert!(iops < ceiling(&with) * 1.01 + 1024.0, "{iops} {}", ceiling(&with));
    assert!(iops > 1.05 * ceiling(&without), "{iops} {}", ceiling(&without));
}
