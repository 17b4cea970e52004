//! Invariants of layouts: one home for each byte, redundancy on other drives, even rotation, and writes
//! that keep what they should.

use layout::{
    Condition, DriveSet, Healthy, IoList, Layout, LayoutError, PoolSpec, Raid, Redundancy, ReplicaSpec, Role,
    Rotation,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const ROTATIONS: [Rotation; 4] =
    [Rotation::LeftSymmetric, Rotation::LeftAsymmetric, Rotation::RightSymmetric, Rotation::RightAsymmetric];

/// Any small layout of any kind, in segments of one to four sectors.
fn layouts() -> impl Strategy<Value = Layout> {
    (0u32..7, 0u32..9, 1u64..5, 1u64..40, 0usize..4, any::<u64>()).prop_map(
        |(kind, extra, sectors, segments, rotation, seed)| {
            let segment_bytes = sectors * 512;
            let raid = |drives| Raid {
                drives,
                drive_capacity_bytes: segments * segment_bytes + (segment_bytes - 512),
                segment_bytes,
            };
            match kind {
                0 => Layout::raid0(raid(1 + extra)),
                1 => Layout::raid1(raid(2 + extra)),
                2 => Layout::raid10(raid(4 + 2 * extra)),
                3 => Layout::raid5(raid(3 + extra), ROTATIONS[rotation]),
                4 => Layout::raid6(raid(4 + extra), ROTATIONS[rotation]),
                5 => Layout::pool(&PoolSpec {
                    drives: 11 + extra,
                    drive_capacity_bytes: 20 * 3 * segment_bytes,
                    segment_bytes,
                    piece_bytes: 3 * segment_bytes,
                    data: 8,
                    parity: 2,
                    preservation_drives: 1,
                    seed,
                }),
                _ => Layout::replicas(&ReplicaSpec {
                    capacity_bytes: segments * segment_bytes,
                    object_bytes: segment_bytes,
                    groups: vec![(0..6).collect(), (3..9).collect(), (0..9).collect()],
                    drive_capacity_bytes: vec![40 * segment_bytes; 9],
                    nodes: vec![0, 0, 0, 1, 1, 1, 2, 2, 2],
                    seed,
                }),
            }
            .unwrap()
        },
    )
}

fn tolerated(layout: &Layout) -> u32 {
    match layout.redundancy() {
        Redundancy::Copies(copies) => copies - 1,
        Redundancy::Parity(parity) => parity,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Proves that the places that are named without a list are those of the lists, and that there is one wherever a list has one.
    #[test]
    fn places_are_those_of_the_lists(layout in layouts(), at: u64, length in 1u64..3000) {
        let length = length.min(layout.capacity_bytes());
        let offset = at % (layout.capacity_bytes() - length + 1);
        let mut ios = IoList::default();
        layout.map(offset, length, &mut ios);
        let mapped: Vec<_> = ios.reads().iter().map(|io| (io.drive, io.offset_bytes)).collect();
        let place = layout.place_of(offset, length).map(|place| (place.drive, place.offset_bytes));
        prop_assert_eq!(place, (mapped.len() == 1).then(|| mapped[0]));
        if let Some(places) = layout.modified_places(offset, length) {
            layout.write(offset, length, &Healthy, &mut ios).unwrap();
            let places = places.map(|place| (place.drive, place.offset_bytes));
            for listed in [ios.reads(), ios.writes()] {
                let listed: Vec<_> = listed.iter().map(|io| (io.drive, io.offset_bytes)).collect();
                prop_assert_eq!(&listed[..], &places[..]);
            }
        }
    }

    /// Proves that every member sector of every stripe has a place of its own, so that every byte has one home
    /// and nothing is overwritten by another's data, parity or copy.
    #[test]
    fn every_byte_has_one_home(layout in layouts()) {
        let mut homes = BTreeSet::new();
        for stripe in 0..layout.stripes() {
            for member in 0..layout.members() {
                let place = layout.place(stripe, member);
                prop_assert!(u32::from(place.drive) < layout.drives());
                prop_assert!(place.offset_bytes.is_multiple_of(u64::from(layout.segment_bytes())));
                prop_assert!(homes.insert(place), "{place:?} has two users");
            }
        }
        prop_assert!(layout.capacity_bytes() <= layout.stripes() * layout.stripe_bytes());
    }

    /// Proves that the members of a stripe that protect each other never share a drive.
    #[test]
    fn redundancy_is_on_other_drives(layout in layouts()) {
        for stripe in 0..layout.stripes() {
            let drives: BTreeSet<_> = (0..layout.members()).map(|member| layout.place(stripe, member).drive).collect();
            prop_assert_eq!(drives.len() as u32, layout.members());
        }
    }

    /// Proves that a range maps to the same bytes whether asked for at once or sector by sector, and that a write
    /// carries exactly these bytes as data.
    #[test]
    fn ranges_map_as_their_sectors(layout in layouts(), from in 0.0f64..1.0, length in 1u64..64) {
        let sectors = layout.capacity_bytes() / 512;
        let first = (from * sectors as f64) as u64;
        let length = length.min(sectors - first);
        let mut ios = IoList::default();
        let mut one_by_one = Vec::new();
        for sector in first..first + length {
            layout.map(sector * 512, 512, &mut ios);
            one_by_one.push((ios.reads()[0].drive, ios.reads()[0].offset_bytes));
        }
        let sectors_of = |list: &[layout::DriveIo]| -> Vec<(u16, u64)> {
            list.iter()
                .filter(|io| io.role == Role::Data)
                .flat_map(|io| (0..u64::from(io.length_bytes) / 512).map(|sector| (io.drive, io.offset_bytes + sector * 512)))
                .collect()
        };
        layout.map(first * 512, length * 512, &mut ios);
        prop_assert_eq!(&sectors_of(ios.reads()), &one_by_one);
        layout.write(first * 512, length * 512, &Healthy, &mut ios).unwrap();
        let mut written = sectors_of(ios.writes());
        written.sort_unstable();
        one_by_one.sort_unstable();
        prop_assert_eq!(written, one_by_one);
    }

    /// Proves that as long as no more drives fail than the redundancy covers, every read and write can be
    /// planned, touches no failed drive, and no sector twice in a phase.
    #[test]
    fn failures_within_the_redundancy_are_planned_around(
        layout in layouts(), picks in any::<[u16; 2]>(), from in 0.0f64..1.0, length in 1u64..64, pick in any::<u32>(),
    ) {
        let failed: DriveSet = picks
            .iter()
            .take(tolerated(&layout) as usize)
            .map(|pick| pick % layout.drives() as u16)
            .collect();
        let sectors = layout.capacity_bytes() / 512;
        let first = (from * sectors as f64) as u64;
        let length = length.min(sectors - first);
        let mut ios = IoList::default();
        layout.read(first * 512, length * 512, &failed, pick, &mut ios).unwrap();
        let read = ios.clone();
        layout.write(first * 512, length * 512, &failed, &mut ios).unwrap();
        for phase in [read.reads(), ios.reads(), ios.writes()] {
            let mut touched = BTreeSet::new();
            for io in phase {
                prop_assert!(!failed.contains(io.drive));
                prop_assert!(io.length_bytes > 0);
                for sector in 0..u64::from(io.length_bytes) / 512 {
                    prop_assert!(touched.insert((io.drive, io.offset_bytes + sector * 512)));
                }
            }
        }
    }

    /// Proves that parity and data rotate: over as many stripes as drives, each drive holds every member once.
    #[test]
    fn rotation_is_balanced(drives in 4u32..40, rotation in 0usize..4, level in 5u32..7) {
        let raid = Raid { drives, drive_capacity_bytes: 512 * u64::from(drives), segment_bytes: 512 };
        let layout = match level {
            5 => Layout::raid5(raid, ROTATIONS[rotation]),
            _ => Layout::raid6(raid, ROTATIONS[rotation]),
        }.unwrap();
        let mut parity = BTreeMap::new();
        for stripe in 0..u64::from(drives) {
            for member in layout.data_members()..layout.members() {
                *parity.entry((layout.place(stripe, member).drive, member)).or_insert(0) += 1;
            }
        }
        prop_assert_eq!(parity.len() as u32, drives * (level - 4));
        prop_assert!(parity.values().all(|&times| times == 1));
    }

    /// Proves that no geometry, however wild, panics: it is laid out or refused.
    #[test]
    fn wild_geometry_is_refused_without_panic(
        drives in prop_oneof![0u32..300, any::<u32>()],
        capacity in prop_oneof![0u64..10_000, any::<u64>()],
        segment in prop_oneof![Just(512u64), 0u64..5_000, any::<u64>()],
    ) {
        let raid = Raid { drives, drive_capacity_bytes: capacity, segment_bytes: segment };
        let _ = (Layout::raid0(raid), Layout::raid1(raid), Layout::raid10(raid));
        let _ = (Layout::raid5(raid, Rotation::LeftSymmetric), Layout::raid6(raid, Rotation::LeftSymmetric));
        let pool = PoolSpec {
            drives, drive_capacity_bytes: capacity.min(1 << 22), segment_bytes: segment, piece_bytes: segment.wrapping_mul(4),
            data: 8, parity: 2, preservation_drives: 2, seed: 0,
        };
        let _ = Layout::pool(&pool);
    }
}

/// Proves that the geometries the product names are refused, each with its reason and the limit in the message.
#[test]
fn bad_geometry_is_refused_with_its_reason() {
    let raid = |drives| Raid { drives, drive_capacity_bytes: 1 << 30, segment_bytes: 65536 };
    let left = Rotation::LeftSymmetric;
    let message = |result: Result<Layout, LayoutError>| result.unwrap_err().to_string();
    assert_eq!(message(Layout::raid6(raid(3), left)), "RAID 6 with 3 drives: it needs at least 4");
    assert_eq!(message(Layout::raid5(raid(2), left)), "RAID 5 with 2 drives: it needs at least 3");
    assert!(message(Layout::raid10(raid(5))).contains("must be even"));
    assert!(message(Layout::raid10(raid(2))).contains("at least 4"));
    assert_eq!(message(Layout::raid0(raid(1_000_000))), "RAID 0 with 1000000 drives: the limit is 2048");
    assert!(message(Layout::raid0(Raid { segment_bytes: 0, ..raid(4) })).contains("a segment of 0 bytes"));
    assert!(
        message(Layout::raid0(Raid { segment_bytes: 700, ..raid(4) })).contains("a segment of 700 bytes")
    );
    assert!(
        message(Layout::raid0(Raid { drive_capacity_bytes: 0, ..raid(4) })).contains("a drive of 0 bytes")
    );
    assert!(
        message(Layout::raid0(Raid { drive_capacity_bytes: 512, ..raid(4) })).contains("holds no segment")
    );
    assert_eq!(
        message(Layout::pool(&PoolSpec::ddp(10, 1 << 40, 1, 0))),
        "a pool with 10 drives: it needs at least 11"
    );
    assert!(message(Layout::pool(&PoolSpec::ddp(12, 1 << 40, 3, 0))).contains("at least 10 must remain"));
    assert!(message(Layout::pool(&PoolSpec::ddp(1_000_000, 1 << 40, 1, 0))).contains("the limit is 2048"));
    let replicas = ReplicaSpec {
        capacity_bytes: 1 << 30,
        object_bytes: 32 << 20,
        groups: vec![vec![0, 1], vec![2], vec![0, 1]],
        drive_capacity_bytes: vec![1 << 40; 3],
        nodes: vec![0, 1, 1],
        seed: 0,
    };
    assert!(message(Layout::replicas(&replicas)).contains("different nodes"));
    let unknown = ReplicaSpec { groups: vec![vec![9]], ..replicas.clone() };
    assert!(message(Layout::replicas(&unknown)).contains("does not exist"));
    assert!(message(Layout::replicas(&ReplicaSpec { groups: vec![], ..replicas })).contains("0 replicas"));
}

/// Proves that replicas keep to their groups and nodes, are spread evenly, and are read from the tail.
#[test]
fn replicas_keep_to_their_groups() {
    // Three nodes with four NVMe drives (0–3, 4–7, 8–11) and four hard disks (12–15, …): head and middle on disks.
    let nvme: Vec<u16> = (0..12).collect();
    let disks: Vec<u16> = (12..24).collect();
    let layout = Layout::replicas(&ReplicaSpec {
        capacity_bytes: 300 << 30,
        object_bytes: 32 << 20,
        groups: vec![disks.clone(), disks, nvme],
        drive_capacity_bytes: vec![900 << 30; 24],
        nodes: (0..24).map(|drive| drive / 4 % 3).collect(),
        seed: 11,
    })
    .unwrap();
    let mut held = [0u32; 24];
    let mut ios = IoList::default();
    for stripe in 0..layout.stripes() {
        let drives: Vec<u16> = (0..3).map(|member| layout.place(stripe, member).drive).collect();
        let nodes: BTreeSet<u16> = drives.iter().map(|drive| drive / 4 % 3).collect();
        assert_eq!(nodes.len(), 3);
        drives.iter().for_each(|&drive| held[usize::from(drive)] += 1);
        layout.read(stripe * layout.stripe_bytes(), 4096, &Healthy, stripe as u32, &mut ios).unwrap();
        assert_eq!((ios.reads()[0].drive, ios.reads()[0].role), (drives[2], Role::Copy(2)));
        assert!(drives[2] < 12);
    }
    for (drives, copies) in [(&held[..12], 1), (&held[12..], 2)] {
        let mean = f64::from(copies * layout.stripes() as u32) / 12.0;
        assert!(drives.iter().all(|&count| (f64::from(count) - mean).abs() <= 0.02 * mean), "{held:?}");
    }
    let tail = layout.place(0, 2).drive;
    layout.read(0, 4096, &DriveSet::from_iter([tail]), 0, &mut ios).unwrap();
    assert_eq!(ios.reads()[0].drive, layout.place(0, 1).drive, "the last replica before a lost tail answers");
    let migration = layout.plan_migration(tail, &DriveSet::from_iter([tail]));
    assert!(migration.homeless.is_empty());
    assert!(migration.moves.iter().all(|m| m.to.drive < 12 && m.to.drive / 4 == tail / 4));
}

/// Proves that a condition with a rebuild mark serves stripes below the mark from the spare.
#[test]
fn rebuilt_stripes_are_whole() {
    let raid = Raid { drives: 5, drive_capacity_bytes: 1 << 20, segment_bytes: 4096 };
    let layout = Layout::raid5(raid, Rotation::LeftSymmetric).unwrap();
    let condition = layout::Rebuilding { failed: DriveSet::from_iter([0]), rebuilt_below_stripe: 10 };
    assert!(!condition.is_whole());
    assert_eq!(layout.missing(9, &condition).unwrap().members().len(), 0);
    assert_eq!(layout.missing(10, &condition).unwrap().members().len(), 1);
}
