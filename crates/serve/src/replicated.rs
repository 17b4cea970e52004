//! Replicated system as served: three copies of each object, no two on one node.

use crate::ServeError;
use crate::array_settings::{MODEL_SEED, is_of_model, refused, text_of, typed};
use crate::paced::TwinSpec;
use crate::served_array::ServedArray;
use layout::{Layout, ReplicaSpec};
use serde_json::{Map, Value, json};
use twin::ArrayDescription;
use twin::replicated::{Description, DriveClass};
use volume::{VOLUME_ALIGNMENT_BYTES, VolumeSpec};

const COPIES: usize = 3;
/// The share of the drives' room that volumes may take: placement needs some to choose from, and lost drives a place.
const ROOM_PERCENT: u64 = 50;
/// An array is laid out for so many times what its description's volumes take: a map of all the room on large drives would
/// be long.
const CAPACITY_OF_VOLUMES: u64 = 4;
/// On drives that were made small, objects are made smaller as well, so that each has at least so many.
const OBJECTS_MINIMUM: u64 = 64;

/// The system of a description under settings. The volumes' bytes lie on the classes of drives that their templates name.
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
    let mut layout = Layout::replicas(&ReplicaSpec {
        capacity_bytes: in_objects(room.min(described.saturating_mul(CAPACITY_OF_VOLUMES))),
        object_bytes,
        groups: vec![all; COPIES],
        drive_capacity_bytes: drive_capacity_bytes.clone(),
        nodes: drives.iter().map(|&(node, _)| node).collect(),
        seed: MODEL_SEED,
    })
    .map_err(|error| refused(error.to_string()))?;
    place_by_templates(&mut layout, system, &volumes_bytes, object_bytes);
    layout.settle();
    let identity = format!(
        "{} replicas={COPIES} by-template drives={drive_capacity_bytes:?} object={object_bytes} volumes={volumes_bytes:?}",
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
        description: description.clone(),
    })
}

/// The volumes of a description lie one after the other, each on the classes of drives that its template names; what is free
/// lies on hard disks, so that there is room on the quicker drives.
fn place_by_templates(layout: &mut Layout, system: &Description, volumes_bytes: &[u64], object_bytes: u64) {
    let mut stripe = 0;
    for (volume, bytes) in system.volumes.iter().zip(volumes_bytes) {
        let end = stripe + bytes / object_bytes;
        layout.prefer(stripe..end, &drives_of_template(system, &volume.template));
        stripe = end;
    }
    layout.prefer(stripe..layout.stripes(), &drives_of_free(system));
}

/// The drives that a template places each replica on, head first.
pub(crate) fn drives_of_template(system: &Description, template: &str) -> Vec<Vec<u16>> {
    let template = system.templates.iter().find(|known| known.name == template);
    let Some(template) = template else { return drives_of_free(system) };
    [template.place_head, template.place_all, template.place_tail]
        .into_iter()
        .map(|class| drives_of_class(system, class))
        .collect()
}

/// The drives that what belongs to no volume is placed on.
pub(crate) fn drives_of_free(system: &Description) -> Vec<Vec<u16>> {
    let class = if system.hdd.count.get() > 0 { DriveClass::Hdd } else { DriveClass::Nvme };
    vec![drives_of_class(system, class); COPIES]
}

fn drives_of_class(system: &Description, class: DriveClass) -> Vec<u16> {
    let nodes = system.nodes.count.get();
    let nvme = (nodes * system.nvme.count.get()) as u16;
    match class {
        DriveClass::Nvme => (0..nvme).collect(),
        DriveClass::Hdd => (nvme..nvme + (nodes * system.hdd.count.get()) as u16).collect(),
    }
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
