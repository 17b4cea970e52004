//! Resolved description of an array: every value of every part, with its origin.

use serde::{Deserialize, Serialize};

use crate::drive::{
    DRIVE_LIMIT_BYTES, Drives, POWER_LIMIT_MILLIWATTS, PRICE_LIMIT_CENTS, RATE_LIMIT, STEP_LIMIT_NS,
};
use crate::limits::{CACHE_LIMIT_BYTES, PHASE_LIMIT_NS};
use crate::node_services::{Journal, Service, Slice};
use crate::parameter::Parameter;
use crate::quantity::Kind;
use crate::section::section;
use crate::services::{DriveCache, Mirror, Reduction, Replication, Snapshots, Thin, Tier};

/// Most hosts, ports, nodes or controllers.
const PART_LIMIT: u64 = 1024;
/// Depth from which a queue, or a limit of what is under way at once, limits nothing.
pub const OPEN_QUEUE: u32 = 1 << 20;
/// Most drives of an array.
pub(crate) const DRIVE_COUNT_LIMIT: u64 = 4096;
/// Most volumes.
const VOLUME_LIMIT: u64 = 4096;

section! {
    /// Machines that issue the load.
    Hosts {
        label: Kind::Text, 0..=0, default "host", "Name in drawings.";
        count: Kind::Count, 1..=PART_LIMIT, default "1", "Hosts; jobs are dealt to them in turn.";
        submit: Kind::Time, 0..=STEP_LIMIT_NS, default "5us", "Processor time of a job for one I/O before it goes out.";
        copy: Kind::Limit, 1000000..=RATE_LIMIT, default "12GB/s", "Rate at which a job copies data.";
        complete: Kind::Time, 0..=STEP_LIMIT_NS, default "0us", "Processor time after an answer before the application has it, of the thread that handed the I/O over.";
        threads: Kind::Word(&["per-job", "per-io", "per-host"]), 0..=2, default "per-job", "Whether a job hands its I/Os over one after the other, each outstanding I/O has a thread, or one thread serves all of a host and copies written data on the way out, read data on the way back.";
        queue: Kind::Count, 1..=1048576, default "1048576", "Commands of one host under way to one volume over one link; more wait in the host.";
        price_usd: Kind::Dollars, 0..=PRICE_LIMIT_CENTS, default "unknown", "Price of one host in US dollars; 0 for what costs nothing of its own.";
        watts: Kind::Power, 0..=POWER_LIMIT_MILLIWATTS, default "unknown", "Power of one host under load.";
    }
}

section! {
    /// File system of the hosts, for cases that set `filesystem` to its name; without the setting the hosts use the volumes raw.
    FileSystem {
        name: Kind::Text, 0..=0, default "ext4", "Name, as in the setting `filesystem`.";
        submit: Kind::Time, 0..=STEP_LIMIT_NS, default "10us", "Time of a job for mapping and locks before an I/O goes out, beside `submit` of the host.";
        complete: Kind::Time, 0..=STEP_LIMIT_NS, default "40us", "Processor time of a host after an answer before the application has it; completions of one host wait for each other.";
        rate: Kind::Limit, 1000000..=RATE_LIMIT, default "2GB/s", "Rate at which completions pass blocks.";
    }
}

section! {
    /// Links between hosts and controllers or nodes, full duplex.
    Fabric {
        label: Kind::Text, 0..=0, default "link", "Name in drawings.";
        ports: Kind::Count, 1..=PART_LIMIT, default "4", "Links in all, dealt to controllers in turn.";
        rate: Kind::Rate, 1000000..=RATE_LIMIT, default "1.6GB/s", "Bytes a second of a link in each direction.";
        command: Kind::Time, 0..=STEP_LIMIT_NS, default "1us", "Time that a command holds a link beside its bytes.";
        latency: Kind::Time, 0..=STEP_LIMIT_NS, default "10us", "Time of one way that keeps nobody waiting: adapters, switch, distance.";
        adapter: Kind::Limit, 1000000..=RATE_LIMIT, default "unlimited", "Bytes a second that the adapter behind a link moves in both directions together.";
        initiator: Kind::Time, 0..=STEP_LIMIT_NS, default "0us", "Processor time that the protocol costs a job for one I/O, beside `submit` of the host.";
        target: Kind::Time, 0..=STEP_LIMIT_NS, default "0us", "Processor time that the protocol costs a controller for one command, beside `read` and `write`.";
        paths: Kind::Word(&["shared", "dedicated"]), 0..=1, default "shared", "Whether every host reaches every link, or each has links of its own to every controller.";
        price_usd: Kind::Dollars, 0..=PRICE_LIMIT_CENTS, default "unknown", "Price of one link in US dollars; 0 for what costs nothing of its own.";
        watts: Kind::Power, 0..=POWER_LIMIT_MILLIWATTS, default "unknown", "Power of one link under load.";
    }
}

section! {
    /// Network between the nodes of a cluster: the ports of one node.
    Network {
        label: Kind::Text, 0..=0, default "Ethernet", "Name in drawings.";
        ports: Kind::Count, 1..=64, default "2", "Ports of a node.";
        rate: Kind::Rate, 1000000..=RATE_LIMIT, default "25Gbit/s", "Bytes a second of a port in each direction.";
        command: Kind::Time, 0..=STEP_LIMIT_NS, default "1us", "Time that a message holds a port beside its bytes.";
        latency: Kind::Time, 0..=STEP_LIMIT_NS, default "20us", "Time of one way that keeps nobody waiting.";
        header: Kind::Bytes, 0..=65536, default "0B", "Bytes that a message has beside its data.";
        price_usd: Kind::Dollars, 0..=PRICE_LIMIT_CENTS, default "unknown", "Price of one port in US dollars; 0 for what costs nothing of its own.";
        watts: Kind::Power, 0..=POWER_LIMIT_MILLIWATTS, default "unknown", "Power of one port under load.";
    }
}

section! {
    /// Controllers of an array, or of each node.
    Controllers {
        label: Kind::Text, 0..=0, default "controller", "Name in drawings.";
        count: Kind::Count, 1..=64, default "2", "Controllers of the array, or of a node.";
        processors: Kind::Count, 1..=1024, default "8", "Processors of one controller.";
        read: Kind::Time, 0..=STEP_LIMIT_NS, default "20us", "Processor time of a read.";
        write: Kind::Time, 0..=STEP_LIMIT_NS, default "30us", "Processor time of a write.";
        parity_read: Kind::Time, 0..=STEP_LIMIT_NS, default "0us", "Processor time of a read of drives with parity; 0 for that of `read`.";
        parity_write: Kind::Time, 0..=STEP_LIMIT_NS, default "0us", "Processor time of a write to drives with parity; 0 for that of `write`.";
        crowding: Kind::Share, 0..=10000000, default "0%", "Share by which the work on a command and its parity grows with each 1,000 commands that all controllers have under way.";
        copy: Kind::Limit, 1000000..=RATE_LIMIT, default "10GB/s", "Rate at which one controller moves data through its memory.";
        parity: Kind::Limit, 1000000..=RATE_LIMIT, default "8GB/s", "Rate at which one controller computes parity, in bytes that it takes in.";
        parity_command: Kind::Time, 0..=STEP_LIMIT_NS, default "0us", "Processor time of making parity for a write, or for a stripe that is destaged, beside its bytes.";
        new_parity: Kind::Limit, 1000000..=RATE_LIMIT, default "unlimited", "Rate at which one controller makes parity, in bytes of new parity, beside the time that `parity` takes.";
        parity_updates: Kind::Count, 1..=1048576, default "1048576", "Changes of parity that one controller has under way at once, from the first read of old data to the last write; more wait in order.";
        parity_log: Kind::Time, 0..=STEP_LIMIT_NS, default "0us", "Time that a write which changes parity takes longer because the change is logged first; it keeps nobody waiting.";
        answer: Kind::Time, 0..=STEP_LIMIT_NS, default "10us", "Time of an answer that keeps nobody waiting.";
        window: Kind::Count, 1..=1048576, default "4096", "Commands of one controller at the drives at once.";
        window_bytes: Kind::Bytes, 512..=CACHE_LIMIT_BYTES, default "1TiB", "Bytes of the commands of one controller at the drives at once; a larger command goes alone.";
        streams: Kind::Count, 0..=1048576, default "0", "Sequential streams that are followed at once: their reads cost modules less, and their writes gather whole stripes.";
        index: Kind::Bytes, 0..=1073741824, default "0B", "Memory that the index of a GiB of data takes in a chain of replicas; what the memory of the service does not hold is read from the drive when it is wanted.";
        ownership: Kind::Word(&["luns", "active-active"]), 0..=1, default "luns", "Whether a volume has one controller, or all serve it.";
        price_usd: Kind::Dollars, 0..=PRICE_LIMIT_CENTS, default "unknown", "Price of one controller in US dollars; 0 for what costs nothing of its own.";
        watts: Kind::Power, 0..=POWER_LIMIT_MILLIWATTS, default "unknown", "Power of one controller under load.";
    }
}

section! {
    /// Cache of each controller.
    Cache {
        write_back: Kind::Bytes, 0..=CACHE_LIMIT_BYTES, default "0B", "Writes that are answered from memory; 0 for write-through.";
        read: Kind::Bytes, 0..=CACHE_LIMIT_BYTES, default "0B", "Read data that is kept.";
        mode: Kind::Word(&["write-back", "write-through"]), 0..=1, default "write-back", "Whether `write_back` is used where a case does not set `write_cache`.";
        read_ahead: Kind::Bytes, 0..=1073741824, default "0B", "How far a controller reads ahead of each sequential reader; 0 for not at all.";
        mirrored: Kind::Switch, 0..=1, default "true", "Whether a cached write is copied to another controller before its answer.";
        mirror: Kind::Rate, 1000000..=RATE_LIMIT, default "4GB/s", "Rate of that copy.";
        answer: Kind::Time, 0..=STEP_LIMIT_NS, default "0us", "Time of the answer to a write that the cache has taken in, which keeps nobody waiting; 0 for that of `controllers`.";
        buffered: Kind::Switch, 0..=1, default "false", "Whether a write is answered once it has its place in the window: a buffer holds it until the drives have it.";
        buffer_rate: Kind::Limit, 1000000..=RATE_LIMIT, default "unlimited", "Rate at which one controller takes written data into its buffer.";
        buffer_answer: Kind::Time, 0..=STEP_LIMIT_NS, default "0us", "Time from a buffered write's place in the window to its answer, which keeps nobody waiting.";
        protected: Kind::Switch, 0..=1, default "true", "Whether cached writes survive a loss of power.";
        block: Kind::Bytes, 512..=1048576, default "4KiB", "Bytes that the cache counts as one.";
        destage: Kind::Count, 1..=65536, default "64", "Stripes that are written to the drives at once.";
        destage_from: Kind::Share, 0..=1000000, default "50%", "Fill from which the cache is emptied.";
        destage_order: Kind::Word(&["address", "age"]), 0..=1, default "address", "Whether stripes are written to the drives by rising address, or the one that has waited longest first.";
        price_usd: Kind::Dollars, 0..=PRICE_LIMIT_CENTS, default "unknown", "Price of the cache of one controller in US dollars; 0 for what costs nothing of its own.";
        watts: Kind::Power, 0..=POWER_LIMIT_MILLIWATTS, default "unknown", "Power of the cache of one controller under load.";
    }
}

section! {
    /// Links between controllers and the drives of a group.
    Backend {
        label: Kind::Text, 0..=0, default "back end", "Name in drawings.";
        ports: Kind::Count, 1..=PART_LIMIT, default "8", "Links.";
        rate: Kind::Rate, 1000000..=RATE_LIMIT, default "1.2GB/s", "Bytes a second of a link in each direction.";
        command: Kind::Time, 0..=STEP_LIMIT_NS, default "1us", "Time that a command holds a link beside its bytes.";
        latency: Kind::Time, 0..=STEP_LIMIT_NS, default "2us", "Time of one way that keeps nobody waiting.";
        price_usd: Kind::Dollars, 0..=PRICE_LIMIT_CENTS, default "unknown", "Price of one link in US dollars; 0 for what costs nothing of its own.";
        watts: Kind::Power, 0..=POWER_LIMIT_MILLIWATTS, default "unknown", "Power of one link under load.";
    }
}

section! {
    /// Nodes of a cluster.
    Nodes {
        label: Kind::Text, 0..=0, default "node", "Name in drawings.";
        count: Kind::Count, 1..=PART_LIMIT, "Nodes.";
        processors: Kind::Count, 0..=1024, default "0", "Processor cores of a node, which its slices share; 0 where nothing is said.";
        memory: Kind::Bytes, 0..=CACHE_LIMIT_BYTES, default "0B", "Memory of a node, which its slices share; 0 where nothing is said.";
        initiators: Kind::Switch, 0..=1, default "false", "Whether nodes issue load as hosts do, over their own ports; with chains of replicas.";
    }
}

/// Layouts of a group, in the order of their words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LayoutKind {
    /// Drives by themselves: for pools across nodes, or striped without redundancy.
    Single,
    /// Striped without redundancy.
    Raid0,
    /// Mirrored.
    Raid1,
    /// Mirrored pairs, striped.
    Raid10,
    /// One parity segment a stripe.
    Raid5,
    /// Two parity segments a stripe.
    Raid6,
    /// Declustered pool of stripes over all drives, with free capacity instead of spares.
    Pool,
}

impl LayoutKind {
    pub(crate) const WORDS: &'static [&'static str] =
        &["single", "raid0", "raid1", "raid10", "raid5", "raid6", "pool"];

    /// All, in the order of their words.
    pub const ALL: [LayoutKind; 7] = [
        LayoutKind::Single,
        LayoutKind::Raid0,
        LayoutKind::Raid1,
        LayoutKind::Raid10,
        LayoutKind::Raid5,
        LayoutKind::Raid6,
        LayoutKind::Pool,
    ];

    /// Its name in drawings.
    pub fn title(self) -> &'static str {
        const TITLES: [&str; 7] = ["single", "RAID 0", "RAID 1", "RAID 10", "RAID 5", "RAID 6", "pool"];
        TITLES[self as usize]
    }

    /// Its word in a description.
    pub fn word(self) -> &'static str {
        LayoutKind::WORDS[LayoutKind::ALL.iter().position(|kind| *kind == self).unwrap_or(0)]
    }
}

/// Reads `raid0 raid5`, or `none`; the word that is no layout otherwise.
pub(crate) fn words_of_layouts(text: &str) -> Result<Vec<LayoutKind>, &str> {
    let words = text.split([' ', ',']).filter(|word| !word.is_empty() && text != "none");
    let kind_of = |word| LayoutKind::ALL.iter().copied().find(|kind| kind.word() == word).ok_or(word);
    words.map(kind_of).collect()
}

section! {
    /// Keys of a group of drives beside its drives and its back end.
    GroupKeys {
        name: Kind::Text, 0..=0, default "drives", "Name, which volumes and pools give.";
        layout: Kind::Word(LayoutKind::WORDS), 0..=6, default "raid6", "RAID level or pool.";
        segment: Kind::Bytes, 512..=1073741824, default "128KiB", "Bytes of a stripe on one drive.";
        segment_least: Kind::Bytes, 512..=1073741824, default "512B", "Smallest segment that a case may set.";
        segment_most: Kind::Bytes, 512..=1073741824, default "1GiB", "Largest segment that a case may set.";
        layouts: Kind::Text, 0..=0, default "none", "Layouts that a case may set beside this one, as `raid0 raid5 pool`; `none` where the group is as it is described.";
        parity_update: Kind::Word(&["fewest-reads", "modify"]), 0..=1, default "fewest-reads", "How parity of a part of a stripe is made: with the fewest reads, or always of old data and old parity.";
        fresh_parity: Kind::Word(&["made", "missing"]), 0..=1, default "made", "Whether stripes of erased drives have parity, or the first write to each reads the rest of it and makes it.";
        spares: Kind::Count, 0..=1024, default "0", "Drives that take the place of lost ones.";
        stripe: Kind::Text, 0..=0, default "8+2", "Data and parity pieces of a pool's stripe.";
        pool_segment: Kind::Bytes, 0..=1073741824, default "0B", "Segment of a pool's stripe, where the controllers make no other; 0 for that of `segment`.";
        piece: Kind::Bytes, 4096..=1099511627776, default "512MiB", "Bytes that a pool's stripe takes of one drive.";
        preserved: Kind::Count, 0..=1024, default "1", "Capacity that a pool keeps free for reconstruction, in drives.";
        controllers: Kind::Count, 0..=64, default "0", "Controllers of a node that serve these drives of a chain, dealt out in the order of the groups; 0 for all.";
        write: Kind::Time, 0..=STEP_LIMIT_NS, default "0us", "Processor time of a controller for a write to these drives of a chain; 0 for that of `controllers`.";
        command: Kind::Time, 0..=STEP_LIMIT_NS, default "0us", "Processor time of the node's driver for a command to these drives of a chain; 0 where none is between.";
    }
}

section! {
    /// Keys of a drive in a group that are not its model's.
    DriveCount {
        count: Kind::Count, 1..=DRIVE_COUNT_LIMIT, "Drives of the group, spares included; of each node where the group is one of nodes.";
    }
}

/// Group of equal drives under one layout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Name, layout, segment, spares.
    pub keys: GroupKeys,
    /// Model of its drives.
    pub drives: Drives,
    /// Drives of the group, or of each node.
    pub count: DriveCount,
    /// True if each node has such a group.
    pub is_per_node: bool,
    /// Links to the drives; `None` where they limit nothing.
    pub backend: Option<Backend>,
    /// Protected buffer and log before the drives; `None` for none.
    pub journal: Option<Journal>,
}

impl Group {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.keys.name.text
    }

    /// Its layout.
    pub fn layout(&self) -> LayoutKind {
        LayoutKind::ALL[(self.keys.layout.get() as usize).min(LayoutKind::ALL.len() - 1)]
    }

    /// Layouts that a case may set: its own, and those of `layouts`. None where it is as it is described.
    pub fn layouts(&self) -> Vec<LayoutKind> {
        let mut all = words_of_layouts(&self.keys.layouts.text).unwrap_or_default();
        if !all.is_empty() && !all.contains(&self.layout()) {
            all.push(self.layout());
        }
        all
    }

    /// Segment of a layout on these drives, where it is `segment_bytes` on others.
    pub fn segment_of(&self, layout: LayoutKind, segment_bytes: u64) -> u64 {
        match (layout, self.keys.pool_segment.get()) {
            (LayoutKind::Pool, fixed_bytes) if fixed_bytes > 0 => fixed_bytes,
            _ => segment_bytes,
        }
    }
}

/// Stripe of an erasure code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erasure {
    /// Data fragments.
    pub data: u32,
    /// Parity fragments.
    pub parity: u32,
}

section! {
    /// Keys of a pool over the nodes.
    PoolKeys {
        name: Kind::Text, 0..=0, default "pool", "Name, which volumes give.";
        on: Kind::Text, 0..=0, "Group whose drives it lies on; of a chain one for all replicas, or one for each in the order of the chain, as `disks disks flash`.";
        path: Kind::Word(&["primary", "chain"]), 0..=1, default "primary", "Whether the node of the first replica carries a write out for all, or each forwards it to the next and answers the host, and the last is read.";
        replicas: Kind::Count, 0..=8, default "0", "Copies, each on another node; 0 where it has an erasure code.";
        erasure: Kind::Text, 0..=0, default "none", "Erasure code, as `8+2`, each fragment on another node.";
        object: Kind::Bytes, 4096..=1073741824, default "32MiB", "Bytes that lie together on one drive.";
        segment: Kind::Bytes, 512..=1073741824, default "64KiB", "Bytes of an erasure-coded stripe on one drive.";
        share: Kind::Share, 1..=1000000, default "100%", "Share of each drive that the pool has.";
    }
}

/// Pool of replicas or erasure-coded stripes over nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// Name, group, replicas, object size, share.
    pub keys: PoolKeys,
    /// Its erasure code; `None` for replicas.
    pub erasure: Option<Erasure>,
}

section! {
    /// Limits of a volume.
    Limit {
        iops: Kind::Count, 1..=1000000000, default "1000000000", "Most I/Os a second.";
        bandwidth: Kind::Rate, 1000000..=RATE_LIMIT, default "1000GB/s", "Most bytes a second.";
        iops_per_gib: Kind::Count, 0..=1000000000, default "0", "Most I/Os a second for each GiB of the volume; 0 for no such limit. The lower of the two counts.";
        bandwidth_per_gib: Kind::Rate, 0..=RATE_LIMIT, default "0B/s", "Most bytes a second for each GiB of the volume; 0 for no such limit.";
        burst_iops: Kind::Count, 0..=1000000000, default "0", "Most I/Os a second while there are credits; 0 for no bursts.";
        io_credits: Kind::Count, 0..=1000000000000, default "0", "I/Os beyond the limit that a full bucket pays for; it fills at `iops`.";
        burst_bandwidth: Kind::Rate, 0..=RATE_LIMIT, default "0B/s", "Most bytes a second while there are credits; 0 for no bursts.";
        byte_credits: Kind::Bytes, 0..=CACHE_LIMIT_BYTES, default "0B", "Bytes beyond the limit that a full bucket pays for; it fills at `bandwidth`.";
    }
}

section! {
    /// Keys of a volume beside its limit.
    VolumeKeys {
        name: Kind::Text, 0..=0, default "volume", "Name.";
        on: Kind::Text, 0..=0, default "", "Group or pool; the only one where nothing is said.";
        count: Kind::Count, 1..=VOLUME_LIMIT, default "1", "Volumes of this size.";
        size: Kind::Bytes, 0..=DRIVE_LIMIT_BYTES, default "0B", "Bytes of one; 0 for an equal share of all that is left.";
        stripe_unit: Kind::Bytes, 0..=1073741824, default "0B", "Bytes of one volume before the next follows, where hosts stripe over them; 0 where they follow each other whole.";
    }
}

/// Equal volumes on a group or pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// Name, place, count, size.
    pub keys: VolumeKeys,
    /// Limit of each; `None` for none.
    pub limit: Option<Limit>,
}

section! {
    /// Rebuild of lost drives.
    Rebuild {
        delay: Kind::Time, 0..=PHASE_LIMIT_NS, default "10s", "Time from a loss until the rebuild begins.";
        stripes: Kind::Count, 1..=65536, default "16", "Stripes that are rebuilt at once.";
        rate: Kind::Rate, 1000..=RATE_LIMIT, default "100MB/s", "Most bytes a second that are rebuilt.";
        chunk: Kind::Bytes, 4096..=1073741824, default "1MiB", "Bytes of an object that a chain of replicas copies at a time; `stripes` of its objects are copied at once.";
    }
}

section! {
    /// Controllers that fail or are updated.
    Failover {
        away: Kind::Time, 0..=PHASE_LIMIT_NS, default "5min", "Time for which a controller is away.";
        gap: Kind::Time, 0..=PHASE_LIMIT_NS, default "60s", "Time from its return until the next leaves, in an update.";
        path: Kind::Time, 0..=PHASE_LIMIT_NS, default "10s", "Time that commands wait on a lost path before they take another.";
        verify: Kind::Bytes, 0..=DRIVE_LIMIT_BYTES, default "0B", "Bytes of each drive that are read for verification after an update.";
        verify_rate: Kind::Rate, 1000000..=RATE_LIMIT, default "100MB/s", "Rate of that verification on each drive.";
    }
}

/// Array of parts, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Array {
    /// Title in one line.
    pub title: String,
    /// Sources of the description, and simplifications in it.
    pub about: String,
    /// Machines that issue the load.
    pub hosts: Hosts,
    /// File system that cases may have the hosts use.
    pub file_system: Option<FileSystem>,
    /// Links of the hosts.
    pub fabric: Fabric,
    /// Nodes; `None` for an array with one set of controllers.
    pub nodes: Option<Nodes>,
    /// Network between nodes.
    pub network: Option<Network>,
    /// Controllers of the array, or of each node.
    pub controllers: Controllers,
    /// Cache of each controller.
    pub cache: Cache,
    /// Groups of drives.
    pub groups: Vec<Group>,
    /// Pools over nodes.
    pub pools: Vec<Pool>,
    /// Volumes.
    pub volumes: Vec<Volume>,
    /// Control groups of every node.
    pub slices: Vec<Slice>,
    /// Services of every node.
    pub services: Vec<Service>,
    /// Thin provisioning; `None` where all capacity is allocated beforehand.
    pub thin: Option<Thin>,
    /// Data reduction.
    pub reduction: Option<Reduction>,
    /// Snapshots.
    pub snapshots: Option<Snapshots>,
    /// Read cache on drives.
    pub drive_cache: Option<DriveCache>,
    /// Tier of fast drives.
    pub tier: Option<Tier>,
    /// Synchronous mirror.
    pub mirror: Option<Mirror>,
    /// Asynchronous copies of snapshots.
    pub replication: Option<Replication>,
    /// Rebuild of lost drives.
    pub rebuild: Rebuild,
    /// Controllers that fail or are updated.
    pub failover: Failover,
}

impl Array {
    /// Nodes, one where there is no cluster.
    pub fn node_count(&self) -> u32 {
        self.nodes.as_ref().map_or(1, |nodes| nodes.count.count())
    }

    /// Controllers of all nodes.
    pub fn controller_count(&self) -> u32 {
        self.controllers.count.count() * self.node_count()
    }

    /// Drives of a group on all nodes.
    pub fn drives_of(&self, group: &Group) -> u32 {
        group.count.count.count() * if group.is_per_node { self.node_count() } else { 1 }
    }

    /// Group of a name.
    pub fn group(&self, name: &str) -> Option<usize> {
        self.groups.iter().position(|group| group.name() == name)
    }

    /// Pool of a name.
    pub fn pool(&self, name: &str) -> Option<usize> {
        self.pools.iter().position(|pool| pool.keys.name.text == name)
    }

    /// Sections with their paths and values, in the order of the language.
    pub fn sections(&self) -> Vec<(String, &'static [crate::Key], Vec<&Parameter>)> {
        fn add<'a, S: crate::Section>(
            path: &str,
            section: &'a S,
            into: &mut Vec<(String, &'static [crate::Key], Vec<&'a Parameter>)>,
        ) {
            into.push((path.to_owned(), S::KEYS, section.values()));
        }
        let mut all = Vec::new();
        add("hosts", &self.hosts, &mut all);
        if let Some(file_system) = &self.file_system {
            add("file_system", file_system, &mut all);
        }
        add("fabric", &self.fabric, &mut all);
        if let Some(nodes) = &self.nodes {
            add("nodes", nodes, &mut all);
        }
        if let Some(network) = &self.network {
            add("nodes.network", network, &mut all);
        }
        add("controllers", &self.controllers, &mut all);
        add("cache", &self.cache, &mut all);
        for (index, group) in self.groups.iter().enumerate() {
            let path = format!("groups[{index}]");
            add(&path, &group.keys, &mut all);
            let drives = format!("{path}.{}", if group.is_per_node { "per_node" } else { "drives" });
            add(&drives, &group.count, &mut all);
            match &group.drives {
                Drives::HardDisk(drive) => add(&drives, drive.as_ref(), &mut all),
                Drives::SolidState(drive) => add(&drives, drive.as_ref(), &mut all),
                Drives::FlashModule(drive) => add(&drives, drive.as_ref(), &mut all),
            }
            if let Some(backend) = &group.backend {
                add(&format!("{path}.backend"), backend, &mut all);
            }
            if let Some(journal) = &group.journal {
                add(&format!("{path}.journal"), journal, &mut all);
            }
        }
        for (index, pool) in self.pools.iter().enumerate() {
            add(&format!("pools[{index}]"), &pool.keys, &mut all);
        }
        for (index, volume) in self.volumes.iter().enumerate() {
            add(&format!("volumes[{index}]"), &volume.keys, &mut all);
            if let Some(limit) = &volume.limit {
                add(&format!("volumes[{index}].limit"), limit, &mut all);
            }
        }
        for (index, slice) in self.slices.iter().enumerate() {
            add(&format!("slices[{index}]"), slice, &mut all);
        }
        for (index, service) in self.services.iter().enumerate() {
            add(&format!("services[{index}]"), service, &mut all);
        }
        if let Some(thin) = &self.thin {
            add("thin", thin, &mut all);
        }
        if let Some(reduction) = &self.reduction {
            add("reduction", reduction, &mut all);
        }
        if let Some(snapshots) = &self.snapshots {
            add("snapshots", snapshots, &mut all);
        }
        if let Some(cache) = &self.drive_cache {
            add("drive_cache", cache, &mut all);
        }
        if let Some(tier) = &self.tier {
            add("tier", tier, &mut all);
        }
        if let Some(mirror) = &self.mirror {
            add("mirror", mirror, &mut all);
        }
        if let Some(replication) = &self.replication {
            add("replication", replication, &mut all);
        }
        add("rebuild", &self.rebuild, &mut all);
        add("failover", &self.failover, &mut all);
        all
    }
}
