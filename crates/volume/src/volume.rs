//! The volume: bytes in, bytes out, by any number of threads at once.

use crate::VolumeError;
use crate::block_store::BackingStore;
use crate::destage::destage;
use crate::drive::{Drive, FORMAT_VERSION, SECTOR_BYTES};
use crate::journal::{Change, Journal, Record};
use crate::map::VolumeMap;
use crate::overlay::Overlay;
use crate::record::{ArrayRecord, DriveRecord, MapRecord, hexadecimal};
use crate::stripe::{Array, Stripes};
use layout::{Layout, Move};
use serde_json::{Map, Value};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Stripes share this many locks.
const STRIPE_LOCKS: usize = 1024;
/// The overlay is brought to the drives when it holds this much.
const OVERLAY_BYTES_LIMIT: usize = 64 << 20;
/// The journal is emptied when it is this long.
const JOURNAL_BYTES_LIMIT: u64 = 256 << 20;
/// Specification of a volume.
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

/// State in the record besides the drives.
#[derive(Default)]
pub(crate) struct RecordedState {
    pub moves: Vec<Move>,
    pub map: Option<VolumeMap>,
    pub attributes: Map<String, Value>,
}

/// An array's bytes.
///
/// Locks are taken in this order: the array (shared by all I/O, alone to change drives or empty the journal), then
/// one stripe, then the journal or a shard of the overlay.
pub struct Volume {
    pub(crate) store: Box<dyn BackingStore>,
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
    pub(crate) journal: Journal,
    pub(crate) repaired_sectors: AtomicU64,
    capacity_bytes: u64,
}

impl Volume {
    /// Of what was made or found.
    pub(crate) fn assemble(
        store: Box<dyn BackingStore>,
        id: [u8; 16],
        spec: VolumeSpec,
        drives: Vec<Drive>,
        journal: Journal,
        kept: RecordedState,
    ) -> Volume {
        let capacity_bytes = spec.layout.capacity_bytes() / SECTOR_BYTES as u64 * SECTOR_BYTES as u64;
        let mut array = Array { layout: spec.layout, drives, is_whole: false, moving: None };
        array.look_whether_whole();
        Volume {
            store,
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
            Change::StaleStripes { drive, stripe } => {
                array.drives[usize::from(drive)].missed.add(stripe);
                self.has_missed.store(true, Ordering::Release);
            }
            Change::ZeroStripes { .. } => {}
        });
        Ok(())
    }

    pub(crate) fn check_range(&self, offset_bytes: u64, length_bytes: u64) -> Result<(), VolumeError> {
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
        record.write(&*self.store)
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
