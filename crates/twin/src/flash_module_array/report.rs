//! Counters of the parts of a flash module array.

use super::Model;
use crate::TwinCounter;
use crate::part::{Counters, count_processors};

/// Cumulative counts of every part since the twin was built; `fill_…` are levels at this moment.
pub(crate) fn counters(model: &Model) -> Vec<TwinCounter> {
    let mut counters = Counters::default();
    model.fabric.threads.count_into(&mut counters);
    model.fabric.links.count_into(&mut counters, |_, _, _| {});
    for (index, controller) in model.controllers.iter().enumerate() {
        let entity = format!("controller-{index}");
        let [commands, bytes, waiting] = controller.fill();
        counters.add(&entity, "commands", controller.commands);
        count_processors(controller.processors(), &mut counters, &entity);
        counters.add(&entity, "write_buffer_busy_ns", controller.buffer_busy_ns());
        counters.add(&entity, "fill_commands", commands);
        counters.add(&entity, "fill_bytes", bytes);
        counters.add(&entity, "fill_waiting_commands", waiting);
    }
    for (index, module) in model.modules.iter().enumerate() {
        let entity = format!("module-{index}");
        let [commands_ns, read_path_ns, write_path_ns] = module.busy_ns();
        module.traffic.count_into(&mut counters, &entity);
        counters.add(&entity, "commands_busy_ns", commands_ns);
        counters.add(&entity, "read_path_busy_ns", read_path_ns);
        counters.add(&entity, "write_path_busy_ns", write_path_ns);
    }
    counters.into_list()
}
