//! Capacities of a model's parts, against which levels and busy times are measured.

use crate::replicated::drive_name;
use serde_json::{Value, json};
use twin::ArrayDescription;

/// By kind of part: the number of its processors, the limits of its levels (`fill_…` without the prefix), and what a
/// level's unit is in bytes where it counts something else. Services are by their names.
pub(crate) fn bounds(description: &ArrayDescription) -> Value {
    if let Some(array) = &description.composed {
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
        return bounds;
    }
    let Some(system) = &description.replicated else { return json!({}) };
    let services = system.services.iter().map(|service| {
        (service.name.clone(), json!({"processors": service.processors.get().ceil().max(1.0)}))
    });
    let mut bounds: serde_json::Map<String, Value> = services.collect();
    bounds.insert("node".to_owned(), json!({"processors": system.nodes.processors.get()}));
    bounds.insert("client".to_owned(), json!({"processors": system.clients.processors.get()}));
    bounds.insert("write-buffer".to_owned(), json!({"bytes": system.write_buffer.bytes.get()}));
    Value::Object(bounds)
}

/// By what names the model knows the drives of the layout, which has so many.
pub(crate) fn parts_of_drives(description: &ArrayDescription, drives: u16) -> Vec<String> {
    let noun = match description.composed.as_ref().and_then(|array| array.groups.first()) {
        Some(group) if matches!(group.drives, array::Drives::FlashModule(_)) => "module",
        _ => "drive",
    };
    let name = |drive| match &description.replicated {
        Some(system) => drive_name(system, drive),
        None => format!("{noun}-{drive}"),
    };
    (0..drives).map(name).collect()
}
