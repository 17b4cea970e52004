//! What the parts of the array have counted.

use super::Model;
use crate::TwinCounter;

/// Cumulative counts of every part since the twin was built; `fill_…` are levels at this moment.
pub(crate) fn counters(model: &Model) -> Vec<TwinCounter> {
    let mut counters = Vec::new();
    let mut add =
        |entity: &str, name, value| counters.push(TwinCounter { entity: entity.to_owned(), name, value });
    for (index, link) in model.fabric.links().enumerate() {
        let entity = format!("link-{index}");
        let [to_array_ns, to_host_ns] = link.busy_ns();
        add(&entity, "to_array_bytes", link.to_array_bytes);
        add(&entity, "to_host_bytes", link.to_host_bytes);
        add(&entity, "to_array_busy_ns", to_array_ns);
        add(&entity, "to_host_busy_ns", to_host_ns);
    }
    for (index, controller) in model.controllers.iter().enumerate() {
        let entity = format!("controller-{index}");
        let [processors_ns, buffer_ns] = controller.busy_ns();
        let [commands, bytes, waiting] = controller.fill();
        add(&entity, "commands", controller.commands);
        add(&entity, "processors", controller.processors());
        add(&entity, "processors_busy_ns", processors_ns);
        add(&entity, "write_buffer_busy_ns", buffer_ns);
        add(&entity, "fill_commands", commands);
        add(&entity, "fill_bytes", bytes);
        add(&entity, "fill_waiting_commands", waiting);
    }
    for (index, module) in model.modules.iter().enumerate() {
        let entity = format!("module-{index}");
        let [commands_ns, read_path_ns, write_path_ns] = module.busy_ns();
        add(&entity, "reads", module.reads);
        add(&entity, "writes", module.writes);
        add(&entity, "read_bytes", module.read_bytes);
        add(&entity, "written_bytes", module.written_bytes);
        add(&entity, "commands_busy_ns", commands_ns);
        add(&entity, "read_path_busy_ns", read_path_ns);
        add(&entity, "write_path_busy_ns", write_path_ns);
    }
    counters
}
