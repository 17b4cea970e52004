//! I/O on a thin volume: units are allocated with the first write to them, and freed by trims and zeroing.

use crate::VolumeError;
use crate::checksums::SECTOR_BYTES;
use crate::extents::{BLOCK_STATUS_EXTENTS_LIMIT, BlockExtent};
use crate::map::Run;
use crate::thin_pool::ThinPool;
use crate::unit_map::VolumeUnit;
use crate::volume::Volume;
use std::ops::Range;
use std::sync::PoisonError;

/// Units that are freed at a time: their places are zeroed together.
const FREE_UNITS_LIMIT: usize = 4096;

/// A thin volume, for I/O.
pub struct ThinVolume<'a> {
    volume: &'a Volume,
    pool: &'a ThinPool,
    number: u32,
    size_bytes: u64,
}

/// Part of a range that lies in one unit.
struct Part {
    of: VolumeUnit,
    /// Offset in the unit.
    within_bytes: u64,
    /// Place in the range.
    range: Range<usize>,
}

/// Content that a write puts into a part of a unit.
#[derive(Clone, Copy)]
enum Content<'b> {
    Bytes(&'b [u8]),
    Zeros,
}

impl Volume {
    /// The thin volume of a number, which has so many bytes.
    ///
    /// # Errors
    /// [`VolumeError::Foreign`] where the array has no thin pool.
    pub fn thin_volume(&self, number: u32, size_bytes: u64) -> Result<ThinVolume<'_>, VolumeError> {
        let pool = self.pool.get().ok_or_else(|| VolumeError::Foreign {
            path: self.store.name(),
            problem: "its volumes are not thin".to_owned(),
        })?;
        Ok(ThinVolume { volume: self, pool, number, size_bytes })
    }
}

impl ThinVolume<'_> {
    /// Reads whole sectors; zeros where nothing is allocated.
    ///
    /// # Errors
    /// [`VolumeError::Lost`] where more is gone than the redundancy covers; never wrong bytes.
    pub fn read_at(&self, offset_bytes: u64, buffer: &mut [u8]) -> Result<(), VolumeError> {
        self.check_range(offset_bytes, buffer.len() as u64)?;
        for part in self.parts(offset_bytes, buffer.len() as u64) {
            let buffer = &mut buffer[part.range.clone()];
            let _shared = self.pool.unit_lock(part.of).read().unwrap_or_else(PoisonError::into_inner);
            match self.place(part.of)? {
                Some(place) => self.volume.read_at(self.at(place, &part), buffer)?,
                None => buffer.fill(0),
            }
        }
        Ok(())
    }

    /// Writes whole sectors, as [`Volume::write_at`] does.
    ///
    /// # Errors
    /// [`VolumeError::PoolFull`] where more units are needed than are free. Nothing was written then.
    pub fn write_at(&self, offset_bytes: u64, bytes: &[u8], fua: bool) -> Result<(), VolumeError> {
        self.put(offset_bytes, bytes.len() as u64, |range| Content::Bytes(&bytes[range]))?;
        if fua { self.volume.flush() } else { Ok(()) }
    }

    /// Makes a range zero. Units that lie wholly in it are freed if `may_punch`; otherwise every unit of it is allocated.
    ///
    /// # Errors
    /// As [`ThinVolume::write_at`], but with `may_punch` no unit is needed.
    pub fn write_zeroes(
        &self,
        offset_bytes: u64,
        length_bytes: u64,
        may_punch: bool,
        fua: bool,
    ) -> Result<(), VolumeError> {
        if may_punch {
            self.check_range(offset_bytes, length_bytes)?;
            let whole = self.whole_units(offset_bytes, length_bytes);
            for part in self.parts_beside(offset_bytes, length_bytes, &whole) {
                let _shared = self.pool.unit_lock(part.of).read().unwrap_or_else(PoisonError::into_inner);
                if let Some(place) = self.place(part.of)? {
                    self.write_part(place, &part, Content::Zeros)?;
                }
            }
            self.free(whole)?;
        } else {
            self.put(offset_bytes, length_bytes, |_| Content::Zeros)?;
        }
        if fua { self.volume.flush() } else { Ok(()) }
    }

    /// Gives up a range: units that lie wholly in it are free, and read as zeros; the rest stays as it is.
    pub fn trim(&self, offset_bytes: u64, length_bytes: u64, fua: bool) -> Result<(), VolumeError> {
        self.check_range(offset_bytes, length_bytes)?;
        self.free(self.whole_units(offset_bytes, length_bytes))?;
        if fua { self.volume.flush() } else { Ok(()) }
    }

    /// Lists what of a range is allocated, as [`Volume::block_status`] does.
    pub fn block_status(
        &self,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Result<Vec<BlockExtent>, VolumeError> {
        self.check_range(offset_bytes, length_bytes)?;
        let end_bytes = offset_bytes + length_bytes;
        let mut extents: Vec<BlockExtent> = Vec::new();
        let mut at_bytes = offset_bytes;
        while at_bytes < end_bytes {
            let unit = at_bytes / self.pool.unit_bytes;
            let next = self.pool.map().allocated(self.number, unit..self.end_unit()).next();
            let (is_allocated, until_bytes) = match next {
                // What has no place may lie in a unit whose entry is lost.
                _ if self.pool.has_lost_units() => (true, end_bytes),
                Some((next, _)) if next == unit => (true, (unit + 1) * self.pool.unit_bytes),
                Some((next, _)) => (false, next * self.pool.unit_bytes),
                None => (false, end_bytes),
            };
            let length_bytes = until_bytes.min(end_bytes) - at_bytes;
            let is_at_limit = extents.len() == BLOCK_STATUS_EXTENTS_LIMIT;
            match extents.last_mut() {
                Some(last) if last.is_allocated == is_allocated => last.length_bytes += length_bytes,
                _ if is_at_limit => break,
                _ => extents.push(BlockExtent { length_bytes, is_allocated }),
            }
            at_bytes += length_bytes;
        }
        Ok(extents)
    }

    /// Bytes of the units that it has.
    pub fn allocated_bytes(&self) -> u64 {
        self.pool.map().allocated(self.number, 0..u64::MAX).count() as u64 * self.pool.unit_bytes
    }

    /// Place on the array of the byte at an offset, where its unit is allocated.
    pub fn array_offset(&self, offset_bytes: u64) -> Option<u64> {
        let unit_bytes = self.pool.unit_bytes;
        let place = self.pool.map().place(self.unit(offset_bytes / unit_bytes))?;
        Some(place * unit_bytes + offset_bytes % unit_bytes)
    }

    fn unit(&self, unit: u64) -> VolumeUnit {
        VolumeUnit { volume: self.number, unit }
    }

    fn end_unit(&self) -> u64 {
        self.size_bytes.div_ceil(self.pool.unit_bytes)
    }

    /// Place of a unit; none where it is not allocated. Under its lock.
    fn place(&self, of: VolumeUnit) -> Result<Option<u64>, VolumeError> {
        let place = self.pool.map().place(of);
        if place.is_none() && self.pool.has_lost_units() {
            // It may be in one of those; their entries lie in the last stripes.
            let stripe = self.volume.array().layout.stripes().saturating_sub(1);
            return Err(VolumeError::Lost { stripe });
        }
        Ok(place)
    }

    fn at(&self, place: u64, part: &Part) -> u64 {
        place * self.pool.unit_bytes + part.within_bytes
    }

    /// Writes all parts of a range, and allocates what is not allocated: all that is needed is reserved first.
    fn put<'b>(
        &self,
        offset_bytes: u64,
        length_bytes: u64,
        content: impl Fn(Range<usize>) -> Content<'b>,
    ) -> Result<(), VolumeError> {
        self.check_range(offset_bytes, length_bytes)?;
        let parts = || self.parts(offset_bytes, length_bytes);
        let needed = {
            let map = self.pool.map();
            parts().filter(|part| map.place(part.of).is_none()).count() as u64
        };
        // The lowest last, from where they are taken.
        let mut reserved = self.pool.reserve(needed)?;
        reserved.reverse();
        let outcome =
            parts().try_for_each(|part| self.put_part(&part, content(part.range.clone()), &mut reserved));
        let mut map = self.pool.map_mut();
        // What others have allocated meanwhile.
        reserved.into_iter().for_each(|place| map.release(place));
        outcome
    }

    fn put_part(
        &self,
        part: &Part,
        content: Content<'_>,
        reserved: &mut Vec<u64>,
    ) -> Result<(), VolumeError> {
        let unit_lock = self.pool.unit_lock(part.of);
        {
            let _shared = unit_lock.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(place) = self.place(part.of)? {
                return self.write_part(place, part, content);
            }
        }
        let _alone = unit_lock.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = self.place(part.of)? {
            return self.write_part(place, part, content);
        }
        if reserved.is_empty() {
            // It was freed by another request since the units were counted.
            reserved.extend(self.pool.reserve(1)?);
        }
        let Some(place) = reserved.pop() else { return Ok(()) };
        let outcome = self
            .fill(place, part, content)
            .and_then(|()| self.volume.write_entry(self.pool, place, Some(part.of)));
        let mut map = self.pool.map_mut();
        match outcome {
            Ok(()) => {
                let is_new = map.assign(part.of, place);
                debug_assert!(is_new, "under its lock nobody else allocates a unit");
                Ok(())
            }
            Err(error) => {
                map.release(place);
                Err(error)
            }
        }
    }

    /// Makes a new unit hold its first content, and zeros beside it.
    fn fill(&self, place: u64, part: &Part, content: Content<'_>) -> Result<(), VolumeError> {
        let start_bytes = place * self.pool.unit_bytes;
        let (from_bytes, length_bytes) = (part.within_bytes, part.range.len() as u64);
        let beside = match content {
            Content::Bytes(_) => [(0, from_bytes), (from_bytes + length_bytes, self.pool.unit_bytes)],
            Content::Zeros => [(0, self.pool.unit_bytes), (0, 0)],
        };
        for (from, end) in beside {
            // What it held when it was another's may be there still.
            self.volume.clear(&Run { start_bytes: start_bytes + from, length_bytes: end - from })?;
        }
        match content {
            Content::Bytes(bytes) => self.volume.write_at(start_bytes + from_bytes, bytes, false),
            Content::Zeros => Ok(()),
        }
    }

    fn write_part(&self, place: u64, part: &Part, content: Content<'_>) -> Result<(), VolumeError> {
        let at_bytes = self.at(place, part);
        match content {
            Content::Bytes(bytes) => self.volume.write_at(at_bytes, bytes, false),
            Content::Zeros => self.volume.write_zeroes(at_bytes, part.range.len() as u64, true, false),
        }
    }

    /// Frees the units of a range that are allocated.
    fn free(&self, units: Range<u64>) -> Result<(), VolumeError> {
        loop {
            let allocated: Vec<u64> = {
                let map = self.pool.map();
                map.allocated(self.number, units.clone())
                    .take(FREE_UNITS_LIMIT)
                    .map(|(unit, _)| unit)
                    .collect()
            };
            if allocated.is_empty() {
                return Ok(());
            }
            let mut places = Vec::with_capacity(allocated.len());
            let outcome = allocated.iter().try_for_each(|&unit| {
                let of = self.unit(unit);
                let _alone = self.pool.unit_lock(of).write().unwrap_or_else(PoisonError::into_inner);
                let Some(place) = self.pool.map().place(of) else { return Ok(()) };
                self.volume.write_entry(self.pool, place, None)?;
                places.extend(self.pool.map_mut().unassign(of));
                Ok(())
            });
            outcome.and(self.give_back(places))?;
        }
    }

    /// Zeroes places that are nobody's any more, as far as they are whole stripes, and makes them free.
    fn give_back(&self, mut places: Vec<u64>) -> Result<(), VolumeError> {
        places.sort_unstable();
        let unit_bytes = self.pool.unit_bytes;
        let mut outcome = Ok(());
        for run in places.chunk_by(|place, next| place + 1 == *next) {
            let length_bytes = run.len() as u64 * unit_bytes;
            outcome = outcome.and(self.volume.trim(run[0] * unit_bytes, length_bytes));
        }
        let mut map = self.pool.map_mut();
        // Whatever came of it: what is not zero now is made so when it is given out.
        places.into_iter().for_each(|place| map.release(place));
        outcome
    }

    /// Units that lie wholly in a range; the last of the volume does where the range ends with it.
    fn whole_units(&self, offset_bytes: u64, length_bytes: u64) -> Range<u64> {
        let (unit_bytes, end_bytes) = (self.pool.unit_bytes, offset_bytes + length_bytes);
        let first = offset_bytes.div_ceil(unit_bytes);
        let end = if end_bytes == self.size_bytes { self.end_unit() } else { end_bytes / unit_bytes };
        first..end.max(first)
    }

    /// Parts of a range, unit by unit.
    fn parts(&self, offset_bytes: u64, length_bytes: u64) -> impl Iterator<Item = Part> {
        let (unit_bytes, number) = (self.pool.unit_bytes, self.number);
        let end_bytes = offset_bytes + length_bytes;
        let mut at_bytes = offset_bytes;
        std::iter::from_fn(move || {
            if at_bytes == end_bytes {
                return None;
            }
            let (unit, within_bytes) = (at_bytes / unit_bytes, at_bytes % unit_bytes);
            let count = (unit_bytes - within_bytes).min(end_bytes - at_bytes);
            let from = (at_bytes - offset_bytes) as usize;
            at_bytes += count;
            let of = VolumeUnit { volume: number, unit };
            Some(Part { of, within_bytes, range: from..from + count as usize })
        })
    }

    /// The parts of a range that lie in no whole unit of it: one at each end at most.
    fn parts_beside(&self, offset_bytes: u64, length_bytes: u64, whole: &Range<u64>) -> Vec<Part> {
        let (unit_bytes, end_bytes) = (self.pool.unit_bytes, offset_bytes + length_bytes);
        let (whole_start, whole_end) = if whole.is_empty() {
            (end_bytes, end_bytes)
        } else {
            (whole.start * unit_bytes, (whole.end * unit_bytes).min(end_bytes))
        };
        let before = self.parts(offset_bytes, whole_start - offset_bytes);
        before.chain(self.parts(whole_end, end_bytes - whole_end)).collect()
    }

    fn check_range(&self, offset_bytes: u64, length_bytes: u64) -> Result<(), VolumeError> {
        let sector = SECTOR_BYTES as u64;
        if !offset_bytes.is_multiple_of(sector) || !length_bytes.is_multiple_of(sector) {
            return Err(VolumeError::Unaligned { offset_bytes, length_bytes });
        }
        match offset_bytes.checked_add(length_bytes) {
            Some(end) if end <= self.size_bytes => Ok(()),
            _ => {
                let capacity_bytes = self.size_bytes;
                Err(VolumeError::OutOfRange { offset_bytes, length_bytes, capacity_bytes })
            }
        }
    }
}
