//! Destaging of the journal to the drives, one thread a drive, several drives at a time.

use crate::VolumeError;
use crate::error::ErrorContext;
use crate::journal::Change;
use crate::overlay::Overlay;
use crate::overlay::RUN_BYTES_LIMIT;
use crate::replay::carry_out;
use crate::stripe::Array;
use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, available_parallelism};

/// Drives that are written at a time.
const THREADS_LIMIT: usize = 4;
/// Fewer pages are brought by the caller alone, before a thread would have started.
const PAGES_MINIMUM: usize = 512;

/// Writes everything in the overlay to the drives; durable, checksums included, when this returns. The array is the
/// caller's alone, and what is in the overlay is durable in the journal.
pub(crate) fn destage(array: &Array, overlay: &Overlay) -> Result<(), VolumeError> {
    let pages = overlay.pages();
    let next = AtomicUsize::new(0);
    let work = || {
        // Whoever is free takes the next drive, so that a slow one holds up nobody but itself.
        loop {
            let drive = next.fetch_add(1, Ordering::Relaxed);
            let Some(found) = array.drives.get(drive) else { return Ok(()) };
            if !found.takes_writes() {
                continue;
            }
            let start = pages.partition_point(|page| usize::from(page.0) < drive);
            let end = pages.partition_point(|page| usize::from(page.0) <= drive);
            overlay.for_each_run(&pages[start..end], RUN_BYTES_LIMIT, |drive, offset_bytes, bytes| {
                carry_out(&array.layout, &array.drives, &Change::Image { drive, offset_bytes, bytes })
            })?;
            found.sync().context("flush a drive")?;
        }
    };
    let threads = if pages.len() < PAGES_MINIMUM {
        1
    } else {
        available_parallelism().map_or(1, NonZeroUsize::get).min(THREADS_LIMIT).min(array.drives.len())
    };
    std::thread::scope(|scope| {
        // Where none can be started, the caller does it all.
        let helper = || Builder::new().name("destage".into()).spawn_scoped(scope, work).ok();
        let helpers: Vec<_> = (1..threads).filter_map(|_| helper()).collect();
        let own = work();
        helpers.into_iter().fold(own, |outcome, helper| {
            let ended = helper.join().unwrap_or_else(|_| {
                Err(io::Error::other("a thread has panicked")).context("write to the drives")
            });
            outcome.and(ended)
        })
    })
}
