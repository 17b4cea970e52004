//! Live array: its volume, which a power cut takes away for a while, and its condition.

use crate::array::ServedArray;
use crate::opening::open;
use crate::power::PowerCutStore;
use diagnostic::text_with_causes;
use layout::Redundancy;
use nbd::{Errno, ExportError};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};
use volume::{
    DriveCondition, MigrationProgress, RebuildProgress, ResyncProgress, Run, ScrubReport, Volume,
    VolumeError, VolumeMap,
};

/// Time that requests under way may take to notice that the power is off.
const POWER_OFF_LIMIT: Duration = Duration::from_secs(30);

/// Progress of background tasks.
#[derive(Default, Clone, serde::Serialize)]
pub(crate) struct Background {
    pub rebuild: Option<RebuildProgress>,
    pub rehoming: Option<MigrationProgress>,
    pub resync: Option<ResyncProgress>,
    pub scrub: Option<Scrub>,
    pub power_cuts: u64,
    /// The last thing that went wrong.
    pub last_error: Option<String>,
}

/// A scrub, under way or the last one.
#[derive(Default, Clone, serde::Serialize)]
pub(crate) struct Scrub {
    pub is_running: bool,
    pub done_stripes: u64,
    pub report: ScrubReport,
}

pub(crate) struct LiveArray {
    pub array: ServedArray,
    store: PowerCutStore,
    volume: RwLock<Option<Arc<Volume>>>,
    background: Mutex<Background>,
    wake: Condvar,
    power_cuts: AtomicU64,
    cutting: Mutex<()>,
    /// Whoever fails broken drives is alone.
    failing: Mutex<()>,
    /// Number of drives that were failed.
    broken_drives: AtomicU64,
}

impl LiveArray {
    /// The array and its volumes.
    pub(crate) fn open(
        array: ServedArray,
        store: PowerCutStore,
    ) -> Result<(LiveArray, VolumeMap), VolumeError> {
        let (volume, map) = open(store.clone(), &array)?;
        let live = LiveArray {
            array,
            store,
            volume: RwLock::new(Some(Arc::new(volume))),
            background: Mutex::default(),
            wake: Condvar::new(),
            power_cuts: AtomicU64::new(0),
            cutting: Mutex::default(),
            failing: Mutex::default(),
            broken_drives: AtomicU64::new(0),
        };
        Ok((live, map))
    }

    /// The volume, unless the power is off.
    pub(crate) fn volume(&self) -> Option<Arc<Volume>> {
        self.volume.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Carries out a request; once more, if drives that refused a write could be done without.
    pub(crate) fn attempt<T>(
        &self,
        mut request: impl FnMut(&Volume) -> Result<T, VolumeError>,
    ) -> Result<T, ExportError> {
        let off = || ExportError::new(Errno::Io, "the array's power is off");
        let volume = self.volume().ok_or_else(off)?;
        let broken_before = self.broken_drives();
        let outcome = match request(&volume) {
            Err(VolumeError::Io { .. }) if self.has_fewer_drives(&volume, broken_before) => request(&volume),
            outcome => outcome,
        };
        outcome.map_err(|error| {
            let error = export_error(&error);
            self.note(&error.message);
            error
        })
    }

    /// Returns how many drives were failed because they refused a write.
    pub(crate) fn broken_drives(&self) -> u64 {
        self.broken_drives.load(Ordering::Acquire)
    }

    /// Returns whether more of them are failed than before, now that something met an error: it is worth another try.
    pub(crate) fn has_fewer_drives(&self, volume: &Volume, broken_before: u64) -> bool {
        // Another request may have found the same drive broken, and failed it.
        self.fail_broken_drives(volume) || self.broken_drives() > broken_before
    }

    /// Fails the drives that have refused a write, as far as the redundancy bears it; `true` if there was one.
    pub(crate) fn fail_broken_drives(&self, volume: &Volume) -> bool {
        let _alone = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut has_failed = false;
        for (drive, problem) in self.store.take_failures() {
            self.note(&problem);
            if self.bears_a_loss(volume) && volume.fail_drive(drive).is_ok() {
                self.broken_drives.fetch_add(1, Ordering::AcqRel);
                has_failed = true;
            }
        }
        if has_failed {
            self.wake();
        }
        has_failed
    }

    /// Returns whether any drive may be lost now without data being lost.
    fn bears_a_loss(&self, volume: &Volume) -> bool {
        let all = Run { start_bytes: 0, length_bytes: volume.capacity_bytes() };
        match volume.replicas_of(&all).as_slice() {
            [] => {
                let drives = volume.status().drives;
                let unwell = drives.iter().filter(|drive| drive.condition != DriveCondition::Present);
                (unwell.count() as u32) < self.tolerance()
            }
            objects => objects.iter().take(2).all(|&count| count == 0),
        }
    }

    /// Returns how many drives the layout may lose.
    pub(crate) fn tolerance(&self) -> u32 {
        match self.array.spec.layout.redundancy() {
            Redundancy::Copies(copies) => copies - 1,
            Redundancy::Parity(parity) => parity,
        }
    }

    /// Takes the power away, and with it any of the sectors that were not flushed; starts again as after a power
    /// failure. `hang_up` ends the clients' connections, as a power failure does; of what they had sent nothing may be
    /// carried out once it returns, or it would come after what other clients write then.
    pub(crate) fn cut_power(&self, seed: u64, hang_up: &dyn Fn()) -> Result<(), VolumeError> {
        let io_error = |source| VolumeError::Io { operation: "cut the power", source };
        let _one_at_a_time = self.cutting.lock().unwrap_or_else(PoisonError::into_inner);
        if self.volume().is_none() {
            return Err(io_error(io::Error::other("the power is off already")));
        }
        let mut random = load::Random::from_seed(seed);
        let cut = self.store.cut(|| random.below(2) == 0);
        hang_up();
        // What is under way ends by itself now that the drives are dark. Nobody has to wait for that here: whoever uses the
        // volume may ask for it once more before letting go, and finds that the power is off.
        let volume = self.volume.write().unwrap_or_else(PoisonError::into_inner).take();
        let Some(volume) = volume else {
            return Err(io_error(io::Error::other("the power is off already")));
        };
        volume.end_destaging();
        let deadline = Instant::now() + POWER_OFF_LIMIT;
        while Arc::strong_count(&volume) > 1 {
            if Instant::now() > deadline {
                return Err(io_error(io::Error::other(
                    "requests under way did not end; start the server anew",
                )));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(volume);
        cut.map_err(io_error)?;
        self.store.switch_on();
        let opened = Arc::new(open(self.store.clone(), &self.array)?.0);
        *self.volume.write().unwrap_or_else(PoisonError::into_inner) = Some(opened);
        self.background().power_cuts = self.power_cuts.fetch_add(1, Ordering::Relaxed) + 1;
        self.wake();
        Ok(())
    }

    /// From now on a drive refuses writes.
    pub(crate) fn break_drive(&self, drive: u16) -> bool {
        self.store.break_drive(drive)
    }

    /// Keeps what went wrong for `status`.
    pub(crate) fn note(&self, problem: &str) {
        self.background().last_error = Some(problem.to_owned());
    }

    pub(crate) fn background(&self) -> MutexGuard<'_, Background> {
        self.background.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// There is something to do in the background.
    pub(crate) fn wake(&self) {
        self.wake.notify_all();
    }

    /// Waits until there may be.
    pub(crate) fn wait(&self, at_most: Duration) {
        let background = self.background();
        // Whether it was woken or not, it looks.
        let _ = self.wake.wait_timeout(background, at_most);
    }
}

/// The protocol's error for a volume's, with the chain of causes in words.
pub(crate) fn export_error(error: &VolumeError) -> ExportError {
    let mut errno = Errno::Io;
    match error {
        VolumeError::PoolFull { .. } => errno = Errno::NoSpace,
        VolumeError::Unaligned { .. } | VolumeError::OutOfRange { .. } => errno = Errno::Invalid,
        VolumeError::Io { source, .. } => {
            if matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
                errno = Errno::NoSpace;
            }
        }
        _ => {}
    }
    ExportError::new(errno, text_with_causes(error))
}
