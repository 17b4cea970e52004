//! Services of the nodes of a cluster, the control groups that they run in, and a journal before drives of a node.

use crate::drive::{RATE_LIMIT, STEP_LIMIT_NS};
use crate::limits::{CACHE_LIMIT_BYTES, PHASE_LIMIT_NS};
use crate::quantity::Kind;
use crate::section::section;

/// Most processor cores of a slice or a service, in millionths of one.
const CORES_LIMIT: u64 = 1_024_000_000;

section! {
    /// Control group of every node that guarantees processors and memory to the services in it.
    Slice {
        name: Kind::Text, 0..=0, "Name, which services give.";
        processors: Kind::Share, 10000..=CORES_LIMIT, "Processor time that it guarantees, as a share of one core: `800%` for eight.";
        memory: Kind::Bytes, 0..=CACHE_LIMIT_BYTES, default "0B", "Memory that it guarantees.";
    }
}

section! {
    /// Program that runs on every node. Where those of a slice ask for more than the slice has, each gets the same part of its wish.
    Service {
        name: Kind::Text, 0..=0, "Name.";
        slice: Kind::Text, 0..=0, default "", "Slice that it runs in; none where nothing is said.";
        role: Kind::Word(&["other", "initiator", "controllers", "driver"]), 0..=3, default "other", "Part of the path of an I/O that runs in it: the hosts' block driver, the controllers, the driver of the drives, or none.";
        instances: Kind::Count, 1..=64, default "1", "Instances on a node; of the controllers one for each.";
        processors: Kind::Share, 10000..=CORES_LIMIT, default "100%", "Processor time of an instance, as a share of one core.";
        memory: Kind::Bytes, 0..=CACHE_LIMIT_BYTES, default "0B", "Memory of an instance; for controllers what their index has.";
    }
}

section! {
    /// Protected buffer of a node before its drives of a group, which puts them on each drive in batches, in sequence.
    Journal {
        buffer: Kind::Bytes, 1048576..=CACHE_LIMIT_BYTES, default "1GiB", "Writes of a node that are answered from the buffer.";
        command: Kind::Time, 0..=STEP_LIMIT_NS, default "10us", "Time until the buffer has taken a write, beside its bytes.";
        rate: Kind::Rate, 1000000..=RATE_LIMIT, default "3GB/s", "Rate at which the buffer takes data.";
        batch: Kind::Bytes, 4096..=1073741824, default "16MiB", "Most bytes that are put on a drive in one sequential write.";
        batch_after: Kind::Time, 0..=PHASE_LIMIT_NS, default "50ms", "Time after which a batch is written though it is not full.";
        metadata: Kind::Bytes, 0..=4096, default "0B", "Bytes of checksums and versions that are written beside each 4 KiB.";
        index: Kind::Bytes, 512..=16777216, default "4KiB", "Bytes of the write to the drive's index that ends a batch.";
        log: Kind::Bytes, 16384..=CACHE_LIMIT_BYTES, default "10GiB", "Free space of each drive that batches are written over in turn.";
    }
}

impl Service {
    /// Role of the hosts' block driver.
    pub const INITIATOR: u64 = 1;
    /// Role of the controllers.
    pub const CONTROLLERS: u64 = 2;
    /// Role of the drives' driver.
    pub const DRIVER: u64 = 3;
}
