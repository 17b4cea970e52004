//! Array of chains of replicas as served: copies of each object, no two on one node.

use crate::ServeError;
use crate::array_settings::{MODEL_SEED, is_of_model, refused, text_of, typed};
use crate::paced::TwinSpec;
use crate::served_array::ServedArray;
use array::{Array, Service};
use layout::{Layout, ReplicaSpec};
use serde_json::{Map, Value, json};
use twin::ArrayDescription;
use volume::{VOLUME_ALIGNMENT_BYTES, VolumeSpec};

/// The share of the drives' room that volumes may take: placement needs some to choose from, and lost drives a place.
const ROOM_PERCENT: u64 = 50;
/// An array is laid out for so many times what its description's volumes take: a map of all the room on large drives would
/// be long.
const CAPACITY_OF_VOLUMES: u64 = 4;
/// On drives that were made small, objects are made smaller as well, so that each has at least so many.
const OBJECTS_MINIMUM: u64 = 64;

/// The array of a description under settings. The volumes' bytes lie on the groups that their pools name.
pub(crate) fn served(
    description: &ArrayDescription,
    settings: &Map<String, Value>,
) -> Result<ServedArray, ServeError> {
    let array = &*description.parts;
    let mut of_model = Map::new();
    let mut capacity_bytes = None;
    for (key, value) in settings {
        let text = text_of(value);
        if key == "capacity" {
            let bytes = units::parse_bytes(&text)
                .map_err(|_| refused(format!("`{key}={text}` is not possible on this array")))?;
            capacity_bytes = Some(bytes);
        } else if is_of_model(description, key) {
            of_model.insert(key.clone(), typed(key, &text));
        } else {
            return Err(refused(format!("`{key}` is no setting of a served array")));
        }
    }
    // What is served is used from a machine beside the nodes.
    of_model.entry("host").or_insert_with(|| "client".into());
    let copies = array.pools.first().map_or(1, |pool| pool.keys.replicas.get());
    // In the model's order: group by group, each node by node.
    let drives: Vec<(u16, u64)> = (0..array.drive_count())
        .filter_map(|drive| {
            let place = array.node_drive(drive)?;
            let described_bytes = array.groups[place.group].drives.capacity_bytes();
            let bytes = capacity_bytes.map_or(described_bytes, |bytes| bytes.min(described_bytes));
            Some((place.node as u16, bytes))
        })
        .collect();
    let drive_capacity_bytes: Vec<u64> = drives.iter().map(|&(_, bytes)| bytes).collect();
    let smallest = drive_capacity_bytes.iter().copied().min().unwrap_or(0);
    let unit = VOLUME_ALIGNMENT_BYTES;
    let described_bytes = array.pools.first().map_or(unit, |pool| pool.keys.object.get());
    let object_bytes = described_bytes.min(smallest / OBJECTS_MINIMUM / unit * unit).max(unit);
    let room: u64 = drive_capacity_bytes.iter().sum::<u64>() / copies / 100 * ROOM_PERCENT;
    // One part more than there are volumes, so that some is free for others.
    let each = room / (array.volumes.len() as u64 + 1);
    let in_objects = |bytes: u64| (bytes / object_bytes).max(1) * object_bytes;
    let volumes_bytes: Vec<u64> =
        array.volumes.iter().map(|volume| in_objects(volume.keys.size.get().min(each))).collect();
    let described: u64 = volumes_bytes.iter().sum();
    let all: Vec<u16> = (0..drives.len() as u16).collect();
    let mut layout = Layout::replicas(&ReplicaSpec {
        capacity_bytes: in_objects(room.min(described.saturating_mul(CAPACITY_OF_VOLUMES))),
        object_bytes,
        groups: vec![all; copies as usize],
        drive_capacity_bytes: drive_capacity_bytes.clone(),
        nodes: drives.iter().map(|&(node, _)| node).collect(),
        seed: MODEL_SEED,
    })
    .map_err(|error| refused(error.to_string()))?;
    place_by_pools(&mut layout, array, &volumes_bytes, object_bytes);
    layout.settle();
    let identity = format!(
        "{} replicas={copies} by-template drives={drive_capacity_bytes:?} object={object_bytes} volumes={volumes_bytes:?}",
        description.name
    );
    Ok(ServedArray {
        thin_unit_bytes: None,
        name: description.name.clone(),
        title: description.title.clone(),
        settings: settings.clone(),
        spec: VolumeSpec { layout, drive_capacity_bytes, identity },
        volumes_bytes,
        spares: 0,
        twin: Some(TwinSpec { description: description.clone(), settings: of_model, seed: MODEL_SEED }),
        description: description.clone(),
    })
}

/// The volumes of a description lie one after the other, each on the groups that its pool names; what is free lies where there is most
/// room, so that there is some on the quicker drives.
fn place_by_pools(layout: &mut Layout, array: &Array, volumes_bytes: &[u64], object_bytes: u64) {
    let mut stripe = 0;
    for (volume, bytes) in array.volumes.iter().zip(volumes_bytes) {
        let end = stripe + bytes / object_bytes;
        layout.prefer(stripe..end, &drives_of_pool(array, &volume.keys.on.text));
        stripe = end;
    }
    layout.prefer(stripe..layout.stripes(), &drives_of_free(array));
}

/// The drives that a pool places each replica on, the first replica first.
pub(crate) fn drives_of_pool(array: &Array, pool: &str) -> Vec<Vec<u16>> {
    let number = array.pool(pool).or_else(|| (array.pools.len() == 1).then_some(0));
    let Some(number) = number else { return drives_of_free(array) };
    array.chain_groups(&array.pools[number]).into_iter().map(|group| drives_of_group(array, group)).collect()
}

/// The drives that what belongs to no volume is placed on: of the group that holds most.
pub(crate) fn drives_of_free(array: &Array) -> Vec<Vec<u16>> {
    let bytes = |group: &usize| {
        let described = &array.groups[*group];
        u64::from(array.drives_of(described)) * described.drives.capacity_bytes()
    };
    let group = (0..array.groups.len()).max_by_key(bytes).unwrap_or(0);
    let copies = array.pools.first().map_or(1, |pool| pool.keys.replicas.get());
    vec![drives_of_group(array, group); copies as usize]
}

fn drives_of_group(array: &Array, group: usize) -> Vec<u16> {
    array.drives_in(group).map(|drive| drive as u16).collect()
}

/// The array of chains whose model is served; `None` of another, or where it is served untimed.
pub(crate) fn chains_of(array: &ServedArray) -> Option<&Array> {
    let parts = &*array.twin.as_ref()?.description.parts;
    parts.has_chains().then_some(parts)
}

/// The services of each node with their slices of processors and memory, and those of some nodes that are `stopped`; null
/// where there are none.
pub(crate) fn services(description: &ArrayDescription, stopped: &[&str]) -> Value {
    let array = &*description.parts;
    if !array.has_chains() {
        return Value::Null;
    }
    let slices: Vec<Value> = array
        .slices
        .iter()
        .map(|slice| {
            json!({
                "slice": slice.name.text,
                "processors": slice.processors.share(),
                "memory_bytes": slice.memory.get(),
            })
        })
        .collect();
    let of_service = |service: &Service| {
        json!({
            "service": service.name.text,
            "slice": service.slice.text,
            "instances": service.instances.get(),
            "processors": service.processors.share(),
            "memory_bytes": service.memory.get(),
        })
    };
    let services: Vec<Value> = array.services.iter().map(of_service).collect();
    json!({"nodes": array.node_count(), "slices": slices, "services": services, "stopped": stopped})
}
