//! RAID groups of an array: which layout lies over which drives, and where volumes lie on it.

use layout::{ClusterSpec, Layout, LayoutError, PoolSpec, Raid, Redundancy, ReplicaSpec, Rotation};

use crate::description::{Array, Erasure, Group, LayoutKind, Pool, Volume};
use crate::refusal::{Refusal, refuse};

/// Pieces of a drive beyond which the placement of a cluster pool is made coarser, so that large clusters are built quickly.
const PIECES_LIMIT: u64 = 1024;

/// Layout over some of the array's drives.
#[derive(Debug, Clone)]
pub struct Set {
    /// Its name: that of its group or pool, with the node where each node has one.
    pub name: String,
    /// Its group.
    pub group: usize,
    /// Its pool, where it is one.
    pub pool: Option<usize>,
    /// Layout of the data.
    pub layout: Layout,
    /// Drive of the array, by drive of the layout.
    pub slots: Vec<DriveSlot>,
    /// Drives of the array that take the place of lost ones.
    pub spares: Vec<u32>,
    /// First byte of the RAID group on each drive.
    pub base_bytes: u64,
}

/// Drive of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DriveSlot {
    /// Number among all drives of the array.
    pub drive: u32,
    /// Node that it is in.
    pub node: u32,
}

/// Place of one volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumePlace {
    /// Entry of `volumes` that it is of.
    pub entry: usize,
    /// Its set.
    pub set: usize,
    /// First byte in the set.
    pub offset_bytes: u64,
    /// Size.
    pub bytes: u64,
}

fn of_layout(path: String, error: &LayoutError) -> Refusal {
    Refusal::new(path, error.to_string(), "change the drives, the layout or its sizes")
}

/// Sets of an array that has been checked, and the places of its volumes.
pub fn sets(array: &Array) -> (Vec<Set>, Vec<VolumePlace>) {
    build(array).unwrap_or_default()
}

/// Number of the first drive of each group, among all drives.
fn first_drives(array: &Array) -> Vec<u32> {
    let mut next = 0;
    array
        .groups
        .iter()
        .map(|group| {
            let first = next;
            next += array.drives_of(group);
            first
        })
        .collect()
}

pub(crate) fn build(array: &Array) -> Result<(Vec<Set>, Vec<VolumePlace>), Refusal> {
    let firsts = first_drives(array);
    let mut sets = Vec::new();
    if array.has_chains() {
        for pool in 0..array.pools.len() {
            sets.push(chain_set(array, pool)?);
        }
        let places = place_volumes(array, &sets)?;
        return Ok((sets, places));
    }
    for (index, group) in array.groups.iter().enumerate() {
        let pools: Vec<usize> =
            (0..array.pools.len()).filter(|&pool| array.pools[pool].is_on(group.name())).collect();
        if pools.is_empty() {
            local_sets(array, index, group, firsts[index], &mut sets)?;
        } else {
            pool_sets(array, index, group, firsts[index], &pools, &mut sets)?;
        }
    }
    let places = place_volumes(array, &sets)?;
    Ok((sets, places))
}

/// The set of a group, or that of each node.
fn local_sets(
    array: &Array,
    index: usize,
    group: &Group,
    first: u32,
    sets: &mut Vec<Set>,
) -> Result<(), Refusal> {
    let count = group.count.count.count();
    let members = count.saturating_sub(group.keys.spares.count());
    let layout = local_layout(group, members).map_err(|mut refusal| {
        refusal.path = format!("groups[{index}].{}", refusal.path);
        refusal
    })?;
    let nodes = if group.is_per_node { array.node_count() } else { 1 };
    for node in 0..nodes {
        let base = first + node * count;
        let name = if nodes == 1 { group.name().to_owned() } else { format!("{}@node-{node}", group.name()) };
        sets.push(Set {
            name,
            group: index,
            pool: None,
            layout: layout.clone(),
            slots: (base..base + members).map(|drive| DriveSlot { drive, node }).collect(),
            spares: (base + members..base + count).collect(),
            base_bytes: 0,
        });
    }
    Ok(())
}

fn local_layout(group: &Group, members: u32) -> Result<Layout, Refusal> {
    let segment_bytes = group.segment_of(group.layout(), group.keys.segment.get());
    let raid = Raid {
        drives: members,
        drive_capacity_bytes: group.drives.capacity_bytes() / 4096 * 4096,
        segment_bytes,
    };
    if members == 0 {
        return refuse("spares", "all drives are spares", "give fewer spares than drives");
    }
    let built = match group.layout() {
        LayoutKind::Single | LayoutKind::Raid0 => Layout::raid0(raid),
        LayoutKind::Raid1 => Layout::raid1(raid),
        LayoutKind::Raid10 => Layout::raid10(raid),
        LayoutKind::Raid5 => Layout::raid5(raid, Rotation::LeftSymmetric),
        LayoutKind::Raid6 => Layout::raid6(raid, Rotation::LeftSymmetric),
        LayoutKind::Pool => {
            let stripe = erasure_of(&group.keys.stripe.text).ok_or_else(|| {
                Refusal::new(
                    "stripe",
                    format!("`{}` is no stripe", group.keys.stripe.text),
                    "write data and parity pieces, as `8+2`",
                )
            })?;
            let piece_bytes = group.keys.piece.get() / segment_bytes.max(1) * segment_bytes;
            Layout::pool(&PoolSpec {
                drives: members,
                drive_capacity_bytes: raid.drive_capacity_bytes,
                segment_bytes,
                piece_bytes: piece_bytes.max(segment_bytes),
                data: stripe.data,
                parity: stripe.parity,
                preservation_drives: group.keys.preserved.count(),
                seed: 1,
            })
        }
    };
    let built = built.map_err(|error| of_layout("layout".into(), &error))?;
    Ok(if group.keys.parity_update.get() == 1 { built.modifying_always() } else { built })
}

impl Group {
    /// Data and parity pieces of its stripe as a pool.
    pub fn pool_stripe(&self) -> Option<Erasure> {
        erasure_of(&self.keys.stripe.text)
    }
}

/// Reads `8+2`.
pub(crate) fn erasure_of(text: &str) -> Option<Erasure> {
    let (data, parity) = text.split_once('+')?;
    let (data, parity) = (data.trim().parse().ok()?, parity.trim().parse().ok()?);
    Some(Erasure { data, parity })
}

/// The sets of the pools on a group, each with its share of every drive.
fn pool_sets(
    array: &Array,
    index: usize,
    group: &Group,
    first: u32,
    pools: &[usize],
    sets: &mut Vec<Set>,
) -> Result<(), Refusal> {
    let count = group.count.count.count();
    if !group.is_per_node || array.nodes.is_none() {
        return refuse(
            format!("pools[{}].on", pools[0]),
            format!("the drives of `{}` are in no nodes", group.name()),
            "give the group `per_node:` instead of `drives:`, and the array `nodes:`",
        );
    }
    if group.layout() != LayoutKind::Single {
        return refuse(
            format!("groups[{index}].layout"),
            format!("a pool over nodes on {} inside each node is not modelled", group.layout().word()),
            "use `layout: single`",
        );
    }
    let slots: Vec<DriveSlot> = (0..array.drives_of(group))
        .map(|drive| DriveSlot { drive: first + drive, node: drive / count })
        .collect();
    let capacity_bytes = group.drives.capacity_bytes();
    let mut base_bytes = 0;
    for &number in pools {
        let pool = &array.pools[number];
        let bytes = (capacity_bytes as f64 * pool.keys.share.share()) as u64 / 4096 * 4096;
        if base_bytes + bytes > capacity_bytes {
            return refuse(
                format!("pools[{number}].share"),
                format!("the pools on `{}` have more than 100% of its drives", group.name()),
                "give each pool a `share:`, in all at most 100%",
            );
        }
        sets.push(Set {
            name: pool.keys.name.text.clone(),
            group: index,
            pool: Some(number),
            layout: cluster_layout(pool, &slots, bytes)
                .map_err(|error| of_layout(format!("pools[{number}]"), &error))?,
            slots: slots.clone(),
            spares: Vec::new(),
            base_bytes,
        });
        base_bytes += bytes;
    }
    Ok(())
}

/// The set of a chain of replicas over groups, as large as its volumes; the model places each volume by itself.
fn chain_set(array: &Array, number: usize) -> Result<Set, Refusal> {
    let pool = &array.pools[number];
    let groups = array.chain_groups(pool);
    let object_bytes = pool.keys.object.get();
    let is_here = |volume: &&Volume| {
        let on = &volume.keys.on.text;
        *on == pool.keys.name.text || (on.is_empty() && array.pools.len() == 1)
    };
    let bytes = array.volumes.iter().filter(is_here).map(|volume| {
        let one = volume.keys.size.get().div_ceil(object_bytes).saturating_mul(object_bytes);
        one.saturating_mul(volume.keys.count.get())
    });
    let bytes = bytes.fold(0, u64::saturating_add).max(object_bytes);
    let place_of = |drive: u32| array.node_drive(drive).map_or((0, 0), |place| (place.group, place.node));
    let drives = array.drive_count();
    let layout = Layout::replicas(&ReplicaSpec {
        capacity_bytes: bytes,
        object_bytes,
        groups: groups
            .iter()
            .map(|&group| array.drives_in(group).map(|drive| drive as layout::DriveIndex).collect())
            .collect(),
        drive_capacity_bytes: (0..drives)
            .map(|drive| array.groups[place_of(drive).0].drives.capacity_bytes())
            .collect(),
        nodes: (0..drives).map(|drive| place_of(drive).1 as u16).collect(),
        seed: 1,
    });
    Ok(Set {
        name: pool.keys.name.text.clone(),
        // The last replica is the one that is read.
        group: groups.last().copied().unwrap_or(0),
        pool: Some(number),
        layout: layout.map_err(|error| of_layout(format!("pools[{number}]"), &error))?,
        slots: (0..drives).map(|drive| DriveSlot { drive, node: place_of(drive).1 }).collect(),
        spares: Vec::new(),
        base_bytes: 0,
    })
}

fn cluster_layout(pool: &Pool, slots: &[DriveSlot], drive_bytes: u64) -> Result<Layout, LayoutError> {
    let object = pool.keys.object.get();
    let (data, redundancy, segment_bytes) = match pool.erasure {
        Some(code) => (code.data, Redundancy::Parity(code.parity), pool.keys.segment.get()),
        None => (1, Redundancy::Copies(pool.keys.replicas.count()), object),
    };
    // An erasure-coded object has a fragment of itself on each drive.
    let fragment = (object / u64::from(data)).div_ceil(segment_bytes).max(1) * segment_bytes;
    let coarse = drive_bytes.div_ceil(PIECES_LIMIT);
    let piece_bytes = fragment.max(coarse).div_ceil(fragment) * fragment;
    Layout::cluster(&ClusterSpec {
        nodes: slots.iter().map(|slot| slot.node as u16).collect(),
        drive_capacity_bytes: drive_bytes,
        segment_bytes,
        object_bytes: fragment,
        piece_bytes,
        data,
        redundancy,
        seed: 1,
    })
}

/// Bytes of a set that volumes can have, in whole stripes: all but the reserve of snapshots.
pub fn volume_bytes(array: &Array, set: &Set) -> u64 {
    let bytes = set.layout.capacity_bytes();
    let Some(snapshots) = &array.snapshots else { return bytes };
    let stripe_bytes = set.layout.stripe_bytes();
    (bytes as f64 * (1.0 - snapshots.reserve.share())) as u64 / stripe_bytes * stripe_bytes
}

/// Deals volumes to their sets: one after the other, in whole stripes.
fn place_volumes(array: &Array, sets: &[Set]) -> Result<Vec<VolumePlace>, Refusal> {
    let targets = volume_targets(array, sets)?;
    let mut used = vec![0u64; sets.len()];
    let mut places = Vec::new();
    let room_bytes: Vec<u64> = sets.iter().map(|set| volume_bytes(array, set)).collect();
    // Volumes with a size first: the others share what is left.
    for has_size in [true, false] {
        let left: Vec<u64> = (0..sets.len()).map(|set| room_bytes[set].saturating_sub(used[set])).collect();
        let mut sharers = vec![0u64; sets.len()];
        for (entry, volume) in
            array.volumes.iter().enumerate().filter(|(_, volume)| volume.keys.size.get() == 0)
        {
            for copy in 0..volume.keys.count.get() {
                sharers[targets[entry][copy as usize % targets[entry].len()]] += 1;
            }
        }
        for (entry, volume) in array.volumes.iter().enumerate() {
            if (volume.keys.size.get() > 0) != has_size {
                continue;
            }
            for copy in 0..volume.keys.count.get() {
                let set = targets[entry][copy as usize % targets[entry].len()];
                let stripe_bytes = sets[set].layout.stripe_bytes();
                let bytes = if has_size {
                    volume.keys.size.get()
                } else {
                    left[set] / sharers[set].max(1) / stripe_bytes * stripe_bytes
                };
                let place = VolumePlace { entry, set, offset_bytes: used[set], bytes };
                let end = used[set] + bytes.div_ceil(stripe_bytes) * stripe_bytes;
                if bytes == 0 || end > room_bytes[set] {
                    return refuse(
                        format!("volumes[{entry}].size"),
                        format!(
                            "{} volumes of {} do not fit on `{}`, which holds {}",
                            volume.keys.count.get(),
                            units::human_bytes(bytes),
                            sets[set].name,
                            units::human_bytes(room_bytes[set])
                        ),
                        "make them smaller or fewer, or leave `size` out for an equal share of all that is left",
                    );
                }
                used[set] = end;
                places.push(place);
            }
        }
    }
    places.sort_by_key(|place| place.entry);
    Ok(places)
}

/// By entry of `volumes`: the sets that its volumes are dealt to in turn.
fn volume_targets(array: &Array, sets: &[Set]) -> Result<Vec<Vec<usize>>, Refusal> {
    let mut all = Vec::new();
    for (entry, volume) in array.volumes.iter().enumerate() {
        let on = &volume.keys.on.text;
        let is_on = |set: &Set| match set.pool {
            Some(pool) => on.is_empty() || array.pools[pool].keys.name.text == *on,
            None => {
                array.may_hold_volumes(set.group) && (on.is_empty() || array.groups[set.group].name() == on)
            }
        };
        let named: Vec<usize> = (0..sets.len()).filter(|&set| is_on(&sets[set])).collect();
        let path = || format!("volumes[{entry}].on");
        let names: Vec<String> = array
            .pools
            .iter()
            .map(|pool| pool.keys.name.text.clone())
            .chain(array.groups.iter().map(|group| group.name().to_owned()))
            .collect();
        if named.is_empty() {
            let hint = crate::suggest::hint_of(on, names.iter().map(String::as_str));
            return refuse(path(), format!("there is no group or pool `{on}` for volumes"), hint);
        }
        let is_ambiguous = on.is_empty()
            && named
                .iter()
                .any(|&set| sets[set].group != sets[named[0]].group || sets[set].pool != sets[named[0]].pool);
        if is_ambiguous {
            return refuse(
                path(),
                "the array has several groups or pools",
                format!("say which: {}", names.join(", ")),
            );
        }
        all.push(named);
    }
    Ok(all)
}
