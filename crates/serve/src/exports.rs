//! What clients see: the whole array under the empty name, and its volumes.

use crate::live::LiveArray;
use crate::paced::{Pacer, Tally};
use nbd::{Access, Arrival, Export, ExportError, Exports, Extent, HeldReply};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// A volume: a range of the array, and what it has served, by whichever name.
pub(crate) struct ServedVolume {
    pub name: String,
    start_bytes: u64,
    pub size_bytes: u64,
    pub tally: Arc<Tally>,
}

/// A part of the array.
pub(crate) struct Slice {
    live: Arc<LiveArray>,
    name: String,
    start_bytes: u64,
    size_bytes: u64,
    volumes: Arc<[ServedVolume]>,
    pacer: Option<Arc<Pacer>>,
}

pub(crate) struct ArrayExports {
    slices: Vec<Arc<Slice>>,
    volumes: Arc<[ServedVolume]>,
    /// Where volumes have names, the empty name is for this one of them, not for the whole array.
    chosen: Option<AtomicUsize>,
}

impl ArrayExports {
    pub(crate) fn new(live: &Arc<LiveArray>, pacer: Option<&Arc<Pacer>>) -> Self {
        let whole = live.array.spec.layout.capacity_bytes() / 512 * 512;
        let mut start_bytes = 0;
        let volumes = live.array.volumes().into_iter().map(|(name, size_bytes)| {
            let volume = ServedVolume { name, start_bytes, size_bytes, tally: Arc::default() };
            start_bytes += size_bytes;
            volume
        });
        let volumes: Arc<[ServedVolume]> = volumes.collect();
        let slice = |name: &str, start_bytes, size_bytes| {
            Arc::new(Slice {
                live: live.clone(),
                name: name.to_owned(),
                start_bytes,
                size_bytes,
                volumes: volumes.clone(),
                pacer: pacer.cloned(),
            })
        };
        let mut slices = vec![slice("", 0, whole)];
        slices
            .extend(volumes.iter().map(|volume| slice(&volume.name, volume.start_bytes, volume.size_bytes)));
        let chosen = live.array.has_named_volumes().then(AtomicUsize::default);
        ArrayExports { slices, volumes, chosen }
    }

    /// Whether the empty name is for a volume that is chosen.
    pub(crate) fn has_named_volumes(&self) -> bool {
        self.chosen.is_some()
    }

    /// Number of a volume.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.volumes.iter().position(|volume| volume.name == name)
    }

    /// From now on the empty name is for this volume.
    pub(crate) fn choose(&self, volume: usize) {
        if let Some(chosen) = &self.chosen {
            chosen.store(volume, Ordering::Release);
        }
    }

    /// Name of the volume that the empty name is for.
    pub(crate) fn chosen(&self) -> &str {
        let chosen = self.chosen.as_ref().map_or(0, |chosen| chosen.load(Ordering::Acquire));
        self.volumes.get(chosen).map_or("", |volume| &volume.name)
    }

    /// Name and size of each.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = (&str, u64)> {
        self.slices.iter().map(|slice| (slice.name.as_str(), slice.size_bytes))
    }

    /// The volumes, with what they have served.
    pub(crate) fn volumes(&self) -> &[ServedVolume] {
        &self.volumes
    }
}

impl Exports for ArrayExports {
    fn names(&self) -> Vec<String> {
        self.slices.iter().map(|slice| slice.name.clone()).collect()
    }

    fn find(&self, name: &str) -> Option<Arc<dyn Export>> {
        let name = if name.is_empty() && self.has_named_volumes() { self.chosen() } else { name };
        let found = self.slices.iter().find(|slice| slice.name == name)?;
        Some(found.clone())
    }
}

impl Slice {
    /// Whose range an address of the array is in; what lies behind the last one counts as that one's.
    fn tally_at(&self, at_bytes: u64) -> Option<&Arc<Tally>> {
        let after = self.volumes.partition_point(|volume| volume.start_bytes <= at_bytes);
        self.volumes.get(after.saturating_sub(1)).map(|volume| &volume.tally)
    }

    /// Counts what is answered at once.
    fn count<T>(
        &self,
        access: Access,
        offset_bytes: u64,
        length_bytes: usize,
        carry_out: impl FnOnce() -> Result<T, ExportError>,
    ) -> Result<T, ExportError> {
        let tally = if self.pacer.is_none() { self.tally_at(self.start_bytes + offset_bytes) } else { None };
        let Some(tally) = tally else { return carry_out() };
        let began = Instant::now();
        tally.begin();
        let outcome = carry_out();
        tally.end(access, length_bytes as u64, began.elapsed());
        outcome
    }
}

impl Export for Slice {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn description(&self) -> String {
        match self.name.as_str() {
            "" => self.live.array.title.clone(),
            name => format!("{name} of {}", self.live.array.title),
        }
    }

    fn read_at(&self, offset_bytes: u64, buffer: &mut [u8]) -> Result<(), ExportError> {
        self.count(Access::Read, offset_bytes, buffer.len(), || {
            self.live.attempt(|volume| volume.read_at(self.start_bytes + offset_bytes, buffer))
        })
    }

    fn write_at(&self, offset_bytes: u64, bytes: &[u8], fua: bool) -> Result<(), ExportError> {
        self.count(Access::Write, offset_bytes, bytes.len(), || {
            self.live.attempt(|volume| volume.write_at(self.start_bytes + offset_bytes, bytes, fua))
        })
    }

    fn flush(&self) -> Result<(), ExportError> {
        self.live.attempt(volume::Volume::flush)
    }

    fn trim(&self, offset_bytes: u64, length_bytes: u64, _: bool) -> Result<(), ExportError> {
        // Durable anyway.
        self.live.attempt(|volume| volume.trim(self.start_bytes + offset_bytes, length_bytes))
    }

    fn write_zeroes(
        &self,
        offset_bytes: u64,
        length_bytes: u64,
        may_punch: bool,
        fua: bool,
    ) -> Result<(), ExportError> {
        let at = self.start_bytes + offset_bytes;
        self.live.attempt(|volume| volume.write_zeroes(at, length_bytes, may_punch, fua))
    }

    fn block_status(&self, offset_bytes: u64, length_bytes: u64) -> Result<Vec<Extent>, ExportError> {
        let at = self.start_bytes + offset_bytes;
        let extents = self.live.attempt(|volume| volume.block_status(at, length_bytes))?;
        let extent = |extent: volume::BlockExtent| Extent {
            length_bytes: extent.length_bytes,
            is_allocated: extent.is_allocated,
        };
        Ok(extents.into_iter().map(extent).collect())
    }

    fn arrive(&self, arrival: &Arrival) -> Option<u32> {
        let at_bytes = self.start_bytes + arrival.offset_bytes;
        let (pacer, tally) = (self.pacer.as_ref()?, self.tally_at(at_bytes)?);
        pacer.arrive(arrival.at, arrival.access, (at_bytes, arrival.length_bytes), arrival.connection, tally)
    }

    fn hold(&self, number: u32, reply: HeldReply) {
        if let Some(pacer) = &self.pacer {
            pacer.hold(number, reply);
        }
    }
}
