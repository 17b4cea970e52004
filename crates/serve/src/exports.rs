//! NBD exports: the whole array under the empty name, and its volumes, which may change under I/O.

use crate::live::LiveArray;
use crate::paced::Pacer;
use crate::served_volume::{Mapped, ServedVolume};
use crate::slice::{Part, Region, Slice};
use nbd::{Export, Exports};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use volume::VolumeMap;

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
        // Of thin volumes the array itself holds what is no client's to write: places of units, and their map.
        let has_chosen = live.array.has_named_volumes() || map.thin_units().is_some();
        let exports = ArrayExports {
            live: live.clone(),
            pacer: pacer.cloned(),
            whole: Arc::new(whole),
            volumes: RwLock::default(),
            regions,
            next_number: AtomicU32::new(0),
            chosen: has_chosen.then(|| RwLock::new(first)),
        };
        exports.adopt(map);
        exports
    }

    /// Makes the volumes those of a map. Returns when nobody uses what is no longer theirs.
    pub(crate) fn adopt(&self, map: &VolumeMap) {
        let before = self.volumes();
        let volumes = map.volumes().iter().map(|mapped| {
            match before.iter().find(|volume| volume.name == mapped.name) {
                Some(volume) => {
                    volume.change(|place| *place = Mapped::of(mapped));
                    volume.clone()
                }
                None => Arc::new(ServedVolume {
                    number: self.next_number.fetch_add(1, Ordering::Relaxed),
                    name: mapped.name.clone(),
                    tally: Arc::default(),
                    mapped: RwLock::new(Mapped::of(mapped)),
                }),
            }
        });
        let volumes: Vec<Arc<ServedVolume>> = volumes.collect();
        for gone in before.iter().filter(|old| !volumes.iter().any(|volume| volume.number == old.number)) {
            gone.change(|place| {
                place.runs.clear();
                place.is_gone = true;
            });
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
        let chosen = self.volume(&self.chosen()).map(|volume| volume.size_bytes());
        let of_empty_name = chosen.unwrap_or_else(|| self.whole.size_bytes());
        [(String::new(), of_empty_name)].into_iter().chain(volumes).collect()
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
