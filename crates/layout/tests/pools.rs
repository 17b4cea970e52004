//! The declustered pool: balance, who takes part after a failure, and rehoming into preservation capacity.

use layout::{DriveSet, IoList, Layout, PoolSpec};
use std::collections::BTreeSet;

/// 600 GB drives as in the E2700; 192 of them are a full DDP.
fn pool(drives: u32) -> Layout {
    Layout::pool(&PoolSpec::ddp(drives, 600_000_000_000, if drives == 11 { 1 } else { 2 }, 42)).unwrap()
}

const SIZES: [u32; 5] = [11, 12, 24, 60, 192];

/// Proves that no drive holds more than 2 % more or less than the mean, of pieces as of P segments, and none more
/// than fits.
#[test]
fn load_is_balanced_within_two_percent() {
    for drives in SIZES {
        let layout = pool(drives);
        let groups = layout.groups().count() as u64;
        let rows = layout.stripes() / groups;
        let (mut held, mut parity) = (vec![0u64; drives as usize], vec![0u64; drives as usize]);
        for (group, pieces) in layout.groups().enumerate() {
            for piece in pieces {
                held[usize::from(piece.drive)] += 1;
                assert!(u64::from(piece.slot) < 600_000_000_000 / (512 << 20));
            }
            for row in 0..rows.min(100) {
                parity[usize::from(layout.place(group as u64 * rows + row, 8).drive)] += 1;
            }
        }
        for counts in [held, parity] {
            let mean = counts.iter().sum::<u64>() as f64 / f64::from(drives);
            let worst = counts.iter().map(|&count| (count as f64 - mean).abs()).fold(0.0, f64::max);
            assert!(worst <= 0.02 * mean, "{drives} drives: {worst} off a mean of {mean}");
        }
    }
}

/// Proves that after the failure of any drive the reads of its reconstruction come from every survivor and its
/// writes go to every survivor, none of them with more than twice the mean.
#[test]
fn every_survivor_takes_part_after_any_failure() {
    for drives in [11, 12, 24, 60] {
        let layout = pool(drives);
        let mut ios = IoList::default();
        for failed_drive in 0..drives as u16 {
            let failed = DriveSet::from_iter([failed_drive]);
            let migration = layout.plan_migration(failed_drive, &failed);
            let (mut reads, mut writes) = (vec![0u32; drives as usize], vec![0u32; drives as usize]);
            let rows = layout.stripes() / layout.groups().count() as u64;
            for movement in &migration.moves {
                // Ten rows of each D-stripe show every turn of its parity.
                for row in 0..10 {
                    let stripe = movement.group * rows + row;
                    layout
                        .rebuild(stripe, &failed, |place| layout.retarget(movement, place), &mut ios)
                        .unwrap();
                    assert_eq!((ios.reads().len(), ios.writes().len()), (8, 1));
                    ios.reads().iter().for_each(|io| reads[usize::from(io.drive)] += 1);
                    assert_eq!(ios.writes()[0].drive, movement.to.drive);
                }
                writes[usize::from(movement.to.drive)] += 1;
            }
            for counts in [reads, writes] {
                let mean = f64::from(counts.iter().sum::<u32>()) / f64::from(drives - 1);
                for (drive, &count) in
                    counts.iter().enumerate().filter(|&(drive, _)| drive != usize::from(failed_drive))
                {
                    assert!(count > 0, "{drives} drives: drive {drive} idle after {failed_drive} failed");
                    assert!(
                        f64::from(count) < 2.0 * mean,
                        "{drives} drives: drive {drive}: {count}, mean {mean}"
                    );
                }
            }
        }
    }
}

/// Proves that the share of D-stripes hit by two failures is about k(k−1) ÷ (n(n−1)) for every pair of drives:
/// within 25 %, which is three standard deviations of placement by chance alone at 60 drives.
#[test]
fn two_failures_hit_the_share_of_the_formula() {
    for drives in [12u32, 24, 60] {
        let layout = pool(drives);
        let count = drives as usize;
        let mut met = vec![0u32; count * count];
        let mut groups = 0;
        for group in layout.groups() {
            groups += 1;
            for one in group {
                for other in group.iter().filter(|other| other.drive != one.drive) {
                    met[usize::from(one.drive) * count + usize::from(other.drive)] += 1;
                }
            }
        }
        let expected = 90.0 / f64::from(drives * (drives - 1));
        for one in 0..count {
            for other in (0..count).filter(|&other| other != one) {
                let share = f64::from(met[one * count + other]) / f64::from(groups);
                assert!(
                    (share / expected - 1.0).abs() < 0.25,
                    "{drives}: {one} and {other} share {share}, not {expected}"
                );
            }
        }
    }
}

/// Proves that all a failed drive held finds room in the preservation capacity, keeps ten drives a D-stripe, and
/// that a second failure, put first where it hits D-stripes twice, finds room as well.
#[test]
fn preservation_capacity_takes_two_failures() {
    for drives in [12u32, 24, 60] {
        let mut layout = pool(drives);
        let mut failed = DriveSet::EMPTY;
        for drive in [3u16, 7] {
            failed.insert(drive);
            let migration = layout.plan_migration(drive, &failed);
            assert!(
                migration.homeless.is_empty(),
                "{drives} drives: {} D-stripes without a home",
                migration.homeless.len()
            );
            for movement in &migration.moves {
                assert!(layout.apply_move(movement));
                assert!(!layout.apply_move(movement), "a move is applied once");
            }
        }
        let mut homes = BTreeSet::new();
        for group in layout.groups() {
            let on: BTreeSet<_> = group.iter().map(|piece| piece.drive).collect();
            assert_eq!(on.len(), 10);
            assert!(!on.contains(&3) && !on.contains(&7));
            group.iter().for_each(|piece| assert!(homes.insert(*piece), "{piece:?} has two users"));
        }
    }
}

/// Proves that D-stripes that have lost two pieces are rebuilt before those that have lost one.
#[test]
fn critical_stripes_come_first() {
    let layout = pool(24);
    let failed = DriveSet::from_iter([1, 2]);
    let groups: Vec<Vec<u16>> =
        layout.groups().map(|group| group.iter().map(|piece| piece.drive).collect()).collect();
    let lost = |group: u64| groups[group as usize].iter().filter(|&&drive| failed.contains(drive)).count();
    let order: Vec<usize> =
        layout.plan_migration(2, &failed).moves.iter().map(|movement| lost(movement.group)).collect();
    assert!(order.is_sorted_by(|a, b| a >= b));
    assert_eq!((order.first(), order.last()), (Some(&2), Some(&1)));
}

/// Proves that a pool is laid out by its seed: the same again, another with another seed.
#[test]
fn the_seed_decides() {
    let pieces = |seed| -> Vec<layout::Piece> {
        let layout = Layout::pool(&PoolSpec::ddp(24, 64 << 30, 1, seed)).unwrap();
        layout.groups().flatten().copied().collect()
    };
    assert_eq!(pieces(1), pieces(1));
    assert_ne!(pieces(1), pieces(2));
}
