//! Counters of the parts of a replicated system, as its own monitoring lists them.

use super::Model;
use super::placement::{DriveSlot, Drives};
use crate::TwinCounter;
use crate::part::{Counters, count_arm};
use crate::settings::numbered;
use serde_json::Value;

/// A drive's name.
pub(crate) fn drive_name(drives: &Drives, drive: u32) -> String {
    let DriveSlot { node, number, is_nvme, .. } = drives.drive_slot(drive);
    let class = if is_nvme { "nvme" } else { "hdd" };
    format!("node-{node}/{class}-{number}")
}

/// The drive of a name, or of its number in the system.
pub(crate) fn find_drive(drives: &Drives, value: &Value) -> Option<u32> {
    let named = |&drive: &u32| Some(drive_name(drives, drive).as_str()) == value.as_str();
    numbered(value, drives.count()).or_else(|| (0..drives.count()).find(named))
}

/// Cumulative counts of every part since the twin was built; `fill_…` are levels at this moment.
pub(crate) fn counters(model: &Model) -> Vec<TwinCounter> {
    let mut counters = Counters::default();
    volumes(model, &mut counters);
    drives(model, &mut counters);
    nodes(model, &mut counters);
    stopped(model, &mut counters);
    counters.into_list()
}

fn volumes(model: &Model, counters: &mut Counters) {
    for volume in &model.volumes {
        let entity = format!("volume-{}", volume.name);
        counters.add(&entity, "reads", volume.read.ios);
        counters.add(&entity, "writes", volume.write.ios);
        counters.add(&entity, "read_bytes", volume.read.bytes);
        counters.add(&entity, "written_bytes", volume.write.bytes);
        counters.add(&entity, "read_latency_ns", volume.read.latency_ns);
        counters.add(&entity, "write_latency_ns", volume.write.latency_ns);
        counters.add(&entity, "moved_bytes", volume.moved_bytes);
        counters.add(&entity, "fill_queue", volume.under_way);
        counters.add(&entity, "fill_held_back", volume.waiting.len() as u64);
    }
}

fn drives(model: &Model, counters: &mut Counters) {
    let drives = &model.placement.drives;
    for (index, flash) in model.flash_drives.iter().enumerate() {
        let entity = drive_name(drives, index as u32);
        let counted = flash.counters();
        let ([read_bytes, read_ns], [written_bytes, write_ns]) =
            (model.flash_reads[index], model.flash_writes[index]);
        counters.add(&entity, "reads", counted.reads);
        counters.add(&entity, "writes", counted.writes);
        counters.add(&entity, "read_bytes", read_bytes);
        counters.add(&entity, "written_bytes", written_bytes);
        counters.add(&entity, "read_latency_ns", read_ns);
        counters.add(&entity, "write_latency_ns", write_ns);
        counters.add(&entity, "programs", counted.programs);
        counters.add(&entity, "erases", counted.erases);
        counters.add(&entity, "bus_busy_ns", counted.bus_busy_ns);
        counters.add(&entity, "fill_objects", u64::from(model.placement.held(index as u32)));
    }
    for (index, disk) in model.disks.iter().enumerate() {
        let drive = drives.nvme_count() + index as u32;
        let entity = drive_name(drives, drive);
        let counted = disk.counters();
        disk.traffic.count_into(counters, &entity);
        counters.add(&entity, "batches", disk.batches);
        count_arm(&counted, counters, &entity);
        counters.add(&entity, "buffer_hits", counted.buffer_hits);
        counters.add(&entity, "fill_queue", disk.queue());
        counters.add(&entity, "fill_unwritten_bytes", disk.waiting_bytes());
        counters.add(&entity, "fill_objects", u64::from(model.placement.held(drive)));
    }
}

/// Services that are stopped, and replicas that lack writes, where there are any.
fn stopped(model: &Model, counters: &mut Counters) {
    for service in &model.stopped {
        counters.add(&service.entity(), "fill_stopped", 1);
    }
    let drives = &model.placement.drives;
    for drive in 0..drives.count() {
        match model.placement.availability.stale_on(drive) {
            0 => {}
            stale => counters.add(&drive_name(drives, drive), "fill_stale_replicas", stale as u64),
        }
    }
}

fn nodes(model: &Model, counters: &mut Counters) {
    let node_count = model.nodes.len();
    for (machine, (block, link)) in model.blocks.iter().zip(model.network.links()).enumerate() {
        let entity = match machine.checked_sub(node_count) {
            None => format!("node-{machine}"),
            Some(client) => format!("client-{client}"),
        };
        counters.add(&entity, "sent_bytes", link.send.bytes);
        counters.add(&entity, "received_bytes", link.receive.bytes);
        counters.add(&entity, "send_busy_ns", link.send.busy_ns());
        counters.add(&entity, "receive_busy_ns", link.receive.busy_ns());
        let service = format!("{entity}/block");
        counters.add(&service, "requests", block.requests);
        counters.add(&service, "busy_ns", block.busy_ns());
        let Some(node) = model.nodes.get(machine) else {
            counters.add(&entity, "processors_busy_ns", block.busy_ns());
            continue;
        };
        let mut busy_ns = block.busy_ns() + node.nvmed.busy_ns();
        for (index, server) in node.servers.iter().enumerate() {
            let service = format!("{entity}/server-{index}");
            counters.add(&service, "requests", server.instance.requests);
            counters.add(&service, "busy_ns", server.instance.busy_ns());
            counters.add(&service, "index_reads", server.index_reads);
            counters.add(&service, "fill_index_bytes", server.index_bytes.min(server.memory_bytes));
            busy_ns += server.instance.busy_ns();
        }
        let service = format!("{entity}/nvmed");
        counters.add(&service, "requests", node.nvmed.requests);
        counters.add(&service, "busy_ns", node.nvmed.busy_ns());
        counters.add(&entity, "processors_busy_ns", busy_ns);
        let [buffered_bytes, waiting] = node.buffer.fill();
        let buffer = format!("{entity}/write-buffer");
        counters.add(&buffer, "busy_ns", node.buffer.busy_ns());
        counters.add(&buffer, "fill_bytes", buffered_bytes);
        counters.add(&buffer, "fill_waiting", waiting);
    }
}
