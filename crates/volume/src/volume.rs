//! The volume: bytes in, bytes out, by any number of threads at once.

use crate::VolumeError;
use crate::block_store::BackingStore;
use crate::checksums::SECTOR_BYTES;
use crate::destage::Destage;
use crate::drive::{Drive, FORMAT_VERSION};
use crate::journal::Journal;
use crate::journal_record::Record;
use crate::lock::lock;
use crate::map::VolumeMap;
use crate::overlay::Overlay;
use crate::record::{ArrayRecord, DriveRecord, MapRecord, hexadecimal};
use crate::stripe::{Array, Stripes};
use crate::thin_pool::ThinPool;
use layout::{Layout, Move};
use serde_json::{Map, Value};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Stripes share this many locks.
const STRIPE_LOCKS: usize = 1024;

/// Specification of a volume.
#[derive(Debug, Clone)]
pub struct VolumeSpec {
    /// Layout.
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
/// Locks are taken in this order: a unit of a thin volume, a sector of the pool's unit map, the array (shared by all I/O, alone to change drives or empty the journal), then
/// one stripe, then the journal or a shard of the overlay.
pub struct Volume {
    pub(crate) store: Box<dyn BackingStore>,
    pub(crate) id: [u8; 16],
    identity: String,
    array: RwLock<Array>,
    /// Every piece that has moved since the volume was made, in order.
    pub(crate) moves: Mutex<Vec<Move>>,
    map: Mutex<Option<VolumeMap>>,
    /// Thin pool, where the map is one of thin volumes.
    pub(crate) pool: OnceLock<ThinPool>,
    attributes: Mutex<Map<String, Value>>,
    /// Drives have missed writes that only the journal says so of.
    pub(crate) has_missed: AtomicBool,
    /// Groups before this one lie as they should.
    pub(crate) relocation_cursor: AtomicU64,
    pub(crate) relocated_pieces: AtomicU64,
    stripe_locks: Vec<RwLock<()>>,
    pub(crate) overlay: Overlay,
    pub(crate) journal: Journal,
    pub(crate) destage: Destage,
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
            pool: OnceLock::new(),
            attributes: Mutex::new(kept.attributes),
            has_missed: AtomicBool::new(false),
            relocation_cursor: AtomicU64::new(0),
            relocated_pieces: AtomicU64::new(0),
            stripe_locks: (0..STRIPE_LOCKS).map(|_| RwLock::default()).collect(),
            overlay: Overlay::new(),
            journal,
            destage: Destage::default(),
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
                let mut record = self.overlay.record_for(count);
                stripes.change(stripe, from, &bytes[done..done + count], &mut record)?;
                self.commit(&array, record)?;
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

    pub(crate) fn commit(&self, array: &Array, mut record: Record) -> Result<(), VolumeError> {
        if record.is_empty() {
            return Ok(());
        }
        self.journal.append(&mut record)?;
        let record = Arc::new(record);
        // What this process has built is well-formed, or `push` is wrong and every test fails.
        let is_sound = record.entries(|entry| {
            if entry.is_image() {
                self.overlay.insert(&record, entry);
            } else {
                array.drives[usize::from(entry.drive)].missed.add(entry.offset_bytes);
                self.has_missed.store(true, Ordering::Release);
            }
            true
        });
        debug_assert!(is_sound);
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
            volumes: self.map().as_ref().map(MapRecord::from),
            attributes: self.attributes().clone(),
        };
        record.write(&*self.store)
    }

    pub(crate) fn map(&self) -> MutexGuard<'_, Option<VolumeMap>> {
        lock(&self.map)
    }

    pub(crate) fn attributes(&self) -> MutexGuard<'_, Map<String, Value>> {
        lock(&self.attributes)
    }

    pub(crate) fn moves(&self) -> MutexGuard<'_, Vec<Move>> {
        lock(&self.moves)
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
