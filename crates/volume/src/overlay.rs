//! Overlay of journalled writes that are not yet on the drives.
//!
//! The truth of a sector is here if it is here, and on the drive otherwise.

use crate::drive::SECTOR_BYTES;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most bytes written at a time when whole stripes are brought to the drives.
pub(crate) const RUN_BYTES_LIMIT: usize = 1 << 20;

const PAGE_SECTORS: u64 = 8;
const PAGE_BYTES: usize = PAGE_SECTORS as usize * SECTOR_BYTES;
const SHARDS: usize = 64;

struct Page {
    bytes: [u8; PAGE_BYTES],
    /// Bit i: sector i of the page is here.
    present: u8,
}

#[derive(Default)]
struct Shard {
    pages: HashMap<(u16, u64), Box<Page>>,
    /// Pages that were here before the last checkpoint, to be used again.
    spare: Vec<Box<Page>>,
}

/// Coverage of a range by the overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cover {
    /// Nothing.
    None,
    /// Some of it, or all.
    Part,
    /// Every sector, and the buffer holds them.
    Whole,
}

pub(crate) struct Overlay {
    shards: Vec<Mutex<Shard>>,
    pages: AtomicUsize,
}

impl Overlay {
    pub(crate) fn new() -> Self {
        Overlay { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), pages: AtomicUsize::new(0) }
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.pages.load(Ordering::Acquire) * PAGE_BYTES
    }

    fn shard(&self, drive: u16, page: u64) -> MutexGuard<'_, Shard> {
        let index = (page as usize).wrapping_add(usize::from(drive) * 7) % SHARDS;
        // A page is changed in one step that cannot panic half-way, so a poisoned shard is still whole.
        self.shards[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn insert(&self, drive: u16, offset_bytes: u64, bytes: &[u8]) {
        for_each_page(offset_bytes, bytes.len(), |page, first, range| {
            let mut shard = self.shard(drive, page);
            let Shard { pages, spare } = &mut *shard;
            let entry = pages.entry((drive, page)).or_insert_with(|| {
                self.pages.fetch_add(1, Ordering::AcqRel);
                spare.pop().unwrap_or_else(|| Box::new(Page { bytes: [0; PAGE_BYTES], present: 0 }))
            });
            let start = first * SECTOR_BYTES;
            entry.bytes[start..start + range.len()].copy_from_slice(&bytes[range.clone()]);
            for sector in first..first + range.len() / SECTOR_BYTES {
                entry.present |= 1 << sector;
            }
        });
    }

    /// Reads what is here of a range; what is not, the buffer keeps.
    pub(crate) fn read(&self, drive: u16, offset_bytes: u64, buffer: &mut [u8]) -> Cover {
        if self.pages.load(Ordering::Acquire) == 0 {
            return Cover::None;
        }
        let (mut found, sectors) = (0, buffer.len() / SECTOR_BYTES);
        self.lay_over(drive, offset_bytes, buffer, |_| found += 1);
        match found {
            0 => Cover::None,
            _ if found == sectors => Cover::Whole,
            _ => Cover::Part,
        }
    }

    /// Lays what is here over what was read from the drive; takes the sectors it covers out of `bad`.
    pub(crate) fn patch(&self, drive: u16, offset_bytes: u64, buffer: &mut [u8], bad: &mut Vec<usize>) {
        self.lay_over(drive, offset_bytes, buffer, |covered| bad.retain(|&index| index != covered));
    }

    /// Copies every sector of a range that is here into the buffer, and tells its index in it.
    fn lay_over(&self, drive: u16, offset_bytes: u64, buffer: &mut [u8], mut covers: impl FnMut(usize)) {
        for_each_page(offset_bytes, buffer.len(), |page, first, range| {
            let shard = self.shard(drive, page);
            let Some(entry) = shard.pages.get(&(drive, page)) else { return };
            for (step, sector) in (first..first + range.len() / SECTOR_BYTES).enumerate() {
                if entry.present >> sector & 1 == 1 {
                    let to = range.start + step * SECTOR_BYTES;
                    buffer[to..to + SECTOR_BYTES]
                        .copy_from_slice(&entry.bytes[sector * SECTOR_BYTES..][..SECTOR_BYTES]);
                    covers(to / SECTOR_BYTES);
                }
            }
        });
    }

    /// Whether any sector of a range is here.
    pub(crate) fn touches(&self, drive: u16, offset_bytes: u64, length_bytes: u64) -> bool {
        if self.pages.load(Ordering::Acquire) == 0 {
            return false;
        }
        let last = (offset_bytes + length_bytes - 1) / PAGE_BYTES as u64;
        (offset_bytes / PAGE_BYTES as u64..=last)
            .any(|page| self.shard(drive, page).pages.contains_key(&(drive, page)))
    }

    /// Every page that is here, by drive and rising number.
    pub(crate) fn pages(&self) -> Vec<(u16, u64)> {
        let mut pages: Vec<(u16, u64)> = Vec::with_capacity(self.pages.load(Ordering::Acquire));
        for shard in &self.shards {
            pages.extend(shard.lock().unwrap_or_else(PoisonError::into_inner).pages.keys());
        }
        pages.sort_unstable();
        pages
    }

    /// Calls `visit` with every run of sectors in these pages, neighbouring ones joined up to `run_limit_bytes`.
    pub(crate) fn for_each_run<E>(
        &self,
        pages: &[(u16, u64)],
        run_limit_bytes: usize,
        mut visit: impl FnMut(u16, u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut run: (u16, u64, Vec<u8>) = (0, 0, Vec::new());
        for &(drive, page) in pages {
            let shard = self.shard(drive, page);
            let Some(entry) = shard.pages.get(&(drive, page)) else { continue };
            for sector in (0..PAGE_SECTORS).filter(|sector| entry.present >> sector & 1 == 1) {
                let offset = (page * PAGE_SECTORS + sector) * SECTOR_BYTES as u64;
                let continues =
                    run.0 == drive && run.1 + run.2.len() as u64 == offset && run.2.len() < run_limit_bytes;
                if !continues {
                    if !run.2.is_empty() {
                        visit(run.0, run.1, &run.2)?;
                    }
                    run = (drive, offset, std::mem::take(&mut run.2));
                    run.2.clear();
                }
                run.2.extend_from_slice(&entry.bytes[sector as usize * SECTOR_BYTES..][..SECTOR_BYTES]);
            }
        }
        if run.2.is_empty() { Ok(()) } else { visit(run.0, run.1, &run.2) }
    }

    pub(crate) fn clear(&self) {
        for shard in &self.shards {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            let Shard { pages, spare } = &mut *shard;
            spare.extend(pages.drain().map(|(_, mut page)| {
                page.present = 0;
                page
            }));
        }
        self.pages.store(0, Ordering::Release);
    }
}

/// Calls `visit(page, first sector in it, range of the buffer)` for each page of a range of whole sectors.
fn for_each_page(
    offset_bytes: u64,
    length: usize,
    mut visit: impl FnMut(u64, usize, std::ops::Range<usize>),
) {
    let mut done = 0;
    while done < length {
        let at = offset_bytes + done as u64;
        let within = (at % PAGE_BYTES as u64) as usize;
        let count = (length - done).min(PAGE_BYTES - within);
        visit(at / PAGE_BYTES as u64, within / SECTOR_BYTES, done..done + count);
        done += count;
    }
}
