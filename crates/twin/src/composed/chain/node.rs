//! Node of a chain: its controllers, the driver of its drives, and the buffers before them.

use super::super::settings::Settings;
use super::buffer::Buffer;
use super::instance::{EvenShare, Instance, share};
use super::placement::Placement;
use crate::engine::Rate;

/// Bytes of a GiB.
const GIB: f64 = (1u64 << 30) as f64;

/// A controller of a node.
#[derive(Debug, Clone)]
pub(crate) struct NodeController {
    pub instance: Instance,
    /// I/Os whose part of the index has no room in memory.
    pub missing: EvenShare,
    pub memory_bytes: u64,
    pub index_bytes: u64,
    pub index_reads: u64,
}

/// A node.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub controllers: Box<[NodeController]>,
    pub driver: Instance,
    /// By group; `None` where no journal is before its drives.
    pub buffers: Box<[Option<Buffer>]>,
}

impl Node {
    pub fn new(array: &array::Array, settings: &Settings, placement: &Placement, node: u32) -> Self {
        let (on, described) = (settings.on, &array.controllers);
        let own = share(array, settings, array::Service::CONTROLLERS, described.processors.count());
        let object_bytes = placement.object_bytes as f64;
        let controller = |index: u32| {
            let drives = &placement.drives;
            let served = (0..drives.count()).filter(|&drive| {
                let slot = drives.drive_slot(drive);
                (slot.node, slot.controller) == (node, index)
            });
            let data_bytes = served.map(|drive| f64::from(placement.held(drive)) * object_bytes).sum::<f64>();
            let index_bytes = data_bytes / GIB * described.index.get() as f64;
            let missing = if index_bytes > 0.0 { 1.0 - own.memory_bytes as f64 / index_bytes } else { 0.0 };
            NodeController {
                instance: Instance::new(own, on.processors),
                missing: EvenShare::new(missing),
                memory_bytes: own.memory_bytes,
                index_bytes: index_bytes as u64,
                index_reads: 0,
            }
        };
        let buffer = |group: &array::Group| {
            let journal = group.journal.as_ref().filter(|_| on.write_cache)?;
            Some(Buffer::new(journal, on.processors))
        };
        Node {
            controllers: (0..described.count.count()).map(controller).collect(),
            driver: Instance::new(share(array, settings, array::Service::DRIVER, 1), on.processors),
            buffers: array.groups.iter().map(buffer).collect(),
        }
    }
}

/// Service times on the path of an I/O, with the processors available.
#[derive(Debug, Clone)]
pub(crate) struct Costs {
    pub submission_ns: u64,
    pub completion_ns: u64,
    pub copy: Rate,
    pub read_ns: u64,
    /// By group: of a controller for a write, and of the driver for a command.
    pub write_ns: Box<[u64]>,
    pub driver_ns: Box<[u64]>,
    pub controller_rate: Rate,
}

impl Costs {
    /// `initiator` is that of any machine, `node` any node: all are alike.
    pub fn new(array: &array::Array, initiator: &Instance, node: &Node) -> Self {
        let controller = &node.controllers[0].instance;
        let groups = || 0..array.groups.len();
        Costs {
            submission_ns: initiator.cost_ns(array.hosts.submit.get()),
            completion_ns: initiator.cost_ns(array.hosts.complete.get()),
            copy: initiator.rate(array.hosts.copy.get()),
            read_ns: controller.cost_ns(array.controllers.read.get()),
            write_ns: groups().map(|group| controller.cost_ns(array.chain_write_ns(group))).collect(),
            driver_ns: groups()
                .map(|group| node.driver.cost_ns(array.groups[group].keys.command.get()))
                .collect(),
            controller_rate: controller.rate(array.controllers.copy.get()),
        }
    }
}
