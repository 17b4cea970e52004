//! Unit map on the array: read when the volume is opened, and changed entry by entry. `thin_pool.rs` has its form.

use crate::VolumeError;
use crate::checksums::SECTOR_BYTES;
use crate::map::{Run, VolumeMap};
use crate::thin_pool::{
    ENTRIES_OF_SECTOR, ENTRY_BYTES, ThinPool, ThinPoolStatus, damaged, decode, encode, map_bytes,
};
use crate::unit_map::VolumeUnit;
use crate::volume::Volume;
use std::collections::BTreeMap;

/// Bytes of the map that are read at a time.
const READ_BYTES_LIMIT: u64 = 1 << 20;

impl Volume {
    /// Use of the thin pool, where the volumes are thin.
    pub fn thin_pool(&self) -> Option<ThinPoolStatus> {
        self.pool.get().map(ThinPool::status)
    }

    /// Place on the array at which the next unit will be allocated, where one is free.
    pub fn next_thin_place(&self) -> Option<u64> {
        let pool = self.pool.get()?;
        pool.map().lowest_free().map(|place| place * pool.unit_bytes)
    }

    /// Reads the unit map, where the array has one. Entries that a crash has left behind are taken away.
    pub(crate) fn open_pool(&self) -> Result<(), VolumeError> {
        let map = self.map().clone();
        let Some((map, units)) = map.and_then(|map| Some((map.clone(), map.thin_units()?))) else {
            return Ok(());
        };
        let pool = ThinPool::new(self.capacity_bytes(), units);
        for (place, is_lost) in self.read_map(&pool, &map)? {
            // An entry of no volume, or beyond its end: what was to free the unit was interrupted.
            let outcome = if is_lost { None } else { Some(self.write_entry(&pool, place, None)) };
            match outcome {
                Some(Ok(())) => pool.map_mut().release(place),
                None | Some(Err(VolumeError::Lost { .. })) => pool.lose(),
                Some(Err(error)) => return Err(error),
            }
        }
        // Set once, before anyone else has the volume.
        let _ = self.pool.set(pool);
        Ok(())
    }

    /// Fills the map of a pool from the array. Returns the units whose entries do not count, all of them reserved: those
    /// that cannot be read (true), and those that are nobody's any more (false).
    fn read_map(&self, pool: &ThinPool, volumes: &VolumeMap) -> Result<Vec<(u64, bool)>, VolumeError> {
        let unit_bytes = pool.unit_bytes;
        let units_of_volume: BTreeMap<u32, u64> = volumes
            .volumes()
            .iter()
            .filter_map(|volume| Some((volume.thin?, volume.size_bytes.div_ceil(unit_bytes))))
            .collect();
        let mut map = pool.map_mut();
        let units = map.units();
        let (map_start, map_end) = (units * unit_bytes, units * unit_bytes + map_bytes(units));
        let mut without_owner = Vec::new();
        let mut at_bytes = map_start;
        while at_bytes < map_end {
            let extents = self.block_status(at_bytes, map_end - at_bytes)?;
            for extent in extents {
                let run = Run { start_bytes: at_bytes, length_bytes: extent.length_bytes };
                at_bytes += extent.length_bytes;
                if !extent.is_allocated {
                    continue;
                }
                self.for_each_map_sector(&run, |sector_bytes, sector| {
                    let first = (sector_bytes - map_start) / ENTRY_BYTES;
                    let end = units.min(first + ENTRIES_OF_SECTOR);
                    let Some(sector) = sector else {
                        (first..end).filter(|&place| map.take(place)).for_each(|place| {
                            without_owner.push((place, true));
                        });
                        return Ok(());
                    };
                    for (place, entry) in (first..end).zip(sector.chunks_exact(ENTRY_BYTES as usize)) {
                        let Some(of) = decode(place, entry)? else { continue };
                        map.take(place);
                        if units_of_volume.get(&of.volume).is_none_or(|&units| of.unit >= units) {
                            without_owner.push((place, false));
                        } else if !map.assign(of, place) {
                            let twice = format!("two units are unit {} of volume {}", of.unit, of.volume);
                            return Err(damaged(twice));
                        }
                    }
                    Ok(())
                })?;
            }
        }
        Ok(without_owner)
    }

    /// Calls `visit` with each sector of a range and its place; without its bytes where they are lost.
    fn for_each_map_sector(
        &self,
        run: &Run,
        mut visit: impl FnMut(u64, Option<&[u8]>) -> Result<(), VolumeError>,
    ) -> Result<(), VolumeError> {
        let mut buffer = vec![0; run.length_bytes.min(READ_BYTES_LIMIT) as usize];
        let mut done = 0;
        while done < run.length_bytes {
            let count = (run.length_bytes - done).min(READ_BYTES_LIMIT);
            let start_bytes = run.start_bytes + done;
            let bytes = &mut buffer[..count as usize];
            let is_read = match self.read_at(start_bytes, bytes) {
                Ok(()) => true,
                Err(VolumeError::Lost { .. }) => false,
                Err(error) => return Err(error),
            };
            for (index, sector) in bytes.chunks_exact_mut(SECTOR_BYTES).enumerate() {
                let sector_bytes = start_bytes + (index * SECTOR_BYTES) as u64;
                let outcome = if is_read { Ok(()) } else { self.read_at(sector_bytes, sector) };
                match outcome {
                    Ok(()) => visit(sector_bytes, Some(sector))?,
                    Err(VolumeError::Lost { .. }) => visit(sector_bytes, None)?,
                    Err(error) => return Err(error),
                }
            }
            done += count;
        }
        Ok(())
    }

    /// Writes whose a unit of the pool is. The other entries of the sector stay as they are.
    pub(crate) fn write_entry(
        &self,
        pool: &ThinPool,
        place: u64,
        owner: Option<VolumeUnit>,
    ) -> Result<(), VolumeError> {
        let map_start = pool.map().units() * pool.unit_bytes;
        let sector_bytes = map_start + place / ENTRIES_OF_SECTOR * SECTOR_BYTES as u64;
        let within = (place % ENTRIES_OF_SECTOR * ENTRY_BYTES) as usize;
        let _alone = pool.lock_sector(place);
        let mut sector = [0; SECTOR_BYTES];
        self.read_at(sector_bytes, &mut sector)?;
        sector[within..within + ENTRY_BYTES as usize].copy_from_slice(&encode(owner));
        self.write_at(sector_bytes, &sector, false)
    }
}
