//! Speed of planning. Printed always; held to a bound only where the build is optimised for speed alone.

use layout::{Healthy, IoList, Layout, PoolSpec, Raid, Rotation};
use std::hint::black_box;
use std::time::Instant;

/// Proves that planning a small I/O costs so little that a twin can do ten million a second, and prints the
/// nanoseconds for each layout (`cargo test -p layout --release --test speed -- --nocapture`).
#[test]
fn planning_is_a_small_part_of_a_simulated_io() {
    let raid = |drives| Raid { drives, drive_capacity_bytes: 200 << 30, segment_bytes: 128 << 10 };
    let left = Rotation::LeftSymmetric;
    for (name, layout) in [
        ("raid0-25", Layout::raid0(raid(25)).unwrap()),
        ("raid10-24", Layout::raid10(raid(24)).unwrap()),
        ("raid5-25", Layout::raid5(raid(25), left).unwrap()),
        ("raid6-12", Layout::raid6(raid(12), left).unwrap()),
        ("raid5-200", Layout::raid5(raid(200), left).unwrap()),
        ("ddp-24", Layout::pool(&PoolSpec::ddp(24, 600_000_000_000, 1, 1)).unwrap()),
    ] {
        let blocks = layout.capacity_bytes() / 4096;
        let mut ios = IoList::with_capacity(64);
        let rounds = 1_000_000u64;
        let mut position = 0u64;
        let mut next = || {
            position = position.wrapping_add(0x9e37_79b9_7f4a_7c15);
            ((u128::from(position) * u128::from(blocks)) >> 64) as u64 * 4096
        };
        let start = Instant::now();
        for round in 0..rounds {
            layout.read(next(), 4096, &Healthy, round as u32, &mut ios).unwrap();
            black_box(ios.reads());
        }
        let read_ns = start.elapsed().as_nanos() as f64 / rounds as f64;
        let start = Instant::now();
        for _ in 0..rounds {
            layout.write(next(), 4096, &Healthy, &mut ios).unwrap();
            black_box(ios.writes());
        }
        let write_ns = start.elapsed().as_nanos() as f64 / rounds as f64;
        println!("{name}: read {read_ns:.1} ns, write {write_ns:.1} ns");
        if !cfg!(debug_assertions) {
            assert!(read_ns < 50.0 && write_ns < 100.0, "{name}: read {read_ns} ns, write {write_ns} ns");
        }
    }
}
