//! NBD exports: the whole array under the empty name, and its volumes, which may change under I/O.

use crate::live::LiveArray;
use crate::paced::{Pacer, RequestTarget, Tally};
use nbd::{Access, Arrival, Errno, Export, ExportError, Exports, Extent, HeldReply};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Instant;
use volume::{MappedVolume, Run, Volume, VolumeError, VolumeMap};

/// A volume, and what it has served, by whichever name.
pub(crate) struct ServedVolume {
    /// By which the model knows it; no two volumes of one server have had the same.
    pub number: u32,
    pub name: String,
    pub tally: Arc<Tally>,
    /// Shared by each request, alone to change it: a change waits for what is under way.
    mapped: RwLock<Mapped>,
}

/// Place of a volume at present.
struct Mapped {
    runs: Vec<Run>,
    size_bytes: u64,
    is_gone: bool,
}

impl ServedVolume {
    fn mapped(&self) -> RwLockReadGuard<'_, Mapped> {
        self.mapped.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.mapped().size_bytes
    }

    fn change(&self, runs: &[Run], size_bytes: u64, is_gone: bool) {
        let mut mapped = self.mapped.write().unwrap_or_else(PoisonError::into_inner);
        *mapped = Mapped { runs: runs.to_vec(), size_bytes, is_gone };
    }
}

impl Mapped {
    /// The parts of the array that a range of the volume is, with their place in the range.
    fn parts(&self, offset_bytes: u64, length_bytes: u64) -> Result<Vec<(u64, u64, u64)>, ExportError> {
        if self.is_gone {
            return Err(ExportError::new(Errno::Shutdown, "the volume has been deleted"));
        }
        let (mut skip_bytes, mut done_bytes) = (offset_bytes, 0);
        let mut parts = Vec::with_capacity(1);
        for run in &self.runs {
            let skipped = skip_bytes.min(run.length_bytes);
            skip_bytes -= skipped;
            let count = (run.length_bytes - skipped).min(length_bytes - done_bytes);
            if count > 0 {
                parts.push((run.start_bytes + skipped, done_bytes, count));
                done_bytes += count;
            }
        }
        if done_bytes < length_bytes {
            return Err(ExportError::new(Errno::NoSpace, "the volume has been made smaller"));
        }
        Ok(parts)
    }
}

/// Part that a client has chosen.
enum Part {
    /// All of the array.
    Whole { size_bytes: u64 },
    /// One volume.
    Volume(Arc<ServedVolume>),
}

/// A part of the array.
pub(crate) struct Slice {
    live: Arc<LiveArray>,
    part: Part,
    regions: Arc<RwLock<Vec<Region>>>,
    pacer: Option<Arc<Pacer>>,
}

/// Range of the array, and whose it is.
struct Region {
    run: Run,
    /// Offset in the volume at which it begins.
    in_volume_bytes: u64,
    volume: Arc<ServedVolume>,
}

pub(crate) struct ArrayExports {
    live: Arc<LiveArray>,
    pacer: Option<Arc<Pacer>>,
    whole: Arc<Slice>,
    volumes: RwLock<Vec<Arc<ServedVolume>>>,
    regions: Arc<RwLock<Vec<Region>>>,
    next_number: AtomicU32,
    /// Name of the volume that the empty name stands for, where volumes have names; else it is the whole array.
    chosen: Option<RwLock<String>>,
}

impl ArrayExports {
    pub(crate) fn new(live: &Arc<LiveArray>, pacer: Option<&Arc<Pacer>>, map: &VolumeMap) -> Self {
        let regions = Arc::new(RwLock::default());
        let whole = Slice {
            live: live.clone(),
            part: Part::Whole { size_bytes: live.array.spec.layout.capacity_bytes() / 512 * 512 },
            regions: Arc::clone(&regions),
            pacer: pacer.cloned(),
        };
        let first = map.volumes().first().map_or_else(String::new, |volume| volume.name.clone());
        let exports = ArrayExports {
            live: live.clone(),
            pacer: pacer.cloned(),
            whole: Arc::new(whole),
            volumes: RwLock::default(),
            regions,
            next_number: AtomicU32::new(0),
            chosen: live.array.has_named_volumes().then(|| RwLock::new(first)),
        };
        exports.adopt(map);
        exports
    }

    /// Makes the volumes those of a map. Returns when nobody uses what is no longer theirs.
    pub(crate) fn adopt(&self, map: &VolumeMap) {
        let before = self.volumes();
        let volumes = map.volumes().iter().map(|mapped| {
            let MappedVolume { name, size_bytes, runs, .. } = mapped;
            match before.iter().find(|volume| volume.name == *name) {
                Some(volume) => {
                    volume.change(runs, *size_bytes, false);
                    volume.clone()
                }
                None => Arc::new(ServedVolume {
                    number: self.next_number.fetch_add(1, Ordering::Relaxed),
                    name: name.clone(),
                    tally: Arc::default(),
                    mapped: RwLock::new(Mapped {
                        runs: runs.clone(),
                        size_bytes: *size_bytes,
                        is_gone: false,
                    }),
                }),
            }
        });
        let volumes: Vec<Arc<ServedVolume>> = volumes.collect();
        for gone in before.iter().filter(|old| !volumes.iter().any(|volume| volume.number == old.number)) {
            let size_bytes = gone.size_bytes();
            gone.change(&[], size_bytes, true);
        }
        let mut regions = Vec::new();
        for volume in &volumes {
            let mut in_volume_bytes = 0;
            for run in &volume.mapped().runs {
                regions.push(Region { run: *run, in_volume_bytes, volume: volume.clone() });
                in_volume_bytes += run.length_bytes;
            }
        }
        regions.sort_by_key(|region| region.run.start_bytes);
        *self.regions.write().unwrap_or_else(PoisonError::into_inner) = regions;
        *self.volumes.write().unwrap_or_else(PoisonError::into_inner) = volumes;
    }

    /// Returns whether the empty name is for a volume that is chosen.
    pub(crate) fn has_named_volumes(&self) -> bool {
        self.chosen.is_some()
    }

    /// The volume of a name.
    pub(crate) fn volume(&self, name: &str) -> Option<Arc<ServedVolume>> {
        self.volumes().into_iter().find(|volume| volume.name == name)
    }

    /// From now on the empty name is for this volume.
    pub(crate) fn choose(&self, volume: &str) {
        if let Some(chosen) = &self.chosen {
            volume.clone_into(&mut chosen.write().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Name of the volume that the empty name is for.
    pub(crate) fn chosen(&self) -> String {
        let chosen = self.chosen.as_ref().map(|chosen| chosen.read().unwrap_or_else(PoisonError::into_inner));
        chosen.map_or_else(String::new, |chosen| chosen.clone())
    }

    /// Name and size of each export.
    pub(crate) fn sizes(&self) -> Vec<(String, u64)> {
        let volumes = self.volumes().into_iter().map(|volume| (volume.name.clone(), volume.size_bytes()));
        [(String::new(), self.whole.size_bytes())].into_iter().chain(volumes).collect()
    }

    /// The volumes, with what they have served.
    pub(crate) fn volumes(&self) -> Vec<Arc<ServedVolume>> {
        self.volumes.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Exports for ArrayExports {
    fn names(&self) -> Vec<String> {
        self.sizes().into_iter().map(|(name, _)| name).collect()
    }

    fn find(&self, name: &str) -> Option<Arc<dyn Export>> {
        if name.is_empty() && !self.has_named_volumes() {
            return Some(self.whole.clone());
        }
        let volume = if name.is_empty() { self.volume(&self.chosen()) } else { self.volume(name) };
        Some(Arc::new(Slice {
            live: self.live.clone(),
            part: Part::Volume(volume?),
            regions: self.regions.clone(),
            pacer: self.pacer.clone(),
        }))
    }
}

impl Slice {
    /// Returns whose a range is, and where the model has it. What is no volume's has no time of its own.
    fn at(&self, offset_bytes: u64) -> Option<(RequestTarget, Arc<Tally>)> {
        match &self.part {
            Part::Volume(volume) => {
                let parts = volume.mapped().parts(offset_bytes, 512).ok()?;
                let (array_bytes, _, _) = *parts.first()?;
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
            self.each(offset_bytes, buffer.len() as u64, |volume, at_bytes, range| {
                volume.read_at(at_bytes, &mut buffer[range])
            })
        })
    }

    fn write_at(&self, offset_bytes: u64, bytes: &[u8], fua: bool) -> Result<(), ExportError> {
        self.count(Access::Write, offset_bytes, bytes.len(), || {
            self.each(offset_bytes, bytes.len() as u64, |volume, at_bytes, range| {
                volume.write_at(at_bytes, &bytes[range], fua)
            })
        })
    }

    fn flush(&self) -> Result<(), ExportError> {
        self.live.attempt(Volume::flush)
    }

    fn trim(&self, offset_bytes: u64, length_bytes: u64, _: bool) -> Result<(), ExportError> {
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
        self.each(offset_bytes, length_bytes, |volume, at_bytes, range| {
            volume.write_zeroes(at_bytes, range.len() as u64, may_punch, fua)
        })
    }

    fn block_status(&self, offset_bytes: u64, length_bytes: u64) -> Result<Vec<Extent>, ExportError> {
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
            found.extend(extents.into_iter().map(|extent| Extent {
                length_bytes: extent.length_bytes,
                is_allocated: extent.is_allocated,
            }));
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
