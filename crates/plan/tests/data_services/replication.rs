//! Asynchronous copies of snapshots to a second array.

use load::{LoadSpec, Pattern, Random};
use twin::Twin;

use super::{count, load, of_drives, run, twin};

const SECOND_NS: u64 = 1_000_000_000;

/// Lets time pass without load.
fn idle_for(twin: &mut Twin, duration_ns: u64) {
    let now_ns = load::Device::now_ns(twin);
    load::Device::next_completion(twin, now_ns + duration_ns);
}

fn counted(twin: &Twin, name: &str) -> u64 {
    count(twin, "replication", name)
}

/// Proves that each unit that was written crosses once for a snapshot, however often it was written, that this takes the changed
/// bytes ÷ the rate of the links (never less, and within 5 % beside the crossing, where drives are faster), and that the second array then is as old
/// as the snapshot.
#[test]
fn changed_units_cross_once_a_snapshot() {
    let mut random = Random::from_seed(23);
    for number in 0..12 {
        let (ports, mb_per_s) = (1 + random.below(3), 50 + random.below(200));
        let (distance_km, unit_kib) = (random.below(300), 16 << random.below(4));
        let text = format!(
            "snapshots: {{ extent: 64KiB }}\nreplication: {{ every: 10s, ports: {ports}, rate: {mb_per_s}MB/s, command: 0us, \
             distance_km: {distance_km}, unit: {unit_kib}KiB, streams: 1024 }}"
        );
        let mut twin = twin(&text, &[]);
        let changed = (16 + random.below(48)) << 20;
        let pass = LoadSpec { size_bytes: Some(changed), ..load(Pattern::Write, 16_384, 16, 400) };
        let total = run(&mut twin, &pass);
        assert!(total.errors == 0 && total.ios > 2 * changed / 16_384, "{number}: {total:?}");
        assert_eq!((counted(&twin, "fill_changed_bytes"), counted(&twin, "copied_bytes")), (changed, 0));
        assert_eq!(of_drives(&twin, 6..12, "host_units"), 0, "{number}: the second array has nothing yet");
        let now_ns = load::Device::now_ns(&twin);
        idle_for(&mut twin, 10 * SECOND_NS - now_ns);
        let link_ns = changed * 1000 / (ports * mb_per_s);
        let crossing_ns = 2 * distance_km * array::FIBRE_NS_PER_KM;
        idle_for(&mut twin, link_ns - 1000);
        assert!(counted(&twin, "fill_behind_bytes") > 0, "{number}: faster than its links\n{text}");
        assert!(counted(&twin, "fill_recovery_point_ns") >= 10 * SECOND_NS, "{number}\n{text}");
        idle_for(&mut twin, link_ns / 20 + crossing_ns + 1_000_000);
        assert_eq!(counted(&twin, "fill_behind_bytes"), 0, "{number}: slower than its links\n{text}");
        assert_eq!(counted(&twin, "copied_bytes"), changed, "{number}");
        assert_eq!(counted(&twin, "to_peer_bytes"), changed, "{number}");
        assert!(of_drives(&twin, 6..12, "host_units") * 4096 >= changed, "{number}");
        let age_ns = load::Device::now_ns(&twin) - 10 * SECOND_NS;
        assert_eq!(counted(&twin, "fill_recovery_point_ns"), age_ns, "{number}");
        assert_eq!((counted(&twin, "cycles"), count(&twin, "snapshots", "taken")), (1, 1), "{number}");
    }
}

/// Proves that under a steady load the recovery point is never older than two intervals where a copy takes less than one, that a cycle
/// whose predecessor has not ended is left out where it takes more, and that nothing is copied with the switch off.
#[test]
fn the_recovery_point_keeps_to_its_intervals() {
    let spec = LoadSpec { rate_iops: Some(2000.0), ..load(Pattern::Randwrite, 16_384, 16, 100) };
    // 2,000 units of 16 KiB a second are 33 MB/s.
    for (mb_per_s, is_fast) in [(200, true), (15, false)] {
        let text = format!(
            "snapshots: {{ extent: 64KiB, keep: 100 }}\nreplication: {{ every: 500ms, rate: {mb_per_s}MB/s, unit: 16KiB, streams: 64 }}"
        );
        let mut twin = twin(&text, &[]);
        let mut oldest_ns = 0;
        for seed in 0..60 {
            run(&mut twin, &LoadSpec { seed, ..spec.clone() });
            oldest_ns = oldest_ns.max(counted(&twin, "fill_recovery_point_ns"));
        }
        if is_fast {
            assert!(oldest_ns < SECOND_NS, "{oldest_ns}");
            assert_eq!((counted(&twin, "cycles"), counted(&twin, "late_cycles")), (11, 0));
        } else {
            assert!(oldest_ns > SECOND_NS && counted(&twin, "late_cycles") > 3, "{oldest_ns}");
        }
        assert_eq!(counted(&twin, "unreadable_units"), 0);
    }
    let mut off =
        twin("snapshots: { extent: 64KiB }\nreplication: { every: 500ms }", &[("replication", "off")]);
    run(&mut off, &load(Pattern::Randwrite, 16_384, 16, 1200));
    assert_eq!(count(&off, "snapshots", "taken"), 0);
    assert!(off.counters().iter().all(|counter| counter.entity != "replication"));
}

/// Proves that a write waits for no copy: it takes no crossing of the distance, and that copies keep to their limit.
#[test]
fn writes_wait_for_no_copy() {
    let text = "snapshots: { extent: 64KiB }\nreplication: { every: 200ms, distance_km: 1000, rate: 1GB/s, limit: 50MB/s }";
    let mut copied = twin(text, &[]);
    let writes = load(Pattern::Randwrite, 4096, 1, 1150);
    let total = run(&mut copied, &writes);
    let way_ns = 1000 * array::FIBRE_NS_PER_KM;
    assert!(total.mean_ns() < 0.1 * way_ns as f64, "{total:?}");
    let sent = counted(&copied, "to_peer_bytes");
    assert!((40_000_000..=48_000_000).contains(&sent), "{sent} in 0.95 s at 50 MB/s");
}
