//! Data services of an array: thin provisioning, reduction, snapshots, a read cache on drives, a tier, a second array.

use crate::drive::{POWER_LIMIT_MILLIWATTS, PRICE_LIMIT_CENTS, RATE_LIMIT, STEP_LIMIT_NS};
use crate::limits::{CACHE_LIMIT_BYTES, PHASE_LIMIT_NS};
use crate::quantity::Kind;
use crate::section::section;

/// Largest unit of an allocation, a snapshot or a cache.
const UNIT_LIMIT_BYTES: u64 = 1 << 30;
/// Longest distance between two sites: halfway round the earth.
const DISTANCE_LIMIT_KM: u64 = 20_000;

section! {
    /// Thin provisioning: capacity is allocated with the first write to it.
    Thin {
        unit: Kind::Bytes, 4096..=UNIT_LIMIT_BYTES, default "64KiB", "Bytes that are allocated at once.";
        allocate: Kind::Time, 0..=STEP_LIMIT_NS, default "20us", "Processor time of an allocation.";
        lookup: Kind::Time, 0..=STEP_LIMIT_NS, default "1us", "Processor time of finding where an allocated unit lies.";
        record: Kind::Bytes, 0..=1048576, default "4KiB", "Bytes of metadata that an allocation writes to the drives before the data; 0 where protected memory has them.";
        entry: Kind::Bytes, 1..=4096, default "16B", "Bytes of the map for a unit.";
        map_cache: Kind::Bytes, 0..=CACHE_LIMIT_BYTES, default "16GiB", "Part of the map that is in memory; of the rest an access reads 4 KiB first.";
    }
}

section! {
    /// Inline data reduction: written data is deduplicated and compressed before it goes to caches and drives.
    Reduction {
        block: Kind::Bytes, 4096..=1048576, default "8KiB", "Bytes that are compressed, and compared, as one.";
        compress: Kind::Limit, 1000000..=RATE_LIMIT, default "1GB/s", "Rate at which one processor compresses.";
        decompress: Kind::Limit, 1000000..=RATE_LIMIT, default "3GB/s", "Rate at which one processor decompresses.";
        deduplicate: Kind::Switch, 0..=1, default "true", "Whether equal blocks are kept once.";
        fingerprint: Kind::Limit, 1000000..=RATE_LIMIT, default "2GB/s", "Rate at which one processor computes fingerprints.";
        lookup: Kind::Time, 0..=STEP_LIMIT_NS, default "1us", "Processor time of looking up a fingerprint.";
        entry: Kind::Bytes, 1..=4096, default "40B", "Bytes of the index for a block.";
        index_cache: Kind::Bytes, 0..=CACHE_LIMIT_BYTES, default "64GiB", "Part of the index that is in memory; of the rest a lookup reads 4 KiB first.";
    }
}

section! {
    /// Snapshots of all volumes.
    Snapshots {
        method: Kind::Word(&["copy-on-write", "redirect-on-write"]), 0..=1, default "redirect-on-write", "Whether the first write to an extent after a snapshot copies the old extent away, or goes to a new place.";
        extent: Kind::Bytes, 4096..=UNIT_LIMIT_BYTES, default "64KiB", "Bytes that are kept or moved as one.";
        reserve: Kind::Share, 1..=900000, default "20%", "Share of each group or pool that extents of snapshots have.";
        every: Kind::Time, 0..=PHASE_LIMIT_NS, default "0s", "Time from a snapshot to the next; 0 where only the event `snapshot` takes one.";
        keep: Kind::Count, 1..=4096, default "8", "Snapshots that are kept; then the oldest is deleted.";
        record: Kind::Bytes, 0..=1048576, default "4KiB", "Bytes of metadata that are written with an extent that is copied or moved; 0 where protected memory has them.";
        delete_pause: Kind::Time, 1000..=PHASE_LIMIT_NS, default "1ms", "Time between the metadata writes of a deletion, one for 256 extents.";
    }
}

section! {
    /// Read cache on the drives of a group that has no volumes.
    DriveCache {
        on: Kind::Text, 0..=0, "Group whose drives hold it.";
        block: Kind::Bytes, 4096..=262144, default "256KiB", "Bytes of a block; of it are kept the 4 KiB that were read.";
        admit: Kind::Word(&["first-read", "second-read"]), 0..=1, default "first-read", "Whether a block is kept at its first read or its second.";
        share: Kind::Share, 1..=1000000, default "100%", "Share of the group that is used.";
    }
}

/// Most extents of a tier that move at once.
pub const TIER_MOVES_LIMIT: u64 = 1024;

section! {
    /// Tier of fast drives before those of the volumes: extents that are read and written most are moved to it.
    Tier {
        on: Kind::Text, 0..=0, "Group whose drives are the tier; it has no volumes.";
        extent: Kind::Bytes, 65536..=UNIT_LIMIT_BYTES, default "256MiB", "Bytes that are moved as one.";
        every: Kind::Time, 1000000..=PHASE_LIMIT_NS, default "60min", "Time from one plan of moves to the next.";
        least: Kind::Count, 1..=1000000, default "2", "I/Os to an extent between two plans from which it may be promoted.";
        margin: Kind::Share, 0..=10000000, default "25%", "Share by which an extent must be asked for more often than the one that it drives out.";
        decay: Kind::Share, 0..=1000000, default "50%", "Share of an extent's count that is left for the next plan.";
        moves: Kind::Count, 1..=TIER_MOVES_LIMIT, default "4", "Extents that are moved at once.";
        rate: Kind::Limit, 1000000..=RATE_LIMIT, default "200MB/s", "Rate at which all moves together read at most.";
        share: Kind::Share, 1..=1000000, default "100%", "Share of the group that is used.";
    }
}

section! {
    /// Synchronous mirror: a second array of the same parts, which has every write before it is answered.
    Mirror {
        label: Kind::Text, 0..=0, default "mirror link", "Name of the links.";
        distance_km: Kind::Count, 0..=DISTANCE_LIMIT_KM, default "0", "Length of the fibre between the two arrays, in kilometres.";
        round_trips: Kind::Count, 1..=4, default "2", "Times that a write crosses to the second array and back.";
        ports: Kind::Count, 1..=1024, default "2", "Links between the two arrays.";
        rate: Kind::Rate, 1000000..=RATE_LIMIT, default "1.6GB/s", "Bytes a second of a link in each direction.";
        command: Kind::Time, 0..=STEP_LIMIT_NS, default "2us", "Time that a command holds a link beside its bytes.";
        latency: Kind::Time, 0..=STEP_LIMIT_NS, default "5us", "Time of one way beside the distance: adapters and switches.";
        resync_unit: Kind::Bytes, 4096..=UNIT_LIMIT_BYTES, default "64KiB", "Bytes that are noted as changed, and copied, as one while the link is lost and after it is back.";
        resync_streams: Kind::Count, 1..=4096, default "128", "Units that a resynchronisation copies at once.";
        resync: Kind::Limit, 1000000..=RATE_LIMIT, default "unlimited", "Rate at which a resynchronisation copies at most.";
        price_usd: Kind::Dollars, 0..=PRICE_LIMIT_CENTS, default "unknown", "Price of one link in US dollars; 0 for what costs nothing of its own.";
        watts: Kind::Power, 0..=POWER_LIMIT_MILLIWATTS, default "unknown", "Power of one link under load.";
    }
}

section! {
    /// Asynchronous copies of snapshots to a second array of the same parts.
    Replication {
        label: Kind::Text, 0..=0, default "replication link", "Name of the links.";
        every: Kind::Time, 1000000..=PHASE_LIMIT_NS, default "15min", "Time from one snapshot that is copied to the next.";
        distance_km: Kind::Count, 0..=DISTANCE_LIMIT_KM, default "0", "Length of the fibre between the two arrays, in kilometres.";
        ports: Kind::Count, 1..=1024, default "1", "Links between the two arrays.";
        rate: Kind::Rate, 1000000..=RATE_LIMIT, default "125MB/s", "Bytes a second of a link in each direction.";
        command: Kind::Time, 0..=STEP_LIMIT_NS, default "2us", "Time that a command holds a link beside its bytes.";
        latency: Kind::Time, 0..=STEP_LIMIT_NS, default "5us", "Time of one way beside the distance: adapters, switches, routers.";
        unit: Kind::Bytes, 4096..=UNIT_LIMIT_BYTES, default "64KiB", "Bytes that are noted as changed, and copied, as one.";
        streams: Kind::Count, 1..=4096, default "32", "Units that are copied at once.";
        limit: Kind::Limit, 1000000..=RATE_LIMIT, default "unlimited", "Rate at which units are copied at most.";
        price_usd: Kind::Dollars, 0..=PRICE_LIMIT_CENTS, default "unknown", "Price of one link in US dollars; 0 for what costs nothing of its own.";
        watts: Kind::Power, 0..=POWER_LIMIT_MILLIWATTS, default "unknown", "Power of one link under load.";
    }
}

/// Nanoseconds that light takes for a kilometre of fibre: 299,792 km/s over a group index of 1.468 (ITU-T G.652, 1,550 nm).
pub const FIBRE_NS_PER_KM: u64 = 4_897;
