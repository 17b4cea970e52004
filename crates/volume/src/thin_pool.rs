//! Thin pool of an array: its geometry, and the unit map as it is kept on the array.
//!
//! ```text
//! 0          units of the pool
//! units × U  16 bytes for each unit: the number of its volume plus 1 or 0 for none (4), zeros (4), its number in the volume (8)
//! ```
//!
//! The map lies under the array's layout as data does: it has the same redundancy, is journalled, rebuilt and scrubbed.
//! Data of a new unit goes to the journal before its entry, and an entry is taken away before its unit is anyone's
//! again; what of the journal outlives a power cut is its beginning, so that an entry never leads to what is not there.

use crate::VolumeError;
use crate::checksums::SECTOR_BYTES;
use crate::lock::lock;
use crate::map::ThinUnits;
use crate::unit_map::{UnitMap, VolumeUnit};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Share of its units from which a pool is nearly full.
pub const NEARLY_FULL_SHARE: f64 = 0.8;
/// Bytes of the map for a unit.
pub(crate) const ENTRY_BYTES: u64 = 16;
pub(crate) const ENTRIES_OF_SECTOR: u64 = SECTOR_BYTES as u64 / ENTRY_BYTES;
/// Units of volumes share this many locks.
const UNIT_LOCKS: usize = 1024;
/// Sectors of the map share this many.
const SECTOR_LOCKS: usize = 64;

/// A thin pool's use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct ThinPoolStatus {
    /// Bytes that are allocated at once.
    pub unit_bytes: u64,
    /// Bytes of all units.
    pub size_bytes: u64,
    /// Bytes of the units that volumes have.
    pub used_bytes: u64,
    /// Bytes of the units that nobody has.
    pub free_bytes: u64,
    /// Bytes of units whose entry of the map is lost: nobody's, and not given out.
    pub lost_bytes: u64,
    /// Writes since the start that found too few units.
    pub refused_writes: u64,
}

impl ThinPoolStatus {
    /// Share of the pool that cannot be given out, 0 to 1.
    pub fn used_share(&self) -> f64 {
        1.0 - self.free_bytes as f64 / (self.size_bytes as f64).max(1.0)
    }

    /// Returns true if nothing is left.
    pub fn is_full(&self) -> bool {
        self.free_bytes == 0
    }

    /// Returns true from [`NEARLY_FULL_SHARE`] on.
    pub fn is_nearly_full(&self) -> bool {
        self.used_share() >= NEARLY_FULL_SHARE
    }
}

/// Thin pool of an array.
pub(crate) struct ThinPool {
    pub(crate) unit_bytes: u64,
    map: RwLock<UnitMap>,
    unit_locks: Vec<RwLock<()>>,
    sector_locks: Vec<Mutex<()>>,
    refused_writes: AtomicU64,
    /// Units whose entry cannot be read.
    lost_units: AtomicU64,
}

/// Bytes of the units of a thin pool that takes all of an array of `capacity_bytes`: what is left is the unit map's.
pub fn thin_pool_bytes(capacity_bytes: u64, unit_bytes: u64) -> u64 {
    units_of(capacity_bytes, unit_bytes) * unit_bytes
}

fn units_of(capacity_bytes: u64, unit_bytes: u64) -> u64 {
    let fits = |units: u64| units * unit_bytes + map_bytes(units) <= capacity_bytes;
    // Rounding the map up to whole sectors takes one unit at most.
    let units = capacity_bytes / (unit_bytes + ENTRY_BYTES);
    if fits(units) { units } else { units.saturating_sub(1) }
}

pub(crate) fn map_bytes(units: u64) -> u64 {
    units.div_ceil(ENTRIES_OF_SECTOR) * SECTOR_BYTES as u64
}

/// Owner of the unit `place` of the pool, by its entry of the map.
pub(crate) fn decode(place: u64, entry: &[u8]) -> Result<Option<VolumeUnit>, VolumeError> {
    let word = |at: usize| entry[at..at + 4].iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
    let (number, zeros, unit) = (word(0), word(4), u64::from(word(12)) << 32 | u64::from(word(8)));
    match (number, zeros) {
        (0, 0) if unit == 0 => Ok(None),
        (1.., 0) => Ok(Some(VolumeUnit { volume: number - 1, unit })),
        _ => Err(damaged(format!("the entry of unit {place} makes no sense"))),
    }
}

pub(crate) fn damaged(problem: String) -> VolumeError {
    VolumeError::Damaged { path: "the unit map".to_owned(), problem }
}

pub(crate) fn encode(owner: Option<VolumeUnit>) -> [u8; ENTRY_BYTES as usize] {
    let mut entry = [0; ENTRY_BYTES as usize];
    if let Some(VolumeUnit { volume, unit }) = owner {
        entry[..4].copy_from_slice(&(volume + 1).to_le_bytes());
        entry[8..].copy_from_slice(&unit.to_le_bytes());
    }
    entry
}

impl ThinPool {
    pub(crate) fn new(capacity_bytes: u64, units: ThinUnits) -> ThinPool {
        ThinPool {
            unit_bytes: units.unit_bytes,
            map: RwLock::new(UnitMap::new(units_of(capacity_bytes, units.unit_bytes))),
            unit_locks: (0..UNIT_LOCKS).map(|_| RwLock::default()).collect(),
            sector_locks: (0..SECTOR_LOCKS).map(|_| Mutex::default()).collect(),
            refused_writes: AtomicU64::new(0),
            lost_units: AtomicU64::new(0),
        }
    }

    // Changes of the map cannot panic half-way: a poisoned lock is taken as it is.

    pub(crate) fn map(&self) -> RwLockReadGuard<'_, UnitMap> {
        self.map.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn map_mut(&self) -> RwLockWriteGuard<'_, UnitMap> {
        self.map.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock of a unit of a volume: shared by whoever reads or writes it where it lies, alone to allocate or free it.
    pub(crate) fn unit_lock(&self, of: VolumeUnit) -> &RwLock<()> {
        &self.unit_locks[(of.unit.wrapping_add(u64::from(of.volume) * 7) % UNIT_LOCKS as u64) as usize]
    }

    /// Returns true if the entries of some units are lost: what has no place may lie in one of them.
    pub(crate) fn has_lost_units(&self) -> bool {
        self.lost_units.load(Ordering::Acquire) > 0
    }

    /// The lock of the sector of the map that holds the entry of a unit: whoever changes one of its entries has it.
    pub(crate) fn lock_sector(&self, place: u64) -> MutexGuard<'_, ()> {
        lock(&self.sector_locks[(place / ENTRIES_OF_SECTOR % SECTOR_LOCKS as u64) as usize])
    }

    /// A unit is nobody's, and not free: its entry is lost.
    pub(crate) fn lose(&self) {
        self.lost_units.fetch_add(1, Ordering::AcqRel);
    }

    /// Reserves units for a write that needs so many.
    pub(crate) fn reserve(&self, needed_units: u64) -> Result<Vec<u64>, VolumeError> {
        if needed_units == 0 {
            return Ok(Vec::new());
        }
        let mut map = self.map_mut();
        map.reserve(needed_units).ok_or_else(|| {
            self.refused_writes.fetch_add(1, Ordering::Relaxed);
            let (free_units, unit_bytes) = (map.free_units(), self.unit_bytes);
            VolumeError::PoolFull { needed_units, free_units, unit_bytes }
        })
    }

    pub(crate) fn status(&self) -> ThinPoolStatus {
        let (units, free) = {
            let map = self.map();
            (map.units(), map.free_units())
        };
        let lost = self.lost_units.load(Ordering::Acquire);
        ThinPoolStatus {
            unit_bytes: self.unit_bytes,
            size_bytes: units * self.unit_bytes,
            used_bytes: (units - free - lost) * self.unit_bytes,
            free_bytes: free * self.unit_bytes,
            lost_bytes: lost * self.unit_bytes,
            refused_writes: self.refused_writes.load(Ordering::Relaxed),
        }
    }
}
