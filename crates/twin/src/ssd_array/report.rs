//! Counters of the parts of an SSD array.

use super::Model;
use crate::TwinCounter;
use crate::part::{Counters, count_processors};

/// Cumulative counts of every part since the twin was built; `fill_…` are levels at this moment.
pub(crate) fn counters(model: &Model) -> Vec<TwinCounter> {
    let mut counters = Counters::default();
    model.host.count_into(&mut counters);
    for (index, controller) in model.controllers.iter().enumerate() {
        let entity = format!("controller-{index}");
        let [engine_ns, mirror_ns] = controller.busy_ns();
        let [dirty_bytes, waiting] = controller.fill();
        counters.add(&entity, "commands", controller.commands);
        count_processors(controller.processors(), &mut counters, &entity);
        counters.add(&entity, "parity_engine_busy_ns", engine_ns);
        counters.add(&entity, "mirror_busy_ns", mirror_ns);
        counters.add(&entity, "fill_dirty_bytes", dirty_bytes);
        counters.add(&entity, "fill_waiting_commands", waiting);
    }
    for (index, (drive, erased_bytes)) in model.drives.report().enumerate() {
        let entity = format!("drive-{index}");
        counters.add(&entity, "reads", drive.reads);
        counters.add(&entity, "writes", drive.writes);
        counters.add(&entity, "host_units", drive.host_units);
        counters.add(&entity, "moved_units", drive.moved_units);
        counters.add(&entity, "programs", drive.programs);
        counters.add(&entity, "erases", drive.erases);
        counters.add(&entity, "bus_busy_ns", drive.bus_busy_ns);
        counters.add(&entity, "fill_erased_bytes", erased_bytes);
    }
    counters.into_list()
}
