//! Ceilings: what links, controllers, back ends, networks and drives can do at most, by arithmetic.
//!
//! A ceiling is an upper bound for random access over all volumes with nothing in a cache: the busy time that an I/O costs each
//! kind of part, divided by how many such parts there are (the utilisation law; Lazowska et al. 1984, 3.2). What keeps nobody
//! waiting (latencies) bounds nothing. With a tier the drives are those of both, wherever the load lies. Writes count without garbage collection: it only lowers what the drives do. Ceilings of
//! drives and back ends are for content that data reduction does not shrink.

use serde::Serialize;

use crate::demand::{Demand, DriveIos, drive_ns, transfer_ns};
use crate::description::Array;
use crate::sets::Set;

/// Block sizes for which ceilings are printed.
pub const BLOCK_SIZES: [u64; 3] = [4096, 131_072, 1_048_576];

/// Upper bound of one kind of part for one kind of load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ceiling {
    /// Kind of part: `hosts`, `links`, `controllers`, `network`, `mirror`, `backend`, `drives` or `limits` of volumes.
    pub part: &'static str,
    /// Group or pool whose volumes are loaded.
    pub on: String,
    /// `true` for reads.
    pub is_read: bool,
    /// Bytes of an I/O.
    pub block_bytes: u64,
    /// I/Os a second at most.
    pub iops: f64,
}

/// Drive I/Os of a random I/O at a multiple of its size, from the layout's own plan, over many places.
fn drive_ios(set: &Set, is_read: bool, block_bytes: u64) -> DriveIos {
    const PLACES: u64 = 64;
    let mut plan = layout::IoList::with_capacity(64);
    let mut sum = DriveIos::default();
    let blocks = (set.layout.capacity_bytes() / block_bytes).max(1);
    let mut counted = 0.0;
    for step in 0..PLACES {
        // Multiples of the golden ratio spread places evenly.
        let block =
            ((u128::from(step.wrapping_mul(0x9e37_79b9_7f4a_7c15)) * u128::from(blocks)) >> 64) as u64;
        let offset = block * block_bytes;
        let length = block_bytes.min(set.layout.capacity_bytes());
        let planned = if is_read {
            set.layout.read(offset, length, &layout::Healthy, step as u32, &mut plan)
        } else {
            set.layout.write(offset, length, &layout::Healthy, &mut plan)
        };
        if planned.is_err() {
            continue;
        }
        counted += 1.0;
        let bytes = |ios: &[layout::DriveIo]| ios.iter().map(|io| f64::from(io.length_bytes)).sum::<f64>();
        sum.reads += plan.reads().len() as f64;
        sum.writes += plan.writes().len() as f64;
        sum.read_bytes += bytes(plan.reads());
        sum.written_bytes += bytes(plan.writes());
        let is_parity = matches!(set.layout.redundancy(), layout::Redundancy::Parity(1..));
        if is_parity && !is_read {
            sum.parity_bytes += bytes(plan.reads()) + bytes(plan.writes());
            let parity = plan.writes().iter().filter(|io| io.role != layout::Role::Data);
            sum.new_parity_bytes += parity.map(|io| f64::from(io.length_bytes)).sum::<f64>();
        }
    }
    let counted = f64::max(counted, 1.0);
    DriveIos {
        reads: sum.reads / counted,
        writes: sum.writes / counted,
        read_bytes: sum.read_bytes / counted,
        written_bytes: sum.written_bytes / counted,
        parity_bytes: sum.parity_bytes / counted,
        new_parity_bytes: sum.new_parity_bytes / counted,
    }
}

/// Returns the service demand of a random I/O on the RAID groups of one group or pool, of which this is one: no caches, no
/// garbage collection.
pub fn demand(array: &Array, sets: &[Set], set: &Set, is_read: bool, block_bytes: u64) -> Demand {
    if array.has_chains() {
        return crate::chain_demand::demand(array, set, is_read, block_bytes);
    }
    let group = &array.groups[set.group];
    // Sets of one group on several nodes share the load.
    let alike = sets.iter().filter(|other| other.group == set.group && other.pool == set.pool).count() as f64;
    let ios = drive_ios(set, is_read, block_bytes);
    let bytes = block_bytes as f64;
    let fabric = &array.fabric;
    let carried_ns = fabric.command.get() as f64 + transfer_ns(bytes, fabric.rate.get());
    let link_ns = carried_ns.max(transfer_ns(bytes, fabric.adapter.get()));
    let controllers = &array.controllers;
    let count = f64::from(array.controller_count());
    let has_parity = matches!(set.layout.redundancy(), layout::Redundancy::Parity(1..));
    let (plain, with_parity) = if is_read {
        (&controllers.read, &controllers.parity_read)
    } else {
        (&controllers.write, &controllers.parity_write)
    };
    let path = if has_parity && with_parity.get() > 0 { with_parity } else { plain };
    let command_ns = (path.get() + fabric.target.get()) as f64;
    let parity_ns = if ios.parity_bytes > 0.0 { controllers.parity_command.get() as f64 } else { 0.0 };
    let processors = controllers.processors.get() as f64;
    let service_ns = if is_read { 0.0 } else { reduction_ns(array, bytes) };
    let mirror_ns = array.mirror.as_ref().filter(|_| !is_read).map_or(0.0, |mirror| {
        (mirror.command.get() as f64 + transfer_ns(bytes, mirror.rate.get())) / mirror.ports.get() as f64
    });
    let network_ns = match &array.network {
        Some(network) if set.pool.is_some() => {
            network_ns(network, &ios, is_read) / f64::from(array.node_count())
        }
        _ => 0.0,
    };
    let backend_ns = group.backend.as_ref().map_or(0.0, |backend| {
        let moved_bytes = if is_read { ios.read_bytes } else { ios.read_bytes.max(ios.written_bytes) };
        let commands = (ios.reads + ios.writes) / 2.0;
        let busy_ns = transfer_ns(moved_bytes, backend.rate.get()) + commands * backend.command.get() as f64;
        let nodes = if group.is_per_node { f64::from(array.node_count()) } else { 1.0 };
        busy_ns / backend.ports.get() as f64 / nodes
    });
    let buffer_ns = if is_read { 0.0 } else { transfer_ns(bytes, array.cache.buffer_rate.get()) };
    Demand {
        link_ns: link_ns / fabric.ports.get() as f64,
        processor_ns: (command_ns + service_ns) / processors / count,
        parity_processor_ns: parity_ns / processors / count,
        copy_ns: transfer_ns(bytes, controllers.copy.get()) / count,
        parity_ns: (transfer_ns(ios.parity_bytes, controllers.parity.get())
            + transfer_ns(ios.new_parity_bytes, controllers.new_parity.get()))
            / count,
        buffer_ns: buffer_ns / count,
        network_ns,
        mirror_ns,
        backend_ns,
        drive_ns: drive_ns(group, &ios) / (set.slots.len() as f64 * alike),
    }
}

/// Ceilings of all kinds of parts for random reads and writes of each of [`BLOCK_SIZES`], for each group or pool.
pub fn ceilings(array: &Array, sets: &[Set]) -> Vec<Ceiling> {
    let mut all = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    let tier = sets.iter().find(|set| array.is_tier(set.group));
    for set in sets {
        let group = &array.groups[set.group];
        let on =
            set.pool.map_or_else(|| group.name().to_owned(), |pool| array.pools[pool].keys.name.text.clone());
        if seen.contains(&on) || !array.may_hold_volumes(set.group) {
            continue;
        }
        seen.push(on.clone());
        for is_read in [true, false] {
            for block_bytes in BLOCK_SIZES {
                let demand = with_tier(
                    demand(array, sets, set, is_read, block_bytes),
                    tier.map(|tier| demand(array, sets, tier, is_read, block_bytes)),
                );
                let processor_ns = demand.processor_ns + demand.parity_processor_ns;
                let controller_ns =
                    processor_ns.max(demand.copy_ns).max(demand.parity_ns).max(demand.buffer_ns);
                let limit_ns =
                    crate::volume_limits::ceiling(array, &on, block_bytes).map_or(0.0, |iops| 1e9 / iops);
                let parts = [
                    ("links", demand.link_ns),
                    ("controllers", controller_ns),
                    ("network", demand.network_ns),
                    ("mirror", demand.mirror_ns),
                    ("backend", demand.backend_ns),
                    ("drives", demand.drive_ns),
                    ("limits", limit_ns),
                ];
                for (part, busy_ns) in parts {
                    let iops = if busy_ns > 0.0 { 1e9 / busy_ns } else { f64::INFINITY };
                    if iops.is_finite() {
                        all.push(Ceiling { part, on: on.clone(), is_read, block_bytes, iops });
                    }
                }
            }
        }
    }
    all
}

/// Least demand of an I/O that may be for the volumes' own drives or for a tier: both serve at once, and parity is that of
/// either.
fn with_tier(own: Demand, tier: Option<Demand>) -> Demand {
    let Some(tier) = tier else { return own };
    let in_parallel = |own_ns: f64, tier_ns: f64| match own_ns > 0.0 && tier_ns > 0.0 {
        true => own_ns * tier_ns / (own_ns + tier_ns),
        false => 0.0,
    };
    Demand {
        processor_ns: own.processor_ns.min(tier.processor_ns),
        parity_processor_ns: own.parity_processor_ns.min(tier.parity_processor_ns),
        parity_ns: own.parity_ns.min(tier.parity_ns),
        backend_ns: in_parallel(own.backend_ns, tier.backend_ns),
        drive_ns: in_parallel(own.drive_ns, tier.drive_ns),
        ..own
    }
}

/// Processor time that data reduction costs a write whatever its content: fingerprints, or compression where nothing is deduplicated.
fn reduction_ns(array: &Array, bytes: f64) -> f64 {
    let Some(reduction) = &array.reduction else { return 0.0 };
    if !reduction.deduplicate.is_on() {
        return transfer_ns(bytes, reduction.compress.get());
    }
    let blocks = bytes / reduction.block.get() as f64;
    transfer_ns(bytes, reduction.fingerprint.get()) + blocks * reduction.lookup.get() as f64
}

/// Busy time of the ports of one node, in the direction that carries more, for the members of a stripe on other nodes.
fn network_ns(network: &crate::Network, ios: &DriveIos, is_read: bool) -> f64 {
    // One member of those that an I/O touches may be on its own node.
    let remote = if is_read { 0.0 } else { (ios.writes - 1.0).max(0.0) / ios.writes.max(1.0) };
    let bytes = ios.written_bytes * remote;
    transfer_ns(bytes, network.rate.get()) / network.ports.get() as f64
}
