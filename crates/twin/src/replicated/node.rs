//! Node: storage servers, NVMe service, and the buffer before its hard disks.

use super::Description;
use super::buffer::Buffer;
use super::placement::Placement;
use super::service::{EvenShare, Instance, share};
use super::settings::Settings;
use crate::engine::Rate;

/// Bytes of a GiB.
const GIB: f64 = (1u64 << 30) as f64;

/// An instance of the storage server.
#[derive(Debug, Clone)]
pub(crate) struct StorageServer {
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
    pub servers: Box<[StorageServer]>,
    pub nvmed: Instance,
    pub buffer: Buffer,
}

impl Node {
    pub fn new(description: &Description, settings: &Settings, placement: &Placement, node: u32) -> Self {
        let server_share = share(description, settings, "server");
        let instances = description.server_instances();
        let object_bytes = description.object_bytes.get() as f64;
        let server = |index: u32| {
            let drives = &placement.drives;
            let served = (0..drives.count()).filter(|&drive| {
                (drives.drive_slot(drive).node, drives.drive_slot(drive).instance) == (node, index)
            });
            let data_bytes = served.map(|drive| f64::from(placement.held(drive)) * object_bytes).sum::<f64>();
            let index_bytes = data_bytes / GIB * description.server.index_bytes_per_gib.get() as f64;
            let memory_bytes = server_share.memory_bytes;
            let missing = if index_bytes > 0.0 { 1.0 - memory_bytes as f64 / index_bytes } else { 0.0 };
            StorageServer {
                instance: Instance::new(server_share, settings),
                missing: EvenShare::new(missing),
                memory_bytes,
                index_bytes: index_bytes as u64,
                index_reads: 0,
            }
        };
        Node {
            servers: (0..instances).map(server).collect(),
            nvmed: Instance::new(share(description, settings, "nvmed"), settings),
            buffer: Buffer::new(&description.write_buffer, settings),
        }
    }
}

/// Service times on the path of an I/O, with the processors available.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Costs {
    pub submission_ns: u64,
    pub completion_ns: u64,
    pub block_rate: Rate,
    pub read_ns: u64,
    pub nvme_write_ns: u64,
    pub hdd_write_ns: u64,
    pub server_rate: Rate,
    pub nvmed_ns: u64,
}

impl Costs {
    /// `block` is an initiator, `node` any node: all are alike.
    pub fn new(description: &Description, block: &Instance, node: &Node) -> Self {
        let server = &node.servers[0].instance;
        Costs {
            submission_ns: block.cost_ns(description.block.submission_us.get()),
            completion_ns: block.cost_ns(description.block.completion_us.get()),
            block_rate: block.rate(description.block.mb_per_s.get()),
            read_ns: server.cost_ns(description.server.read_us.get()),
            nvme_write_ns: server.cost_ns(description.server.nvme_write_us.get()),
            hdd_write_ns: server.cost_ns(description.server.hdd_write_us.get()),
            server_rate: server.rate(description.server.mb_per_s.get()),
            nvmed_ns: node.nvmed.cost_ns(description.nvmed.command_us.get()),
        }
    }
}
