//! Snapshots: extents that are kept as they were, by copying them away or by writing elsewhere.

use std::collections::{BTreeMap, VecDeque};

use super::sparse::Sparse;
use crate::part::Counters;

/// Extents whose metadata is written at once when a snapshot is deleted.
const EXTENTS_A_RECORD: u64 = 256;

/// Snapshot that is kept.
#[derive(Debug, Clone)]
struct Snapshot {
    number: u32,
    /// By set: extents that are kept for it.
    extents: Vec<u64>,
}

/// Room for kept extents in one set.
#[derive(Debug, Clone)]
struct Reserve {
    first_bytes: u64,
    extents: u64,
    next: u64,
    used: u64,
}

/// Snapshots of all volumes of an array.
#[derive(Debug, Clone)]
pub(crate) struct Snapshots {
    pub extent_bytes: u64,
    pub record_bytes: u32,
    pub redirects: bool,
    keep: usize,
    every_ns: u64,
    delete_pause_ns: u64,
    /// By extent: the newest snapshot when it was kept last.
    kept_at: Sparse,
    /// Places, in their sets, of extents that were written elsewhere.
    moved: BTreeMap<u64, u64>,
    taken: u32,
    all: VecDeque<Snapshot>,
    reserves: Vec<Reserve>,
    due_ns: u64,
    /// By set: metadata writes that deletions still make. When the next of any is.
    deletions: Vec<u64>,
    deletion_ns: u64,
    copies: u64,
    deleted: u64,
}

/// Task that is due by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SnapshotTask {
    Take,
    /// In a set.
    DeletionRecord(u16),
}

impl Snapshots {
    /// With room in each set from its first free byte on.
    pub fn new(snapshots: &array::Snapshots, rooms: impl Iterator<Item = (u64, u64)>) -> Snapshots {
        let extent_bytes = snapshots.extent.get();
        let every_ns = snapshots.every.get();
        let reserves: Vec<Reserve> = rooms
            .map(|(first_bytes, bytes)| Reserve {
                first_bytes,
                extents: bytes / extent_bytes,
                next: 0,
                used: 0,
            })
            .collect();
        Snapshots {
            extent_bytes,
            record_bytes: snapshots.record.get() as u32,
            redirects: snapshots.method.get() == 1,
            keep: snapshots.keep.count() as usize,
            every_ns,
            delete_pause_ns: snapshots.delete_pause.get(),
            kept_at: Sparse::default(),
            moved: BTreeMap::new(),
            taken: 0,
            all: VecDeque::new(),
            deletions: vec![0; reserves.len()],
            reserves,
            due_ns: if every_ns > 0 { every_ns } else { u64::MAX },
            deletion_ns: u64::MAX,
            copies: 0,
            deleted: 0,
        }
    }

    /// A snapshot of all volumes is taken; of too many the oldest is deleted.
    pub fn take(&mut self, now_ns: u64) -> u32 {
        self.taken += 1;
        self.all.push_back(Snapshot { number: self.taken, extents: vec![0; self.reserves.len()] });
        while self.all.len() > self.keep {
            self.delete_oldest(now_ns);
        }
        self.taken
    }

    /// The oldest snapshot is deleted: its extents are free, and its metadata is written bit by bit, in the sets where they lie.
    pub fn delete_oldest(&mut self, now_ns: u64) -> Option<u32> {
        let kept = self.all.pop_front()?;
        self.deleted += 1;
        for ((reserve, deletions), extents) in
            self.reserves.iter_mut().zip(&mut self.deletions).zip(kept.extents)
        {
            reserve.used -= extents;
            *deletions += extents.div_ceil(EXTENTS_A_RECORD);
        }
        if self.is_deleting() && self.deletion_ns == u64::MAX {
            self.deletion_ns = now_ns + self.delete_pause_ns;
        }
        Some(kept.number)
    }

    /// Returns whether the extent of an address has to be kept before it is written, which is noted. Where there is no
    /// room the oldest snapshots are deleted, which the second value counts.
    pub fn must_keep(&mut self, address: u64, set: usize, now_ns: u64) -> (bool, u32) {
        let Some(newest) = self.all.back().map(|kept| kept.number) else { return (false, 0) };
        let extent = address / self.extent_bytes;
        if self.kept_at.get(extent) >= newest {
            return (false, 0);
        }
        let mut deleted = 0;
        while self.reserves[set].used >= self.reserves[set].extents {
            deleted += 1;
            if self.delete_oldest(now_ns).is_none() {
                return (false, deleted);
            }
        }
        let Some(last) = self.all.back_mut() else { return (false, deleted) };
        last.extents[set] += 1;
        self.kept_at.set(extent, newest);
        self.copies += 1;
        (true, deleted)
    }

    /// The extent of an address holds nothing that a snapshot of now would need.
    pub fn has_nothing(&mut self, address: u64) {
        if let Some(newest) = self.all.back() {
            self.kept_at.set(address / self.extent_bytes, newest.number);
        }
    }

    /// A place for a kept or moved extent, in the set.
    pub fn place(&mut self, set: usize) -> u64 {
        let reserve = &mut self.reserves[set];
        let place = reserve.first_bytes + reserve.next * self.extent_bytes;
        reserve.next = (reserve.next + 1) % reserve.extents.max(1);
        reserve.used += 1;
        place
    }

    /// Returns where the extent of an address lies, if elsewhere.
    pub fn moved_to(&self, address: u64) -> Option<u64> {
        self.moved.get(&(address / self.extent_bytes)).copied()
    }

    /// The extent of an address lies elsewhere from now on.
    pub fn move_to(&mut self, address: u64, place: u64) {
        self.moved.insert(address / self.extent_bytes, place);
    }

    /// Returns when something is due by itself.
    pub fn next_ns(&self) -> u64 {
        self.due_ns.min(self.deletion_ns)
    }

    /// Returns what is due now.
    pub fn due(&mut self, now_ns: u64) -> Option<SnapshotTask> {
        if self.due_ns <= now_ns {
            self.due_ns += self.every_ns;
            return Some(SnapshotTask::Take);
        }
        if self.deletion_ns > now_ns {
            return None;
        }
        let set = self.deletions.iter().position(|left| *left > 0)?;
        self.deletions[set] -= 1;
        self.deletion_ns = if self.is_deleting() { now_ns + self.delete_pause_ns } else { u64::MAX };
        Some(SnapshotTask::DeletionRecord(set as u16))
    }

    fn is_deleting(&self) -> bool {
        self.deletions.iter().any(|left| *left > 0)
    }

    /// Returns whether writes keep nothing, because there is no snapshot, and no deletion goes on.
    pub fn is_steady(&self) -> bool {
        self.all.is_empty() && !self.is_deleting()
    }

    /// Returns whether reads find what they find now, as long as nothing is written: no deletion goes on.
    pub fn is_steady_for_reads(&self) -> bool {
        !self.is_deleting()
    }

    /// Time passes that is not simulated.
    pub fn skip_time(&mut self, duration_ns: u64) {
        if self.due_ns != u64::MAX {
            self.due_ns = self.due_ns.saturating_sub(duration_ns);
        }
    }

    pub fn count_into(&self, counters: &mut Counters) {
        for (name, value) in [
            ("taken", u64::from(self.taken)),
            ("deleted", self.deleted),
            ("kept_extents", self.copies),
            ("fill_snapshots", self.all.len() as u64),
            ("fill_bytes", self.reserves.iter().map(|reserve| reserve.used).sum::<u64>() * self.extent_bytes),
        ] {
            counters.add("snapshots", name, value);
        }
    }
}
