//! Checks of chains of replicas, and of the services of the nodes that serve them.

use crate::chain::CHAIN_LIMIT;
use crate::description::{Array, LayoutKind, Pool};
use crate::drive::Drives;
use crate::node_services::Service;
use crate::refusal::{Refusal, refuse};

/// Refuses chains that no array can have, and what only they have where there are none.
pub(crate) fn check(array: &Array) -> Result<(), Refusal> {
    if !array.has_chains() {
        return without_chains(array);
    }
    for (index, pool) in array.pools.iter().enumerate() {
        chain(array, index, pool)?;
    }
    parts_beside(array)?;
    for (index, volume) in array.volumes.iter().enumerate() {
        let bursts = volume
            .limit
            .as_ref()
            .is_some_and(|limit| limit.burst_iops.get() > 0 || limit.burst_bandwidth.get() > 0);
        let keys = &volume.keys;
        let (key, message) = match (keys.size.get(), keys.count.get(), keys.stripe_unit.get()) {
            (0, _, _) => ("size", "a volume on a chain of replicas without a size"),
            (_, 2.., _) => ("count", "several volumes of one name on a chain of replicas"),
            (_, _, 1..) => ("stripe_unit", "a stripe of hosts over volumes on chains is not modelled"),
            _ if bursts => ("limit", "bursts of volumes on chains of replicas are not modelled"),
            _ => continue,
        };
        let hint = "give each volume a name, a `size:` and a limit without bursts";
        return refuse(format!("volumes[{index}].{key}"), message, hint);
    }
    groups(array)?;
    room(array)?;
    services(array)
}

fn without_chains(array: &Array) -> Result<(), Refusal> {
    let journal = array.groups.iter().position(|group| group.journal.is_some());
    let path = match journal {
        Some(index) => format!("groups[{index}].journal"),
        None if !array.slices.is_empty() => "slices".to_owned(),
        None if !array.services.is_empty() => "services".to_owned(),
        None => return Ok(()),
    };
    refuse(
        path,
        "no pool is a chain of replicas",
        "give a pool `replicas: 3` and `path: chain`, or leave this out",
    )
}

fn chain(array: &Array, index: usize, pool: &Pool) -> Result<(), Refusal> {
    let path = |key: &str| format!("pools[{index}].{key}");
    let first = &array.pools[0];
    if !pool.is_chain() {
        return refuse(
            path("path"),
            "pools of both paths in one array",
            "say `path: chain` of all, or of none",
        );
    }
    if pool.erasure.is_some() {
        return refuse(path("erasure"), "a chain of an erasure code", "give it `replicas:`");
    }
    let replicas = pool.keys.replicas.count();
    if !(2..=CHAIN_LIMIT).contains(&replicas) || replicas != first.keys.replicas.count() {
        let message = format!("{replicas} replicas in a chain");
        return refuse(
            path("replicas"),
            message,
            format!("give all pools the same number, 2 to {CHAIN_LIMIT}"),
        );
    }
    if pool.keys.object.get() != first.keys.object.get() {
        return refuse(path("object"), "objects of two sizes", "give all pools the same `object:`");
    }
    let named = pool.group_names().count();
    if named != 1 && named != replicas as usize {
        let message = format!("{named} groups for {replicas} replicas");
        return refuse(
            path("on"),
            message,
            "name one group, or one for each replica in the order of the chain",
        );
    }
    Ok(())
}

/// Refuses parts that the path of a chain does not pass.
fn parts_beside(array: &Array) -> Result<(), Refusal> {
    let cache = &array.cache;
    for (path, is_there) in [
        ("thin", array.thin.is_some()),
        ("reduction", array.reduction.is_some()),
        ("snapshots", array.snapshots.is_some()),
        ("drive_cache", array.drive_cache.is_some()),
        ("tier", array.tier.is_some()),
        ("mirror", array.mirror.is_some()),
        ("replication", array.replication.is_some()),
        ("file_system", array.file_system.is_some()),
    ] {
        if is_there {
            return refuse(
                path,
                "not modelled with chains of replicas",
                "leave it out, or say `path: primary`",
            );
        }
    }
    for (key, is_there) in [
        ("write_back", cache.write_back.get() > 0),
        ("read", cache.read.get() > 0),
        ("read_ahead", cache.read_ahead.get() > 0),
        ("buffered", cache.buffered.is_on()),
    ] {
        if is_there {
            let hint = "give the group of the drives a `journal:`, or the pools `path: primary`";
            return refuse(
                format!("cache.{key}"),
                "a chain of replicas has no caches in its controllers",
                hint,
            );
        }
    }
    Ok(())
}

/// Refuses volumes for which the drives of a group have no room beside each other and the logs of journals.
fn room(array: &Array) -> Result<(), Refusal> {
    let object_bytes = array.pools.first().map_or(1, |pool| pool.keys.object.get()).max(1);
    for (index, group) in array.groups.iter().enumerate() {
        let objects = array.volumes.iter().map(|volume| {
            let pool = array.pool(&volume.keys.on.text).unwrap_or(0);
            let replicas = array.chain_groups(&array.pools[pool]).iter().filter(|on| **on == index).count();
            volume.keys.size.get().div_ceil(object_bytes).saturating_mul(replicas as u64)
        });
        let objects = objects.fold(0, u64::saturating_add);
        let log_bytes = group.journal.as_ref().map_or(0, |journal| journal.log.get());
        let each = group.drives.capacity_bytes().saturating_sub(log_bytes) / object_bytes;
        if objects > each.saturating_mul(array.drives_of(group).into()) {
            return refuse(
                "volumes",
                format!("{objects} replicas of objects do not fit on the drives of `{}`", group.name()),
                "make the volumes smaller or fewer, or give larger drives",
            );
        }
    }
    Ok(())
}

fn groups(array: &Array) -> Result<(), Refusal> {
    let controllers = array.controllers.count.count();
    let given: u32 = array.groups.iter().map(|group| group.keys.controllers.count()).sum();
    if given > controllers {
        return refuse(
            "groups[0].controllers",
            format!("{given} controllers for the groups of a node that has {controllers}"),
            "give the groups fewer, or the node more `controllers`",
        );
    }
    for (index, group) in array.groups.iter().enumerate() {
        let path = |key: &str| format!("groups[{index}].{key}");
        if group.layout() != LayoutKind::Single {
            let message =
                format!("a chain over nodes on {} inside each node is not modelled", group.layout().word());
            return refuse(path("layout"), message, "use `layout: single`");
        }
        if group.backend.is_some() {
            return refuse(
                path("backend"),
                "not modelled with chains of replicas",
                "say `command:` of the group",
            );
        }
        if given > 0 && group.keys.controllers.get() == 0 {
            let message = format!("no controller is left for `{}`", group.name());
            return refuse(path("controllers"), message, "say it of every group, or of none");
        }
        let Some(journal) = &group.journal else { continue };
        if !matches!(group.drives, Drives::HardDisk(_)) {
            return refuse(path("journal"), "a journal before drives that are no hard disks", "leave it out");
        }
        let least = 4 * journal.batch.get() + journal.index.get();
        if journal.log.get() < least || journal.log.get() > group.drives.capacity_bytes() {
            let hint = format!("give at least {} and at most a drive", units::human_bytes(least));
            return refuse(
                path("journal.log"),
                format!("{} is no log of such batches", journal.log.text),
                hint,
            );
        }
    }
    Ok(())
}

fn services(array: &Array) -> Result<(), Refusal> {
    let (mut processors, mut memory) = (0.0, 0);
    for (index, slice) in array.slices.iter().enumerate() {
        if array.slices[..index].iter().any(|other| other.name.text == slice.name.text) {
            let message = format!("a second `{}`", slice.name.text);
            return refuse(format!("slices[{index}].name"), message, "give each its own name");
        }
        processors += slice.processors.share();
        memory += slice.memory.get();
    }
    if let Some(nodes) = &array.nodes {
        let has_cores = nodes.processors.get() > 0;
        if has_cores && processors > nodes.processors.get() as f64 {
            let message =
                format!("{processors} cores in slices of nodes that have {}", nodes.processors.get());
            return refuse("slices", message, "guarantee less, or give the nodes more `processors`");
        }
        if nodes.memory.get() > 0 && memory > nodes.memory.get() {
            let message = format!("{} of memory in slices", units::human_bytes(memory));
            return refuse("slices", message, "guarantee less, or give the nodes more `memory`");
        }
    }
    for (index, service) in array.services.iter().enumerate() {
        let path = |key: &str| format!("services[{index}].{key}");
        let slice = &service.slice.text;
        if !slice.is_empty() && !array.slices.iter().any(|known| known.name.text == *slice) {
            let names = array.slices.iter().map(|known| known.name.text.as_str());
            let hint = crate::suggest::hint_of(slice, names);
            return refuse(path("slice"), format!("there is no slice `{slice}`"), hint);
        }
        let role = service.role.get();
        if role > 0 && array.services[..index].iter().any(|other| other.role.get() == role) {
            return refuse(path("role"), "a second service of this role", "give each role once");
        }
        let controllers = array.controllers.count.get();
        if role == Service::CONTROLLERS && service.instances.get() != controllers {
            let message = format!("{} instances of {controllers} controllers", service.instances.get());
            return refuse(path("instances"), message, "give as many instances as `controllers`");
        }
    }
    Ok(())
}
