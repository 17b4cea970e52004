//! Fast-forward of arrays with data services, against exact simulation.

use load::{LoadSpec, Pattern};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use twin::{FastForwardCase, FastForwardRow, compare_fast_forward};

/// Name of a service, and its section.
type Service = (&'static str, &'static str);

const SERVICES: [Service; 7] = [
    ("thin", "thin: { unit: 64KiB, map_cache: 0B }"),
    ("reduction", "reduction: { block: 8KiB, index_cache: 0B }"),
    ("snapshots", "snapshots: { extent: 64KiB }"),
    ("drive_cache", "drive_cache: { on: cache, block: 64KiB, share: 0.002% }"),
    ("mirror", "mirror: { distance_km: 50 }"),
    (
        "tier",
        "tier: { on: tier, extent: 16MiB, every: 60s, least: 1, rate: 2GB/s, share: 0.01%, margin: 500% }",
    ),
    ("replication", "replication: { every: 100s, unit: 64KiB, rate: 1GB/s, distance_km: 300 }"),
];

/// Six drives with services, and a group for each service that has one.
fn array_with(services: &[Service]) -> String {
    let has = |name: &str| services.iter().any(|service| service.0 == name);
    let own = |group: &str| {
        format!("  - {{ name: {group}, drives: {{ use: nvme-1600-mixed, count: 2 }}, layout: raid0 }}\n")
    };
    let cache = if has("drive_cache") { own("cache") } else { String::new() };
    let tier = if has("tier") { own("tier") } else { String::new() };
    let snapshots = if has("replication") && !has("snapshots") { "snapshots: {}\n" } else { "" };
    let keys: Vec<&str> = services.iter().map(|service| service.1).collect();
    format!(
        "title: drawn
controllers: {{ use: midrange-2023, count: 2 }}
groups:
  - {{ name: g, drives: {{ use: nvme-3840-tlc, count: 6 }}, layout: raid5 }}
{cache}{tier}volumes: {{ name: v, on: g, count: 2, size: 1GiB }}
{}
{snapshots}",
        keys.join("\n")
    )
}

/// Ten minutes at a fixed rate: ten plans of the tier and six cycles of copies.
fn load(pattern: Pattern, seed: u64) -> LoadSpec {
    LoadSpec {
        rate_iops: Some(500.0),
        interval_ns: 5_000_000_000,
        seed,
        ..super::common::load(pattern, 70, 8192, 8, 600_000_000_000)
    }
}

fn compared(text: &str, load: LoadSpec) -> Option<FastForwardRow> {
    let description = plan::parse_array("array.yaml", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let settings = Map::from_iter([("condition".to_owned(), Value::from("filled"))]);
    let case = FastForwardCase { description, changes: Map::new(), settings, load, events: Vec::new() };
    let begun = Instant::now();
    let clock = || -> Duration { begun.elapsed() };
    compare_fast_forward(0, &case, &clock).unwrap()
}

/// Proves that arrays with any two services, tier and copies of snapshots among them, come out by fast-forward as by exact simulation,
/// within the bounds of `bench fast-forward`, and that each of the services is among those of which something is skipped.
#[test]
fn any_two_services_are_within_the_bounds() {
    let mut skipped: BTreeMap<&str, u32> = BTreeMap::new();
    for (number, first) in SERVICES.iter().enumerate() {
        for second in &SERVICES[number + 1..] {
            let names = [first.0, second.0];
            // A third array is not modelled.
            if names == ["mirror", "replication"] {
                continue;
            }
            let text = array_with(&[*first, *second]);
            for pattern in [Pattern::Randread, Pattern::Randrw] {
                let Some(row) = compared(&text, load(pattern, 1 + number as u64)) else { continue };
                assert!(row.beyond.is_empty(), "{names:?}, {pattern:?}: {row:?}");
                names.iter().for_each(|name| *skipped.entry(name).or_default() += 1);
            }
        }
    }
    let names: Vec<&str> = SERVICES.iter().map(|(name, _)| *name).collect();
    assert!(names.iter().all(|name| skipped.contains_key(name)), "skipped of {skipped:?}");
}

/// Proves that nothing is skipped while a tier goes on to exchange extents, or before a plan that comes within the load and whose moves
/// nobody knows; that time is skipped where no plan comes, and where two plans have moved nothing; and that writes whose
/// snapshots are copied are simulated whole, while reads beside copies of nothing are not.
#[test]
fn what_changes_is_simulated_whole() {
    let (tier, copies) = (array_with(&[SERVICES[5]]), array_with(&[SERVICES[6]]));
    let is_skipped = |text: &str, pattern| compared(text, load(pattern, 1)).is_some();
    let exchanging = tier.replace("margin: 500%", "margin: 0%, decay: 0%");
    assert!(!is_skipped(&exchanging, Pattern::Randread), "a tier that exchanges extents");
    let within = tier.replace("every: 60s", "every: 590s");
    assert!(!is_skipped(&within, Pattern::Randread), "a plan within the load");
    let after = tier.replace("every: 60s", "every: 1000s");
    for (text, pattern, is_meant) in [
        (&tier, Pattern::Randrw, true),
        (&after, Pattern::Randrw, true),
        (&copies, Pattern::Randread, true),
        (&copies, Pattern::Randrw, false),
    ] {
        assert_eq!(is_skipped(text, pattern), is_meant, "{pattern:?}\n{text}");
    }
}
