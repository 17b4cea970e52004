//! A replicated system as it is served: three copies of each object, no two on one node.

use crate::ServeError;
use crate::array::{MODEL_SEED, ServedArray, is_of_model, refused, text_of, typed};
use crate::paced::TwinSpec;
use layout::{Layout, ReplicaSpec};
use serde_json::{Map, Value, json};
use twin::ArrayDescription;
use twin::replicated::Description;
use volume::{VOLUME_ALIGNMENT_BYTES, VolumeSpec};

const COPIES: usize = 3;
/// The share of the drives' room that volumes may take: placement needs some to choose from, and lost drives a place.
const ROOM_PERCENT: u64 = 50;
/// An array is laid out for so many times what its description's volumes take: a map of all the room on large drives would
/// be long.
const CAPACITY_OF_VOLUMES: u64 = 4;
/// On drives that were made small, objects are made smaller as well, so that each has at least so many.
const OBJECTS_MINIMUM: u64 = 64;

/// The system of a description under settings. The volumes' bytes lie on all drives alike, whatever template a volume
/// has: which class holds a replica is the model's, as only time tells them apart.
pub(crate) fn served(
    description: &ArrayDescription,
    system: &Description,
    settings: &Map<String, Value>,
) -> Result<ServedArray, ServeError> {
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
    if !of_model.contains_key("host") && system.clients.count.get() > 0 {
        of_model.insert("host".to_owned(), Value::from("client"));
    }
    let nodes = system.nodes.count.get();
    let (nvme, hdd) = (system.nvme.count.get(), system.hdd.count.get());
    let class = |per_node: u32, described_bytes: u64| {
        let bytes = capacity_bytes.map_or(described_bytes, |bytes| bytes.min(described_bytes));
        (0..nodes * per_node).map(move |drive| ((drive / per_node) as u16, bytes))
    };
    // In the model's order: all flash drives, then all hard disks.
    let drives: Vec<(u16, u64)> = class(nvme, system.nvme.capacity_bytes.get())
        .chain(class(hdd, system.hdd.capacity_bytes.get()))
        .collect();
    let drive_capacity_bytes: Vec<u64> = drives.iter().map(|&(_, bytes)| bytes).collect();
    let smallest = drive_capacity_bytes.iter().copied().min().unwrap_or(0);
    let unit = VOLUME_ALIGNMENT_BYTES;
    let object_bytes = system.object_bytes.get().min(smallest / OBJECTS_MINIMUM / unit * unit).max(unit);
    let room: u64 = drive_capacity_bytes.iter().sum::<u64>() / COPIES as u64 / 100 * ROOM_PERCENT;
    // One part more than there are volumes, so that some is free for others.
    let each = room / (system.volumes.len() as u64 + 1);
    let in_objects = |bytes: u64| (bytes / object_bytes).max(1) * object_bytes;
    let volumes_bytes: Vec<u64> =
        system.volumes.iter().map(|volume| in_objects(volume.bytes.get().min(each))).collect();
    let described: u64 = volumes_bytes.iter().sum();
    let all: Vec<u16> = (0..drives.len() as u16).collect();
    let layout = Layout::replicas(&ReplicaSpec {
        capacity_bytes: in_objects(room.min(described.saturating_mul(CAPACITY_OF_VOLUMES))),
        object_bytes,
        groups: vec![all; COPIES],
        drive_capacity_bytes: drive_capacity_bytes.clone(),
        nodes: drives.iter().map(|&(node, _)| node).collect(),
        seed: MODEL_SEED,
    })
    .map_err(|error| refused(error.to_string()))?;
    let identity = format!(
        "{} replicas={COPIES} drives={drive_capacity_bytes:?} object={object_bytes} volumes={volumes_bytes:?}",
        description.name
    );
    Ok(ServedArray {
        name: description.name.clone(),
        title: description.title.clone(),
        settings: settings.clone(),
        spec: VolumeSpec { layout, drive_capacity_bytes, identity },
        volumes_bytes,
        spares: 0,
        twin: Some(TwinSpec { description: description.clone(), settings: of_model, seed: MODEL_SEED }),
    })
}

/// The name by which the model knows a drive.
pub(crate) fn drive_name(system: &Description, drive: u16) -> String {
    let drive = u32::from(drive);
    let (nvme, hdd) = (system.nvme.count.get(), system.hdd.count.get());
    let nvme_in_all = system.nodes.count.get() * nvme;
    match drive.checked_sub(nvme_in_all) {
        None => format!("node-{}/nvme-{}", drive / nvme.max(1), drive % nvme.max(1)),
        Some(disk) => format!("node-{}/hdd-{}", disk / hdd.max(1), disk % hdd.max(1)),
    }
}

/// The number of a drive that the model knows by this name.
pub(crate) fn drive_number(system: &Description, name: &str) -> Option<u16> {
    let per_node = system.nvme.count.get() + system.hdd.count.get();
    let drives = (system.nodes.count.get() * per_node) as u16;
    (0..drives).find(|&drive| drive_name(system, drive) == name)
}

/// The services of each node with their slices of processors and memory, and those of some nodes that are `stopped`; null
/// where there are none.
pub(crate) fn services(description: &ArrayDescription, stopped: &[&str]) -> Value {
    let Some(system) = &description.replicated else { return Value::Null };
    let slices: Vec<Value> = system
        .slices
        .iter()
        .map(|slice| {
            json!({
                "slice": slice.name,
                "processors": slice.processors.get(),
                "memory_bytes": slice.memory_bytes.get(),
            })
        })
        .collect();
    let services: Vec<Value> = system
        .services
        .iter()
        .map(|service| {
            json!({
                "service": service.name,
                "slice": service.slice,
                "instances": service.instances.get(),
                "processors": service.processors.get(),
                "memory_bytes": service.memory_bytes.get(),
            })
        })
        .collect();
    json!({"nodes": system.nodes.count.get(), "slices": slices, "services": services, "stopped": stopped})
}
