//! Drives that are lost, and their rebuild onto a spare or into preservation capacity.

use layout::{DriveIndex, Layout, Move};

use super::Model;
use super::happening::Happening;
use crate::TwinNote;
use crate::course::{Refill, Refilling};

/// In a pool: what a lost drive held, and the new homes that it gets.
#[derive(Debug, Clone)]
pub(crate) struct Rehoming {
    pub is_pool: bool,
    stripes_per_group: u64,
    /// Pieces that get a new home, in order, and which one is being filled.
    moves: Vec<Move>,
    current: usize,
}

impl Rehoming {
    pub fn new(layout: &Layout) -> Rehoming {
        let groups = layout.groups().count() as u64;
        Rehoming {
            is_pool: groups > 0,
            stripes_per_group: layout.stripes().checked_div(groups).unwrap_or(1),
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

    fn rebuild_at(&mut self, at_ns: u64) {
        self.queue.push(at_ns, Happening::Rebuild.pack());
    }

    fn rebuild_stripe(&mut self, stripe: u64) {
        self.begin_rebuild(stripe);
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
            self.give_new_homes(drive);
        }
    }

    /// In a pool what a drive held gets new homes.
    fn give_new_homes(&mut self, drive: DriveIndex) {
        let (recovery, rehoming) = (&mut self.recovery, &mut self.rehoming);
        let mut moves = self.arrangement.layout.plan_rehoming(drive, recovery.loss.failed()).moves;
        moves.retain(|movement| movement.group * rehoming.stripes_per_group < recovery.used_stripes);
        (rehoming.moves, rehoming.current) = (moves, 0);
        let (Some(stripes), Some(course)) = (rehoming.stripes(), &mut recovery.rebuild) else { return };
        if let Some(begins_ns) = course.begin(self.now_ns, stripes) {
            self.queue.push(begins_ns, Happening::Rebuild.pack());
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

    /// In a pool: when all stripes of a piece are at home, the next piece follows. The drive stays away, but in the end
    /// nothing of a volume lies on it any more.
    fn stripe_has_its_home(&mut self, movement: &Move) {
        let Some(course) = &mut self.recovery.rebuild else { return };
        if !course.stripe_is_whole() {
            return;
        }
        self.arrangement.layout.apply_move(movement);
        self.rehoming.current += 1;
        match self.rehoming.stripes() {
            Some(stripes) => course.go_on_with(stripes),
            None => {
                course.stop();
                self.rehoming.moves.clear();
                self.note("the rebuild is done".into());
            }
        }
    }
}
