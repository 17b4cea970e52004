//! Service demand of an I/O on a chain of replicas: what it costs each kind of part, all of a kind together.

use crate::demand::{Demand, DriveIos, drive_ns, transfer_ns};
use crate::description::Array;
use crate::drive::Drives;
use crate::sets::Set;

/// Bytes beside which a journal writes its metadata.
const CHECKED_BYTES: f64 = 4096.0;

/// Returns the service demand of a random I/O on the volumes of a chain.
pub(crate) fn demand(array: &Array, set: &Set, is_read: bool, block_bytes: u64) -> Demand {
    let pool = set.pool.map(|pool| &array.pools[pool]);
    let chain = pool.map(|pool| array.chain_groups(pool)).unwrap_or_default();
    // A read asks the last replica alone.
    let replicas = if is_read { &chain[chain.len().saturating_sub(1)..] } else { &chain[..] };
    let bytes = block_bytes as f64;
    let nodes = f64::from(array.node_count());
    let (mut processor_ns, mut busiest_ns) = (0.0f64, 0.0f64);
    for (index, group) in array.groups.iter().enumerate() {
        let own = replicas.iter().filter(|&&on| on == index).count() as f64;
        if own == 0.0 {
            continue;
        }
        let command_ns = if is_read { array.controllers.read.get() } else { array.chain_write_ns(index) };
        let (_, controllers) = array.controllers_of(index);
        let each_ns = command_ns as f64 + transfer_ns(bytes, array.controllers.copy.get());
        processor_ns = processor_ns.max(own * each_ns / f64::from(controllers) / nodes);
        let ios_of = |ios: f64, bytes: f64| match is_read {
            true => DriveIos { reads: ios, read_bytes: bytes, ..DriveIos::default() },
            false => DriveIos { writes: ios, written_bytes: bytes, ..DriveIos::default() },
        };
        let drives = f64::from(array.drives_of(group));
        let each_ns = match (&group.drives, &group.journal) {
            // Batches are written in sequence.
            (Drives::HardDisk(disk), Some(journal)) if !is_read => {
                let written = bytes * (1.0 + journal.metadata.get() as f64 / CHECKED_BYTES);
                transfer_ns(written, disk.outer.get())
            }
            _ => drive_ns(group, &ios_of(1.0, bytes)),
        };
        busiest_ns = busiest_ns.max(own * each_ns / drives);
    }
    let network_ns = array.network.as_ref().filter(|_| !is_read).map_or(0.0, |network| {
        // Each replica but the first is sent from node to node.
        let sent = replicas.len().saturating_sub(1) as f64;
        sent * transfer_ns(bytes, network.rate.get()) / network.ports.get() as f64 / nodes
    });
    let fabric = &array.fabric;
    let link_ns = fabric.command.get() as f64 + transfer_ns(bytes, fabric.rate.get());
    Demand {
        link_ns: link_ns / fabric.ports.get() as f64,
        processor_ns,
        parity_processor_ns: 0.0,
        copy_ns: 0.0,
        parity_ns: 0.0,
        buffer_ns: 0.0,
        network_ns,
        mirror_ns: 0.0,
        backend_ns: 0.0,
        drive_ns: busiest_ns,
    }
}
