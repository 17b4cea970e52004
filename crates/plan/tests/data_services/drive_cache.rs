//! Read cache on drives.

use load::{LoadSpec, Pattern};

use super::{count, load, run, twin_of};

/// Array whose first drive holds the read cache of the others.
const HYBRID: &str = "title: hybrid
controllers: { use: midrange-2023, count: 1 }
groups:
  - { name: flash, drives: { use: nvme-3840-tlc, count: 1 }, layout: single }
  - { name: bulk, drives: { use: nvme-3840-tlc, count: 4 }, layout: raid5 }
volumes: { name: v, on: bulk, size: 1GiB }
";

/// Proves that the share of hits of a read cache on drives under uniform reads is the share that fits, within 2 points, that hits are
/// read from its drives alone, and that a write takes what it overwrites out of the cache.
#[test]
fn hits_are_the_share_that_fits() {
    let mut twin =
        twin_of(&format!("{HYBRID}drive_cache: {{ on: flash, block: 64KiB, share: 0.007% }}\n"), &[]);
    let kept = 3.84e12 * 0.00007;
    let warm_up = load(Pattern::Randread, 65_536, 32, 1500);
    run(&mut twin, &warm_up);
    let before = (count(&twin, "drive_cache", "hits"), count(&twin, "drive_cache", "misses"));
    run(&mut twin, &LoadSpec { seed: 9, ..warm_up });
    let hits = (count(&twin, "drive_cache", "hits") - before.0) as f64;
    let misses = (count(&twin, "drive_cache", "misses") - before.1) as f64;
    let (share, fits) = (hits / (hits + misses), kept / (1u64 << 30) as f64);
    assert!((share - fits).abs() < 0.02, "{share} of {fits}");
    assert!(count(&twin, "drive-0", "reads") > 0 && count(&twin, "drive-0", "host_units") > 0);
    run(&mut twin, &load(Pattern::Write, 65_536, 8, 2000));
    let before = count(&twin, "drive_cache", "hits");
    run(&mut twin, &load(Pattern::Randread, 4096, 1, 5));
    assert_eq!(count(&twin, "drive_cache", "hits"), before, "all was overwritten");
}

/// Proves that a lost cache loses no data: reads go to where the data belongs.
#[test]
fn a_lost_cache_loses_nothing() {
    let mut twin = twin_of(&format!("{HYBRID}drive_cache: {{ on: flash, block: 64KiB, share: 1% }}\n"), &[]);
    let reads = load(Pattern::Randread, 65_536, 32, 500);
    run(&mut twin, &reads);
    assert!(count(&twin, "drive_cache", "hits") > 100);
    let now_ns = load::Device::now_ns(&twin);
    twin.schedule(now_ns, twin::Event::DriveFailure).unwrap();
    let total = run(&mut twin, &reads);
    assert!(total.errors == 0 && total.ios > 1000, "{total:?}");
}
