//! NBD export of a part of a served array: all of it, or one volume.

use crate::live::LiveArray;
use crate::paced::{Pacer, RequestTarget, Tally};
use crate::served_volume::{Mapped, ServedVolume};
use nbd::{Access, Arrival, Export, ExportError, Extent, HeldReply};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;
use volume::{BlockExtent, Run, ThinVolume, Volume, VolumeError};

/// Part that a client has chosen.
pub(crate) enum Part {
    /// All of the array.
    Whole { size_bytes: u64 },
    /// One volume.
    Volume(Arc<ServedVolume>),
}

/// A part of the array.
pub(crate) struct Slice {
    pub live: Arc<LiveArray>,
    pub part: Part,
    pub regions: Arc<RwLock<Vec<Region>>>,
    pub pacer: Option<Arc<Pacer>>,
}

/// Range of the array, and whose it is.
pub(crate) struct Region {
    pub run: Run,
    /// Offset in the volume at which it begins.
    pub in_volume_bytes: u64,
    pub volume: Arc<ServedVolume>,
}

impl Slice {
    /// Returns whose a range is, and where the model has it. What is no volume's has no time of its own.
    fn at(&self, offset_bytes: u64) -> Option<(RequestTarget, Arc<Tally>)> {
        match &self.part {
            Part::Volume(volume) => {
                let mapped = volume.mapped();
                let array_bytes = match mapped.thin {
                    Some(number) => self.thin_place(number, &mapped, offset_bytes)?,
                    None => mapped.parts(offset_bytes, 512).ok()?.first()?.0,
                };
                let at =
                    RequestTarget { volume: Some(volume.number), volume_bytes: offset_bytes, array_bytes };
                Some((at, volume.tally.clone()))
            }
            Part::Whole { .. } => {
                let regions = self.regions.read().unwrap_or_else(PoisonError::into_inner);
                let after = regions.partition_point(|region| region.run.start_bytes <= offset_bytes);
                let region = regions.get(after.checked_sub(1)?)?;
                let volume_bytes = region.in_volume_bytes + offset_bytes - region.run.start_bytes;
                let is_inside = offset_bytes - region.run.start_bytes < region.run.length_bytes;
                let volume = is_inside.then_some(region.volume.number);
                Some((
                    RequestTarget { volume, volume_bytes, array_bytes: offset_bytes },
                    region.volume.tally.clone(),
                ))
            }
        }
    }

    /// Place on the array of a thin volume's byte; of a unit that is not allocated, where the next one will be.
    fn thin_place(&self, number: u32, mapped: &Mapped, offset_bytes: u64) -> Option<u64> {
        mapped.check(offset_bytes, 512).ok()?;
        let volume = self.live.volume()?;
        let thin = volume.thin_volume(number, mapped.size_bytes).ok()?;
        let place = thin.array_offset(offset_bytes).or_else(|| volume.next_thin_place());
        // Of a full pool any place does: what is not allocated there is zero, or an error.
        Some(place.unwrap_or(0))
    }

    /// Carries something out on a thin volume; nothing where it is none.
    fn on_thin<T>(
        &self,
        offset_bytes: u64,
        length_bytes: u64,
        mut carry_out: impl FnMut(&ThinVolume<'_>) -> Result<T, VolumeError>,
    ) -> Option<Result<T, ExportError>> {
        let Part::Volume(volume) = &self.part else { return None };
        // Held until it is done, as for the parts of others.
        let mapped = volume.mapped();
        let number = mapped.thin?;
        let outcome = mapped.check(offset_bytes, length_bytes).and_then(|()| {
            self.live.attempt(|volume| carry_out(&volume.thin_volume(number, mapped.size_bytes)?))
        });
        Some(outcome)
    }

    /// Carries something out on each part of a range.
    fn each(
        &self,
        offset_bytes: u64,
        length_bytes: u64,
        mut carry_out: impl FnMut(&Volume, u64, std::ops::Range<usize>) -> Result<(), VolumeError>,
    ) -> Result<(), ExportError> {
        let volume = match &self.part {
            Part::Whole { .. } => {
                let range = 0..length_bytes as usize;
                return self.live.attempt(|volume| carry_out(volume, offset_bytes, range.clone()));
            }
            Part::Volume(volume) => volume,
        };
        // Held until it is done: whoever takes a range away waits.
        let mapped = volume.mapped();
        for (at_bytes, from, count) in mapped.parts(offset_bytes, length_bytes)? {
            let range = from as usize..(from + count) as usize;
            self.live.attempt(|volume| carry_out(volume, at_bytes, range.clone()))?;
        }
        Ok(())
    }

    /// Counts what is answered at once.
    fn count<T>(
        &self,
        access: Access,
        offset_bytes: u64,
        length_bytes: usize,
        carry_out: impl FnOnce() -> Result<T, ExportError>,
    ) -> Result<T, ExportError> {
        let at = if self.pacer.is_none() { self.at(offset_bytes) } else { None };
        let Some((_, tally)) = at else { return carry_out() };
        let began = Instant::now();
        tally.begin();
        let outcome = carry_out();
        tally.end(access, length_bytes as u64, began.elapsed());
        outcome
    }
}

impl Export for Slice {
    fn size_bytes(&self) -> u64 {
        match &self.part {
            Part::Whole { size_bytes } => *size_bytes,
            Part::Volume(volume) => volume.size_bytes(),
        }
    }

    fn is_gone(&self) -> bool {
        matches!(&self.part, Part::Volume(volume) if volume.mapped().is_gone)
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn description(&self) -> String {
        match &self.part {
            Part::Whole { .. } => self.live.array.title.clone(),
            Part::Volume(volume) => format!("{} of {}", volume.name, self.live.array.title),
        }
    }

    fn read_at(&self, offset_bytes: u64, buffer: &mut [u8]) -> Result<(), ExportError> {
        self.count(Access::Read, offset_bytes, buffer.len(), || {
            let length_bytes = buffer.len() as u64;
            if let Some(outcome) =
                self.on_thin(offset_bytes, length_bytes, |thin| thin.read_at(offset_bytes, buffer))
            {
                return outcome;
            }
            self.each(offset_bytes, buffer.len() as u64, |volume, at_bytes, range| {
                volume.read_at(at_bytes, &mut buffer[range])
            })
        })
    }

    fn write_at(&self, offset_bytes: u64, bytes: &[u8], fua: bool) -> Result<(), ExportError> {
        self.count(Access::Write, offset_bytes, bytes.len(), || {
            let length_bytes = bytes.len() as u64;
            if let Some(outcome) =
                self.on_thin(offset_bytes, length_bytes, |thin| thin.write_at(offset_bytes, bytes, fua))
            {
                return outcome;
            }
            self.each(offset_bytes, bytes.len() as u64, |volume, at_bytes, range| {
                volume.write_at(at_bytes, &bytes[range], fua)
            })
        })
    }

    fn flush(&self) -> Result<(), ExportError> {
        self.live.attempt(Volume::flush)
    }

    fn trim(&self, offset_bytes: u64, length_bytes: u64, fua: bool) -> Result<(), ExportError> {
        if let Some(outcome) =
            self.on_thin(offset_bytes, length_bytes, |thin| thin.trim(offset_bytes, length_bytes, fua))
        {
            return outcome;
        }
        // Durable anyway.
        self.each(offset_bytes, length_bytes, |volume, at_bytes, range| {
            volume.trim(at_bytes, range.len() as u64)
        })
    }

    fn write_zeroes(
        &self,
        offset_bytes: u64,
        length_bytes: u64,
        may_punch: bool,
        fua: bool,
    ) -> Result<(), ExportError> {
        if let Some(outcome) = self.on_thin(offset_bytes, length_bytes, |thin| {
            thin.write_zeroes(offset_bytes, length_bytes, may_punch, fua)
        }) {
            return outcome;
        }
        self.each(offset_bytes, length_bytes, |volume, at_bytes, range| {
            volume.write_zeroes(at_bytes, range.len() as u64, may_punch, fua)
        })
    }

    fn block_status(&self, offset_bytes: u64, length_bytes: u64) -> Result<Vec<Extent>, ExportError> {
        let known = |extent: BlockExtent| Extent {
            length_bytes: extent.length_bytes,
            is_allocated: extent.is_allocated,
        };
        let of_thin =
            self.on_thin(offset_bytes, length_bytes, |thin| thin.block_status(offset_bytes, length_bytes));
        if let Some(extents) = of_thin {
            return Ok(extents?.into_iter().map(known).collect());
        }
        let mut found = Vec::new();
        let mut is_cut = false;
        self.each(offset_bytes, length_bytes, |volume, at_bytes, range| {
            if is_cut {
                return Ok(());
            }
            let extents = volume.block_status(at_bytes, range.len() as u64)?;
            let reached: u64 = extents.iter().map(|extent| extent.length_bytes).sum();
            // What lies behind the end of a part that was cut short is left out.
            is_cut = reached < range.len() as u64;
            found.extend(extents.into_iter().map(known));
            Ok(())
        })?;
        Ok(found)
    }

    fn arrive(&self, arrival: &Arrival) -> Option<u32> {
        let (pacer, (at, tally)) = (self.pacer.as_ref()?, self.at(arrival.offset_bytes)?);
        pacer.arrive(arrival, at, tally)
    }

    fn hold(&self, number: u32, reply: HeldReply) {
        if let Some(pacer) = &self.pacer {
            pacer.hold(number, reply);
        }
    }
}
