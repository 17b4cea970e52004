//! Distribution of I/O over the paths of a device and the ports of the host.

use crate::counter::Counter;
use crate::diskstats::{DiskStats, Disks};
use crate::path_states::PathStates;
use crate::topology::Topology;
use std::collections::BTreeMap;
use std::sync::Arc;

/// I/Os and bytes of a port.
#[derive(Debug, Default)]
struct PortBytes {
    read_ios: u64,
    write_ios: u64,
    read_sectors: u64,
    write_sectors: u64,
}

/// Adds the balance of paths and ports. For each device with several paths: how many there are, each one's share of
/// the I/Os, the least and the largest. For each port: the I/Os and bytes of its paths together. A path that did
/// not answer in this interval has no share.
pub(crate) fn push_balance(
    topology: &Topology,
    disks: &Disks,
    states: &PathStates,
    elapsed_s: f64,
    counters: &mut Vec<Counter>,
) {
    let mut ports: BTreeMap<Arc<str>, PortBytes> = BTreeMap::new();
    for multipath in &topology.multipaths {
        let present: Vec<_> =
            multipath.paths.iter().filter_map(|path| Some((path, disks.delta(&path.name)?))).collect();
        let mut push = |name: &'static str, value: f64| {
            let entity = Arc::clone(&multipath.entity);
            counters.push(Counter { source: "multipath", entity, name, value });
        };
        // A path that is offline keeps its device and its counters.
        push("paths", present.iter().filter(|(path, _)| states.is_usable(&path.entity)).count() as f64);
        let total: u64 = present.iter().map(|(_, delta)| ios(delta)).sum();
        if total > 0 {
            let share = |delta: &DiskStats| 100.0 * ios(delta) as f64 / total as f64;
            push("%share_least", present.iter().map(|(_, delta)| share(delta)).fold(100.0, f64::min));
            push("%share_most", present.iter().map(|(_, delta)| share(delta)).fold(0.0, f64::max));
            for (path, delta) in &present {
                let entity = Arc::clone(&path.entity);
                counters.push(Counter { source: "path", entity, name: "%share", value: share(delta) });
            }
        }
        for (path, delta) in present {
            let Some(port) = &path.port else { continue };
            let carried = ports.entry(Arc::clone(port)).or_default();
            carried.read_ios += delta.read.ios;
            carried.write_ios += delta.write.ios;
            carried.read_sectors += delta.read.sectors;
            carried.write_sectors += delta.write.sectors;
        }
    }
    let total: u64 = ports.values().map(|carried| carried.read_ios + carried.write_ios).sum();
    for (port, carried) in &ports {
        let mut push = |name: &'static str, value: f64| {
            counters.push(Counter { source: "port", entity: Arc::clone(port), name, value });
        };
        push("r/s", carried.read_ios as f64 / elapsed_s);
        push("w/s", carried.write_ios as f64 / elapsed_s);
        push("rkB/s", carried.read_sectors as f64 / 2.0 / elapsed_s);
        push("wkB/s", carried.write_sectors as f64 / 2.0 / elapsed_s);
        if total > 0 {
            push("%share", 100.0 * (carried.read_ios + carried.write_ios) as f64 / total as f64);
        }
    }
}

fn ios(delta: &DiskStats) -> u64 {
    delta.read.ios + delta.write.ios
}
