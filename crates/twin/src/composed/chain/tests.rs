//! Placement of the replicas of the shipped array of chains.

use super::placement::Placement;
use super::row::Row;

/// Groups of the shipped array.
const NVME: u8 = 0;
const HDD: u8 = 1;

/// The shipped array of chains.
fn storpool() -> array::Array {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../arrays/storpool.yaml");
    *plan::parse_array("storpool", &std::fs::read_to_string(path).unwrap()).unwrap().parts
}

fn row(groups: [u8; 3]) -> Row<u8> {
    groups.into_iter().collect()
}

fn placement() -> Placement {
    Placement::new(&storpool(), 1).unwrap()
}

fn check(placement: &Placement) {
    let mut slots = std::collections::BTreeSet::new();
    let mut held = vec![0; placement.drives.count() as usize];
    for volume in 0..3 {
        for object in 0..placement.objects(volume) {
            let places = placement.places(volume, object);
            let nodes: std::collections::BTreeSet<_> =
                places.iter().map(|place| placement.drives.drive_slot(place.drive).node).collect();
            assert_eq!(nodes.len(), 3, "{places:?}");
            for place in places.iter() {
                assert!(slots.insert((place.drive, place.slot)), "{place:?} is taken twice");
                held[place.drive as usize] += 1;
            }
        }
    }
    let counted: Vec<u32> = (0..placement.drives.count()).map(|drive| placement.held(drive)).collect();
    assert_eq!(counted, held);
}

/// Proves that no slot is taken twice, no node holds two replicas of an object, and templates are kept, at the start and
/// after a move and back.
#[test]
fn every_replica_has_one_home() {
    let mut placement = placement();
    check(&placement);
    for groups in [[NVME; 3], [HDD, HDD, NVME], [HDD; 3]] {
        for object in 0..placement.objects(2) {
            let places = placement.plan(2, object, row(groups)).unwrap();
            placement.commit(2, object, places);
            assert!(placement.fits(2, object, row(groups)));
        }
        check(&placement);
    }
    let spread: Vec<u32> = placement.drives.of_group(HDD).map(|drive| placement.held(drive)).collect();
    let (least, most) = (spread.iter().min().unwrap(), spread.iter().max().unwrap());
    assert!(most - least <= 4, "{spread:?}");
}

/// Proves that a move to hybrid leaves two replicas of an all-HDD object where they are.
#[test]
fn what_fits_stays() {
    let mut placement = placement();
    let old = *placement.places(2, 0);
    let new = placement.plan(2, 0, row([HDD, HDD, NVME])).unwrap();
    assert_eq!(new.iter().filter(|place| old.contains(place)).count(), 2);
    placement.abandon(2, 0, new);
    check(&placement);
}

/// Proves that a lost drive's replicas go to other drives of its node, and that with no such drive the object stays.
#[test]
fn a_lost_drive_is_replaced() {
    let mut placement = placement();
    let lost = placement.places(0, 0)[0].drive;
    placement.availability.fail(lost);
    let new = placement.plan(0, 0, row([NVME; 3])).unwrap();
    assert!(new.iter().all(|place| place.drive != lost));
    for drive in placement.drives.of_group(NVME) {
        placement.availability.fail(drive);
    }
    assert_eq!(placement.plan(0, 0, row([NVME; 3])), None);
}
