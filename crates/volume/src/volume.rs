//! The volume: bytes in, bytes out, by any number of threads at once.

use crate::VolumeError;
use crate::destage::destage;
use crate::drive::{Drive, DriveCondition, FORMAT_VERSION, SECTOR_BYTES, Superblock};
use crate::error::WhileDoing;
use crate::journal::{Change, Journal, Record};
use crate::map::VolumeMap;
use crate::medium::Shelf;
use crate::missed::Missed;
use crate::overlay::Overlay;
use crate::record::{ArrayRecord, DriveRecord, MapRecord, hexadecimal};
use crate::stripe::{Array, Stripes};
use layout::{Layout, Move};
use serde_json::{Map, Value};
use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Stripes share this many locks.
const STRIPE_LOCKS: usize = 1024;
/// The overlay is brought to the drives when it holds this much.
const OVERLAY_BYTES_LIMIT: usize = 64 << 20;
/// The journal is emptied when it is this long.
const JOURNAL_BYTES_LIMIT: u64 = 256 << 20;
/// Writes of zeros that free less than this are ordinary writes.
const PUNCH_BYTES_MINIMUM: u64 = 1 << 20;
/// The most bytes written at a time when whole stripes are brought to the drives.
pub(crate) const RUN_BYTES_LIMIT: usize = 1 << 20;
/// The most extents that one [`Volume::block_status`] hands out.
pub const BLOCK_STATUS_EXTENTS_LIMIT: usize = 1024;

/// What a volume is made of.
#[derive(Debug, Clone)]
pub struct VolumeSpec {
    /// How it is laid out.
    pub layout: Layout,
    /// Size of each drive, as the layout was made with.
    pub drive_capacity_bytes: Vec<u64>,
    /// Whatever makes two arrays the same, for example the array's description. A volume opens only under the
    /// identity it was made with.
    pub identity: String,
}

/// What the record keeps besides the drives.
#[derive(Default)]
struct Kept {
    moves: Vec<Move>,
    map: Option<VolumeMap>,
    attributes: Map<String, Value>,
}

/// A run of bytes that is all allocated or all not. What is not allocated reads as zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockExtent {
    /// How long it is.
    pub length_bytes: u64,
    /// Whether it may hold anything but zeros.
    pub is_allocated: bool,
}

/// An array's bytes.
///
/// Locks are taken in this order: the array (shared by all I/O, alone to change drives or empty the journal), then
/// one stripe, then the journal or a shard of the overlay.
pub struct Volume {
    pub(crate) shelf: Box<dyn Shelf>,
    pub(crate) id: [u8; 16],
    identity: String,
    array: RwLock<Array>,
    /// Every piece that has moved since the volume was made, in order.
    pub(crate) moves: Mutex<Vec<Move>>,
    map: Mutex<Option<VolumeMap>>,
    attributes: Mutex<Map<String, Value>>,
    /// Drives have missed writes that only the journal says so of.
    has_missed: AtomicBool,
    /// Groups before this one lie as they should.
    pub(crate) relocation_cursor: AtomicU64,
    pub(crate) relocated_pieces: AtomicU64,
    stripe_locks: Vec<RwLock<()>>,
    pub(crate) overlay: Overlay,
    journal: Journal,
    pub(crate) repaired_sectors: AtomicU64,
    capacity_bytes: u64,
}

impl Volume {
    /// Opens the volume on a shelf, or makes it if there is none. What the journal holds is carried out first.
    pub fn open(shelf: impl Shelf + 'static, spec: VolumeSpec) -> Result<Volume, VolumeError> {
        match ArrayRecord::read(&shelf)? {
            Some(record) => Volume::open_existing(Box::new(shelf), spec, &record),
            None => Volume::create(Box::new(shelf), spec),
        }
    }

    fn create(shelf: Box<dyn Shelf>, spec: VolumeSpec) -> Result<Volume, VolumeError> {
        if spec.drive_capacity_bytes.len() != spec.layout.drives() as usize {
            return Err(VolumeError::Foreign {
                path: shelf.name(),
                problem: format!(
                    "{} drive sizes for a layout of {} drives",
                    spec.drive_capacity_bytes.len(),
                    spec.layout.drives()
                ),
            });
        }
        let id = random_id()?;
        let mut drives = Vec::with_capacity(spec.drive_capacity_bytes.len());
        for (index, &capacity_bytes) in spec.drive_capacity_bytes.iter().enumerate() {
            drives.push(new_drive(&*shelf, id, index as u16, 0, capacity_bytes)?);
        }
        let journal = Journal::create(shelf.journal().while_doing("make the journal")?, id)?;
        let volume = Volume::assemble(shelf, id, spec, drives, journal, Kept::default());
        // Last: without it the next start begins anew.
        volume.write_record(&volume.array())?;
        Ok(volume)
    }

    fn open_existing(
        shelf: Box<dyn Shelf>,
        mut spec: VolumeSpec,
        record: &ArrayRecord,
    ) -> Result<Volume, VolumeError> {
        let foreign =
            |problem: &str| VolumeError::Foreign { path: shelf.name(), problem: problem.to_owned() };
        if record.identity != spec.identity {
            return Err(foreign("it was made for another array; use another directory, or that array"));
        }
        if record.drive_capacity_bytes != spec.drive_capacity_bytes
            || spec.drive_capacity_bytes.len() != spec.layout.drives() as usize
        {
            return Err(foreign("its drives have other sizes"));
        }
        for &moved in &record.moves {
            if !spec.layout.apply_move(&moved.into()) {
                return Err(foreign("a piece it has moved does not fit the layout"));
            }
        }
        let capacity_bytes = spec.layout.capacity_bytes() / SECTOR_BYTES as u64 * SECTOR_BYTES as u64;
        let map = match &record.volumes {
            None => None,
            Some(MapRecord { unit_bytes, volumes }) if *unit_bytes > 0 => {
                let map = VolumeMap::with(capacity_bytes, *unit_bytes, volumes.clone());
                Some(map.ok_or_else(|| foreign("its record's volumes do not fit the array"))?)
            }
            Some(_) => return Err(foreign("its record's volumes have no unit")),
        };
        let id = record.volume_bytes().ok_or_else(|| foreign("its record names no volume"))?;
        let mut drives = Vec::with_capacity(record.drives.len());
        for (index, (state, &capacity_bytes)) in
            record.drives.iter().zip(&record.drive_capacity_bytes).enumerate()
        {
            let drive = index as u16;
            let size_bytes = Drive::size_bytes(capacity_bytes);
            let medium = if !state.condition.is_lost() {
                let medium =
                    shelf.drive(drive, state.generation, size_bytes, false).while_doing("open a drive")?;
                let superblock =
                    Superblock { volume: id, drive, generation: state.generation, capacity_bytes };
                superblock.check(&*medium, &shelf.name())?;
                Some(medium)
            } else {
                None
            };
            let mark = state.rebuilt_below_stripe;
            let mut drive = Drive::new(medium, state.condition, state.generation, capacity_bytes, mark);
            drive.missed = Missed::recorded(&state.missed);
            drives.push(drive);
        }
        let medium = shelf.journal().while_doing("open the journal")?;
        let layout = &spec.layout;
        let journal = Journal::open(medium, id, &shelf.name(), |change| carry_out(layout, &drives, &change))?;
        sync_drives(&drives)?;
        let kept = Kept {
            moves: record.moves.iter().map(|&moved| moved.into()).collect(),
            map,
            attributes: record.attributes.clone(),
        };
        let volume = Volume::assemble(shelf, id, spec, drives, journal, kept);
        let known: usize = record.drives.iter().map(|drive| drive.missed.len()).sum();
        let missed: usize = volume.array().drives.iter().map(|drive| drive.missed.count()).sum();
        if missed > known {
            // Until now only the journal says so.
            volume.write_record(&volume.array())?;
        }
        volume.journal.reset()?;
        Ok(volume)
    }

    fn assemble(
        shelf: Box<dyn Shelf>,
        id: [u8; 16],
        spec: VolumeSpec,
        drives: Vec<Drive>,
        journal: Journal,
        kept: Kept,
    ) -> Volume {
        let capacity_bytes = spec.layout.capacity_bytes() / SECTOR_BYTES as u64 * SECTOR_BYTES as u64;
        let mut array = Array { layout: spec.layout, drives, is_whole: false, moving: None };
        array.look_whether_whole();
        Volume {
            shelf,
            id,
            identity: spec.identity,
            array: RwLock::new(array),
            moves: Mutex::new(kept.moves),
            map: Mutex::new(kept.map),
            attributes: Mutex::new(kept.attributes),
            has_missed: AtomicBool::new(false),
            relocation_cursor: AtomicU64::new(0),
            relocated_pieces: AtomicU64::new(0),
            stripe_locks: (0..STRIPE_LOCKS).map(|_| RwLock::default()).collect(),
            overlay: Overlay::new(),
            journal,
            repaired_sectors: AtomicU64::new(0),
            capacity_bytes,
        }
    }

    /// Size of the volume.
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// Reads whole sectors.
    ///
    /// # Errors
    /// [`VolumeError::Lost`] where more is gone than the redundancy covers; never wrong bytes.
    pub fn read_at(&self, offset_bytes: u64, buffer: &mut [u8]) -> Result<(), VolumeError> {
        self.check_range(offset_bytes, buffer.len() as u64)?;
        let array = self.array();
        let stripes = self.stripes(&array);
        let segment_bytes = u64::from(array.layout.segment_bytes());
        let copies = array.copies();
        let mut done = 0;
        while done < buffer.len() {
            let (stripe, from) = array.layout.stripe_of(offset_bytes + done as u64);
            let left_in_stripe = array.layout.stripe_bytes() - from;
            let end = done + left_in_stripe.min((buffer.len() - done) as u64) as usize;
            let _shared = self.share_stripe(stripe);
            let mut at = from;
            while done < end {
                let (column, row) = (at / segment_bytes, at % segment_bytes);
                let count = ((end - done) as u64).min(segment_bytes - row) as usize;
                // Of copies, the last is read: a chain's tail.
                let member = column as u32 * copies + copies - 1;
                stripes.read_rows(stripe, member, row, &mut buffer[done..done + count])?;
                done += count;
                at += count as u64;
            }
        }
        Ok(())
    }

    /// Writes whole sectors. When this returns the write survives the end of the process; a power cut it survives
    /// if `fua` is set, or after the next [`Volume::flush`].
    pub fn write_at(&self, offset_bytes: u64, bytes: &[u8], fua: bool) -> Result<(), VolumeError> {
        self.check_range(offset_bytes, bytes.len() as u64)?;
        self.make_room()?;
        {
            let array = self.array();
            let stripes = self.stripes(&array);
            let mut done = 0;
            while done < bytes.len() {
                let (stripe, from) = array.layout.stripe_of(offset_bytes + done as u64);
                let count = (array.layout.stripe_bytes() - from).min((bytes.len() - done) as u64) as usize;
                let _alone = self.lock_stripe(stripe);
                let mut record = Record::images_for(count);
                stripes.change(stripe, from, &bytes[done..done + count], &mut record)?;
                self.commit(&array, &mut record)?;
                done += count;
            }
        }
        if fua { self.journal.sync() } else { Ok(()) }
    }

    /// Makes every write that returned before durable.
    pub fn flush(&self) -> Result<(), VolumeError> {
        self.journal.sync()
    }

    /// Gives up a range: whole stripes in it read as zeros from now on, durably; the rest stays as it is.
    pub fn trim(&self, offset_bytes: u64, length_bytes: u64) -> Result<(), VolumeError> {
        self.check_range(offset_bytes, length_bytes)?;
        let (first, end) = self.whole_stripes(offset_bytes, length_bytes);
        if first < end { self.zero_stripes(first, end) } else { Ok(()) }
    }

    /// Makes a range zero; whole stripes in it give their space back if `may_punch`.
    pub fn write_zeroes(
        &self,
        offset_bytes: u64,
        length_bytes: u64,
        may_punch: bool,
        fua: bool,
    ) -> Result<(), VolumeError> {
        self.check_range(offset_bytes, length_bytes)?;
        let (first, end) = self.whole_stripes(offset_bytes, length_bytes);
        let stripe_bytes = self.array().layout.stripe_bytes();
        if may_punch && first < end && (end - first) * stripe_bytes >= PUNCH_BYTES_MINIMUM {
            let (punch_start, punch_end) = (first * stripe_bytes, end * stripe_bytes);
            self.write_zero_bytes(offset_bytes, punch_start - offset_bytes)?;
            self.zero_stripes(first, end)?;
            self.write_zero_bytes(punch_end, offset_bytes + length_bytes - punch_end)?;
        } else {
            self.write_zero_bytes(offset_bytes, length_bytes)?;
        }
        if fua { self.journal.sync() } else { Ok(()) }
    }

    /// What of a range is allocated, from its start; at most [`BLOCK_STATUS_EXTENTS_LIMIT`] extents, so that the
    /// end may be left out. Never empty for a range that is not.
    pub fn block_status(
        &self,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Result<Vec<BlockExtent>, VolumeError> {
        self.check_range(offset_bytes, length_bytes)?;
        let array = self.array();
        let stripes = self.stripes(&array);
        let segment_bytes = u64::from(array.layout.segment_bytes());
        let copies = array.copies();
        let mut extents: Vec<BlockExtent> = Vec::new();
        let mut done = 0;
        while done < length_bytes {
            let (stripe, from) = array.layout.stripe_of(offset_bytes + done);
            let (column, row) = (from / segment_bytes, from % segment_bytes);
            let count = (segment_bytes - row).min(length_bytes - done);
            // A segment whose drive is gone may hold anything.
            let is_allocated = stripes
                .home(stripe, column as u32 * copies + copies - 1)
                .is_none_or(|place| stripes.place_is_allocated(place, row, count));
            let is_full = extents.len() == BLOCK_STATUS_EXTENTS_LIMIT;
            match extents.last_mut() {
                Some(last) if last.is_allocated == is_allocated => last.length_bytes += count,
                _ if is_full => break,
                _ => extents.push(BlockExtent { length_bytes: count, is_allocated }),
            }
            done += count;
        }
        Ok(extents)
    }

    /// Brings everything to the drives and empties the journal, as before a planned stop.
    pub fn checkpoint(&self) -> Result<(), VolumeError> {
        self.checkpoint_locked(&self.array_alone())
    }

    pub(crate) fn checkpoint_locked(&self, array: &Array) -> Result<(), VolumeError> {
        if self.journal.size_bytes() == 0 {
            return Ok(());
        }
        self.journal.sync()?;
        destage(array, &self.overlay)?;
        if self.has_missed.load(Ordering::Acquire) {
            // Until now only the journal says so.
            self.write_record(array)?;
            self.has_missed.store(false, Ordering::Release);
        }
        self.journal.reset()?;
        self.overlay.clear();
        Ok(())
    }

    /// Keeps overlay and journal below their limits before more is added.
    fn make_room(&self) -> Result<(), VolumeError> {
        let is_full = || {
            self.overlay.size_bytes() >= OVERLAY_BYTES_LIMIT
                || self.journal.size_bytes() >= JOURNAL_BYTES_LIMIT
        };
        if is_full() {
            let array = self.array_alone();
            if is_full() {
                return self.checkpoint_locked(&array);
            }
        }
        Ok(())
    }

    pub(crate) fn commit(&self, array: &Array, record: &mut Record) -> Result<(), VolumeError> {
        if record.is_empty() {
            return Ok(());
        }
        self.journal.append(record)?;
        record.for_each(|change| match change {
            Change::Image { drive, offset_bytes, bytes } => self.overlay.insert(drive, offset_bytes, bytes),
            Change::Missed { drive, stripe } => {
                array.drives[usize::from(drive)].missed.add(stripe);
                self.has_missed.store(true, Ordering::Release);
            }
            Change::ZeroStripes { .. } => {}
        });
        Ok(())
    }

    fn zero_stripes(&self, first: u64, end: u64) -> Result<(), VolumeError> {
        let array = self.array_alone();
        if array.moving.is_some() || array.lacks_writes() {
            // Part of a moving piece is in two places, and a drive that is stopped misses it; ordinary writes know
            // which counts, and who misses it.
            let stripe_bytes = array.layout.stripe_bytes();
            drop(array);
            self.write_zero_bytes(first * stripe_bytes, (end - first) * stripe_bytes)?;
            return self.journal.sync();
        }
        self.checkpoint_locked(&array)?;
        self.journal.append(&mut Record::zero_stripes(first, end))?;
        self.journal.sync()?;
        carry_out(&array.layout, &array.drives, &Change::ZeroStripes { first, end })?;
        sync_drives(&array.drives)?;
        self.journal.reset()
    }

    fn write_zero_bytes(&self, offset_bytes: u64, length_bytes: u64) -> Result<(), VolumeError> {
        let zeros = vec![0; length_bytes.min(RUN_BYTES_LIMIT as u64) as usize];
        let mut done = 0;
        while done < length_bytes {
            let count = (length_bytes - done).min(zeros.len() as u64);
            self.write_at(offset_bytes + done, &zeros[..count as usize], false)?;
            done += count;
        }
        Ok(())
    }

    /// The stripes that lie wholly inside a range.
    fn whole_stripes(&self, offset_bytes: u64, length_bytes: u64) -> (u64, u64) {
        let stripe_bytes = self.array().layout.stripe_bytes();
        (offset_bytes.div_ceil(stripe_bytes), (offset_bytes + length_bytes) / stripe_bytes)
    }

    fn check_range(&self, offset_bytes: u64, length_bytes: u64) -> Result<(), VolumeError> {
        let sector = SECTOR_BYTES as u64;
        if !offset_bytes.is_multiple_of(sector) || !length_bytes.is_multiple_of(sector) {
            return Err(VolumeError::Unaligned { offset_bytes, length_bytes });
        }
        match offset_bytes.checked_add(length_bytes) {
            Some(end) if end <= self.capacity_bytes => Ok(()),
            _ => Err(VolumeError::OutOfRange {
                offset_bytes,
                length_bytes,
                capacity_bytes: self.capacity_bytes,
            }),
        }
    }

    pub(crate) fn write_record(&self, array: &Array) -> Result<(), VolumeError> {
        let drives = array
            .drives
            .iter()
            .map(|drive| DriveRecord {
                condition: drive.condition,
                generation: drive.generation,
                rebuilt_below_stripe: drive.rebuilt_below_stripe.load(Ordering::Acquire),
                missed: drive.missed.to_record(),
            })
            .collect();
        let record = ArrayRecord {
            format: FORMAT_VERSION,
            volume: hexadecimal(&self.id),
            identity: self.identity.clone(),
            drive_capacity_bytes: array.drives.iter().map(|drive| drive.capacity_bytes).collect(),
            drives,
            moves: self.moves().iter().map(|&moved| moved.into()).collect(),
            volumes: self
                .map()
                .as_ref()
                .map(|map| MapRecord { unit_bytes: map.unit_bytes(), volumes: map.volumes().to_vec() }),
            attributes: self.attributes().clone(),
        };
        record.write(&*self.shelf)
    }

    pub(crate) fn map(&self) -> MutexGuard<'_, Option<VolumeMap>> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn attributes(&self) -> MutexGuard<'_, Map<String, Value>> {
        self.attributes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn moves(&self) -> MutexGuard<'_, Vec<Move>> {
        self.moves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn stripes<'a>(&'a self, array: &'a Array) -> Stripes<'a> {
        Stripes { array, overlay: &self.overlay, repaired_sectors: &self.repaired_sectors }
    }

    // The locks guard order, not data that a panic could leave half-changed: what they protect is on the shelf and
    // in the journal. A poisoned lock is therefore taken as it is.

    pub(crate) fn array(&self) -> RwLockReadGuard<'_, Array> {
        self.array.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn array_alone(&self) -> RwLockWriteGuard<'_, Array> {
        self.array.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn share_stripe(&self, stripe: u64) -> RwLockReadGuard<'_, ()> {
        self.stripe_locks[(stripe % STRIPE_LOCKS as u64) as usize]
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lock_stripe(&self, stripe: u64) -> RwLockWriteGuard<'_, ()> {
        self.stripe_locks[(stripe % STRIPE_LOCKS as u64) as usize]
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a drive and its superblock, durably.
pub(crate) fn new_drive(
    shelf: &dyn Shelf,
    id: [u8; 16],
    drive: u16,
    generation: u32,
    capacity_bytes: u64,
) -> Result<Drive, VolumeError> {
    let medium = shelf
        .drive(drive, generation, Drive::size_bytes(capacity_bytes), true)
        .while_doing("make a drive")?;
    Superblock { volume: id, drive, generation, capacity_bytes }.write(&*medium)?;
    medium.sync().while_doing("flush a drive")?;
    Ok(Drive::new(Some(medium), DriveCondition::Present, generation, capacity_bytes, 0))
}

/// Does to the drives what the journal says; durable, checksums included, after [`sync_drives`]. Doing it again changes
/// nothing.
pub(crate) fn carry_out(layout: &Layout, drives: &[Drive], change: &Change<'_>) -> Result<(), VolumeError> {
    match *change {
        Change::Image { drive, offset_bytes, bytes } => match drives.get(usize::from(drive)) {
            Some(drive) if !drive.holds(offset_bytes, bytes.len()) => Err(VolumeError::Damaged {
                path: "the journal".to_owned(),
                problem: format!("{} bytes at {offset_bytes} lie on no drive", bytes.len()),
            }),
            Some(drive) if drive.takes_writes() => {
                drive.write_journalled(offset_bytes, bytes).while_doing("write to a drive")
            }
            _ => Ok(()),
        },
        Change::Missed { drive, stripe } => {
            let drive = drives.get(usize::from(drive));
            let drive = drive.filter(|drive| {
                matches!(drive.condition, DriveCondition::Stopped | DriveCondition::CatchingUp)
            });
            if let Some(drive) = drive {
                drive.missed.add(stripe);
            }
            Ok(())
        }
        Change::ZeroStripes { first, end } => {
            let segment_bytes = u64::from(layout.segment_bytes());
            for stripe in first..end.min(layout.stripes()) {
                for member in 0..layout.members() {
                    let place = layout.place(stripe, member);
                    let drive = &drives[usize::from(place.drive)];
                    if drive.takes_writes() {
                        drive.zero(place.offset_bytes, segment_bytes).while_doing("free a drive's space")?;
                    }
                }
            }
            Ok(())
        }
    }
}

pub(crate) fn sync_drives(drives: &[Drive]) -> Result<(), VolumeError> {
    for drive in drives.iter().filter(|drive| drive.takes_writes()) {
        drive.sync().while_doing("flush a drive")?;
    }
    Ok(())
}

fn random_id() -> Result<[u8; 16], VolumeError> {
    let mut id = [0; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut id))
        .while_doing("draw a volume's id")?;
    Ok(id)
}
