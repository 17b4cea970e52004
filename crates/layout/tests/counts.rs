//! Back-end I/Os against the table in the physics reference: RMW 4 and 6, reconstruct n + m, full stripe n + m,
//! and the degraded cases.

use layout::{
    Condition, DriveSet, Healthy, IoList, Layout, ParityInitialisation, PoolSpec, Raid, ReplicaSpec, Role,
    Rotation,
};

const SEGMENT: u64 = 64 << 10;

fn raid(drives: u32) -> Raid {
    Raid { drives, drive_capacity_bytes: 1 << 30, segment_bytes: SEGMENT }
}

fn raid5(drives: u32) -> Layout {
    Layout::raid5(raid(drives), Rotation::LeftSymmetric).unwrap()
}

fn raid6(drives: u32) -> Layout {
    Layout::raid6(raid(drives), Rotation::LeftSymmetric).unwrap()
}

fn pool(drives: u32) -> Layout {
    Layout::pool(&PoolSpec::ddp(drives, 64 << 30, 1, 7)).unwrap()
}

fn write_counts<C: Condition>(layout: &Layout, offset: u64, length: u64, condition: &C) -> (usize, usize) {
    let mut ios = IoList::default();
    layout.write(offset, length, condition, &mut ios).unwrap();
    (ios.reads().len(), ios.writes().len())
}

fn failed(layout: &Layout, stripe: u64, members: &[u32]) -> DriveSet {
    members.iter().map(|&member| layout.place(stripe, member).drive).collect()
}

fn read_count(layout: &Layout, offset: u64, length: u64, condition: &DriveSet) -> usize {
    let mut ios = IoList::default();
    layout.read(offset, length, condition, 0, &mut ios).unwrap();
    ios.reads().len()
}

/// Proves the table of I/Os for a small random write: 1, 2, 3, 4 and 6, with reads before writes.
#[test]
fn small_writes_cost_what_the_table_says() {
    let raid0 = Layout::raid0(raid(8)).unwrap();
    let raid1 = Layout::raid1(raid(2)).unwrap();
    let raid10 = Layout::raid10(raid(8)).unwrap();
    let replicas = Layout::replicas(&ReplicaSpec {
        capacity_bytes: 1 << 30,
        object_bytes: 32 << 20,
        groups: vec![vec![0, 1, 2]; 3],
        drive_capacity_bytes: vec![2 << 30; 3],
        nodes: vec![0, 1, 2],
        seed: 1,
    })
    .unwrap();
    for (layout, reads, writes) in [
        (raid0, 0, 1),
        (raid1, 0, 2),
        (raid10, 0, 2),
        (replicas, 0, 3),
        (raid5(8), 2, 2),
        (raid6(8), 3, 3),
        (pool(24), 3, 3),
    ] {
        for position in [0, 5 * 4096, SEGMENT * 3 + 4096, layout.stripe_bytes() * 5 + 512] {
            assert_eq!(
                write_counts(&layout, position, 4096, &Healthy),
                (reads, writes),
                "{:?}",
                layout.redundancy()
            );
        }
    }
}

/// Proves the choice between read-modify-write and reconstruct-write at every number of segments written, for
/// the sets the reference names: RAID 5 7+1 and RAID 6 8+2 modify up to two segments and reconstruct from the
/// tie at three on; a full stripe reads nothing.
#[test]
fn parity_is_updated_by_the_fewest_reads() {
    for (layout, data, parity) in [(raid5(8), 7, 1), (raid6(10), 8, 2)] {
        for written in 1..=data {
            let (reads, writes) =
                write_counts(&layout, layout.stripe_bytes() * 3, written * SEGMENT, &Healthy);
            let expected = if written <= 2 { written + parity } else { data - written };
            assert_eq!((reads as u64, writes as u64), (expected, written + parity), "{written} of {data}");
        }
    }
    // The tie reads as much either way, and is reconstructed: no parity is read.
    let mut ios = IoList::default();
    raid5(8).write(0, 3 * SEGMENT, &Healthy, &mut ios).unwrap();
    assert!(ios.reads().iter().all(|io| io.role == Role::Data));
    // Three drives: the other data segment is one read, old data and parity would be two.
    assert_eq!(write_counts(&raid5(3), 0, 4096, &Healthy), (1, 2));
    // 24+1 with 128 KiB: an aligned megabyte is 8 of 24 segments, 9 reads against 16.
    let dorado = Layout::raid5(
        Raid { drives: 25, drive_capacity_bytes: 1 << 34, segment_bytes: 128 << 10 },
        Rotation::LeftSymmetric,
    );
    assert_eq!(write_counts(&dorado.unwrap(), 0, 1 << 20, &Healthy), (9, 9));
}

/// Proves that a controller that always modifies does so where reconstruction would read less, and still writes whole
/// stripes without reading.
#[test]
fn some_controllers_always_modify() {
    let layout = raid5(3).modifying_always();
    assert_eq!(write_counts(&layout, 0, 4096, &Healthy), (2, 2));
    assert_eq!(write_counts(&layout, 0, layout.stripe_bytes(), &Healthy), (0, 3));
    let layout = raid6(4).modifying_always();
    assert_eq!(write_counts(&layout, 0, 4096, &Healthy), (3, 3));
    let layout = raid5(8).modifying_always();
    assert_eq!(write_counts(&layout, 0, 5 * SEGMENT, &Healthy), (6, 6));
    // A lost segment cannot be modified.
    assert_eq!(write_counts(&layout, 0, 4096, &failed(&layout, 0, &[0])), (6, 1));
}

/// Proves that a write over several whole stripes costs (n + m) ÷ n an chunk and reads nothing.
#[test]
fn full_stripes_read_nothing() {
    let layout = raid6(10);
    let stripe = layout.stripe_bytes();
    assert_eq!(write_counts(&layout, stripe * 2, stripe * 3, &Healthy), (0, 30));
    // A head and a tail of half a segment are modified, what lies between is written whole.
    assert_eq!(write_counts(&layout, stripe - SEGMENT / 2, stripe + SEGMENT, &Healthy), (3 + 3, 3 + 10 + 3));
}

/// Proves that a write across a segment's edge joins neighbouring rows of one drive: both segments and the parity
/// are one I/O each, where rows do not overlap the parity is two.
#[test]
fn writes_across_an_edge_join_their_rows() {
    let layout = raid5(8);
    let mut ios = IoList::default();
    layout.write(SEGMENT / 2, SEGMENT, &Healthy, &mut ios).unwrap();
    let parity: Vec<_> = ios.writes().iter().filter(|io| io.role == Role::P).collect();
    assert_eq!((ios.writes().len(), parity.len(), parity[0].length_bytes), (3, 1, SEGMENT as u32));
    layout.write(SEGMENT - 4096, 8192, &Healthy, &mut ios).unwrap();
    assert_eq!(
        ios.writes().iter().filter(|io| io.role == Role::P).map(|io| io.length_bytes).collect::<Vec<_>>(),
        [4096, 4096]
    );
}

/// Proves the degraded reads: n reads for a lost segment of RAID 5, n of the n + 1 left for RAID 6 with one lost
/// and all n with two; segments that are not lost cost one.
#[test]
fn degraded_reads_cost_what_the_table_says() {
    let five = raid5(8);
    assert_eq!(read_count(&five, 0, 4096, &failed(&five, 0, &[0])), 7);
    assert_eq!(read_count(&five, 0, 4096, &failed(&five, 0, &[3])), 1);
    for layout in [raid6(10), pool(24)] {
        assert_eq!(read_count(&layout, 0, 4096, &failed(&layout, 0, &[0])), 8);
        assert_eq!(read_count(&layout, 0, 4096, &failed(&layout, 0, &[0, 1])), 8);
        assert_eq!(read_count(&layout, 0, 4096, &failed(&layout, 0, &[0, 8])), 8);
        assert_eq!(read_count(&layout, 0, 4096, &failed(&layout, 0, &[8, 9])), 1);
        // A whole stripe with one lost segment needs one read more than what is left of the data.
        assert_eq!(read_count(&layout, 0, layout.stripe_bytes(), &failed(&layout, 0, &[4])), 8);
    }
}

/// Proves the degraded writes: RAID 5 to the lost segment n − 1 reads and the parity, with the parity lost only
/// the data; RAID 6 decodes where a neighbour of a lost and written segment is lost as well.
#[test]
fn degraded_writes_cost_what_the_table_says() {
    let five = raid5(8);
    assert_eq!(write_counts(&five, 0, 4096, &failed(&five, 0, &[0])), (6, 1));
    assert_eq!(write_counts(&five, 0, 4096, &failed(&five, 0, &[7])), (0, 1));
    assert_eq!(write_counts(&five, 0, 4096, &failed(&five, 0, &[5])), (2, 2));
    let six = raid6(10);
    assert_eq!(write_counts(&six, 0, 4096, &failed(&six, 0, &[0])), (7, 2));
    assert_eq!(write_counts(&six, 0, 4096, &failed(&six, 0, &[8])), (2, 2));
    assert_eq!(write_counts(&six, 0, 4096, &failed(&six, 0, &[8, 9])), (0, 1));
    assert_eq!(write_counts(&six, 0, 4096, &failed(&six, 0, &[5])), (3, 3));
    assert_eq!(write_counts(&six, 0, 4096, &failed(&six, 0, &[0, 8])), (7, 1));
    assert_eq!(write_counts(&six, 0, 4096, &failed(&six, 0, &[0, 5])), (8, 2));
    assert_eq!(write_counts(&six, 0, 4096, &failed(&six, 0, &[4, 5])), (3, 3));
}

/// Proves that loss beyond the redundancy is reported with the stripe, never planned around.
#[test]
fn losses_beyond_the_redundancy_are_errors() {
    let mut ios = IoList::default();
    let five = raid5(8);
    let two = failed(&five, 3, &[0, 4]);
    let offset = five.stripe_bytes() * 3;
    assert_eq!(five.read(offset, 512, &two, 0, &mut ios).unwrap_err().stripe, 3);
    assert_eq!(five.write(offset, 512, &two, &mut ios).unwrap_err().stripe, 3);
    assert_eq!(five.read(offset + SEGMENT, 512, &two, 0, &mut ios), Ok(()));
    let six = raid6(10);
    assert!(six.write(0, 512, &failed(&six, 0, &[1, 2, 9]), &mut ios).is_err());
    let mirrors = Layout::raid10(raid(4)).unwrap();
    assert!(mirrors.read(0, 512, &DriveSet::from_iter([0, 1]), 0, &mut ios).is_err());
    assert!(mirrors.write(0, 512, &DriveSet::from_iter([0, 1]), &mut ios).is_err());
    let striped = Layout::raid0(raid(4)).unwrap();
    assert!(striped.write(0, 512, &DriveSet::from_iter([0]), &mut ios).is_err());
}

/// Proves that mirrors share reads by the caller's pick and that a lost mirror's reads go to the other.
#[test]
fn mirrors_are_picked_by_the_caller() {
    let layout = Layout::raid10(raid(4)).unwrap();
    let mut ios = IoList::default();
    let mut drives = |pick, condition: &DriveSet| {
        layout.read(0, 4096, condition, pick, &mut ios).unwrap();
        ios.reads()[0].drive
    };
    assert_eq!(
        [drives(0, &DriveSet::EMPTY), drives(1, &DriveSet::EMPTY), drives(7, &DriveSet::EMPTY)],
        [0, 1, 1]
    );
    let lost = DriveSet::from_iter([1]);
    assert_eq!([drives(0, &lost), drives(1, &lost)], [0, 0]);
}

/// Proves the first write to a stripe whose parity was never made: the rest is read, or written as zeros.
#[test]
fn first_writes_make_the_parity() {
    let layout = raid5(8);
    let mut ios = IoList::default();
    layout.first_write(4096, 4096, ParityInitialisation::ReadAndCompute, &mut ios).unwrap();
    assert_eq!((ios.reads().len(), ios.writes().len()), (6 + 2, 2));
    let read: u64 = ios.reads().iter().map(|io| u64::from(io.length_bytes)).sum();
    assert_eq!(read, layout.stripe_bytes() - 4096);
    layout.first_write(4096, 4096, ParityInitialisation::WriteZeros, &mut ios).unwrap();
    assert_eq!((ios.reads().len(), ios.writes().len()), (0, 8));
    layout.first_write(0, layout.stripe_bytes(), ParityInitialisation::ReadAndCompute, &mut ios).unwrap();
    assert_eq!((ios.reads().len(), ios.writes().len()), (0, 8));
}

/// Proves the rebuild step: n reads and a write for each lost segment, one read for a mirror, nothing where a
/// stripe is whole.
#[test]
fn rebuild_steps_read_n_and_write_what_is_lost() {
    let mut ios = IoList::default();
    let six = raid6(10);
    for (members, writes) in [(vec![2], 1), (vec![2, 9], 2)] {
        six.rebuild(4, &failed(&six, 4, &members), |place| place, &mut ios).unwrap();
        assert_eq!((ios.reads().len(), ios.writes().len()), (8, writes));
    }
    let mirrors = Layout::raid10(raid(4)).unwrap();
    mirrors.rebuild(9, &DriveSet::from_iter([2]), |place| place, &mut ios).unwrap();
    assert_eq!((ios.reads()[0].drive, ios.writes()[0].drive), (3, 2));
    mirrors.rebuild(9, &DriveSet::EMPTY, |place| place, &mut ios).unwrap();
    assert_eq!((ios.reads().len(), ios.writes().len()), (0, 0));
}
