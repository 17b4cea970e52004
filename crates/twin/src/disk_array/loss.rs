//! Drives that are lost, and their rebuild onto a spare or into preservation capacity.

use layout::{DriveIndex, Layout, Move};

use super::Model;
use super::happening::Happening;
use crate::TwinNote;
use crate::availability::{Rebuilds, Refill, Refilling};
use crate::drive::Slowness;

/// In a pool: what lost drives held, and the new homes that it gets.
#[derive(Debug, Clone)]
pub(crate) struct Rehoming {
    pub is_pool: bool,
    stripes_per_group: u64,
    /// Lost drives of which pieces have no new home yet, the one that is seen to first.
    drives: Vec<DriveIndex>,
    /// Lost drives whose places a new one has taken, which waits until nothing of the lost one is missed.
    replaced: Vec<DriveIndex>,
    /// Pieces of the first drive that get a new home, in order, and which one is being filled.
    moves: Vec<Move>,
    current: usize,
}

impl Rehoming {
    pub fn new(layout: &Layout) -> Rehoming {
        let groups = layout.groups().count() as u64;
        Rehoming {
            is_pool: groups > 0,
            stripes_per_group: layout.stripes().checked_div(groups).unwrap_or(1),
            drives: Vec::new(),
            replaced: Vec::new(),
            moves: Vec::new(),
            current: 0,
        }
    }

    /// The piece that is being filled.
    fn current(&self) -> Option<&Move> {
        self.moves.get(self.current)
    }

    /// The stripes of the piece that is being filled.
    fn stripes(&self) -> Option<std::ops::Range<u64>> {
        let first = self.current()?.group * self.stripes_per_group;
        Some(first..first + self.stripes_per_group)
    }
}

impl Rebuilds for Model {
    fn rebuild_at(&mut self, at_ns: u64) {
        self.queue.push(at_ns, Happening::Rebuild(()).pack());
    }

    fn rebuild_stripe(&mut self, stripe: u64) {
        self.begin_rebuild(stripe);
    }
}

impl Refill for Model {
    fn refilling(&mut self) -> Refilling<'_> {
        Refilling {
            now_ns: self.now_ns,
            recovery: &mut self.recovery,
            set: &self.arrangement.layout,
            plan: &mut self.plan,
            notes: &mut self.notes,
        }
    }

    fn fit_new(&mut self, _place: DriveIndex, number: u32) {
        self.drives.slow_down(number, Slowness::NONE);
    }
}

impl Model {
    pub(super) fn note(&mut self, says: String) {
        self.notes.push(TwinNote { at_ns: self.now_ns, says });
    }

    /// A drive is lost. What it was already given it still does.
    pub(super) fn drive_fails(&mut self, drive: DriveIndex) {
        if !self.rehoming.is_pool {
            self.drive_is_lost(drive);
        } else if self.recovery.lose(self.now_ns, drive, &mut self.notes) {
            self.rehoming.replaced.retain(|&replaced| replaced != drive);
            self.rehoming.drives.push(drive);
            self.give_new_homes();
        }
    }

    /// A new drive takes the place of one that is lost.
    pub(super) fn drive_is_replaced(&mut self, drive: DriveIndex) {
        if !self.rehoming.is_pool {
            self.drive_is_new(drive);
        } else if self.recovery.take_new(self.now_ns, drive, &mut self.notes) {
            self.fit_new(drive, self.recovery.fitted()[usize::from(drive)]);
            self.rehoming.replaced.push(drive);
            self.take_back();
        }
    }

    /// In a pool what lost drives held gets new homes, one drive after the other. What has lost most goes first.
    fn give_new_homes(&mut self) {
        let (recovery, rehoming) = (&mut self.recovery, &mut self.rehoming);
        rehoming.moves.clear();
        while let Some(drive) = rehoming.drives.first().copied() {
            let mut moves = self.arrangement.layout.plan_migration(drive, recovery.loss.failed()).moves;
            moves.retain(|movement| movement.group * rehoming.stripes_per_group < recovery.used_stripes);
            (rehoming.moves, rehoming.current) = (moves, 0);
            if !rehoming.moves.is_empty() {
                break;
            }
            rehoming.drives.remove(0);
        }
        let (Some(stripes), Some(failover)) = (rehoming.stripes(), &mut recovery.rebuild) else { return };
        if let Some(begins_ns) = failover.begin(self.now_ns, stripes) {
            self.queue.push(begins_ns, Happening::Rebuild(()).pack());
        }
    }

    /// In a pool: new drives whose predecessors nothing is missed of serve as free capacity from now on. Pieces that had found
    /// no room may have it then.
    fn take_back(&mut self) {
        let (recovery, rehoming) = (&mut self.recovery, &mut self.rehoming);
        let layout = &self.arrangement.layout;
        let before = rehoming.replaced.len();
        rehoming.replaced.retain(|&drive| {
            let rest = layout.plan_migration(drive, recovery.loss.failed());
            let is_used = |group: u64| group * rehoming.stripes_per_group < recovery.used_stripes;
            let is_missed = rest.moves.iter().any(|movement| is_used(movement.group))
                || rest.homeless.iter().any(|&group| is_used(group));
            if !is_missed {
                recovery.loss.is_back(drive);
            }
            is_missed
        });
        if rehoming.replaced.len() < before {
            let failed = recovery.loss.failed().iter();
            rehoming.drives = failed.collect();
            self.give_new_homes();
        }
    }

    /// Plans a stripe of the rebuild; false where there is nothing to do or too much is lost.
    pub(super) fn plan_rebuild(&mut self, stripe: u64) -> bool {
        let layout = &self.arrangement.layout;
        match self.rehoming.current() {
            None => self.recovery.plan_stripe(stripe, layout, &mut self.plan),
            Some(movement) => {
                let retarget = |place| layout.retarget(movement, place);
                layout.rebuild(stripe, self.recovery.loss.failed(), retarget, &mut self.plan).is_ok()
            }
        }
    }

    /// A stripe is whole again.
    pub(super) fn stripe_is_rebuilt(&mut self) {
        if let Some(movement) = self.rehoming.current().copied() {
            self.stripe_has_its_home(&movement);
            self.rebuild_on();
        } else {
            self.stripe_is_whole();
        }
    }

    /// In a pool: when all stripes of a piece are at home, the next piece follows, and the next drive's when nothing of a
    /// volume lies on the lost one any more.
    fn stripe_has_its_home(&mut self, movement: &Move) {
        let Some(failover) = &mut self.recovery.rebuild else { return };
        if !failover.stripe_is_whole() {
            return;
        }
        self.arrangement.layout.apply_move(movement);
        self.rehoming.current += 1;
        match self.rehoming.stripes() {
            Some(stripes) => failover.go_on_with(stripes),
            None => {
                failover.stop();
                self.rehoming.drives.remove(0);
                self.give_new_homes();
                if self.rehoming.drives.is_empty() {
                    self.note("the rebuild is done".into());
                }
                self.take_back();
            }
        }
    }
}
