//! Devices below a block device: disks of partitions, members of stripes, paths of multipath.

use crate::host::{HostError, HostRoots};
use std::fs;
use std::path::Path;

/// Deeper stacks are not built: file system on LVM on crypt on md on multipath on disks is five.
const DEPTH_LIMIT: u32 = 16;

/// A device with a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueueDevice {
    pub kernel_name: String,
    /// Built on others: it may have no scheduler and no requests of its own.
    pub stacked: bool,
}

/// `device` and everything below it that has a queue, each once: the queue that matters is that of the paths.
pub(crate) fn queues_of(roots: &HostRoots, device: &str) -> Result<Vec<QueueDevice>, HostError> {
    let mut found = Vec::new();
    collect(roots, device, DEPTH_LIMIT, &mut found)?;
    Ok(found)
}

fn collect(
    roots: &HostRoots,
    device: &str,
    depth: u32,
    found: &mut Vec<QueueDevice>,
) -> Result<(), HostError> {
    let whole = whole_device(&roots.sysfs, device).ok_or_else(|| HostError::Missing {
        name: device.to_owned(),
        path: roots.sysfs.join("class/block").join(device),
        hint: "only block devices have queue attributes; name the kernel's name, for example sda",
    })?;
    if depth == 0 || found.iter().any(|known| known.kernel_name == whole) {
        return Ok(());
    }
    let below = lower_devices(&roots.sysfs, &whole);
    found.push(QueueDevice { kernel_name: whole, stacked: !below.is_empty() });
    below.iter().try_for_each(|lower| collect(roots, lower, depth - 1, found))
}

/// A partition has no queue; its disk has.
fn whole_device(sysfs: &Path, device: &str) -> Option<String> {
    if !crate::host::setting::is_path(&device.replace('!', "_"), '/', 1) {
        return None;
    }
    if sysfs.join("block").join(device).is_dir() {
        return Some(device.to_owned());
    }
    let entry = fs::canonicalize(sysfs.join("class/block").join(device)).ok()?;
    entry
        .parent()?
        .file_name()?
        .to_str()
        .filter(|name| sysfs.join("block").join(name).is_dir())
        .map(str::to_owned)
}

fn lower_devices(sysfs: &Path, device: &str) -> Vec<String> {
    let directory = sysfs.join("block").join(device);
    let mut below = entries(&directory.join("slaves"));
    // The paths of native NVMe multipath are no slaves: nvme0n1 goes over nvme0c0n1, nvme0c1n1, ….
    if let Some((controller, namespace)) = nvme_parts(device) {
        below.extend(entries(&sysfs.join("block")).into_iter().filter(|name| {
            name.strip_prefix(controller).and_then(|rest| rest.strip_prefix('c')).is_some_and(|rest| {
                rest.split_once('n').is_some_and(|(path, n)| path.parse::<u32>().is_ok() && n == namespace)
            })
        }));
    }
    below
}

/// `nvme0n1` → `nvme0`, `1`
fn nvme_parts(device: &str) -> Option<(&str, &str)> {
    let digits = device.strip_prefix("nvme")?;
    let (instance, namespace) = digits.split_once('n')?;
    let numeric = instance.parse::<u32>().is_ok() && namespace.parse::<u32>().is_ok();
    numeric.then(|| (&device[.."nvme".len() + instance.len()], namespace))
}

fn entries(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}
