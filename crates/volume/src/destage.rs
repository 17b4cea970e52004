//! State of destaging: the generation of the overlay that is on its way to the drives. `destaging.rs` brings it there.

use crate::lock::lock;
use crate::overlay::{PAGE_BYTES, Page, PageAddress};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// A generation of the overlay is brought to the drives when it holds this much.
const OVERLAY_BYTES_LIMIT: usize = 32 << 20;
/// Pages that are brought at a time: of random writes 256 KiB, in about 0.2 ms where drives are files in memory.
const BATCH_PAGES_LIMIT: usize = 64;
/// Of a generation that was made small a batch is this part.
const BATCHES_MINIMUM: usize = 8;

/// The destaging of a volume.
pub(crate) struct Destage {
    /// Bytes that a generation holds at most.
    pub(crate) bytes_limit: AtomicUsize,
    /// The older generation, if there is one.
    pub(crate) older: Mutex<Option<Arc<Older>>>,
    pub(crate) changed: Condvar,
    /// A thread serves [`crate::Volume::destage_for`].
    pub(crate) has_thread: AtomicBool,
    /// It is to return.
    pub(crate) is_ending: AtomicBool,
}

/// A generation on its way to the drives.
#[derive(Default)]
pub(crate) struct Older {
    /// Listed by the first that brings some of it.
    pub(crate) pages: Mutex<Option<Pages>>,
    /// Number of batches; 0 until they are listed.
    pub(crate) total: AtomicUsize,
    /// Number of the batch that is next.
    pub(crate) next: AtomicUsize,
    /// Pages that are on their drives.
    pub(crate) done: AtomicUsize,
    /// Somebody makes it durable.
    pub(crate) is_finishing: AtomicBool,
}

pub(crate) type Pages = Arc<Vec<(PageAddress, Page)>>;

impl Default for Destage {
    fn default() -> Self {
        Destage {
            bytes_limit: AtomicUsize::new(OVERLAY_BYTES_LIMIT),
            older: Mutex::default(),
            changed: Condvar::new(),
            has_thread: AtomicBool::new(false),
            is_ending: AtomicBool::new(false),
        }
    }
}

impl Destage {
    pub(crate) fn batch_pages(&self) -> usize {
        let pages = self.bytes_limit.load(Ordering::Relaxed) / PAGE_BYTES;
        (pages / BATCHES_MINIMUM).clamp(1, BATCH_PAGES_LIMIT)
    }

    pub(crate) fn older(&self) -> Option<Arc<Older>> {
        lock(&self.older).clone()
    }

    pub(crate) fn is_current(&self, older: &Arc<Older>) -> bool {
        lock(&self.older).as_ref().is_some_and(|current| Arc::ptr_eq(current, older))
    }
}
