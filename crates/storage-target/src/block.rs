//! Block device with its identity, its users and its other paths.

use crate::error::TargetError;
use crate::fabric::fabric;
use crate::roots::Roots;
use crate::same_disk::{OtherPath, other_paths};
use crate::shared_users::{SharedUser, shared_users};
use crate::sysfs::{
    DeviceKind, DeviceNumber, MapperKind, attribute, entries, kernel_name, kind, number_attribute, serial,
    vendor_and_model, whole_device,
};
use crate::usage::{self, Holder, Mount, Usage};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// sysfs counts `size` and `start` in 512-byte sectors, whatever the device's block size.
const SYSFS_SECTOR_BYTES: u64 = 512;

/// A block device as the kernel describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BlockDevice {
    /// Kernel name, for example `sdb`.
    pub kernel_name: String,
    /// Device number.
    pub number: DeviceNumber,
    /// Kind of the device: disk, partition, loop device, RAID or device mapper.
    #[serde(flatten)]
    pub kind: DeviceKind,
    /// Capacity.
    pub size_bytes: u64,
    /// First byte on the whole device, for a partition.
    pub start_bytes: Option<u64>,
    /// Vendor and model as the device reports them.
    pub model: Option<String>,
    /// The device's serial number.
    pub serial: Option<String>,
    /// Worldwide name (NAA, EUI or NGUID), or the identifier used in its place.
    pub wwn: Option<String>,
    /// The UUID of a device-mapper or md device.
    pub uuid: Option<String>,
    /// A disk with platters, as far as the driver knows.
    pub rotational: Option<bool>,
    /// Smallest addressable unit.
    pub logical_block_size_bytes: u32,
    /// Smallest unit written without reading first.
    pub physical_block_size_bytes: u32,
    /// The kernel refuses writes.
    pub read_only: bool,
    /// The kernel's sequence number of this disk object: another disk under the same name has another one. It
    /// starts anew at each boot.
    pub diskseq: Option<u64>,
    /// The network by which the disk is reached, or one of the disks that this device is made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fabric: Option<&'static str>,
    /// Kernel names of what this device is made from.
    pub slaves: Vec<String>,
    /// Native NVMe paths behind this device; they have no node of their own.
    pub nvme_paths: Vec<String>,
    /// Uses of the device: partitions, holders, mounts and swap.
    #[serde(flatten)]
    pub usage: Usage,
    /// Other block devices that lead to the same disk, with those who use them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_paths: Vec<OtherPath>,
    /// Processes and exports that may write to it without having claimed it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared_users: Vec<SharedUser>,
}

/// Describes the block device `number` from sysfs, configfs and `/proc`.
pub fn classify_block_device(roots: &Roots, number: DeviceNumber) -> Result<BlockDevice, TargetError> {
    let link = roots.sysfs.join("dev/block").join(number.to_string());
    let unreadable = |path: &Path, source: io::Error| TargetError::Sysfs {
        path: path.to_owned(),
        device: number.to_string(),
        source,
    };
    let directory = fs::canonicalize(&link).map_err(|error| unreadable(&link, error))?;
    let kernel_name = kernel_name(&directory);
    let whole = whole_device(&directory);
    let size_path = directory.join("size");
    let sectors = fs::read_to_string(&size_path)
        .and_then(|text| text.trim().parse::<u64>().map_err(io::Error::other))
        .map_err(|error| unreadable(&size_path, error))?;
    let (usage, above) =
        usage::usage_of(roots, &directory).map_err(|(path, error)| unreadable(&path, error))?;
    let (other_paths, reach) =
        other_paths(roots, &directory, &above).map_err(|(path, error)| unreadable(&path, error))?;
    let device = whole.join("device");
    let is_partition = whole != directory;
    Ok(BlockDevice {
        number,
        kind: kind(&directory, &whole),
        size_bytes: sectors.saturating_mul(SYSFS_SECTOR_BYTES),
        start_bytes: is_partition
            .then(|| {
                number_attribute(&directory, "start").map(|start| start.saturating_mul(SYSFS_SECTOR_BYTES))
            })
            .flatten(),
        model: vendor_and_model(&whole),
        serial: serial(&whole),
        wwn: attribute(&whole, "wwid").or_else(|| attribute(&device, "wwid")),
        uuid: attribute(&directory, "dm/uuid").or_else(|| attribute(&directory, "md/uuid")),
        rotational: number_attribute(&whole, "queue/rotational").map(|value| value != 0),
        logical_block_size_bytes: block_size(&whole, "queue/logical_block_size"),
        physical_block_size_bytes: block_size(&whole, "queue/physical_block_size"),
        read_only: flag(&directory, "ro") || flag(&whole, "ro"),
        diskseq: number_attribute(&whole, "diskseq"),
        fabric: fabric_of(roots, &reach.devices),
        slaves: entries(&directory.join("slaves")),
        nvme_paths: nvme_paths(roots, &kernel_name),
        usage,
        other_paths,
        shared_users: shared_users(roots, &reach),
        kernel_name,
    })
}

impl BlockDevice {
    /// Holders, mounts and the rest, as reasons why nothing may write here. Empty when it is free.
    pub fn reasons_not_to_write(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        for Mount { device, mount_point, filesystem } in &self.usage.mounts {
            let what = if *device == self.kernel_name { "it".to_owned() } else { format!("{device} on it") };
            reasons.push(format!("{what} is mounted at {mount_point} ({filesystem})"));
        }
        for device in &self.usage.swaps {
            reasons.push(format!("{device} is swap space in use"));
        }
        for holder in &self.usage.holders {
            reasons.push(match holder {
                Holder { kind: Some(MapperKind::Multipath), kernel_name, name, .. } => {
                    format!("it is one path of multipath device {name} ({kernel_name})")
                }
                Holder { held, what, name, kernel_name, .. } if name == kernel_name => {
                    format!("{held} is held by {what} {name}")
                }
                Holder { held, what, name, kernel_name, .. } => {
                    format!("{held} is held by {what} {name} ({kernel_name})")
                }
            });
        }
        if !self.usage.partitions.is_empty() {
            reasons.push(format!("it is partitioned ({})", self.usage.partitions.join(", ")));
        }
        if self.read_only {
            reasons.push("it is read-only".to_owned());
        }
        reasons.extend(self.other_paths.iter().flat_map(|path| path.reasons(self.is_whole_disk())));
        reasons.extend(self.shared_users.iter().map(|user| user.reason(&self.kernel_name)));
        reasons
    }

    /// A disk by one path or by all: what lies on it begins at its first byte.
    fn is_whole_disk(&self) -> bool {
        let is_multipath = matches!(self.kind, DeviceKind::Mapper { mapper: MapperKind::Multipath, .. });
        is_multipath || matches!(self.kind, DeviceKind::Disk)
    }

    /// Returns a text that tells this device from any other that may stand under its name. Without a worldwide
    /// name, a serial number or a UUID it is only good until the next boot, so `boot_id` is a part of it then.
    pub(crate) fn identity(&self, boot_id: &str) -> String {
        let mut parts = vec![format!("size={}", self.size_bytes)];
        let mut add = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                parts.push(format!("{key}={value}"));
            }
        };
        add("wwn", self.wwn.clone());
        add("serial", self.serial.clone());
        add("uuid", self.uuid.clone());
        add("model", self.model.clone());
        add("start", self.start_bytes.map(|start| start.to_string()));
        if self.wwn.is_none() && self.serial.is_none() && self.uuid.is_none() {
            add("name", Some(self.kernel_name.clone()));
            add("diskseq", self.diskseq.map(|sequence| sequence.to_string()));
            add("boot", Some(boot_id.to_owned()));
            if let DeviceKind::Loop { backing_file: Some(path) } = &self.kind {
                add("backing", Some(path.display().to_string()));
            }
        }
        parts.join("\n")
    }
}

/// With native NVMe multipath `nvme0n1` is the device, and `nvme0c1n1` its path through controller 1.
fn nvme_paths(roots: &Roots, name: &str) -> Vec<String> {
    let Some((subsystem, namespace)) = name.strip_prefix("nvme").and_then(|rest| rest.split_once('n')) else {
        return Vec::new();
    };
    let head = format!("nvme{subsystem}c");
    let is_path = |entry: &String| {
        entry
            .strip_prefix(&head)
            .and_then(|rest| rest.split_once('n'))
            .is_some_and(|(controller, of)| of == namespace && controller.parse::<u32>().is_ok())
    };
    entries(&roots.sysfs.join("block")).into_iter().filter(is_path).collect()
}

/// The network by which any of the devices is reached.
fn fabric_of(roots: &Roots, names: &BTreeSet<String>) -> Option<&'static str> {
    let with_paths = names.iter().flat_map(|name| nvme_paths(roots, name).into_iter().chain([name.clone()]));
    with_paths.filter_map(|name| usage::block_directory(roots, &name)).find_map(|whole| fabric(&whole))
}

fn block_size(whole: &Path, name: &str) -> u32 {
    number_attribute(whole, name)
        .and_then(|value| u32::try_from(value).ok())
        .filter(|v| *v > 0)
        .unwrap_or(512)
}

fn flag(directory: &Path, name: &str) -> bool {
    number_attribute(directory, name).is_some_and(|value| value != 0)
}
