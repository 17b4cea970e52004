//! Overlay of journalled writes that are not yet on the drives.
//!
//! The truth of a sector is here if it is here, and on the drive otherwise. There are two generations, as the journal
//! has two halves: writes go to the younger one, while the older one, which changes no more, is brought to the drives.
//! Where both have a sector the younger one counts.

use crate::block_store::SharedBytes;
use crate::checksums::{CHECKSUM_BYTES, SECTOR_BYTES};
use crate::journal_record::{Entry, Record};
use crate::lock::lock;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// The most bytes written at a time when whole stripes are brought to the drives.
pub(crate) const RUN_BYTES_LIMIT: usize = 1 << 20;

const PAGE_SECTORS: usize = 8;
pub(crate) const PAGE_BYTES: usize = PAGE_SECTORS * SECTOR_BYTES;
const PAGE_SUMS_BYTES: usize = PAGE_SECTORS * CHECKSUM_BYTES;
const SHARDS: usize = 64;
/// Memory of records that is kept for the next ones: as much as a generation of small writes has, …
const SPARE_RECORDS_LIMIT: usize = 8192;
/// … and none of large ones.
const SPARE_BYTES_LIMIT: usize = 32 << 10;

/// Drive and number of a page.
pub(crate) type PageAddress = (u16, u64);

/// A page of a drive, as far as it is here.
#[derive(Clone)]
pub(crate) enum Page {
    /// All of it, in the record that wrote it.
    Whole { record: Arc<Record>, sums: usize, start: usize },
    /// Sectors of several records.
    Mixed(Arc<Sectors>),
}

/// Sectors of a page, and their checksums.
#[derive(Clone)]
pub(crate) struct Sectors {
    bytes: [u8; PAGE_BYTES],
    sums: [u8; PAGE_SUMS_BYTES],
    /// Bit i: sector i of the page is here.
    present: u8,
}

impl Sectors {
    const NONE: Sectors = Sectors { bytes: [0; PAGE_BYTES], sums: [0; PAGE_SUMS_BYTES], present: 0 };
}

impl AsRef<[u8]> for Sectors {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Page {
    fn present(&self) -> u8 {
        match self {
            Page::Whole { .. } => u8::MAX,
            Page::Mixed(sectors) => sectors.present,
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Page::Whole { record, start, .. } => &record.bytes()[*start..*start + PAGE_BYTES],
            Page::Mixed(sectors) => &sectors.bytes,
        }
    }

    fn sums(&self) -> &[u8] {
        match self {
            Page::Whole { record, sums, .. } => &record.bytes()[*sums..*sums + PAGE_SUMS_BYTES],
            Page::Mixed(sectors) => &sectors.sums,
        }
    }

    /// Runs of sectors that are here, one behind the other.
    fn runs(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let present = self.present();
        let mut sector = 0;
        std::iter::from_fn(move || {
            while sector < PAGE_SECTORS && present >> sector & 1 == 0 {
                sector += 1;
            }
            let start = sector;
            while sector < PAGE_SECTORS && present >> sector & 1 == 1 {
                sector += 1;
            }
            (start < sector).then_some(start..sector)
        })
    }

    /// Copies to be changed.
    fn sectors(&self) -> Sectors {
        let mut sectors = Sectors { present: self.present(), ..Sectors::NONE };
        sectors.bytes.copy_from_slice(self.bytes());
        sectors.sums.copy_from_slice(self.sums());
        sectors
    }
}

/// Fibonacci hashing of a drive and a page (Knuth, The Art of Computer Programming 3, 6.4): both are ours, and no
/// client gains by choosing them.
#[derive(Default)]
struct PageHasher(u64);

impl Hasher for PageHasher {
    fn finish(&self) -> u64 {
        // The table takes both ends of the word.
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u16(&mut self, number: u16) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

type Pages = HashMap<PageAddress, Page, BuildHasherDefault<PageHasher>>;

#[derive(Default)]
struct Shard {
    younger: Pages,
    older: Pages,
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
    younger_pages: AtomicUsize,
    older_pages: AtomicUsize,
    /// Memory of records that have gone.
    spare: Mutex<Vec<Vec<u8>>>,
}

impl Overlay {
    pub(crate) fn new() -> Self {
        Overlay {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            younger_pages: AtomicUsize::new(0),
            older_pages: AtomicUsize::new(0),
            spare: Mutex::default(),
        }
    }

    /// Bytes of the generation that is written to.
    pub(crate) fn younger_bytes(&self) -> usize {
        self.younger_pages.load(Ordering::Acquire) * PAGE_BYTES
    }

    /// Bytes of both.
    pub(crate) fn size_bytes(&self) -> usize {
        self.younger_bytes() + self.older_pages.load(Ordering::Acquire) * PAGE_BYTES
    }

    fn is_empty(&self) -> bool {
        self.younger_pages.load(Ordering::Acquire) == 0 && self.older_pages.load(Ordering::Acquire) == 0
    }

    fn shard(&self, (drive, page): PageAddress) -> MutexGuard<'_, Shard> {
        let index = (page as usize).wrapping_add(usize::from(drive) * 7) % SHARDS;
        lock(&self.shards[index])
    }

    /// A record for a change of so many bytes of data.
    pub(crate) fn record_for(&self, data_bytes: usize) -> Record {
        let memory = if data_bytes < SPARE_BYTES_LIMIT { lock(&self.spare).pop() } else { None };
        let mut record = Record::images_in(memory.unwrap_or_default());
        record.reserve(data_bytes);
        record
    }

    /// An image of a record that is in the journal.
    pub(crate) fn insert(&self, record: &Arc<Record>, image: Entry) {
        for_each_page(image.offset_bytes, image.length, |page, first, range| {
            let (from, sectors) = (range.start / SECTOR_BYTES, range.len() / SECTOR_BYTES);
            let (sums, start) = (image.sums + from * CHECKSUM_BYTES, image.start + range.start);
            let mut shard = self.shard((image.drive, page));
            let known = shard.younger.get_mut(&(image.drive, page));
            if known.is_none() {
                self.younger_pages.fetch_add(1, Ordering::AcqRel);
            }
            if range.len() == PAGE_BYTES {
                let whole = Page::Whole { record: record.clone(), sums, start };
                let before = match known {
                    Some(known) => Some(std::mem::replace(known, whole)),
                    None => shard.younger.insert((image.drive, page), whole),
                };
                drop(shard);
                drop(before);
                return;
            }
            let change = |page: &mut Sectors| {
                let sums_bytes = sectors * CHECKSUM_BYTES;
                page.bytes[first * SECTOR_BYTES..][..range.len()]
                    .copy_from_slice(&record.bytes()[start..start + range.len()]);
                page.sums[first * CHECKSUM_BYTES..][..sums_bytes]
                    .copy_from_slice(&record.bytes()[sums..sums + sums_bytes]);
                page.present |= (u8::MAX >> (PAGE_SECTORS - sectors)) << first;
            };
            if let Some(Page::Mixed(known)) = known {
                change(Arc::make_mut(known));
                return;
            }
            let mut mixed = known.map_or(Sectors::NONE, |whole| whole.sectors());
            change(&mut mixed);
            shard.younger.insert((image.drive, page), Page::Mixed(Arc::new(mixed)));
        });
    }

    /// Reads what is here of a range; what is not, the buffer keeps.
    pub(crate) fn read(&self, drive: u16, offset_bytes: u64, buffer: &mut [u8]) -> Cover {
        self.read_with_sums(drive, offset_bytes, buffer, &mut [])
    }

    /// As [`Overlay::read`], with the checksums where there is room for them.
    pub(crate) fn read_with_sums(
        &self,
        drive: u16,
        offset_bytes: u64,
        buffer: &mut [u8],
        sums: &mut [u8],
    ) -> Cover {
        if self.is_empty() {
            return Cover::None;
        }
        let (mut found, sectors) = (0, buffer.len() / SECTOR_BYTES);
        self.lay_over(drive, offset_bytes, buffer, sums, |covered| found += covered.len());
        match found {
            0 => Cover::None,
            _ if found == sectors => Cover::Whole,
            _ => Cover::Part,
        }
    }

    /// Lays what is here over what was read from the drive; takes the sectors it covers out of `bad`.
    pub(crate) fn patch(&self, drive: u16, offset_bytes: u64, buffer: &mut [u8], bad: &mut Vec<usize>) {
        self.lay_over(drive, offset_bytes, buffer, &mut [], |covered| {
            bad.retain(|index| !covered.contains(index));
        });
    }

    /// Copies every sector of a range that is here into the buffer, its checksum into `sums` unless that is empty, and
    /// tells their indexes in it, each once.
    fn lay_over(
        &self,
        drive: u16,
        offset_bytes: u64,
        buffer: &mut [u8],
        sums: &mut [u8],
        mut covers: impl FnMut(std::ops::Range<usize>),
    ) {
        for_each_page(offset_bytes, buffer.len(), |page, first, range| {
            let end = first + range.len() / SECTOR_BYTES;
            let shard = self.shard((drive, page));
            let mut copy = |from: &Page, sectors: std::ops::Range<usize>| {
                let sectors = sectors.start.max(first)..sectors.end.min(end);
                if sectors.is_empty() {
                    return;
                }
                let to = range.start + (sectors.start - first) * SECTOR_BYTES;
                let bytes = &from.bytes()[sectors.start * SECTOR_BYTES..sectors.end * SECTOR_BYTES];
                buffer[to..to + bytes.len()].copy_from_slice(bytes);
                let indexes = to / SECTOR_BYTES..(to + bytes.len()) / SECTOR_BYTES;
                if !sums.is_empty() {
                    sums[indexes.start * CHECKSUM_BYTES..indexes.end * CHECKSUM_BYTES].copy_from_slice(
                        &from.sums()[sectors.start * CHECKSUM_BYTES..sectors.end * CHECKSUM_BYTES],
                    );
                }
                covers(indexes);
            };
            let younger = shard.younger.get(&(drive, page));
            if let Some(page) = younger {
                page.runs().for_each(|sectors| copy(page, sectors));
            }
            let present = younger.map_or(0, Page::present);
            if present == u8::MAX {
                return;
            }
            if let Some(page) = shard.older.get(&(drive, page)) {
                let sectors = page.runs().flatten().filter(|sector| present >> sector & 1 == 0);
                sectors.for_each(|sector| copy(page, sector..sector + 1));
            }
        });
    }

    /// Returns whether any sector of a range is here.
    pub(crate) fn touches(&self, drive: u16, offset_bytes: u64, length_bytes: u64) -> bool {
        if self.is_empty() {
            return false;
        }
        let last = (offset_bytes + length_bytes - 1) / PAGE_BYTES as u64;
        (offset_bytes / PAGE_BYTES as u64..=last).any(|page| {
            let shard = self.shard((drive, page));
            shard.younger.contains_key(&(drive, page)) || shard.older.contains_key(&(drive, page))
        })
    }

    /// The younger generation becomes the older one, which is empty; nobody reads or writes meanwhile.
    pub(crate) fn turn(&self) {
        for shard in &self.shards {
            let Shard { younger, older } = &mut *lock(shard);
            debug_assert!(older.is_empty());
            std::mem::swap(younger, older);
        }
        self.older_pages.store(self.younger_pages.swap(0, Ordering::AcqRel), Ordering::Release);
    }

    /// Every page of the older generation, by drive and rising number.
    pub(crate) fn older_pages(&self) -> Vec<(PageAddress, Page)> {
        let mut pages = Vec::with_capacity(self.older_pages.load(Ordering::Acquire));
        for shard in &self.shards {
            pages.extend(lock(shard).older.iter().map(|(&address, page)| (address, page.clone())));
        }
        pages.sort_unstable_by_key(|&(address, _)| address);
        pages
    }

    /// Takes the older generation away, which is on the drives; nobody reads or writes meanwhile.
    pub(crate) fn take_older(&self) -> OldPages {
        self.older_pages.store(0, Ordering::Release);
        OldPages(self.shards.iter().map(|shard| std::mem::take(&mut lock(shard).older)).collect())
    }

    /// Keeps the memory of what was taken away for new records. Takes a while.
    pub(crate) fn recycle(&self, old: OldPages) {
        for page in old.0.into_iter().flatten() {
            if let (_, Page::Whole { record, .. }) = page
                && let Ok(record) = Arc::try_unwrap(record)
            {
                let memory = record.into_bytes();
                let mut spare = lock(&self.spare);
                if memory.capacity() <= SPARE_BYTES_LIMIT && spare.len() < SPARE_RECORDS_LIMIT {
                    spare.push(memory);
                }
            }
        }
    }
}

/// A generation that counts no more.
pub(crate) struct OldPages(Vec<Pages>);

/// Calls `visit(drive, offset, checksums, bytes)` with every run of sectors in these pages; neighbouring pages are joined
/// where they lie one behind the other in one record, up to [`RUN_BYTES_LIMIT`].
pub(crate) fn for_each_run<E>(
    pages: &[(PageAddress, Page)],
    mut visit: impl FnMut(u16, u64, &[u8], SharedBytes) -> Result<(), E>,
) -> Result<(), E> {
    let mut index = 0;
    while let Some(((drive, number), page)) = pages.get(index) {
        let at = number * PAGE_BYTES as u64;
        index += 1;
        match page {
            Page::Mixed(sectors) => {
                for run in page.runs() {
                    let bytes = run.start * SECTOR_BYTES..run.end * SECTOR_BYTES;
                    let offset_bytes = at + bytes.start as u64;
                    let sums = &sectors.sums[run.start * CHECKSUM_BYTES..run.end * CHECKSUM_BYTES];
                    visit(*drive, offset_bytes, sums, SharedBytes::new(sectors.clone(), bytes))?;
                }
            }
            Page::Whole { record, sums, start } => {
                let lies_behind = |((address, page), distance): &(&(PageAddress, Page), usize)| match page {
                    Page::Whole { record: other, start: other_start, .. } => {
                        *address == (*drive, number + *distance as u64)
                            && Arc::ptr_eq(record, other)
                            && *other_start == start + distance * PAGE_BYTES
                    }
                    Page::Mixed(_) => false,
                };
                let neighbours = pages[index..].iter().zip(1..).take(RUN_BYTES_LIMIT / PAGE_BYTES - 1);
                let joined = neighbours.take_while(lies_behind).count();
                index += joined;
                let sums = &record.bytes()[*sums..sums + (joined + 1) * PAGE_SUMS_BYTES];
                let bytes = *start..start + (joined + 1) * PAGE_BYTES;
                visit(*drive, at, sums, SharedBytes::new(record.clone(), bytes))?;
            }
        }
    }
    Ok(())
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
