//! What the parts of the array have counted.

use super::Model;
use crate::TwinCounter;

/// Cumulative counts of every part since the twin was built; `fill_…` are levels at this moment.
pub(crate) fn counters(model: &Model) -> Vec<TwinCounter> {
    let mut counters = Vec::new();
    let mut add =
        |entity: &str, name, value| counters.push(TwinCounter { entity: entity.to_owned(), name, value });
    for (index, link) in model.host.links().iter().enumerate() {
        let entity = format!("link-{index}");
        let [to_array_ns, to_host_ns, adapter_ns] = link.busy_ns();
        add(&entity, "to_array_bytes", link.to_array_bytes);
        add(&entity, "to_host_bytes", link.to_host_bytes);
        add(&entity, "to_array_busy_ns", to_array_ns);
        add(&entity, "to_host_busy_ns", to_host_ns);
        add(&entity, "adapter_busy_ns", adapter_ns);
    }
    for (index, controller) in model.controllers.iter().enumerate() {
        let entity = format!("controller-{index}");
        let [processors_ns, engine_ns, mirror_ns] = controller.busy_ns();
        let [dirty_bytes, waiting] = controller.fill();
        add(&entity, "commands", controller.commands);
        add(&entity, "processors", controller.processors());
        add(&entity, "processors_busy_ns", processors_ns);
        add(&entity, "parity_engine_busy_ns", engine_ns);
        add(&entity, "mirror_busy_ns", mirror_ns);
        add(&entity, "fill_dirty_bytes", dirty_bytes);
        add(&entity, "fill_waiting_commands", waiting);
    }
    for (index, (drive, erased_bytes)) in model.drives.report().enumerate() {
        let entity = format!("drive-{index}");
        add(&entity, "reads", drive.reads);
        add(&entity, "writes", drive.writes);
        add(&entity, "host_units", drive.host_units);
        add(&entity, "moved_units", drive.moved_units);
        add(&entity, "programs", drive.programs);
        add(&entity, "erases", drive.erases);
        add(&entity, "bus_busy_ns", drive.bus_busy_ns);
        add(&entity, "fill_erased_bytes", erased_bytes);
    }
    counters
}
