//! Drives that are lost, and their rebuild onto a spare or into preservation capacity.

use layout::{DriveIndex, DriveSet, Move, Rebuilding};

use super::Model;
use super::arrangement::Arrangement;
use super::description::Description;
use super::happening::Happening;
use crate::TwinNote;

/// The drive that the event `drive-failure` takes: as good as any, drives are alike.
pub(crate) const FIRST_TO_FAIL: DriveIndex = 0;

/// How rebuilds go, and how far this one is.
#[derive(Debug, Clone)]
struct Course {
    begins_after_ns: u64,
    stripes_limit: u32,
    /// Between the starts of two stripes.
    pace_ns: u64,
    next_allowed_ns: u64,
    timer_is_set: bool,
    under_way: u32,
    next_stripe: u64,
    /// Stripes from here on hold no volume.
    end_stripe: u64,
    is_running: bool,
    /// In a pool: pieces that get a new home, in order, and which one is being filled.
    moves: Vec<Move>,
    current: usize,
}

/// Which drives are lost, and what has taken their place.
#[derive(Debug, Clone)]
pub(crate) struct Loss {
    pub condition: Rebuilding,
    /// By drive of the layout: the drive fitted in its place.
    pub slots: Box<[u32]>,
    spares: Vec<u32>,
    is_pool: bool,
    stripes_per_group: u64,
    course: Option<Course>,
}

impl Loss {
    pub fn new(description: &Description, arrangement: &Arrangement) -> Loss {
        let layout = &arrangement.layout;
        let groups = layout.groups().count() as u64;
        let fitted = description.drives.count.get();
        let used_stripes = arrangement.capacity_bytes().div_ceil(layout.stripe_bytes());
        let course = description.rebuild.as_ref().map(|rebuild| Course {
            begins_after_ns: (rebuild.begins_after_s.get() * 1e9) as u64,
            stripes_limit: rebuild.stripes.get(),
            pace_ns: (f64::from(layout.segment_bytes()) * 1000.0 / rebuild.mb_per_s.get()) as u64,
            next_allowed_ns: 0,
            timer_is_set: false,
            under_way: 0,
            next_stripe: 0,
            end_stripe: used_stripes,
            is_running: false,
            moves: Vec::new(),
            current: 0,
        });
        Loss {
            condition: Rebuilding { failed: DriveSet::EMPTY, rebuilt_below_stripe: 0 },
            slots: (0..layout.drives()).collect(),
            spares: (layout.drives()..fitted).rev().collect(),
            is_pool: groups > 0,
            stripes_per_group: layout.stripes().checked_div(groups).unwrap_or(1),
            course,
        }
    }

    /// Whether a rebuild runs or is about to begin.
    pub fn is_rebuilding(&self) -> bool {
        self.course.as_ref().is_some_and(|course| course.is_running)
    }
}

impl Model {
    fn note(&mut self, says: String) {
        self.notes.push(TwinNote { at_ns: self.now_ns, says });
    }

    /// A drive is lost. What it was already given it still does.
    pub(super) fn drive_fails(&mut self, drive: u32) {
        let index = drive as DriveIndex;
        if !self.loss.condition.failed.insert(index) {
            return;
        }
        self.note(format!("drive-{} fails", self.loss.slots[drive as usize]));
        self.loss.condition.rebuilt_below_stripe = 0;
        let layout = &self.arrangement.layout;
        let failed = self.loss.condition.failed;
        let spare = if self.loss.is_pool { None } else { self.loss.spares.pop() };
        let Some(course) = &mut self.loss.course else { return };
        if self.loss.is_pool {
            let stripes_per_group = self.loss.stripes_per_group;
            course.moves = layout.plan_rehoming(index, &failed).moves;
            course.moves.retain(|movement| movement.group * stripes_per_group < course.end_stripe);
            course.current = 0;
            course.next_stripe = 0;
            if course.moves.is_empty() {
                return;
            }
        } else {
            let Some(spare) = spare else { return };
            self.loss.slots[drive as usize] = spare;
            course.next_stripe = 0;
        }
        course.is_running = true;
        course.timer_is_set = true;
        let begins_ns = self.now_ns + course.begins_after_ns;
        self.queue.push(begins_ns, Happening::Rebuild.pack());
    }

    /// The rebuild may go on.
    pub(super) fn rebuild_timer(&mut self) {
        if let Some(course) = &mut self.loss.course {
            course.timer_is_set = false;
        }
        self.rebuild_on();
    }

    fn rebuild_on(&mut self) {
        loop {
            let Some(course) = &mut self.loss.course else { return };
            if !course.is_running || course.timer_is_set || course.under_way >= course.stripes_limit {
                return;
            }
            let stripe = match course.moves.get(course.current) {
                Some(movement) => {
                    // One piece at a time: the next begins when the last stripe of this one is there.
                    let first = movement.group * self.loss.stripes_per_group;
                    if course.next_stripe == self.loss.stripes_per_group {
                        return;
                    }
                    first + course.next_stripe
                }
                None if course.next_stripe >= course.end_stripe => return,
                None => course.next_stripe,
            };
            if course.next_allowed_ns > self.now_ns {
                course.timer_is_set = true;
                self.queue.push(course.next_allowed_ns, Happening::Rebuild.pack());
                return;
            }
            course.next_allowed_ns = course.next_allowed_ns.max(self.now_ns) + course.pace_ns;
            course.next_stripe += 1;
            course.under_way += 1;
            self.begin_rebuild(stripe);
        }
    }

    /// Plans a stripe of the rebuild; false where there is nothing to do or too much is lost.
    pub(super) fn plan_rebuild(&mut self, stripe: u64) -> bool {
        let layout = &self.arrangement.layout;
        // Every failed drive counts, wherever the mark stands.
        let failed = self.loss.condition.failed;
        let movement = self.loss.course.as_ref().and_then(|course| course.moves.get(course.current));
        let retarget = |place| movement.map_or(place, |movement| layout.retarget(movement, place));
        layout.rebuild(stripe, &failed, retarget, &mut self.plan).is_ok()
    }

    /// A stripe is whole again.
    pub(super) fn stripe_is_rebuilt(&mut self) {
        let Some(course) = &mut self.loss.course else { return };
        course.under_way -= 1;
        let mut is_over = false;
        if let Some(movement) = course.moves.get(course.current).copied() {
            if course.under_way == 0 && course.next_stripe == self.loss.stripes_per_group {
                self.arrangement.layout.apply_move(&movement);
                course.current += 1;
                course.next_stripe = 0;
                is_over = course.current == course.moves.len();
            }
        } else {
            self.loss.condition.rebuilt_below_stripe = course.next_stripe - u64::from(course.under_way);
            is_over = course.under_way == 0 && course.next_stripe >= course.end_stripe;
        }
        if is_over {
            course.is_running = false;
            course.moves.clear();
            // In a pool the drive stays away, but nothing of a volume lies on it any more.
            if !self.loss.is_pool {
                self.loss.condition.failed = DriveSet::EMPTY;
            }
            self.note("the rebuild is done".into());
        }
        self.rebuild_on();
    }
}
