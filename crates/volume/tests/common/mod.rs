//! Small arrays of every kind, and random numbers.

#![allow(dead_code, reason = "each test binary uses a part")]

use layout::{Layout, PoolSpec, Raid, ReplicaSpec, Rotation};
use volume::VolumeSpec;

/// A linear congruential generator (Knuth's MMIX constants), high bits.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.below(256) as u8).collect()
    }
}

/// Name, specification, and how many drives it may lose.
pub fn arrays() -> Vec<(&'static str, VolumeSpec, usize)> {
    let raid = |drives| Raid { drives, drive_capacity_bytes: 24 << 10, segment_bytes: 2048 };
    let left = Rotation::LeftSymmetric;
    let pool = PoolSpec {
        drives: 12,
        drive_capacity_bytes: 24 << 10,
        segment_bytes: 1024,
        piece_bytes: 4096,
        data: 8,
        parity: 2,
        preservation_drives: 1,
        seed: 5,
    };
    let replicas = ReplicaSpec {
        capacity_bytes: 60 << 10,
        object_bytes: 4096,
        groups: vec![(0..6).collect(), (0..6).collect(), (0..6).collect()],
        drive_capacity_bytes: vec![68 << 10; 6],
        nodes: vec![0, 0, 1, 1, 2, 2],
        seed: 9,
    };
    [
        ("raid0", Layout::raid0(raid(4)), 24 << 10, 0),
        ("raid1", Layout::raid1(raid(2)), 24 << 10, 1),
        ("raid10", Layout::raid10(raid(6)), 24 << 10, 1),
        ("raid5", Layout::raid5(raid(3), left), 24 << 10, 1),
        ("raid5-wide", Layout::raid5(raid(7), left), 24 << 10, 1),
        ("raid6", Layout::raid6(raid(6), left), 24 << 10, 2),
        ("pool", Layout::pool(&pool), 24 << 10, 2),
        ("replicas", Layout::replicas(&replicas), 68 << 10, 2),
    ]
    .into_iter()
    .map(|(name, layout, capacity, tolerated)| {
        let layout = layout.expect("the test's arrays are sound");
        let drives = layout.drives() as usize;
        let spec =
            VolumeSpec { layout, drive_capacity_bytes: vec![capacity; drives], identity: name.to_owned() };
        (name, spec, tolerated)
    })
    .collect()
}
