//! Other paths to the disk below a target: block devices of the same identity, and who uses them.
//!
//! A disk with two ports is two block devices until multipathd has made a map of them. The kernel knows nothing of
//! that: it lets `/dev/sdh` be opened exclusively and written while a file system on `/dev/sdg` is mounted.

use crate::disk_identity::DiskIdentity;
use crate::exports::{Export, exports};
use crate::roots::Roots;
use crate::shared_users::Reach;
use crate::sysfs::{entries, kernel_name, number_attribute, whole_device};
use crate::usage::{self, LoopDevice, Usage};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Another block device that leads to bytes of the target, with those who use it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OtherPath {
    /// Kernel name, for example `sdg`.
    pub kernel_name: String,
    /// Evidence that it is the same disk: "has the same WWN naa.5000c5007a000001".
    pub because: String,
    /// Users of the part of it that the target lies on.
    #[serde(flatten)]
    pub usage: Usage,
    /// Kernel names of the devices that an exclusive open must find free: the device, or its partitions that overlap
    /// the target.
    #[serde(skip)]
    pub(crate) to_claim: Vec<String>,
    /// The kernel refused to open one of them exclusively.
    pub claimed: bool,
}

/// The part of a disk that a target lies on.
struct Extent {
    whole: PathBuf,
    /// First and one past the last sector; none for the whole disk.
    sectors: Option<(u64, u64)>,
}

/// A device whose bytes a device above it has without holding it.
struct Backing {
    extent: Extent,
    /// "is what loop1 is set up over"
    because: String,
    /// The exporter between the two holds it.
    is_claimed: bool,
}

/// Devices that a target is made from, down to those that are made from nothing.
#[derive(Default)]
struct Below {
    /// Kernel names of the target and of every device below it.
    names: BTreeSet<String>,
    /// sysfs directories of the same, whole devices for partitions.
    directories: Vec<PathBuf>,
    extents: Vec<Extent>,
    /// Backing stores of loop devices, and of exports of this host that the target is shown to be attached to.
    backings: Vec<Backing>,
    /// Loop devices over regular files, and disks attached to exports of such: name and file.
    loop_files: Vec<(String, String)>,
    /// Exports that the target is attached to.
    attached_to: Vec<Export>,
}

/// Relations to lower devices that sysfs does not link.
struct Hidden<'a> {
    roots: &'a Roots,
    loops: &'a [LoopDevice],
    exports: &'a [Export],
    /// The target and what is built on it, which may be exported anew.
    above: &'a BTreeSet<String>,
}

/// Finds the other paths to the device whose sysfs directory this is. `above` are the devices built on it, whose use
/// counts already. Also says all that leads to bytes of the device, itself among it.
pub(crate) fn other_paths(
    roots: &Roots,
    directory: &Path,
    above: &BTreeSet<String>,
) -> Result<(Vec<OtherPath>, Reach), (PathBuf, io::Error)> {
    let loops = usage::loop_devices(roots);
    let exports = exports(roots);
    let mut below = Below::default();
    Hidden { roots, loops: &loops, exports: &exports, above }.descend(directory, &mut below);
    let mut counted: BTreeSet<String> = above.union(&below.names).cloned().collect();
    let mut found = Vec::new();
    let mut add = |whole: &Path,
                   because: String,
                   sectors: &[Option<(u64, u64)>],
                   is_to_claim: bool,
                   counted: &BTreeSet<String>| {
        let (held, mut to_claim) = held_parts(whole, sectors);
        // What is held by the target's own devices is taken by them.
        let is_held =
            |device: &PathBuf| entries(&device.join("holders")).iter().any(|one| counted.contains(one));
        if !is_to_claim || held.iter().any(is_held) {
            to_claim.clear();
        }
        let (usage, visited) = usage::usage_above(roots, &loops, &held, counted)?;
        found.push(OtherPath { kernel_name: kernel_name(whole), because, usage, to_claim, claimed: false });
        Ok::<BTreeSet<String>, (PathBuf, io::Error)>(visited)
    };
    for Backing { extent, because, is_claimed } in &below.backings {
        let visited = add(&extent.whole, because.clone(), &[extent.sectors], !is_claimed, &counted)?;
        counted.extend(visited);
    }
    let identities: Vec<(PathBuf, DiskIdentity)> =
        below.directories.iter().map(|d| (d.clone(), DiskIdentity::read(d))).collect();
    for other in other_disks(roots, &below) {
        let name = kernel_name(&other);
        if counted.contains(&name) {
            continue;
        }
        let identity = DiskIdentity::read(&other);
        let same = identities.iter().find_map(|(ours, of)| Some((ours, identity.same_disk(of)?)));
        let visited = if let Some((ours, same)) = same {
            // An array in the middle (md) has no extents of its own: all of its double counts.
            let on_it = below.extents.iter().filter(|extent| extent.whole == *ours);
            let sectors: Vec<Option<(u64, u64)>> = on_it.map(|extent| extent.sectors).collect();
            add(&other, format!("has the same {same}"), &sectors, true, &counted)?
        } else if let Some((ours, file)) = shared_file(&loops, &below.loop_files, &name) {
            add(&other, format!("is over the same file as {ours} ({file})"), &[], true, &counted)?
        } else {
            continue;
        };
        counted.extend(visited);
    }
    counted.extend(below.directories.iter().map(|whole| kernel_name(whole)));
    let files = below.loop_files.into_iter().map(|(_, file)| file).collect();
    Ok((found, Reach { devices: counted, files, attached_to: below.attached_to }))
}

/// Whole devices that the target is not made from; disks before what device mapper made of them, so that a path is
/// found before the multipath device that has it.
fn other_disks(roots: &Roots, below: &Below) -> Vec<PathBuf> {
    let mut names = entries(&roots.sysfs.join("block"));
    names.sort_by_key(|name| name.starts_with("dm-"));
    names
        .iter()
        .filter_map(|name| fs::canonicalize(roots.sysfs.join("block").join(name)).ok())
        // The private paths of a native NVMe multipath device have no node; everything goes through their head.
        .filter(|other| number_attribute(other, "hidden").is_none_or(|value| value == 0))
        .filter(|other| !below.directories.contains(other) && !below.names.contains(&kernel_name(other)))
        .collect()
}

impl Hidden<'_> {
    /// Walks `slaves`, what loop devices are set up over, and exports of this host, down to the disks.
    fn descend(&self, directory: &Path, below: &mut Below) {
        if !below.names.insert(kernel_name(directory)) {
            return;
        }
        let extent = extent_of(directory);
        below.directories.push(extent.whole.clone());
        let slaves = directory.join("slaves");
        let mut parts: Vec<PathBuf> =
            entries(&slaves).iter().filter_map(|slave| fs::canonicalize(slaves.join(slave)).ok()).collect();
        let name = kernel_name(&extent.whole);
        if let Some(one) = self.loops.iter().find(|one| one.kernel_name == name) {
            let because = format!("is what {name} is set up over");
            parts.extend(self.add_backing(&name, &one.backing_file, because, false, below));
        }
        let is_below = |export: &&Export| {
            export.is_attached_as(&extent.whole) && export.device(self.roots, self.above).is_none()
        };
        let attached_to: Vec<&Export> = self.exports.iter().filter(is_below).collect();
        for export in &attached_to {
            let because = format!("is what {name} is attached to ({})", export.by);
            // With several, which have no names, all but one are users beside the target: none is left out.
            if attached_to.len() == 1 {
                below.attached_to.push((*export).clone());
            }
            parts.extend(self.add_backing(&name, &export.backing, because, export.claims_backing, below));
        }
        if parts.is_empty() {
            below.extents.push(extent);
        }
        for part in parts {
            self.descend(&part, below);
        }
    }

    /// Takes note of what is behind the device `name`: its directory, unless it is a regular file.
    fn add_backing(
        &self,
        name: &str,
        backing: &str,
        because: String,
        is_claimed: bool,
        below: &mut Below,
    ) -> Option<PathBuf> {
        let Some(directory) = usage::directory_of_node(self.roots, backing) else {
            below.loop_files.push((name.to_owned(), backing.to_owned()));
            return None;
        };
        below.backings.push(Backing { extent: extent_of(&directory), because, is_claimed });
        Some(directory)
    }
}

/// The part of its whole device that the device with this sysfs directory is.
fn extent_of(directory: &Path) -> Extent {
    let whole = whole_device(directory);
    let sectors = (whole != directory).then(|| sectors_of(directory)).flatten();
    Extent { whole, sectors }
}

/// First and one past the last sector of a partition.
fn sectors_of(partition: &Path) -> Option<(u64, u64)> {
    let start = number_attribute(partition, "start")?;
    Some((start, start.saturating_add(number_attribute(partition, "size")?)))
}

/// Directories whose use counts for the sectors (none: the whole disk), and what an exclusive open must find free.
fn held_parts(whole: &Path, sectors: &[Option<(u64, u64)>]) -> (Vec<PathBuf>, Vec<String>) {
    let parts: Option<Vec<(u64, u64)>> = sectors.iter().copied().collect();
    let parts = parts.filter(|parts| !parts.is_empty());
    let partitions = usage::partitions_of(whole);
    let overlaps = |partition: &PathBuf| match (&parts, sectors_of(partition)) {
        (Some(parts), Some((first, last))) => parts.iter().any(|(start, end)| first < *end && *start < last),
        _ => true,
    };
    let overlapping: Vec<PathBuf> = partitions.iter().filter(|p| overlaps(p)).cloned().collect();
    // An exclusive open of the whole disk fails where any partition is used, also one beside the target.
    let to_claim = match parts {
        Some(_) if !partitions.is_empty() => overlapping.iter().map(|p| kernel_name(p)).collect(),
        _ => vec![kernel_name(whole)],
    };
    let held = std::iter::once(whole.to_owned()).chain(overlapping).collect();
    (held, to_claim)
}

/// The loop device below the target that has the same file as loop device `other`, and the file.
fn shared_file<'a>(
    loops: &[LoopDevice],
    ours: &'a [(String, String)],
    other: &str,
) -> Option<(&'a str, &'a str)> {
    let theirs = &loops.iter().find(|one| one.kernel_name == other)?.backing_file;
    ours.iter()
        .find(|(_, file)| file == theirs || usage::is_same_file(file, theirs))
        .map(|(name, file)| (name.as_str(), file.as_str()))
}

impl OtherPath {
    /// Returns the reasons why nothing may be written while it is used like that; empty when it is free.
    pub(crate) fn reasons(&self, is_whole_disk: bool) -> Vec<String> {
        let mut uses = self.usage.uses_of(&self.kernel_name);
        if is_whole_disk && !self.usage.partitions.is_empty() {
            uses.push(format!("is partitioned ({})", self.usage.partitions.join(", ")));
        }
        if self.claimed && uses.is_empty() {
            uses.push(
                "has been opened exclusively (mounted in a container, or in use by another program)"
                    .to_owned(),
            );
        }
        uses.into_iter().map(|one| format!("/dev/{} {} and {one}", self.kernel_name, self.because)).collect()
    }
}
