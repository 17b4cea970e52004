//! Opening of an array's bytes: its volumes, and where they are to lie.

use crate::array::ServedArray;
use crate::chains::{chains_of, drives_of_free, drives_of_pool};
use crate::event_names::TEMPLATE;
use crate::power::PowerCutStore;
use crate::stopped_services::stop_drives;
use serde_json::{Map, Value};
use volume::{Run, Volume, VolumeError, VolumeMap};

/// The volumes of an array as it was left, or as it begins.
fn begin(volume: &Volume, array: &ServedArray) -> Result<VolumeMap, VolumeError> {
    if let Some(map) = volume.volume_map() {
        return Ok(map);
    }
    let capacity_bytes = volume.capacity_bytes();
    let mut map = match array.thin_unit_bytes {
        Some(unit_bytes) => VolumeMap::thin(capacity_bytes, unit_bytes),
        None => VolumeMap::new(capacity_bytes, array.volume_unit_bytes()),
    };
    for (name, size_bytes) in array.volumes() {
        // A description's own volumes fit; one that does not is left out.
        let _ = map.create(&name, size_bytes, Map::new());
    }
    volume.begin_map(map.clone())?;
    Ok(map)
}

/// Opens an array's bytes and says where they are to lie.
pub(crate) fn open(store: PowerCutStore, array: &ServedArray) -> Result<(Volume, VolumeMap), VolumeError> {
    let volume = Volume::open(store, array.spec.clone())?;
    let map = begin(&volume, array)?;
    prefer_by_template(&volume, array, &map);
    stop_drives(&volume, array)?;
    Ok((volume, map))
}

/// Each volume on a chain of replicas is to lie on the drives that its pool names.
pub(crate) fn prefer_by_template(volume: &Volume, array: &ServedArray, map: &VolumeMap) {
    let Some(chains) = chains_of(array) else { return };
    let all = Run { start_bytes: 0, length_bytes: volume.capacity_bytes() };
    volume.prefer_drives(&all, &drives_of_free(chains));
    for mapped in map.volumes() {
        let own = chains.volumes.iter().find(|own| own.keys.name.text == mapped.name);
        let described = own.map(|own| own.keys.on.text.as_str());
        let kept = mapped.attributes.get(TEMPLATE).and_then(Value::as_str);
        let drives = drives_of_pool(chains, kept.or(described).unwrap_or_default());
        mapped.runs.iter().for_each(|run| volume.prefer_drives(run, &drives));
    }
}
