//! Drives: hard disks, solid-state drives with a flash translation layer, and flash modules known by their rates.

use serde::{Deserialize, Serialize};

use crate::parameter::Parameter;
use crate::quantity::{Endurance, Kind};
use crate::section::section;

/// Longest time of one step.
pub(crate) const STEP_LIMIT_NS: u64 = 1_000_000_000;
/// Fastest path.
pub(crate) const RATE_LIMIT: u64 = 1_000_000_000_000;
/// Largest drive.
pub(crate) const DRIVE_LIMIT_BYTES: u64 = 1 << 50;
/// Dearest part: a billion US dollars, in cents.
pub(crate) const PRICE_LIMIT_CENTS: u64 = 100_000_000_000;
/// Largest power of a part: a megawatt.
pub(crate) const POWER_LIMIT_MILLIWATTS: u64 = 1_000_000_000;

section! {
    /// Hard disk: seeks, rotation, zones, a queue that it orders, and a read-ahead buffer.
    HardDisk {
        label: Kind::Text, 0..=0, default "hard disk", "Name in drawings.";
        capacity: Kind::Bytes, 1048576..=DRIVE_LIMIT_BYTES, "Usable bytes.";
        rpm: Kind::Count, 1000..=30000, default "7200", "Revolutions a minute.";
        heads: Kind::Count, 1..=64, default "8", "Recording surfaces.";
        outer: Kind::Rate, 1000000..=RATE_LIMIT, default "200MB/s", "Media rate of the outermost track.";
        inner: Kind::Rate, 1000000..=RATE_LIMIT, default "95MB/s", "Media rate of the innermost track.";
        seek_min: Kind::Time, 0..=100000000, default "1ms", "Seek to a neighbouring cylinder, settling included.";
        seek_average: Kind::Time, 0..=STEP_LIMIT_NS, default "8.5ms", "Mean seek between two random cylinders.";
        write_settle: Kind::Time, 0..=100000000, default "1ms", "What a seek to a write takes longer.";
        linear_from: Kind::Share, 10000..=1000000, default "100%", "Share of the stroke from which seeks grow in proportion to distance; 100% for a square root throughout.";
        head_switch: Kind::Time, 0..=100000000, default "0us", "Switch of heads, or to the next cylinder.";
        command: Kind::Time, 0..=STEP_LIMIT_NS, default "200us", "Firmware and interface time of a command.";
        interface: Kind::Rate, 1000000..=RATE_LIMIT, default "600MB/s", "Rate of the disk's interface for buffered data.";
        queue: Kind::Count, 1..=256, default "32", "Commands among which the disk chooses the one it reaches first.";
        plans_ahead: Kind::Switch, 0..=1, default "false", "Whether the disk chooses its next command when it begins the one before; what arrives meanwhile takes no part.";
        age_limit: Kind::Time, 0..=STEP_LIMIT_NS, default "0", "A command that has waited longer is next; 0 for never.";
        segments: Kind::Count, 0..=1024, default "16", "Segments of the read-ahead buffer; 0 for no read-ahead.";
        segment: Kind::Bytes, 4096..=1073741824, default "512KiB", "Bytes read ahead into a segment.";
        write_buffer: Kind::Bytes, 0..=1099511627776, default "0B", "Written data that the disk acknowledges before it is on the media; 0 for none.";
        price_usd: Kind::Dollars, 0..=PRICE_LIMIT_CENTS, default "unknown", "Price of one drive in US dollars; 0 for what costs nothing of its own.";
        watts: Kind::Power, 0..=POWER_LIMIT_MILLIWATTS, default "unknown", "Power of one drive under load.";
        endurance: Kind::Endurance, 0..=0, default "unknown", "Rated writes: drive writes a day over years (`1DWPD/5y`), or bytes (`7PB`).";
    }
}

section! {
    /// Solid-state drive: dies, channels, a shared bus, and a flash translation layer that collects garbage.
    SolidState {
        label: Kind::Text, 0..=0, default "SSD", "Name in drawings.";
        capacity: Kind::Bytes, 1073741824..=DRIVE_LIMIT_BYTES, "Bytes that may be addressed.";
        over_provisioning: Kind::Share, 10000..=4000000, default "7%", "Spare flash as a share of the capacity.";
        mapping_unit: Kind::Bytes, 512..=65536, default "4KiB", "Bytes that are mapped and collected as one.";
        channels: Kind::Count, 1..=64, default "16", "Channels.";
        dies_per_channel: Kind::Count, 1..=64, default "8", "Dies on each channel.";
        planes: Kind::Count, 1..=16, default "4", "Planes of a die that program together.";
        page: Kind::Bytes, 512..=131072, default "16KiB", "Bytes of a flash page.";
        pages_per_block: Kind::Count, 1..=65536, default "1024", "Pages of an erase block in one plane.";
        read: Kind::Time, 0..=STEP_LIMIT_NS, default "60us", "Time to read a page.";
        program: Kind::Time, 0..=STEP_LIMIT_NS, default "700us", "Time to program a page on all planes.";
        erase: Kind::Time, 0..=STEP_LIMIT_NS, default "4ms", "Time to erase a block on all planes.";
        suspend: Kind::Time, 0..=STEP_LIMIT_NS, default "20us", "Cost of a read that interrupts a program or an erase.";
        read_priority: Kind::Switch, 0..=1, default "true", "Whether reads go before writes and collection on channels and bus; if not, they wait for all that the buffer holds.";
        channel: Kind::Rate, 1000000..=RATE_LIMIT, default "800MB/s", "Rate of a channel.";
        bus: Kind::Rate, 1000000..=RATE_LIMIT, default "3.2GB/s", "Rate of the bus that all channels share.";
        read_command: Kind::Time, 0..=STEP_LIMIT_NS, default "1us", "Time of the drive's controller for a read.";
        write_command: Kind::Time, 0..=STEP_LIMIT_NS, default "2us", "Time of the drive's controller for a write.";
        write_buffer: Kind::Bytes, 0..=1099511627776, default "64MiB", "Writes that are acknowledged before they are programmed.";
        reserve: Kind::Bytes, 0..=DRIVE_LIMIT_BYTES, default "0B", "Erased flash that an idle drive collects for.";
        relocation: Kind::Time, 0..=STEP_LIMIT_NS, default "0us", "Time of bus and controller to relocate a collected unit, beside its two crossings of the bus.";
        frontiers: Kind::Word(&["host-and-collection", "one"]), 0..=1, default "host-and-collection", "Whether collected units are written apart from those of the host.";
        superblocks: Kind::Count, 64..=65536, default "512", "Superblocks that collection is simulated with.";
        superblock_units: Kind::Count, 16..=4096, default "128", "Mapping units of a simulated superblock.";
        history: Kind::Word(&["in-order", "small-writes"]), 0..=1, default "in-order", "What `condition: filled` stands for: written once in order, or rewritten by small random writes, each with its parity, and rested.";
        price_usd: Kind::Dollars, 0..=PRICE_LIMIT_CENTS, default "unknown", "Price of one drive in US dollars; 0 for what costs nothing of its own.";
        watts: Kind::Power, 0..=POWER_LIMIT_MILLIWATTS, default "unknown", "Power of one drive under load.";
        endurance: Kind::Endurance, 0..=0, default "unknown", "Rated writes: drive writes a day over years (`1DWPD/5y`), or bytes (`7PB`).";
    }
}

section! {
    /// Flash module known by the rates of its paths: a command processor, a read path and a write path. Garbage collection is
    /// not modelled.
    FlashModule {
        label: Kind::Text, 0..=0, default "flash module", "Name in drawings.";
        capacity: Kind::Bytes, 1048576..=DRIVE_LIMIT_BYTES, "Usable bytes.";
        command: Kind::Time, 0..=STEP_LIMIT_NS, default "1us", "Time of the command processor for a command.";
        read: Kind::Time, 0..=STEP_LIMIT_NS, default "2us", "Time for which a random read holds the read path, beside its bytes.";
        read_rate: Kind::Rate, 1000000..=RATE_LIMIT, default "1GB/s", "Rate of the read path for random reads.";
        sequential_rate: Kind::Rate, 1000000..=RATE_LIMIT, default "1GB/s", "Rate of the read path for reads of a stream that the controllers follow.";
        write_rate: Kind::Rate, 1000000..=RATE_LIMIT, default "500MB/s", "Rate of the write path.";
        write_interference: Kind::Share, 0..=10000000, default "0%", "Share of a read's time that a write takes of the read path.";
        read_latency: Kind::Time, 0..=STEP_LIMIT_NS, default "80us", "Time of a read that keeps nobody waiting.";
        write_latency: Kind::Time, 0..=STEP_LIMIT_NS, default "30us", "Time of a write that keeps nobody waiting.";
        price_usd: Kind::Dollars, 0..=PRICE_LIMIT_CENTS, default "unknown", "Price of one module in US dollars; 0 for what costs nothing of its own.";
        watts: Kind::Power, 0..=POWER_LIMIT_MILLIWATTS, default "unknown", "Power of one module under load.";
        endurance: Kind::Endurance, 0..=0, default "unknown", "Rated writes: drive writes a day over years (`1DWPD/5y`), or bytes (`7PB`).";
    }
}

/// Model of a drive, chosen by the key `kind` of its part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Drives {
    /// Hard disks.
    HardDisk(Box<HardDisk>),
    /// Solid-state drives.
    SolidState(Box<SolidState>),
    /// Flash modules.
    FlashModule(Box<FlashModule>),
}

impl Drives {
    /// Words of the key `kind`.
    pub const KINDS: &'static [&'static str] = &["hard-disk", "solid-state", "flash-module"];

    /// Usable bytes of one.
    pub fn capacity_bytes(&self) -> u64 {
        match self {
            Drives::HardDisk(drive) => drive.capacity.get(),
            Drives::SolidState(drive) => drive.capacity.get(),
            Drives::FlashModule(drive) => drive.capacity.get(),
        }
    }

    /// Price, power and rated endurance of one.
    pub(crate) fn offer(&self) -> (&Parameter, &Parameter, &Parameter) {
        match self {
            Drives::HardDisk(drive) => (&drive.price_usd, &drive.watts, &drive.endurance),
            Drives::SolidState(drive) => (&drive.price_usd, &drive.watts, &drive.endurance),
            Drives::FlashModule(drive) => (&drive.price_usd, &drive.watts, &drive.endurance),
        }
    }

    /// Returns the bytes that may be written to one drive in its life, as rated; `None` where no rating is known.
    pub fn rated_bytes(&self) -> Option<f64> {
        Endurance::of(self.offer().2.get()).map(|rated| rated.rated_bytes(self.capacity_bytes()))
    }

    /// Name in drawings.
    pub fn label(&self) -> &str {
        let label: &Parameter = match self {
            Drives::HardDisk(drive) => &drive.label,
            Drives::SolidState(drive) => &drive.label,
            Drives::FlashModule(drive) => &drive.label,
        };
        &label.text
    }
}
