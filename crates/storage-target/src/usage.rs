//! Users of a block device: holders above it, mounts, swap, loop devices.

use crate::roots::Roots;
use crate::sysfs::{MapperKind, attribute, describe_holder, entries, kernel_name, whole_device};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Users of a block device, its partitions, and devices built on them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Partitions that the kernel knows.
    pub partitions: Vec<String>,
    /// Devices built on it or on a partition of it.
    pub holders: Vec<Holder>,
    /// Mounts of it, of its partitions and of anything built on them.
    pub mounts: Vec<Mount>,
    /// Devices, among the same, that are swapped to.
    pub swaps: Vec<String>,
}

/// A device that is built on another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// The device that is held: the target or a partition of it.
    pub held: String,
    /// The holder, for example `dm-0`.
    pub kernel_name: String,
    /// The holder's own name, for example `vg-data`.
    pub name: String,
    /// Description in words.
    pub what: String,
    /// Kind of the device-mapper device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<MapperKind>,
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mount {
    /// The mounted device.
    pub device: String,
    /// Mount point.
    pub mount_point: String,
    /// Type of the file system, for example `ext4`.
    pub filesystem: String,
}

/// Reads the users of the device whose sysfs directory this is, and the names of all devices that were examined.
pub(crate) fn usage_of(
    roots: &Roots,
    directory: &Path,
) -> Result<(Usage, BTreeSet<String>), (PathBuf, io::Error)> {
    let mut held: Vec<PathBuf> = vec![directory.to_owned()];
    held.extend(partitions_of(directory));
    if whole_device(directory) != directory {
        // What holds the whole device holds every partition of it.
        held.push(whole_device(directory));
    }
    usage_above(roots, &loop_devices(roots), &held, &BTreeSet::new())
}

/// sysfs directories of the partitions that the kernel knows.
pub(crate) fn partitions_of(directory: &Path) -> Vec<PathBuf> {
    entries(directory)
        .into_iter()
        .map(|entry| directory.join(entry))
        .filter(|child| child.join("partition").is_file())
        .collect()
}

/// Lists the users of the devices whose sysfs directories these are, directly or through devices built on them,
/// with the names of all devices that were examined. Devices of `counted` are not climbed to.
pub(crate) fn usage_above(
    roots: &Roots,
    loops: &[LoopDevice],
    held: &[PathBuf],
    counted: &BTreeSet<String>,
) -> Result<(Usage, BTreeSet<String>), (PathBuf, io::Error)> {
    let partitions = held.iter().skip(1).filter(|d| held.first().is_some_and(|whole| d.starts_with(whole)));
    let mut usage = Usage { partitions: partitions.map(|p| kernel_name(p)).collect(), ..Usage::default() };
    let not_counted = |device: &Path| {
        let holders = holders_of(roots, loops, device);
        holders.into_iter().filter(|(name, _)| !counted.contains(name)).collect::<Vec<_>>()
    };
    for device in held {
        for (holder, path) in not_counted(device) {
            let (kind, what, name) = describe_holder(&path);
            usage.holders.push(Holder { held: kernel_name(device), kernel_name: holder, name, what, kind });
        }
    }
    // A volume group over md over partitions is mounted far above; each device is visited once.
    let mut all = BTreeSet::new();
    let mut waiting = held.to_vec();
    while let Some(device) = waiting.pop() {
        if all.insert(kernel_name(&device)) {
            waiting.extend(not_counted(&device).into_iter().map(|(_, path)| path));
        }
    }
    let numbers: Vec<(String, String)> = all
        .iter()
        .filter_map(|name| {
            Some((block_directory(roots, name).and_then(|d| attribute(&d, "dev"))?, name.clone()))
        })
        .collect();
    usage.mounts = mounts(roots, &all, &numbers)?;
    usage.swaps = swaps(roots)?
        .into_iter()
        .filter_map(|swap| kernel_name_of_node(roots, &swap).filter(|name| all.contains(name)))
        .collect();
    Ok((usage, all))
}

impl Usage {
    /// Mounts, swap and holders as predicates of the device `kernel_name`: "is mounted at /srv (xfs)".
    pub(crate) fn uses_of(&self, kernel_name: &str) -> Vec<String> {
        let place =
            |device: &str| if device == kernel_name { String::new() } else { format!(": {device} on it") };
        let mut uses = Vec::new();
        for Mount { device, mount_point, filesystem } in &self.mounts {
            let at = format!("mounted at {mount_point} ({filesystem})");
            uses.push(match place(device) {
                of if of.is_empty() => format!("is {at}"),
                of => format!("is in use{of} is {at}"),
            });
        }
        for device in &self.swaps {
            uses.push(match place(device) {
                of if of.is_empty() => "is swap space in use".to_owned(),
                of => format!("is in use{of} is swap space"),
            });
        }
        for Holder { held, kernel_name: holder, name, what, kind } in &self.holders {
            let named = if name == holder { name.clone() } else { format!("{name} ({holder})") };
            uses.push(match (kind, place(held)) {
                (Some(MapperKind::Multipath), _) => format!("is one path of multipath device {named}"),
                (_, of) if of.is_empty() => format!("is held by {what} {named}"),
                (_, of) => format!("is in use{of} is held by {what} {named}"),
            });
        }
        uses
    }
}

/// Names and sysfs directories of the devices directly above `device`.
fn holders_of(roots: &Roots, loops: &[LoopDevice], device: &Path) -> Vec<(String, PathBuf)> {
    let mut found: Vec<(String, PathBuf)> = entries(&device.join("holders"))
        .into_iter()
        .map(|name| {
            let link = device.join("holders").join(&name);
            let path = fs::canonicalize(&link).unwrap_or(link);
            (kernel_name(&path), path)
        })
        .collect();
    // A loop device over a block device is no holder in sysfs, and yet what is written below it shows above it.
    let name = kernel_name(device);
    for one in loops {
        if kernel_name_of_node(roots, &one.backing_file).is_some_and(|backing| backing == name) {
            found.push((one.kernel_name.clone(), one.directory.clone()));
        }
    }
    found
}

/// A loop device that is set up.
pub(crate) struct LoopDevice {
    pub(crate) kernel_name: String,
    pub(crate) backing_file: String,
    directory: PathBuf,
}

pub(crate) fn loop_devices(roots: &Roots) -> Vec<LoopDevice> {
    entries(&roots.sysfs.join("block"))
        .into_iter()
        .filter(|name| name.starts_with("loop"))
        .filter_map(|name| {
            let directory = fs::canonicalize(roots.sysfs.join("block").join(&name)).ok()?;
            let backing_file = attribute(&directory, "loop/backing_file")?;
            Some(LoopDevice { kernel_name: name, backing_file, directory })
        })
        .collect()
}

fn mounts(
    roots: &Roots,
    names: &BTreeSet<String>,
    numbers: &[(String, String)],
) -> Result<Vec<Mount>, (PathBuf, io::Error)> {
    let own = roots.proc.join("self/mountinfo");
    let mut tables = vec![(fs::read(&own).map_err(|error| (own, error))?, "")];
    // Mounts of a container, or of a service of its own, are not in our table.
    tables.extend(
        mounts_of_other_namespaces(roots).into_iter().map(|table| (table, " in another mount namespace")),
    );
    let mut found: Vec<Mount> = Vec::new();
    for (text, place) in tables {
        mounts_in(roots, &text, place, names, numbers, &mut found);
    }
    Ok(found)
}

/// One table of mounts for each mount namespace but ours that has a process.
fn mounts_of_other_namespaces(roots: &Roots) -> Vec<Vec<u8>> {
    let namespace = |process: &str| fs::read_link(roots.proc.join(process).join("ns/mnt")).ok();
    let mut seen: BTreeSet<PathBuf> = namespace("self").into_iter().collect();
    entries(&roots.proc)
        .iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .filter(|process| namespace(process).is_some_and(|namespace| seen.insert(namespace)))
        .filter_map(|process| fs::read(roots.proc.join(process).join("mountinfo")).ok())
        .collect()
}

/// Mounts of the devices in one table, `place` behind the mount point, added to `found` where it has not yet that
/// device and point.
fn mounts_in(
    roots: &Roots,
    text: &[u8],
    place: &str,
    names: &BTreeSet<String>,
    numbers: &[(String, String)],
    found: &mut Vec<Mount>,
) {
    // proc(5): ID parent major:minor root mount-point options [optional…] - type source super-options
    for line in String::from_utf8_lossy(text).lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let separator = fields.iter().position(|field| *field == "-").unwrap_or(fields.len());
        let (Some(number), Some(mount_point)) = (fields.get(2), fields.get(4)) else { continue };
        let source = fields.get(separator + 2).map(|text| unescape(text)).unwrap_or_default();
        // btrfs and others show a number of their own; then only the source names the device.
        let device = numbers
            .iter()
            .find(|(known, _)| known == number)
            .map(|(_, name)| name.clone())
            .or_else(|| kernel_name_of_node(roots, &source).filter(|name| names.contains(name)));
        if let Some(device) = device {
            let filesystem = fields.get(separator + 1).copied().unwrap_or_default().to_owned();
            let point = unescape(mount_point);
            // A namespace begins as a copy of ours.
            let is_known = |known: &Mount| known.device == device && known.mount_point == point;
            if !found.iter().any(is_known) {
                found.push(Mount { device, mount_point: point + place, filesystem });
            }
        }
    }
}

/// The files and devices that are swapped to, unescaped.
pub(crate) fn swaps(roots: &Roots) -> Result<Vec<String>, (PathBuf, io::Error)> {
    let path = roots.proc.join("swaps");
    match fs::read(&path) {
        Ok(text) => Ok(String::from_utf8_lossy(&text)
            .lines()
            .skip(1)
            .filter_map(|line| line.split_whitespace().next().map(unescape))
            .collect()),
        // A kernel without swap has no such file.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err((path, error)),
    }
}

/// The regular file at `path` seen from `roots` is in use as swap or behind a loop device: by whom.
pub(crate) fn users_of_file(
    roots: &Roots,
    device: u64,
    inode: u64,
) -> Result<Vec<String>, (PathBuf, io::Error)> {
    let is_this = |path: &str| fs::metadata(path).is_ok_and(|m| m.dev() == device && m.ino() == inode);
    let mut users: Vec<String> = swaps(roots)?
        .iter()
        .filter(|path| is_this(path))
        .map(|_| "it is swap space in use".to_owned())
        .collect();
    for one in loop_devices(roots) {
        if is_this(&one.backing_file) {
            users.push(format!("it is behind loop device {}", one.kernel_name));
        }
    }
    Ok(users)
}

/// `/dev/mapper/vg-data` → `dm-0`, by the links under the dev root.
pub(crate) fn kernel_name_of_node(roots: &Roots, node: &str) -> Option<String> {
    let below = node.strip_prefix("/dev/")?;
    let path = roots.dev.join(below);
    let resolved = fs::canonicalize(&path).unwrap_or(path);
    let dev = fs::canonicalize(&roots.dev).unwrap_or_else(|_| roots.dev.clone());
    Some(resolved.strip_prefix(&dev).ok()?.to_string_lossy().into_owned())
}

/// The sysfs directory of the block device that a node is: `/dev/sdk`.
pub(crate) fn directory_of_node(roots: &Roots, node: &str) -> Option<PathBuf> {
    block_directory(roots, &kernel_name_of_node(roots, node)?)
}

/// Two names of one file.
pub(crate) fn is_same_file(one: &str, other: &str) -> bool {
    let identity = |path: &str| fs::metadata(path).map(|m| (m.dev(), m.ino())).ok();
    identity(one).is_some_and(|of_one| identity(other) == Some(of_one))
}

pub(crate) fn block_directory(roots: &Roots, name: &str) -> Option<PathBuf> {
    fs::canonicalize(roots.sysfs.join("class/block").join(name.replace('/', "!"))).ok()
}

/// Undoes the octal escapes of `/proc` (`\040` for a space).
fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let octal = bytes
            .get(index + 1..index + 4)
            .filter(|d| bytes[index] == b'\\' && d.iter().all(|b| (b'0'..b'8').contains(b)));
        match octal {
            Some(digits) => {
                plain.push(
                    digits.iter().fold(0u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit - b'0')),
                );
                index += 4;
            }
            None => {
                plain.push(bytes[index]);
                index += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::unescape;

    /// Proves that mount points with spaces, tabs and backslashes are read as they are.
    #[test]
    fn octal_escapes_are_undone() {
        assert_eq!(unescape("/mnt/my\\040disk\\011x\\134y"), "/mnt/my disk\tx\\y");
        assert_eq!(unescape("/a\\04"), "/a\\04");
        assert_eq!(unescape("\\"), "\\");
    }
}
