//! The replicated volume: objects with a copy on one drive of each placement group, head first and tail last, no
//! two copies of an object on one node. Writes go head → all → tail and complete when all have acknowledged; reads
//! are served by the tail.

use crate::error::{LayoutError, REPLICA_COPIES_LIMIT, REPLICA_OBJECTS_LIMIT, check_size};
use crate::pieces::{Piece, PieceTable, TableShape};
use crate::pool::SplitMix64;
use crate::{DRIVE_CAPACITY_LIMIT, DRIVE_COUNT_LIMIT, DriveIndex, SECTOR_BYTES, SEGMENT_BYTES_LIMIT};

/// Parameters of a replicated volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaSpec {
    /// Size of the volume.
    pub capacity_bytes: u64,
    /// Size of an object; StorPool's are at most 32 MiB.
    pub object_bytes: u64,
    /// Drives that may hold each copy, by role: head first and tail last.
    pub groups: Vec<Vec<DriveIndex>>,
    /// Capacity of each drive, in bytes.
    pub drive_capacity_bytes: Vec<u64>,
    /// Node of each drive.
    pub nodes: Vec<u16>,
    /// Seed of the placement.
    pub seed: u64,
}

impl ReplicaSpec {
    pub(crate) fn copies(&self) -> u32 {
        self.groups.len() as u32
    }

    pub(crate) fn build(&self) -> Result<PieceTable, LayoutError> {
        self.check()?;
        let pieces: Vec<u32> =
            self.drive_capacity_bytes.iter().map(|&bytes| (bytes / self.object_bytes) as u32).collect();
        let objects = self.capacity_bytes.div_ceil(self.object_bytes);
        let mut placer = Placer {
            spec: self,
            pieces: &pieces,
            held: vec![0; pieces.len()],
            chance: SplitMix64(self.seed),
            candidates: vec![Vec::new(); self.groups.len()],
        };
        let mut entries = Vec::with_capacity(objects as usize * self.groups.len());
        let mut chosen = Vec::with_capacity(self.groups.len());
        for object in 0..objects {
            chosen.clear();
            if !placer.choose_rest(&mut chosen) {
                return Err(LayoutError::NoPlacement { object });
            }
            for &drive in &chosen {
                let held = &mut placer.held[usize::from(drive)];
                entries.push(Piece { drive, slot: *held });
                *held += 1;
            }
        }
        Ok(PieceTable::new(
            entries,
            TableShape {
                width: self.copies(),
                piece_bytes: self.object_bytes,
                rows: 1,
                object_rows: 1,
                rotates: false,
                allowed: self.groups.clone(),
                domains: self.nodes.clone(),
                pieces,
            },
        ))
    }

    fn check(&self) -> Result<(), LayoutError> {
        let copies = self.groups.len();
        if !(1..=REPLICA_COPIES_LIMIT as usize).contains(&copies) {
            return Err(LayoutError::BadCopies { copies: copies as u32 });
        }
        let drives = self.drive_capacity_bytes.len();
        if drives > DRIVE_COUNT_LIMIT as usize {
            return Err(LayoutError::TooManyDrives {
                level: "a replicated volume",
                drives: drives as u32,
                limit: DRIVE_COUNT_LIMIT,
            });
        }
        for (role, group) in self.groups.iter().enumerate() {
            let problem = if group.is_empty() {
                Some("it has no drive")
            } else if group.iter().any(|&drive| usize::from(drive) >= drives.min(self.nodes.len())) {
                Some("it names a drive that does not exist")
            } else {
                None
            };
            if let Some(problem) = problem {
                return Err(LayoutError::BadGroup { role: role as u32, problem });
            }
        }
        check_size("an object", self.object_bytes, SECTOR_BYTES, SEGMENT_BYTES_LIMIT)?;
        let capacity_limit = self.object_bytes.saturating_mul(REPLICA_OBJECTS_LIMIT);
        check_size("a replicated volume", self.capacity_bytes, SECTOR_BYTES, capacity_limit)?;
        for &capacity in &self.drive_capacity_bytes {
            check_size("a drive", capacity, SECTOR_BYTES, DRIVE_CAPACITY_LIMIT)?;
        }
        Ok(())
    }
}

struct Placer<'a> {
    spec: &'a ReplicaSpec,
    pieces: &'a [u32],
    held: Vec<u32>,
    chance: SplitMix64,
    /// Drives for each role of the object that is being placed: how many objects a drive holds, a random number, the drive.
    candidates: Vec<Vec<(u32, u64, DriveIndex)>>,
}

impl Placer<'_> {
    /// Chooses a drive for the next role and all after it; takes a choice back where it leaves a later role
    /// without a node of its own. At most eight roles deep.
    fn choose_rest(&mut self, chosen: &mut Vec<DriveIndex>) -> bool {
        let role = chosen.len();
        let Some(group) = self.spec.groups.get(role) else { return true };
        let mut candidates = std::mem::take(&mut self.candidates[role]);
        candidates.clear();
        candidates.extend(group.iter().copied().filter_map(|drive| {
            let index = usize::from(drive);
            let is_free = self.held[index] < self.pieces[index]
                && chosen.iter().all(|&other| self.spec.nodes[usize::from(other)] != self.spec.nodes[index]);
            is_free.then(|| (self.held[index], self.chance.below(u64::MAX), drive))
        }));
        // Nearly always the first that is tried will do, so the rest is not sorted.
        let mut is_placed = false;
        while !is_placed && let Some(least) = (0..candidates.len()).min_by_key(|&at| candidates[at]) {
            chosen.push(candidates.swap_remove(least).2);
            is_placed = self.choose_rest(chosen);
            if !is_placed {
                chosen.pop();
            }
        }
        self.candidates[role] = candidates;
        is_placed
    }
}
