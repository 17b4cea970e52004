//! Functional warming of read caches.

use load::{Device as _, Direction, Distribution, LoadShape, LoadSpec, Pattern, Schedule};
use serde_json::Map;
use twin::{ArrayDescription, Twin};

/// Reads among which most come again.
fn reads(twin: &Twin, bs_bytes: u32) -> Schedule {
    let shape = LoadShape { distribution: Distribution::Zipf { theta: 0.6 }, ..LoadShape::default() };
    let spec = LoadSpec {
        pattern: Pattern::Randread,
        rwmixread: 100,
        bs_bytes,
        numjobs: 1,
        iodepth: 1,
        offset_bytes: 0,
        size_bytes: Some(600_000_000),
        rate_iops: None,
        ramp_ns: 0,
        runtime_ns: 1,
        interval_ns: 1,
        seed: 7,
        shape,
    };
    Schedule::new(&spec, twin.capacity_bytes()).unwrap()
}

fn described(name: &str) -> ArrayDescription {
    let loaded = plan::load_array(name).unwrap();
    if name != "pool-60-disks" {
        return loaded.description;
    }
    // Its hosts stripe over the volumes.
    let text = loaded.text.replacen("volumes:     { ", "volumes:     { stripe_unit: 8KiB, ", 1);
    assert_ne!(text, loaded.text);
    plan::parse_array(name, &text).unwrap()
}

fn hits(twin: &Twin) -> Vec<(String, u64)> {
    let is_hit = |name: &str| ["read_cache_hits", "hits"].contains(&name);
    let counters = twin.counters().into_iter().filter(|counter| is_hit(counter.name));
    counters.map(|counter| (counter.entity, counter.value)).collect()
}

/// Proves that reads leave in read caches, in memory and on drives, of controllers, sites and nodes, under stripes of hosts and behind data
/// services, what warming with the same reads leaves there, and that the next reads have the same hits.
#[test]
fn warming_leaves_what_reads_leave() {
    for name in
        ["pool-60-disks", "hybrid-read-cache", "reduced-flash", "two-sites", "flash-and-disks", "nas-raid5"]
    {
        let new = || Twin::build(&described(name), &Map::new(), 1).unwrap();
        let (mut simulated, mut warmed) = (new(), new());
        let mut schedule = reads(&warmed, 16_384);
        let operations: Vec<_> = (0..20_000).map(|_| schedule.next(0).operation).collect();
        assert!(operations.iter().all(|operation| operation.direction == Direction::Read));
        let run = |twin: &mut Twin, operations: &[load::Operation]| {
            for operation in operations {
                let at_ns = twin.now_ns();
                twin.submit(at_ns, 0, *operation);
                assert!(twin.next_completion(u64::MAX).unwrap().outcome.is_ok());
            }
        };
        let (first, next) = operations.split_at(15_000);
        run(&mut simulated, first);
        first.chunks(7).for_each(|some| warmed.warm(some));
        let fills = |twin: &Twin| twin.read_cache_fills().collect::<Vec<_>>();
        assert_eq!(fills(&simulated), fills(&warmed), "{name}");
        assert!(fills(&warmed).iter().all(|fill| fill.kept_sectors > 0), "{name}: {:?}", fills(&warmed));
        let before = [hits(&simulated), hits(&warmed)];
        run(&mut simulated, next);
        run(&mut warmed, next);
        let gained = |twin: &Twin, before: &[(String, u64)]| -> Vec<u64> {
            hits(twin).iter().zip(before).map(|((_, now), (_, then))| now - then).collect()
        };
        let gained = [gained(&simulated, &before[0]), gained(&warmed, &before[1])];
        assert_eq!(gained[0], gained[1], "{name}");
        assert!(gained[0].iter().sum::<u64>() > 500, "{name}: {gained:?}");
    }
}

/// Proves that a cache on drives which keeps what is read a second time keeps the first read of a range that it has seen,
/// and that what was not seen, and a cache of another kind, are as before.
#[test]
fn what_was_seen_is_kept_by_the_next_read() {
    let kept = |name: &str, seen_bytes: u64| {
        let mut twin = Twin::build(&described(name), &Map::new(), 1).unwrap();
        if seen_bytes > 0 {
            twin.warm_seen(0, 0, seen_bytes);
        }
        let mut schedule = reads(&twin, 16_384);
        let some: Vec<_> = (0..1000).map(|_| schedule.next(0).operation).collect();
        let bytes: std::collections::BTreeSet<u64> = some.iter().map(|read| read.offset_bytes).collect();
        twin.warm(&some);
        (bytes.len() as u64 * 4, twin.read_cache_fills().last().unwrap().kept_sectors)
    };
    let (read, all) = kept("hybrid-read-cache", 600_000_000);
    assert_eq!(read, all);
    let (_, half) = kept("hybrid-read-cache", 300_000_000);
    let (_, none) = kept("hybrid-read-cache", 0);
    assert!(none < half && half < all, "{none} {half} {all}");
    assert_eq!(kept("pool-60-disks", 600_000_000), kept("pool-60-disks", 0));
}
