//! Capacities of a model's parts, against which levels and busy times are measured.

use serde_json::{Value, json};
use twin::ArrayDescription;

/// By kind of part: the number of its processors, the limits of its levels (`fill_…` without the prefix), and what a
/// level's unit is in bytes where it counts something else. Services are by their names.
pub(crate) fn bounds(description: &ArrayDescription) -> Value {
    let array = &*description.parts;
    if array.has_chains() {
        return bounds_of_chains(array);
    }
    let controllers = &array.controllers;
    let mut of_controller = json!({
        "processors": controllers.processors.get(),
        "commands": controllers.window.get(),
        "bytes": controllers.window_bytes.get(),
    });
    if array.cache.write_back.get() > 0 {
        let block_bytes = array.cache.block.get();
        of_controller["dirty_blocks"] = json!(array.cache.write_back.get() / block_bytes);
        of_controller["block_bytes"] = json!(block_bytes);
    }
    let mut bounds = json!({ "controller": of_controller });
    if let Some(array::Drives::SolidState(drive)) = array.groups.first().map(|group| &group.drives) {
        bounds["drive"] = json!({ "erased_bytes": drive.reserve.get() });
    }
    bounds
}

fn bounds_of_chains(array: &array::Array) -> Value {
    let services = array.services.iter().map(|service| {
        let processors = service.processors.share().ceil().max(1.0);
        (service.name.text.clone(), json!({ "processors": processors }))
    });
    let mut bounds: serde_json::Map<String, Value> = services.collect();
    if let Some(nodes) = array.nodes.as_ref().filter(|nodes| nodes.processors.get() > 0) {
        let processors = json!({ "processors": nodes.processors.get() });
        bounds.insert("node".to_owned(), processors.clone());
        // Hosts are taken to be as large as nodes.
        bounds.insert("client".to_owned(), processors);
    }
    if let Some(journal) = array.groups.iter().find_map(|group| group.journal.as_ref()) {
        bounds.insert("write-buffer".to_owned(), json!({ "bytes": journal.buffer.get() }));
    }
    Value::Object(bounds)
}

/// By what names the model knows the drives of the layout, which has so many.
pub(crate) fn parts_of_drives(description: &ArrayDescription, drives: u16) -> Vec<String> {
    let array = &*description.parts;
    let noun = match array.groups.first() {
        Some(group) if matches!(group.drives, array::Drives::FlashModule(_)) => "module",
        _ => "drive",
    };
    let name = |drive: u16| {
        let by_node = array.has_chains().then(|| array.node_drive_name(drive.into())).flatten();
        by_node.unwrap_or_else(|| format!("{noun}-{drive}"))
    };
    (0..drives).map(name).collect()
}
