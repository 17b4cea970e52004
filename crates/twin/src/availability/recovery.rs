//! Recovery of a RAID group: spares and new drives take the slots of lost drives and are rebuilt stripe by
//! stripe.

use layout::{DriveIndex, IoList, Layout};

use super::loss::Loss;
use super::rebuild::{Rebuild, RebuildScheduler};
use crate::TwinNote;
use crate::faults::SetFaults;

/// The drives of a set, lost and fitted, and the rebuild of what is lost.
#[derive(Debug, Clone)]
pub(crate) struct Recovery {
    /// Name of its drives.
    part: &'static str,
    /// Number of its first drive in notes: those of other groups come before.
    first_number: u32,
    pub loss: Loss,
    /// By place of the set: the number of the drive fitted in it.
    fitted: Box<[u32]>,
    /// Numbers of hot spares, the next one last.
    spares: Vec<u32>,
    /// Stripes from here on hold no volume.
    pub used_stripes: u64,
    /// None where lost drives stay lost.
    pub rebuild: Option<RebuildScheduler>,
}

impl Recovery {
    /// A whole set; drives beyond it are hot spares. `used_bytes` is how much of it volumes lie on.
    pub fn new(
        part: &'static str,
        rebuild: Option<&Rebuild>,
        set: &Layout,
        fitted: u32,
        used_bytes: u64,
    ) -> Recovery {
        Recovery {
            part,
            first_number: 0,
            loss: Loss::NONE,
            fitted: (0..set.drives()).collect(),
            spares: (set.drives()..fitted).rev().collect(),
            used_stripes: used_bytes.div_ceil(set.stripe_bytes()),
            rebuild: rebuild.map(|rebuild| RebuildScheduler::new(rebuild, set.segment_bytes())),
        }
    }

    /// The same, whose drives are numbered from `first` on in notes.
    pub fn numbered_from(mut self, first: u32) -> Recovery {
        self.first_number = first;
        self
    }

    /// Number of the drive fitted in a place, as notes give it.
    fn noted(&self, place: DriveIndex) -> u32 {
        self.first_number + self.fitted[usize::from(place)]
    }

    /// By place of the set: the number of the drive fitted in it.
    #[inline]
    pub fn fitted(&self) -> &[u32] {
        &self.fitted
    }

    /// Returns what has become of the drives, for another model of the array.
    pub fn faults(&self) -> SetFaults {
        let failed = self.loss.failed().iter();
        SetFaults {
            fitted: self.fitted.to_vec(),
            spares: self.spares.clone(),
            lost: failed.filter(|&place| self.loss.is_empty_place(place)).collect(),
            rebuilding: self.loss.filling().iter().collect(),
            rebuilt_below_stripe: if self.loss.filling().is_empty() {
                0
            } else {
                self.loss.filled_below_stripe()
            },
        }
    }

    /// Returns whether this can have become of the drives of a set that is whole yet.
    pub fn can_begin_with(&self, faults: &SetFaults) -> bool {
        let places = self.fitted.len();
        let drives = places + self.spares.len();
        let is_drive = |&number: &u32| (number as usize) < drives;
        let is_place = |&place: &DriveIndex| usize::from(place) < places;
        faults.fitted.len() == places
            && faults.fitted.iter().all(is_drive)
            && faults.spares.iter().all(is_drive)
            && faults.lost.iter().chain(&faults.rebuilding).all(is_place)
    }

    /// Begins with what had become of the drives in another model of the array.
    pub fn begin_with(&mut self, faults: &SetFaults) {
        self.fitted = faults.fitted.clone().into();
        self.spares = faults.spares.clone();
        for &place in faults.lost.iter().chain(&faults.rebuilding) {
            self.loss.lose(place);
        }
        for &place in &faults.rebuilding {
            self.loss.fill(place);
        }
        self.loss.filled_below(faults.rebuilt_below_stripe.min(self.used_stripes));
    }

    /// A drive is lost; false where its place is empty already.
    pub fn lose(&mut self, now_ns: u64, place: DriveIndex, notes: &mut Vec<TwinNote>) -> bool {
        let is_new = self.loss.lose(place);
        if is_new {
            let says = format!("{}-{} fails", self.part, self.noted(place));
            notes.push(TwinNote { at_ns: now_ns, says });
        }
        is_new
    }

    /// The number of the hot spare that takes an empty place, if there is one.
    pub fn take_spare(&mut self, place: DriveIndex) -> Option<u32> {
        self.rebuild.as_ref()?;
        let spare = self.spares.pop()?;
        self.fitted[usize::from(place)] = spare;
        self.loss.fill(place);
        Some(spare)
    }

    /// A new drive takes an empty place; false where there is no such place.
    pub fn take_new(&mut self, now_ns: u64, place: DriveIndex, notes: &mut Vec<TwinNote>) -> bool {
        let is_taken = self.rebuild.is_some() && self.loss.is_empty_place(place);
        let says = if is_taken {
            self.loss.fill(place);
            format!("a new {0} takes the place of {0}-{1}", self.part, self.noted(place))
        } else {
            format!("the place of {0}-{1} needs no new {0}", self.part, self.noted(place))
        };
        notes.push(TwinNote { at_ns: now_ns, says });
        is_taken
    }

    /// Begins to fill the places that were taken, from a stripe on, as far as what is left suffices. Returns when the rebuild is
    /// to be asked for its turns, unless it is to be asked already.
    pub fn fill_places(
        &mut self,
        now_ns: u64,
        first_stripe: u64,
        set: &Layout,
        plan: &mut IoList,
        notes: &mut Vec<TwinNote>,
    ) -> Option<u64> {
        let failed = self.loss.failed();
        let is_filling = failed.iter().any(|place| self.loss.is_filling(place));
        // Each stripe of a RAID level lies on all drives: what holds for one holds for all.
        let is_lost = set.rebuild(0, failed, |place| place, plan).is_err();
        let rebuild = self.rebuild.as_mut()?;
        if is_filling && !is_lost {
            let begins_ns = rebuild.begin(now_ns, first_stripe..self.used_stripes)?;
            // One that goes on had its wait before.
            return Some(if first_stripe > 0 { now_ns } else { begins_ns });
        }
        rebuild.stop();
        if is_filling {
            notes.push(TwinNote { at_ns: now_ns, says: "nothing is rebuilt: too much is lost".into() });
        }
        None
    }

    /// Returns how many rebuilds have begun so far, after their delay.
    pub fn rebuilds_begun(&self) -> u64 {
        self.rebuild.as_ref().map_or(0, RebuildScheduler::begun)
    }

    /// Measures the pace of a rebuild from now on.
    pub fn measure_pace(&mut self) {
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.pace.measure_anew();
        }
    }

    /// Share of the used stripes that a rebuild has behind it; `None` where none runs.
    pub fn rebuilt_share(&self) -> Option<f64> {
        let rebuild = self.rebuild.as_ref().filter(|rebuild| rebuild.is_running())?;
        Some(rebuild.whole_below() as f64 / self.used_stripes.max(1) as f64)
    }

    /// Plans a stripe of the rebuild: every lost drive counts, wherever the mark stands.
    pub fn plan_stripe(&self, stripe: u64, set: &Layout, plan: &mut IoList) -> bool {
        set.rebuild(stripe, self.loss.failed(), |place| place, plan).is_ok()
    }

    /// A stripe that was begun is whole again.
    pub fn stripe_is_whole(&mut self, now_ns: u64, notes: &mut Vec<TwinNote>) {
        let Some(rebuild) = &mut self.rebuild else { return };
        let is_over = rebuild.stripe_is_whole();
        self.loss.filled_below(rebuild.whole_below());
        if is_over {
            rebuild.stop();
            self.loss.is_filled();
            notes.push(TwinNote { at_ns: now_ns, says: "the rebuild is done".into() });
        }
    }
}
