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
        let mut states = Vec::new();
        let mut first_address = 0u64;
        for (set, used_bytes) in sets.into_iter().zip(used) {
            let stripe_bytes = set.layout.stripe_bytes();
            first_address = first_address.div_ceil(stripe_bytes) * stripe_bytes;
            let bytes = set.layout.capacity_bytes();
            states.push(SetState::new(array, set, first_address, used_bytes));
            first_address += bytes;
        }
        if services::array_sites(array, settings) > 1 {
            mirror(array, &mut states, first_address);
        }
        let mut entries = vec![Entry { volumes: Vec::new(), bytes: 0 }; array.volumes.len()];
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
                limiter: limit.map(Limiter::new),
            });
        }
        Ok(LaidOut { sets: states, volumes, entries })
    }
}

/// Adds the sets of the second array, on drives that are numbered behind those of the first.
fn mirror(array: &array::Array, states: &mut Vec<SetState>, mut first_address: u64) {
    let drives: u32 = array.groups.iter().map(|group| array.drives_of(group)).sum();
    for own in states.clone() {
        let (mut set, used_bytes) = (own.set, own.used_bytes);
        set.slots.iter_mut().for_each(|slot| slot.drive += drives);
        set.spares.iter_mut().for_each(|spare| *spare += drives);
        let (stripe_bytes, bytes) = (set.layout.stripe_bytes(), set.layout.capacity_bytes());
        first_address = first_address.div_ceil(stripe_bytes) * stripe_bytes;
        let mut state = SetState::new(array, set, first_address, used_bytes);
        state.set.group += array.groups.len();
        states.push(state);
        first_address += bytes;
    }
}
