//! Checks of a resolved array: what parts cannot be together.

use crate::description::{Array, DRIVE_COUNT_LIMIT, Group, LayoutKind, OPEN_QUEUE, words_of_layouts};
use crate::drive::Drives;
use crate::refusal::{Refusal, refuse};

/// Most queues of hosts, where they have a depth.
const QUEUE_COUNT_LIMIT: u64 = 1 << 16;

/// Refuses what no array can have.
pub(crate) fn check(array: &Array) -> Result<(), Refusal> {
    names(array)?;
    counts(array)?;
    for (index, group) in array.groups.iter().enumerate() {
        drives(index, &group.drives)?;
        if group.is_per_node && array.nodes.is_none() {
            return refuse(
                format!("groups[{index}].per_node"),
                "drives in each node of an array without nodes",
                "give the array `nodes:`, or the group `drives:`",
            );
        }
        if !group.is_per_node && array.nodes.is_some() {
            return refuse(
                format!("groups[{index}].drives"),
                "drives of no node in an array of nodes",
                "give the group `per_node:`",
            );
        }
        let segment = group.keys.segment.get();
        if !segment.is_multiple_of(512) || segment > group.drives.capacity_bytes() {
            return refuse(
                format!("groups[{index}].segment"),
                format!("{segment} bytes are no segment of these drives"),
                "it must be a multiple of 512 bytes and at most a drive's capacity",
            );
        }
        settable(index, group)?;
        if group.layout() == LayoutKind::Pool && group.keys.spares.get() > 0 {
            return refuse(
                format!("groups[{index}].spares"),
                "a pool has no spares",
                "say `preserved:` for the capacity that it keeps free",
            );
        }
    }
    for (index, pool) in array.pools.iter().enumerate() {
        pool_shape(array, index, pool)?;
    }
    crate::service_check::check(array)?;
    crate::volume_limits::check(array)?;
    crate::chain_check::check(array)?;
    crate::sets::build(array).map(|_| ())
}

/// Refuses layouts and segments for cases that no group can have.
fn settable(index: usize, group: &Group) -> Result<(), Refusal> {
    let keys = &group.keys;
    if let Err(word) = words_of_layouts(&keys.layouts.text) {
        return refuse(
            format!("groups[{index}].layouts"),
            format!("`{word}` is no layout"),
            crate::suggest::hint_of(word, LayoutKind::WORDS.iter().copied()),
        );
    }
    if keys.segment_least.get() > keys.segment_most.get() {
        return refuse(
            format!("groups[{index}].segment_least"),
            format!("{} is more than `segment_most`", keys.segment_least.text),
            "make it at most `segment_most`",
        );
    }
    if !keys.pool_segment.get().is_multiple_of(512) {
        return refuse(
            format!("groups[{index}].pool_segment"),
            format!("{} is no multiple of 512 bytes", keys.pool_segment.text),
            "use 64KiB, 128KiB or 256KiB",
        );
    }
    Ok(())
}

fn names(array: &Array) -> Result<(), Refusal> {
    let mut seen: Vec<(bool, &str)> = Vec::new();
    let groups =
        array.groups.iter().enumerate().map(|(index, group)| (format!("groups[{index}].name"), group.name()));
    let pools = array
        .pools
        .iter()
        .enumerate()
        .map(|(index, pool)| (format!("pools[{index}].name"), pool.keys.name.text.as_str()));
    // Volumes on chains name pools alone, so that a pool may have the name of the group that it lies on.
    let are_apart = array.has_chains();
    let groups = groups.map(|(path, name)| (path, (false, name)));
    for (path, name) in groups.chain(pools.map(|(path, name)| (path, (are_apart, name)))) {
        if seen.contains(&name) {
            let (_, name) = name;
            return refuse(
                path,
                format!("`{name}` is the name of another group or pool"),
                "give each a name of its own",
            );
        }
        seen.push(name);
    }
    Ok(())
}

fn counts(array: &Array) -> Result<(), Refusal> {
    let drives: u64 = array.groups.iter().map(|group| u64::from(array.drives_of(group))).sum();
    if drives > DRIVE_COUNT_LIMIT {
        return refuse("groups", format!("{drives} drives in all"), format!("at most {DRIVE_COUNT_LIMIT}"));
    }
    if array.node_count() > 1 && array.network.is_none() {
        return refuse(
            "nodes.network",
            "nodes without a network between them",
            "give `network: { ports: 2, rate: 25Gbit/s }`",
        );
    }
    let controllers = array.controller_count();
    if array.fabric.ports.count() < controllers {
        return refuse(
            "fabric.ports",
            format!(
                "{} links leave {} of {controllers} controllers without one",
                array.fabric.ports.get(),
                controllers - array.fabric.ports.count()
            ),
            "give every controller a link",
        );
    }
    let hosts = array.hosts.count.count();
    if array.fabric.paths.get() == 1 && array.fabric.ports.count() < hosts.saturating_mul(controllers) {
        return refuse(
            "fabric.ports",
            format!(
                "{} links of which {hosts} hosts have none to some of {controllers} controllers",
                array.fabric.ports.get()
            ),
            "give each host a link to each controller, or say `paths: shared`",
        );
    }
    let volumes: u64 = array.volumes.iter().map(|volume| volume.keys.count.get()).sum();
    let queues = volumes * array.fabric.ports.get() * u64::from(hosts);
    if array.hosts.queue.count() < OPEN_QUEUE && queues > QUEUE_COUNT_LIMIT {
        return refuse(
            "hosts.queue",
            format!("{queues} queues: one of each host to each volume over each link"),
            format!("use at most {QUEUE_COUNT_LIMIT}, or leave `queue` out"),
        );
    }
    for (index, volume) in array.volumes.iter().enumerate() {
        let unit = volume.keys.stripe_unit.get();
        if unit > 0 && (!unit.is_power_of_two() || unit < 4096) {
            return refuse(
                format!("volumes[{index}].stripe_unit"),
                format!("{} is no unit of a stripe", volume.keys.stripe_unit.text),
                "use a power of two from 4KiB on, as 64KiB or 1MiB",
            );
        }
        let size = &volume.keys.size;
        if size.get() > 0 && unit > size.get() {
            return refuse(
                format!("volumes[{index}].stripe_unit"),
                format!("{} is more than a volume has ({})", volume.keys.stripe_unit.text, size.text),
                "make it smaller, or the volumes larger",
            );
        }
    }
    if array.cache.buffered.is_on() && array.cache.write_back.get() > 0 {
        return refuse(
            "cache.buffered",
            "writes that are answered from a cache and from the window",
            "give one of `write_back` and `buffered`",
        );
    }
    Ok(())
}

fn drives(index: usize, drives: &Drives) -> Result<(), Refusal> {
    let path = |key: &str| format!("groups[{index}].drives.{key}");
    match drives {
        Drives::HardDisk(disk) => {
            if disk.seek_average.get() < disk.seek_min.get() {
                return refuse(
                    path("seek_average"),
                    "a mean seek shorter than the shortest",
                    "make it at least `seek_min`",
                );
            }
            if disk.inner.get() > disk.outer.get() {
                return refuse(
                    path("inner"),
                    "inner tracks faster than outer ones",
                    "make it at most `outer`",
                );
            }
        }
        Drives::SolidState(drive) => {
            for (key, value) in [("mapping_unit", &drive.mapping_unit), ("page", &drive.page)] {
                if !value.get().is_power_of_two() {
                    return refuse(
                        path(key),
                        format!("{} is no power of two", value.text),
                        "use 4KiB, 8KiB or 16KiB",
                    );
                }
            }
            let program = drive.page.get() * drive.planes.get();
            if drive.write_buffer.get() < program {
                return refuse(
                    path("write_buffer"),
                    "a write buffer smaller than one program",
                    format!("give at least {}", units::human_bytes(program)),
                );
            }
        }
        Drives::FlashModule(_) => {}
    }
    Ok(())
}

fn pool_shape(array: &Array, index: usize, pool: &crate::Pool) -> Result<(), Refusal> {
    let path = |key: &str| format!("pools[{index}].{key}");
    // The groups of a chain are a list; of another pool all of the text is one name.
    let named: Vec<&str> =
        if pool.is_chain() { pool.group_names().collect() } else { vec![&pool.keys.on.text] };
    if let Some(unknown) = named.into_iter().find(|name| array.group(name).is_none()) {
        let names: Vec<&str> = array.groups.iter().map(|group| group.name()).collect();
        let hint = crate::suggest::hint_of(unknown, names.iter().copied());
        return refuse(path("on"), format!("there is no group `{unknown}`"), hint);
    }
    let replicas = pool.keys.replicas.count();
    let width = match pool.erasure {
        Some(_) if replicas > 0 => {
            return refuse(
                path("erasure"),
                "replicas and an erasure code in one pool",
                "give one of the two",
            );
        }
        Some(code) if code.data == 0 || code.parity == 0 || code.parity > 2 || code.data > 64 => {
            return refuse(
                path("erasure"),
                format!("{}+{} is not modelled", code.data, code.parity),
                "use 1 to 64 data and 1 or 2 parity fragments",
            );
        }
        Some(code) => code.data + code.parity,
        None if replicas == 0 => {
            return refuse(
                path("replicas"),
                "a pool with neither replicas nor an erasure code",
                "say `replicas: 3` or `erasure: 8+2`",
            );
        }
        None => replicas,
    };
    let nodes = array.node_count();
    if width > nodes {
        // All chains of an array have as many replicas: the nodes are too few.
        let at = match pool.erasure {
            _ if pool.is_chain() => "nodes.count".to_owned(),
            Some(_) => path("erasure"),
            None => path("replicas"),
        };
        return refuse(
            at,
            format!("{width} members of a stripe on {nodes} nodes: each needs a node of its own"),
            format!("use at most {nodes}, or more nodes"),
        );
    }
    for (key, value) in [("object", &pool.keys.object), ("segment", &pool.keys.segment)] {
        if !value.get().is_multiple_of(4096) {
            return refuse(
                path(key),
                format!("{} is no multiple of 4 KiB", value.text),
                "use 64KiB, 4MiB or 32MiB",
            );
        }
    }
    Ok(())
}
