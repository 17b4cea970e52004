//! Sets of an array with their addresses, and the volumes on them.

use super::services;
use super::set::SetState;
use super::settings::Settings;
use super::volume::{Entry, Limiter, VolumeState};
use crate::{DescriptionError, TwinError};

/// Sets, volumes and the entries that name volumes.
pub(crate) struct LaidOut {
    pub sets: Vec<SetState>,
    pub volumes: Vec<VolumeState>,
    pub entries: Vec<Entry>,
}

impl LaidOut {
    /// Sets with their addresses, and the volumes on them.
    pub fn new(array: &array::Array, settings: &Settings) -> Result<LaidOut, TwinError> {
        let (sets, places) = array::sets(array);
        if sets.is_empty() || places.is_empty() {
            return Err(TwinError::Description(DescriptionError {
                path: "groups".into(),
                problem: "no volume fits on these drives".into(),
                hint: "see `arraylab check`".into(),
            }));
        }
        let mut used = vec![0; sets.len()];
        for place in &places {
            used[place.set] = used[place.set].max(place.offset_bytes + place.bytes);
        }
        let drives: u32 = array.groups.iter().map(|group| array.drives_of(group)).sum();
        let mut states = Vec::new();
        let mut first_address = 0u64;
        // The drives and groups of a second array are numbered behind those of the first.
        let sites = services::array_sites(array, settings);
        for (site, sets) in std::iter::repeat_n(sets, sites).enumerate() {
            for (mut set, used_bytes) in sets.into_iter().zip(&used) {
                set.slots.iter_mut().for_each(|slot| slot.drive += site as u32 * drives);
                set.spares.iter_mut().for_each(|spare| *spare += site as u32 * drives);
                let (stripe_bytes, bytes) = (set.layout.stripe_bytes(), set.layout.capacity_bytes());
                first_address = first_address.div_ceil(stripe_bytes) * stripe_bytes;
                set.layout.spread_objects(*used_bytes);
                let mut state = SetState::new(array, set, first_address, *used_bytes);
                state.set.group += site * array.groups.len();
                let own = places.iter().filter(|place| place.set == states.len() % used.len());
                state.volume_ends = own.map(|place| place.offset_bytes + place.bytes).collect();
                state.volume_ends.sort_unstable();
                states.push(state);
                first_address += bytes;
            }
        }
        let mut entries = vec![Entry { volumes: Vec::new(), bytes: 0, stripe: None }; array.volumes.len()];
        let mut volumes = Vec::new();
        for place in places {
            let entry = &mut entries[place.entry];
            entry.volumes.push((entry.bytes, volumes.len() as u32));
            entry.bytes += place.bytes;
            let limit = array.volumes[place.entry].limit.as_ref().filter(|_| settings.on.limits);
            volumes.push(VolumeState {
                set: place.set as u16,
                preferred: (volumes.len() as u32 % array.controllers.count.count()) as u16,
                offset_bytes: place.offset_bytes,
                bytes: place.bytes,
                limiter: limit.map(|limit| Limiter::new(limit, place.bytes)),
            });
        }
        for (entry, described) in entries.iter_mut().zip(&array.volumes) {
            let unit_bytes = if settings.on.volume_manager { described.keys.stripe_unit.get() } else { 0 };
            let sizes = entry.volumes.iter().map(|&(_, volume)| volumes[volume as usize].bytes);
            if let Some(units) = sizes.min().unwrap_or(0).checked_div(unit_bytes) {
                let raid = layout::Raid {
                    drives: entry.volumes.len() as u32,
                    drive_capacity_bytes: units * unit_bytes,
                    segment_bytes: unit_bytes,
                };
                let stripe = layout::Layout::raid0(raid).map_err(|error| {
                    TwinError::Description(DescriptionError {
                        path: format!("volumes.{}.stripe_unit", described.keys.name.text),
                        problem: error.to_string(),
                        hint: "change the unit, or the number of volumes".into(),
                    })
                })?;
                entry.bytes = stripe.capacity_bytes();
                entry.stripe = Some(stripe);
            }
        }
        Ok(LaidOut { sets: states, volumes, entries })
    }
}
