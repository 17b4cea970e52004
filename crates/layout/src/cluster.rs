//! Cluster pool: replicas or erasure-coded stripes whose members lie on different nodes, placed over all drives. Drives hold equally
//! many pieces within a tenth.

use crate::error::{LayoutError, check_size};
use crate::layout::Redundancy;
use crate::pieces::{PieceTable, TableShape};
use crate::pool::{POOL_PIECE_COUNT_LIMIT, place_balanced};
use crate::{DRIVE_CAPACITY_LIMIT, DRIVE_COUNT_LIMIT, SECTOR_BYTES, SEGMENT_BYTES_LIMIT};

/// Pieces in a hundred that are kept free, as room for what a lost drive held.
const FREE_PERCENT: u64 = 5;
/// Stripes of the pattern of placement for each drive: enough that every drive meets a hundred others.
const PATTERN_STRIPES_PER_DRIVE: u64 = 8;

/// Specification of a cluster pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterSpec {
    /// Node of each drive. No two members of a stripe share a node.
    pub nodes: Vec<u16>,
    /// Bytes that each drive gives the pool.
    pub drive_capacity_bytes: u64,
    /// Bytes of one stripe on one drive.
    pub segment_bytes: u64,
    /// Bytes of an object on one drive; a multiple of the segment.
    pub object_bytes: u64,
    /// Bytes of a row of objects on one drive; a multiple of an object's.
    pub piece_bytes: u64,
    /// Data segments of a stripe; 1 for replicas.
    pub data: u32,
    /// Copies, or parity segments.
    pub redundancy: Redundancy,
    /// Seed of the placement.
    pub seed: u64,
}

impl ClusterSpec {
    fn width(&self) -> u32 {
        match self.redundancy {
            Redundancy::Copies(copies) => copies,
            Redundancy::Parity(parity) => self.data + parity,
        }
    }

    pub(crate) fn build(&self) -> Result<PieceTable, LayoutError> {
        self.check()?;
        let drives = self.nodes.len() as u32;
        let pieces = self.drive_capacity_bytes / self.piece_bytes;
        let total = pieces * u64::from(drives);
        if total > POOL_PIECE_COUNT_LIMIT {
            return Err(LayoutError::BadSize {
                what: "all pieces of a cluster pool",
                bytes: total.saturating_mul(self.piece_bytes),
                multiple: self.piece_bytes,
                limit: POOL_PIECE_COUNT_LIMIT.saturating_mul(self.piece_bytes),
            });
        }
        let stripes = total * (100 - FREE_PERCENT) / 100 / u64::from(self.width());
        if stripes == 0 {
            return Err(LayoutError::DriveTooSmall {
                what: "piece",
                bytes: self.piece_bytes,
                drive_capacity_bytes: self.drive_capacity_bytes,
            });
        }
        let pattern_stripes = u64::from(drives) * PATTERN_STRIPES_PER_DRIVE;
        let entries = place_balanced(&self.nodes, self.width(), stripes, pattern_stripes, self.seed);
        if let Some(index) = entries.iter().position(|piece| u64::from(piece.slot) >= pieces) {
            return Err(LayoutError::NoPlacement { object: index as u64 / u64::from(self.width()) });
        }
        Ok(PieceTable::new(
            entries,
            TableShape {
                width: self.width(),
                piece_bytes: self.piece_bytes,
                rows: self.piece_bytes / self.segment_bytes,
                object_rows: self.object_bytes / self.segment_bytes,
                rotates: matches!(self.redundancy, Redundancy::Parity(_)),
                allowed: Vec::new(),
                domains: self.nodes.clone(),
                pieces: vec![pieces as u32; drives as usize],
            },
        ))
    }

    fn check(&self) -> Result<(), LayoutError> {
        let (data, parity) = match self.redundancy {
            Redundancy::Copies(copies) if (1..=crate::error::REPLICA_COPIES_LIMIT).contains(&copies) => {
                (self.data, 1)
            }
            Redundancy::Copies(copies) => return Err(LayoutError::BadCopies { copies }),
            Redundancy::Parity(parity) => (self.data, parity),
        };
        let most = if matches!(self.redundancy, Redundancy::Copies(_)) { 1 } else { 255 };
        if !(1..=most).contains(&data) || !(1..=2).contains(&parity) {
            return Err(LayoutError::BadStripeShape { data, parity });
        }
        if self.nodes.len() > DRIVE_COUNT_LIMIT as usize {
            return Err(LayoutError::TooManyDrives {
                level: "a cluster pool",
                drives: self.nodes.len() as u32,
                limit: DRIVE_COUNT_LIMIT,
            });
        }
        let mut nodes = self.nodes.clone();
        nodes.sort_unstable();
        nodes.dedup();
        if (nodes.len() as u32) < self.width() {
            return Err(LayoutError::TooFewDrives {
                level: "a cluster pool over nodes",
                drives: nodes.len() as u32,
                minimum: self.width(),
            });
        }
        check_size("a segment", self.segment_bytes, SECTOR_BYTES, SEGMENT_BYTES_LIMIT)?;
        check_size("an object", self.object_bytes, self.segment_bytes, DRIVE_CAPACITY_LIMIT)?;
        check_size("a piece", self.piece_bytes, self.object_bytes, DRIVE_CAPACITY_LIMIT)?;
        check_size("a drive", self.drive_capacity_bytes, SECTOR_BYTES, DRIVE_CAPACITY_LIMIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IoList, Layout};
    use proptest::prelude::*;

    /// Proves that objects which follow each other lie on all drives of a cluster in turn, however many of them a piece holds; that
    /// what a group holds is found by its numbers; and that what does not fill the groups in use stays where it was.
    #[test]
    fn objects_that_follow_each_other_lie_on_all_drives() {
        let nodes: Vec<u16> = (0..24).map(|drive| drive / 2).collect();
        let spec = ClusterSpec {
            nodes,
            drive_capacity_bytes: 1 << 30,
            segment_bytes: 64 << 10,
            object_bytes: 128 << 10,
            piece_bytes: 32 << 20,
            data: 8,
            redundancy: Redundancy::Parity(2),
            seed: 1,
        };
        let in_groups = Layout::cluster(&spec).unwrap();
        let mut layout = in_groups.clone();
        let (rows, groups) = (512, 24);
        layout.spread_objects((groups * rows + 100) * layout.stripe_bytes());
        let drives_of = |layout: &Layout, stripes: std::ops::Range<u64>| {
            let mut held = vec![0u32; spec.nodes.len()];
            for stripe in stripes {
                (0..10).for_each(|member| held[usize::from(layout.place(stripe, member).drive)] += 1);
            }
            held
        };
        // Two stripes an object, one object of each group.
        let held = drives_of(&layout, 0..2 * groups);
        assert!(held.iter().all(|&count| (18..=22).contains(&count)), "{held:?}");
        assert!(drives_of(&in_groups, 0..2 * groups).iter().filter(|&&count| count > 0).count() == 10);
        for number in 0..(groups + 2) * rows {
            let stripe = layout.stripe_at(number);
            assert_eq!(layout.group_of(stripe), number / rows);
            assert_eq!(layout.place(stripe, 3), in_groups.place(number, 3));
        }
        assert_eq!(layout.stripe_at(groups * rows + 7), groups * rows + 7);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Proves that members of a stripe lie on different nodes, that no two stripes share a place, and that drives hold
        /// equally many pieces within a tenth of the mean.
        #[test]
        fn members_lie_on_different_nodes(nodes in 3u16..14, per_node in 1u16..6, is_code in any::<bool>(), is_spread in any::<bool>(), seed in any::<u64>()) {
            let (data, redundancy) = if is_code && nodes >= 4 { (u32::from(nodes) - 2, Redundancy::Parity(2)) } else { (1, Redundancy::Copies(3)) };
            let spec = ClusterSpec {
                nodes: (0..nodes * per_node).map(|drive| drive / per_node).collect(),
                drive_capacity_bytes: 64 << 20,
                segment_bytes: 64 << 10,
                object_bytes: 128 << 10,
                piece_bytes: 1 << 20,
                data,
                redundancy,
                seed,
            };
            let mut layout = Layout::cluster(&spec).unwrap();
            layout.spread_objects(layout.capacity_bytes() / 3 * u64::from(is_spread));
            let mut taken = std::collections::BTreeSet::new();
            let mut held = vec![0u32; spec.nodes.len()];
            for stripe in 0..layout.stripes() {
                let mut on = std::collections::BTreeSet::new();
                for member in 0..layout.members() {
                    let place = layout.place(stripe, member);
                    prop_assert!(on.insert(spec.nodes[usize::from(place.drive)]));
                    prop_assert!(taken.insert((place.drive, place.offset_bytes)));
                    prop_assert!(place.offset_bytes + (64 << 10) <= 64 << 20);
                    held[usize::from(place.drive)] += 1;
                }
            }
            let (least, most) = (held.iter().min().unwrap(), held.iter().max().unwrap());
            let mean = held.iter().sum::<u32>() / held.len() as u32;
            // A pattern is repeated over the drives, and what it leaves uneven with it.
            prop_assert!(most - least <= mean / 10 + 2 * 16, "{held:?}");
            let mut plan = IoList::with_capacity(16);
            layout.write(4096, 4096, &crate::Healthy, &mut plan).unwrap();
            prop_assert_eq!(plan.writes().len() as u32, if layout.data_members() == 1 { 3 } else { 3.min(layout.members()) });
        }
    }
}
