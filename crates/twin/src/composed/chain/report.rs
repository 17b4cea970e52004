//! Counters of the parts of chains of replicas, as the system's own monitoring lists them.

use super::super::drives::GroupDrives;
use super::super::groups::Groups;
use super::placement::DriveSlot;
use super::{Chain, Moved};
use crate::part::{Counters, count_arm, count_flash};

/// A drive's name.
pub(crate) fn drive_name(chain: &Chain, drive: u32) -> String {
    let DriveSlot { node, number, group, .. } = chain.placement.drives.drive_slot(drive);
    format!("node-{node}/{}-{number}", chain.group_names[group])
}

/// The drive of a name.
pub(crate) fn find_drive(chain: &Chain, name: &str) -> Option<u32> {
    (0..chain.placement.drives.count()).find(|&drive| drive_name(chain, drive) == name)
}

/// Cumulative counts of every part since the twin was built; `fill_…` are levels at this moment.
pub(crate) fn count_into(chain: &Chain, groups: &Groups, counters: &mut Counters) {
    volumes(chain, counters);
    for (group, drives) in groups.drives.iter().enumerate() {
        of_group(chain, group, drives, counters);
    }
    nodes(chain, counters);
    stopped(chain, counters);
}

fn volumes(chain: &Chain, counters: &mut Counters) {
    for volume in &chain.volumes {
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

fn of_group(chain: &Chain, group: usize, drives: &GroupDrives, counters: &mut Counters) {
    let held = |drive: u32| u64::from(chain.placement.held(drive));
    let moved = |counters: &mut Counters, entity: &str, drive: u32| {
        let (Moved { bytes: read_bytes, ns: read_ns }, Moved { bytes: written_bytes, ns: write_ns }) =
            (chain.reads[drive as usize], chain.writes[drive as usize]);
        counters.add(entity, "read_bytes", read_bytes);
        counters.add(entity, "written_bytes", written_bytes);
        counters.add(entity, "read_latency_ns", read_ns);
        counters.add(entity, "write_latency_ns", write_ns);
    };
    let own = chain.placement.drives.of_group(group as u8);
    match drives {
        GroupDrives::SolidStates(flash) => {
            for (drive, counted) in own.zip(flash.counts()) {
                let entity = drive_name(chain, drive);
                counters.add(&entity, "reads", counted.reads);
                counters.add(&entity, "writes", counted.writes);
                moved(counters, &entity, drive);
                count_flash(&counted, counters, &entity);
                counters.add(&entity, "fill_objects", held(drive));
            }
        }
        GroupDrives::HardDisks(disks) => {
            for (drive, (counted, traffic)) in own.zip(disks.counters()) {
                let entity = drive_name(chain, drive);
                traffic.count_into(counters, &entity);
                let journal = &chain.journals[drive as usize];
                let [batches, queue, waiting_bytes] = journal
                    .as_ref()
                    .map_or([0; 3], |journal| [journal.batches, journal.queue(), journal.waiting_bytes()]);
                counters.add(&entity, "batches", batches);
                count_arm(&counted, counters, &entity);
                counters.add(&entity, "buffer_hits", counted.buffer_hits);
                counters.add(&entity, "fill_queue", queue);
                counters.add(&entity, "fill_unwritten_bytes", waiting_bytes);
                counters.add(&entity, "fill_objects", held(drive));
            }
        }
        GroupDrives::Modules(modules) => {
            for (drive, module) in own.zip(modules.iter()) {
                let entity = drive_name(chain, drive);
                counters.add(&entity, "reads", module.traffic.reads);
                counters.add(&entity, "writes", module.traffic.writes);
                moved(counters, &entity, drive);
                counters.add(&entity, "fill_objects", held(drive));
            }
        }
    }
}

/// Services that are stopped, and replicas that lack writes, where there are any.
fn stopped(chain: &Chain, counters: &mut Counters) {
    for &service in &chain.stopped {
        counters.add(&chain.names.entity(service), "fill_stopped", 1);
    }
    for drive in 0..chain.placement.drives.count() {
        match chain.placement.availability.stale_on(drive) {
            0 => {}
            stale => counters.add(&drive_name(chain, drive), "fill_stale_replicas", stale as u64),
        }
    }
}

fn nodes(chain: &Chain, counters: &mut Counters) {
    let names = &chain.names;
    for (machine, (initiator, port)) in chain.initiators.iter().zip(chain.machines.ports()).enumerate() {
        let entity = match machine.checked_sub(chain.nodes.len()) {
            None => format!("node-{machine}"),
            Some(client) => format!("client-{client}"),
        };
        counters.add(&entity, "sent_bytes", port.send.bytes);
        counters.add(&entity, "received_bytes", port.receive.bytes);
        counters.add(&entity, "send_busy_ns", port.send.busy_ns());
        counters.add(&entity, "receive_busy_ns", port.receive.busy_ns());
        let service = format!("{entity}/{}", names.initiator);
        counters.add(&service, "requests", initiator.requests);
        counters.add(&service, "busy_ns", initiator.busy_ns());
        let Some(node) = chain.nodes.get(machine) else {
            counters.add(&entity, "processors_busy_ns", initiator.busy_ns());
            continue;
        };
        let mut busy_ns = initiator.busy_ns() + node.driver.busy_ns();
        for (index, controller) in node.controllers.iter().enumerate() {
            let service = format!("{entity}/{}-{index}", names.controller);
            counters.add(&service, "requests", controller.instance.requests);
            counters.add(&service, "busy_ns", controller.instance.busy_ns());
            counters.add(&service, "index_reads", controller.index_reads);
            counters.add(&service, "fill_index_bytes", controller.index_bytes.min(controller.memory_bytes));
            busy_ns += controller.instance.busy_ns();
        }
        if names.has_driver() {
            let service = format!("{entity}/{}", names.driver);
            counters.add(&service, "requests", node.driver.requests);
            counters.add(&service, "busy_ns", node.driver.busy_ns());
        }
        counters.add(&entity, "processors_busy_ns", busy_ns);
        for (group, buffer) in node.buffers.iter().enumerate() {
            let Some(buffer) = buffer else { continue };
            let [buffered_bytes, waiting] = buffer.fill();
            // The only one of a node needs no name of its group.
            let entity = match node.buffers.iter().flatten().count() {
                1 => format!("{entity}/write-buffer"),
                _ => format!("{entity}/write-buffer-{}", chain.group_names[group]),
            };
            counters.add(&entity, "busy_ns", buffer.busy_ns());
            counters.add(&entity, "fill_bytes", buffered_bytes);
            counters.add(&entity, "fill_waiting", waiting);
        }
    }
}
