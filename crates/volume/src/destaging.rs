//! Destaging of the journal to the drives, beside those who read and write.
//!
//! When the younger generation of the overlay is full, or its half of the journal, the two turn: what was younger changes
//! no more, and is brought to the drives in batches while others write to the next. When all of it is there, and
//! durable, its half of the journal is forgotten and the generation taken away. Any thread may bring a batch: the one
//! that serves [`Volume::destage_for`], and who writes while that one falls behind, so that nobody ever waits for the
//! whole of it.

use crate::VolumeError;
use crate::destage::{Older, Pages};
use crate::error::ErrorContext;
use crate::journal::HALF_BYTES_LIMIT;
use crate::lock::lock;
use crate::overlay::{OldPages, PAGE_BYTES, Page, PageAddress, for_each_run};
use crate::replay::sync_drives;
use crate::stripe::Array;
use crate::volume::Volume;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A half of the journal is this many times as long as a generation at most: what is written over and over takes a place in
/// the generation once, and one in the journal each time.
const JOURNAL_FACTOR: usize = 4;
/// Period at which the thread that destages looks for more when nobody wakes it.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Until the younger generation is this full, who writes brings nothing of the older one.
const HELP_FROM: f64 = 0.5;
/// Wait of a writer for what others bring before it looks again.
const WAIT: Duration = Duration::from_millis(1);

/// Result of an attempt to bring a batch.
#[derive(Debug, PartialEq, Eq)]
enum Batch {
    /// There is no older generation, or no longer.
    Nothing,
    /// A batch was brought, or all was finished.
    Brought,
    /// All that is left is others'.
    Others,
}

impl Volume {
    /// Brings what is due to the drives, and waits for more, for this long. A server gives it a thread; without one those who
    /// write do all of it. A thread that panics in it leaves its batch undone for ever: the process is to end then.
    pub fn destage_for(&self, time: Duration) -> Result<(), VolumeError> {
        self.destage.has_thread.store(true, Ordering::Release);
        let outcome = self.destage_until(Instant::now().checked_add(time));
        self.destage.has_thread.store(false, Ordering::Release);
        outcome
    }

    fn destage_until(&self, end: Option<Instant>) -> Result<(), VolumeError> {
        let is_ending = || self.destage.is_ending.load(Ordering::Acquire);
        loop {
            let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() || is_ending() {
                return Ok(());
            }
            if self.bring_batch(true)? == Batch::Brought {
                continue;
            }
            let older = lock(&self.destage.older);
            let wait = left.min(if older.is_some() { WAIT } else { LOOK_EVERY });
            // Under the lock: who ends it afterwards finds it waiting.
            if !is_ending() {
                // Whether it was woken or not, it looks.
                drop(self.destage.changed.wait_timeout(older, wait));
            }
        }
    }

    /// [`Volume::destage_for`] returns at once, now and whenever it is called again.
    pub fn end_destaging(&self) {
        let _older = lock(&self.destage.older);
        self.destage.is_ending.store(true, Ordering::Release);
        self.destage.changed.notify_all();
    }

    /// Keeps overlay and journal below their limits before more is added.
    pub(crate) fn make_room(&self) -> Result<(), VolumeError> {
        loop {
            let share = self.fullness();
            let Some(older) = self.destage.older() else {
                if share < 1.0 {
                    return Ok(());
                }
                let array = self.array_alone();
                if self.fullness() >= 1.0 && self.destage.older().is_none() {
                    self.turn(&array)?;
                }
                continue;
            };
            // Making anything durable may take long; who serves the destaging does it, where there is somebody.
            let has_thread = self.destage.has_thread.load(Ordering::Acquire);
            let (done, total) = (older.done.load(Ordering::Acquire), older.total.load(Ordering::Acquire));
            // In step with the drives, so that the generations turn when both are ready.
            let is_in_step = if total == 0 { has_thread } else { done as f64 >= share * total as f64 };
            if share < HELP_FROM || (share < 1.0 && is_in_step) {
                return Ok(());
            }
            let batch = self.bring_batch(!has_thread)?;
            if share < 1.0 {
                return Ok(());
            }
            if batch == Batch::Others {
                let older = lock(&self.destage.older);
                if older.is_some() {
                    drop(self.destage.changed.wait_timeout(older, WAIT));
                }
            }
        }
    }

    /// Returns how full the younger generation is; 1 when it is to be brought to the drives.
    fn fullness(&self) -> f64 {
        let limit = self.destage.bytes_limit.load(Ordering::Relaxed);
        let overlay = self.overlay.younger_bytes() as f64 / limit as f64;
        let journal_limit = ((limit.saturating_mul(JOURNAL_FACTOR)) as u64).min(HALF_BYTES_LIMIT);
        overlay.max(self.journal.size_bytes() as f64 / journal_limit as f64)
    }

    /// Keeps what is in memory and not on the drives to about twice this, and each half of the journal to four times: for
    /// machines with little memory. 32 MiB otherwise.
    pub fn limit_overlay(&self, bytes: usize) {
        self.destage.bytes_limit.store(bytes.max(PAGE_BYTES), Ordering::Relaxed);
    }

    /// The younger generation becomes the older one. The array is the caller's alone, and there is no older one.
    fn turn(&self, _alone: &Array) -> Result<(), VolumeError> {
        self.journal.turn()?;
        self.overlay.turn();
        *lock(&self.destage.older) = Some(Arc::default());
        self.destage.changed.notify_all();
        Ok(())
    }

    /// Brings a batch of the older generation to the drives, and makes all of it durable after the last one if it may.
    fn bring_batch(&self, may_finish: bool) -> Result<Batch, VolumeError> {
        let Some(older) = self.destage.older() else { return Ok(Batch::Nothing) };
        let pages = self.pages_of(&older)?;
        let batch_pages = self.destage.batch_pages();
        let first = older.next.fetch_add(batch_pages, Ordering::AcqRel);
        if first >= pages.len() {
            // What the counter has passed it need not pass again and again.
            older.next.store(pages.len(), Ordering::Release);
            let is_whole = older.done.load(Ordering::Acquire) == pages.len();
            return if is_whole && may_finish { self.finish(&older) } else { Ok(Batch::Others) };
        }
        let batch = &pages[first..pages.len().min(first + batch_pages)];
        // Let go after each batch, so that whoever needs the array alone waits for one only.
        let array = self.array();
        if !self.destage.is_current(&older) {
            return Ok(Batch::Nothing);
        }
        if let Err(error) = self.bring(&array, batch) {
            self.begin_again(&older);
            return Err(error);
        }
        older.done.fetch_add(batch.len(), Ordering::AcqRel);
        Ok(Batch::Brought)
    }

    /// The pages of a generation, after what they say is durable in the journal.
    fn pages_of(&self, older: &Older) -> Result<Pages, VolumeError> {
        let mut pages = lock(&older.pages);
        if let Some(pages) = &*pages {
            return Ok(pages.clone());
        }
        self.journal.sync()?;
        let listed = Arc::new(self.overlay.older_pages());
        older.total.store(listed.len(), Ordering::Release);
        *pages = Some(listed.clone());
        Ok(listed)
    }

    /// Hands pages to their drives, which have them when they have been made durable.
    fn bring(&self, array: &Array, pages: &[(PageAddress, Page)]) -> Result<(), VolumeError> {
        for_each_run(pages, |drive, offset_bytes, sums, bytes| {
            let drive = &array.drives[usize::from(drive)];
            if !drive.takes_writes() {
                return Ok(());
            }
            drive.write_until_sync(offset_bytes, sums, bytes).context("write to a drive")
        })
    }

    /// A batch has failed: nothing of the generation counts as brought.
    fn begin_again(&self, older: &Arc<Older>) {
        let mut current = lock(&self.destage.older);
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, older)) {
            *current = Some(Arc::default());
        }
    }

    /// Makes what was brought durable, and forgets the generation. One does it.
    fn finish(&self, older: &Arc<Older>) -> Result<Batch, VolumeError> {
        if older.is_finishing.swap(true, Ordering::AcqRel) {
            return Ok(Batch::Others);
        }
        let outcome = self.make_durable(older);
        if outcome.is_err() {
            self.begin_again(older);
        }
        outcome
    }

    fn make_durable(&self, older: &Arc<Older>) -> Result<Batch, VolumeError> {
        let drives = self.array().drives.len();
        for drive in 0..drives {
            let array = self.array();
            if !self.destage.is_current(older) {
                return Ok(Batch::Nothing);
            }
            if array.drives[drive].takes_writes() {
                array.drives[drive].sync().context("flush a drive")?;
            }
        }
        let array = self.array();
        if !self.destage.is_current(older) {
            return Ok(Batch::Nothing);
        }
        self.record_missed(&array)?;
        self.journal.forget_older()?;
        drop(array);
        let array = self.array_alone();
        if !self.destage.is_current(older) {
            return Ok(Batch::Nothing);
        }
        let old = self.take_older(&array);
        drop(array);
        // What is listed there holds on to the records.
        drop(lock(&older.pages).take());
        self.overlay.recycle(old);
        Ok(Batch::Brought)
    }

    /// Records which writes drives have missed before the journal forgets it.
    fn record_missed(&self, array: &Array) -> Result<(), VolumeError> {
        if self.has_missed.swap(false, Ordering::AcqRel) {
            let outcome = self.write_record(array);
            if outcome.is_err() {
                self.has_missed.store(true, Ordering::Release);
            }
            return outcome;
        }
        Ok(())
    }

    /// Brings everything to the drives and empties the journal. The array is the caller's alone.
    pub(crate) fn checkpoint_locked(&self, array: &Array) -> Result<(), VolumeError> {
        if self.destage.older().is_none() && self.journal.size_bytes() == 0 {
            return Ok(());
        }
        self.journal.sync()?;
        // The older first: where both have a sector the younger one counts.
        if self.destage.older().is_some() {
            self.bring_older(array)?;
        }
        self.overlay.turn();
        self.bring_older(array)?;
        self.journal.reset()
    }

    /// Brings the older generation to the drives, durably; what the journal says of it may be forgotten then.
    fn bring_older(&self, array: &Array) -> Result<(), VolumeError> {
        // From now on no other thread brings any of it.
        *lock(&self.destage.older) = Some(Arc::default());
        self.bring(array, &self.overlay.older_pages())?;
        sync_drives(&array.drives)?;
        self.record_missed(array)?;
        let old = self.take_older(array);
        self.overlay.recycle(old);
        Ok(())
    }

    /// The older generation, which is on the drives, counts no more.
    fn take_older(&self, _alone: &Array) -> OldPages {
        let old = self.overlay.take_older();
        *lock(&self.destage.older) = None;
        self.destage.changed.notify_all();
        old
    }
}
