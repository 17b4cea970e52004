//! What the parts of the array have counted.

use super::Model;
use crate::TwinCounter;

impl Model {
    /// Cumulative counts of every part; `fill_…` are levels at this moment.
    pub(super) fn count_parts(&self) -> Vec<TwinCounter> {
        let mut counters = Vec::new();
        let mut add =
            |entity: &str, name, value| counters.push(TwinCounter { entity: entity.to_owned(), name, value });
        for (index, link) in self.fabric.links().iter().enumerate() {
            let entity = format!("link-{index}");
            let [to_array_ns, to_host_ns] = link.busy_ns();
            add(&entity, "to_array_bytes", link.to_array_bytes);
            add(&entity, "to_host_bytes", link.to_host_bytes);
            add(&entity, "to_array_busy_ns", to_array_ns);
            add(&entity, "to_host_busy_ns", to_host_ns);
        }
        for (index, controller) in self.controllers.iter().enumerate() {
            let entity = format!("controller-{index}");
            let [processors_ns, memory_ns, mirror_ns] = controller.busy_ns();
            let tally = controller.tally;
            add(&entity, "reads", tally.reads);
            add(&entity, "writes", tally.writes);
            add(&entity, "processors", controller.processors());
            add(&entity, "processors_busy_ns", processors_ns);
            add(&entity, "memory_busy_ns", memory_ns);
            add(&entity, "mirror_busy_ns", mirror_ns);
            add(&entity, "dirty_hits", tally.dirty_hits);
            add(&entity, "read_cache_hits", tally.read_hits);
            add(&entity, "read_ahead_hits", tally.read_ahead_hits);
            add(&entity, "read_ahead_bytes", tally.read_ahead_bytes);
            if let Some(cache) = &controller.write_cache {
                let [blocks, extents, waiting] = cache.fill();
                add(&entity, "merged_writes", cache.merged_writes);
                add(&entity, "destaged_stripes", cache.destages);
                add(&entity, "fill_dirty_blocks", blocks);
                add(&entity, "fill_dirty_extents", extents);
                add(&entity, "fill_waiting_commands", waiting);
            }
        }
        let [to_drives_ns, from_drives_ns] = self.fabric.drive_links_busy_ns();
        add("drive-links", "to_drives_busy_ns", to_drives_ns);
        add("drive-links", "from_drives_busy_ns", from_drives_ns);
        for (index, (disk, traffic)) in self.drives.counters().enumerate() {
            let entity = format!("drive-{index}");
            add(&entity, "reads", traffic.reads);
            add(&entity, "writes", traffic.writes);
            add(&entity, "read_bytes", traffic.read_bytes);
            add(&entity, "written_bytes", traffic.written_bytes);
            add(&entity, "buffer_hits", disk.buffer_hits);
            add(&entity, "seek_ns", disk.seek_ns);
            add(&entity, "rotation_ns", disk.rotation_ns);
            add(&entity, "transfer_ns", disk.transfer_ns);
            add(&entity, "arm_busy_ns", disk.arm_busy_ns());
        }
        counters
    }
}
