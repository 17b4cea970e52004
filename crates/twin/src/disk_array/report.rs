//! Counters of the parts of the array.

use super::Model;
use crate::TwinCounter;
use crate::part::{Counters, count_arm, count_processors};

impl Model {
    /// Cumulative counts of every part; `fill_…` are levels at this moment.
    pub(super) fn count_parts(&self) -> Vec<TwinCounter> {
        let mut counters = Counters::default();
        self.fabric.count_hosts(&mut counters);
        self.fabric.links.count_into(&mut counters, |_, _, _| {});
        for (index, controller) in self.controllers.iter().enumerate() {
            let entity = format!("controller-{index}");
            let [memory_ns, mirror_ns] = controller.busy_ns();
            let tally = controller.tally;
            counters.add(&entity, "reads", tally.reads);
            counters.add(&entity, "writes", tally.writes);
            count_processors(controller.processors(), &mut counters, &entity);
            counters.add(&entity, "memory_busy_ns", memory_ns);
            counters.add(&entity, "mirror_busy_ns", mirror_ns);
            counters.add(&entity, "dirty_hits", tally.dirty_hits);
            counters.add(&entity, "read_cache_hits", tally.read_hits);
            counters.add(&entity, "read_ahead_hits", tally.read_ahead_hits);
            counters.add(&entity, "read_ahead_bytes", tally.read_ahead_bytes);
            if let Some(cache) = &controller.write_cache {
                let [blocks, extents, waiting] = cache.fill();
                counters.add(&entity, "merged_writes", cache.merged_writes);
                counters.add(&entity, "destaged_stripes", cache.destages);
                counters.add(&entity, "fill_dirty_blocks", blocks);
                counters.add(&entity, "fill_dirty_extents", extents);
                counters.add(&entity, "fill_waiting_commands", waiting);
            }
        }
        let [to_drives_ns, from_drives_ns] = self.fabric.drive_links_busy_ns();
        counters.add("drive-links", "to_drives_busy_ns", to_drives_ns);
        counters.add("drive-links", "from_drives_busy_ns", from_drives_ns);
        for (index, (disk, traffic)) in self.drives.counters().enumerate() {
            let entity = format!("drive-{index}");
            traffic.count_into(&mut counters, &entity);
            counters.add(&entity, "buffer_hits", disk.buffer_hits);
            count_arm(&disk, &mut counters, &entity);
        }
        counters.into_list()
    }
}
