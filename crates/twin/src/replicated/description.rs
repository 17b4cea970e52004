//! Description of a replicated system: the keys under `replicated:`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::composed::limit::Limit;
use crate::drive::disk::HardDiskDescription;
use crate::drive::flash::FlashDescription;
use crate::part::{check_hard_disk, flash_drives, hard_disks, no_flash_drive};
use crate::{DescriptionError, Parameter, Topology, TopologyPart};

/// Nodes with drives that keep copies of objects on each other, and the hosts that use them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ReplicatedSystem")]
pub struct Description {
    /// Machines that hold drives; each can issue load too.
    pub nodes: Machines,
    /// Machines that issue load only.
    pub clients: Machines,
    /// What connects them.
    pub network: Network,
    /// What the processors and memory of a node are divided into.
    pub slices: Vec<Slice>,
    /// What runs on a node.
    pub services: Vec<Service>,
    /// What the initiator, service `block`, spends on an I/O.
    pub block: Block,
    /// What an instance of service `server` spends on a replica's I/O.
    pub server: StorageServer,
    /// What service `nvmed` spends on a command.
    pub nvmed: NvmeDriver,
    /// Flash drives of a node.
    pub nvme: NvmeDrives,
    /// Hard disks of a node.
    pub hdd: HardDisks,
    /// The protected buffer before the hard disks of a node.
    pub write_buffer: WriteBuffer,
    /// Bytes of an object, of which volumes are made.
    pub object_bytes: Parameter<u64>,
    /// Which class of drives holds which replica.
    pub templates: Vec<Template>,
    /// What hosts see; the first is loaded unless `volume` is set.
    pub volumes: Vec<Volume>,
    /// How data moves in the background.
    pub relocation: Relocation,
}

impl Description {
    /// Number of storage servers of a node.
    pub(crate) fn server_instances(&self) -> u32 {
        let server = self.services.iter().find(|service| service.name == "server");
        server.map_or(1, |service| service.instances.get())
    }

    /// The parts, counted and labelled for a drawing.
    pub fn bench(&self) -> Topology {
        let (nodes, clients) = (self.nodes.count.get(), self.clients.count.get());
        let mut hosts = vec![TopologyPart::new(&self.nodes.label, nodes)];
        if clients > 0 {
            hosts.push(TopologyPart::new(&self.clients.label, clients));
        }
        let drives = [(&self.nvme.label, self.nvme.count.get()), (&self.hdd.label, self.hdd.count.get())];
        Topology {
            hosts,
            links: vec![TopologyPart::new(&self.network.label, nodes + clients)],
            controllers: vec![TopologyPart::new(&self.nodes.label, nodes)],
            drives: drives
                .into_iter()
                .filter(|&(_, count)| count > 0)
                .map(|(label, count)| TopologyPart::new(label, nodes * count))
                .collect(),
        }
    }
}

/// Like machines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Machines {
    /// What they are, for drawings.
    pub label: String,
    /// How many.
    pub count: Parameter<u32>,
    /// Processor cores of each.
    pub processors: Parameter<u32>,
    /// Memory of each.
    pub memory_bytes: Parameter<u64>,
}

/// One full-duplex link for each machine, and a switch between them that holds nobody up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// What the links are, for drawings.
    pub label: String,
    /// What a link carries in each direction, in 10^6 bytes a second.
    pub mb_per_s: Parameter<f64>,
    /// Microseconds that a message holds a direction beside its bytes.
    pub message_us: Parameter<f64>,
    /// Bytes that a message has beside its data.
    pub header_bytes: Parameter<u64>,
    /// Microseconds from a machine's adapter into the other machine's service: adapters, switch, polling.
    pub hop_us: Parameter<f64>,
}

/// A control group that guarantees processors and memory to the services in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    /// Its name.
    pub name: String,
    /// Cores that it guarantees.
    pub processors: Parameter<f64>,
    /// Memory that it guarantees.
    pub memory_bytes: Parameter<u64>,
}

/// A program that runs on every node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Its name; `block`, `server` and `nvmed` are on the path of I/Os.
    pub name: String,
    /// The slice that it runs in.
    pub slice: String,
    /// Instances.
    pub instances: Parameter<u32>,
    /// Cores for each instance. Where all of a slice want more than it has, each gets the same share of its wish.
    pub processors: Parameter<f64>,
    /// Memory for each instance; shared likewise.
    pub memory_bytes: Parameter<u64>,
}

/// What the initiator spends on an I/O.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Microseconds of its processor before the I/O goes out.
    pub submission_us: Parameter<f64>,
    /// Microseconds of its processor before the application has the answer.
    pub completion_us: Parameter<f64>,
    /// Rate at which it copies data between application and network, in 10^6 bytes a second.
    pub mb_per_s: Parameter<f64>,
}

/// What an instance of `server` spends on a replica's I/O.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StorageServer {
    /// Instances of a node that serve its flash drives; the others serve its hard disks.
    pub nvme_instances: Parameter<u32>,
    /// Microseconds for a read of either class.
    pub read_us: Parameter<f64>,
    /// Microseconds for a write to flash.
    pub nvme_write_us: Parameter<f64>,
    /// Microseconds for a write to a hard disk.
    pub hdd_write_us: Parameter<f64>,
    /// Rate at which it checks data, in 10^6 bytes a second.
    pub mb_per_s: Parameter<f64>,
    /// Memory that the index of a GiB of data takes. What does not fit is read from the drive when it is wanted.
    pub index_bytes_per_gib: Parameter<u64>,
}

/// What `nvmed` spends on a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NvmeDriver {
    /// Microseconds for a command.
    pub command_us: Parameter<f64>,
}

flash_drives! {
    /// Flash drives of a node.
    NvmeDrives {}
}

impl NvmeDrives {
    /// One of them, as the flash model takes it.
    pub(super) fn flash(&self) -> FlashDescription {
        self.common_drive()
    }

    /// Refuses what no drives can be, naming the key.
    pub(super) fn check(&self) -> Result<(), DescriptionError> {
        self.check_common()?;
        self.flash().check().map_err(no_flash_drive)
    }
}

hard_disks! {
    /// Hard disks of a node.
    HardDisks {}
}

impl HardDisks {
    /// One of them, as the disk model takes it.
    pub(super) fn hard_disk(&self) -> HardDiskDescription {
        self.common_disk()
    }

    /// Refuses what no disks can be, naming the key.
    pub(super) fn check(&self) -> Result<(), DescriptionError> {
        self.check_common()?;
        check_hard_disk(&self.hard_disk())
    }
}

/// The protected buffer of the controller before the hard disks of a node, and how it is emptied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteBuffer {
    /// Its size.
    pub bytes: Parameter<u64>,
    /// Microseconds until it has taken a write, beside its bytes.
    pub command_us: Parameter<f64>,
    /// Rate at which it takes data, in 10^6 bytes a second.
    pub mb_per_s: Parameter<f64>,
    /// The most that is put on a disk in one sequential write.
    pub batch_bytes: Parameter<u64>,
    /// Milliseconds after which a batch is written though it is not full.
    pub batch_after_ms: Parameter<f64>,
    /// Bytes of checksums and versions that are written beside each 4 KiB.
    pub metadata_bytes: Parameter<u64>,
    /// Bytes of the write to the disk's index that ends a batch.
    pub index_write_bytes: Parameter<u64>,
    /// Free space that batches are written over in turn.
    pub log_bytes: Parameter<u64>,
}

/// A class of drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DriveClass {
    /// Flash.
    Nvme,
    /// Hard disks.
    Hdd,
}

/// Which class of drives holds which replica; no two replicas of an object are on one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// Its name.
    pub name: String,
    /// Where writes begin (`placeHead`).
    pub place_head: DriveClass,
    /// The replica between (`placeAll`).
    pub place_all: DriveClass,
    /// Where writes end and reads are served (`placeTail`).
    pub place_tail: DriveClass,
    /// Where that is from.
    pub from: String,
}

impl Template {
    /// The classes of the replicas, head first.
    pub(crate) fn classes(&self) -> [DriveClass; super::COPIES] {
        [self.place_head, self.place_all, self.place_tail]
    }
}

/// A volume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    /// Its name, as in setting `volume`.
    pub name: String,
    /// Its template at the start.
    pub template: String,
    /// Its size.
    pub bytes: Parameter<u64>,
    /// Its limit at the start.
    #[serde(default)]
    pub limit: Limit,
}

/// How data moves in the background after a change of template or the loss of a drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Relocation {
    /// Data moved, in 10^6 bytes a second of volume.
    pub mb_per_s: Parameter<f64>,
    /// Bytes that are copied at a time.
    pub chunk_bytes: Parameter<u64>,
    /// Objects that are copied at a time.
    pub objects: Parameter<u32>,
}
