//! Block device attributes from sysfs (Documentation/ABI/stable/sysfs-block).

use crate::error::TargetError;
use crate::fabric::fabric;
use crate::roots::Roots;
use crate::same_disk::{OtherPath, other_paths};
use crate::shared_users::{SharedUser, shared_users};
use crate::usage::{self, Holder, Mount, Usage};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// sysfs counts `size` and `start` in 512-byte sectors, whatever the device's block size.
const SYSFS_SECTOR_BYTES: u64 = 512;

/// The kernel's number of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceNumber {
    /// The driver.
    pub major: u32,
    /// The device within the driver.
    pub minor: u32,
}

impl DeviceNumber {
    /// From `st_rdev` or `st_dev`.
    pub fn from_raw(device: u64) -> Self {
        DeviceNumber { major: rustix::fs::major(device), minor: rustix::fs::minor(device) }
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl Serialize for DeviceNumber {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What made the device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum DeviceKind {
    /// A whole disk, or what its driver shows as one.
    Disk,
    /// A partition of a whole device.
    Partition {
        /// The kernel name of the whole device.
        of: String,
    },
    /// A file, or another device, shown as a block device.
    Loop {
        /// What is behind it; none when the loop device is not set up.
        backing_file: Option<PathBuf>,
    },
    /// Made by device mapper.
    Mapper {
        /// Which target of device mapper, from the prefix of its UUID.
        mapper: MapperKind,
        /// Its name under `/dev/mapper`.
        name: String,
    },
    /// A Linux software RAID.
    MdRaid {
        /// For example `raid5`.
        level: String,
    },
}

/// Who made a device-mapper device, told by the prefix of `dm/uuid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MapperKind {
    /// `mpath-`: multipathd.
    Multipath,
    /// `LVM-`: a logical volume.
    LogicalVolume,
    /// `CRYPT-`: dm-crypt.
    Crypt,
    /// `partN-`: a partition made by kpartx.
    Partition,
    /// Any other.
    Other,
}

impl MapperKind {
    fn from_uuid(uuid: &str) -> Self {
        match uuid.split_once('-').map_or(uuid, |(prefix, _)| prefix) {
            "mpath" => MapperKind::Multipath,
            "LVM" => MapperKind::LogicalVolume,
            "CRYPT" => MapperKind::Crypt,
            part if part.strip_prefix("part").is_some_and(|n| n.parse::<u16>().is_ok()) => {
                MapperKind::Partition
            }
            _ => MapperKind::Other,
        }
    }

    /// In a sentence.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            MapperKind::Multipath => "multipath device",
            MapperKind::LogicalVolume => "LVM volume",
            MapperKind::Crypt => "dm-crypt device",
            MapperKind::Partition => "partition mapping",
            MapperKind::Other => "device-mapper device",
        }
    }
}

/// A block device as the kernel describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BlockDevice {
    /// For example `sdb`.
    pub kernel_name: String,
    /// Its number.
    pub number: DeviceNumber,
    /// What made it.
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
    /// The worldwide name (NAA, EUI or NGUID), or the identifier that stands in for it.
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
    /// Who uses it.
    #[serde(flatten)]
    pub usage: Usage,
    /// Other block devices that lead to the same disk, with those who use them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_paths: Vec<OtherPath>,
    /// Who may write to it without having claimed it.
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

    /// What tells this device from any other that may stand under its name. Without a worldwide name, a serial
    /// number or a UUID it is only good until the next boot, so `boot_id` is a part of it then.
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

/// sysfs writes `!` where a kernel name has `/` (`cciss!c0d0`).
pub(crate) fn kernel_name(directory: &Path) -> String {
    directory.file_name().unwrap_or_default().to_string_lossy().replace('!', "/")
}

/// The directory of the whole device that a partition belongs to; the same directory for a whole device.
pub(crate) fn whole_device(directory: &Path) -> PathBuf {
    match directory.parent() {
        Some(parent) if directory.join("partition").exists() => parent.to_owned(),
        _ => directory.to_owned(),
    }
}

fn kind(directory: &Path, whole: &Path) -> DeviceKind {
    if whole != directory {
        DeviceKind::Partition { of: kernel_name(whole) }
    } else if let Some(uuid) = raw_attribute(directory, "dm/uuid") {
        let name = attribute(directory, "dm/name").unwrap_or_else(|| kernel_name(directory));
        DeviceKind::Mapper { mapper: MapperKind::from_uuid(&uuid), name }
    } else if directory.join("md").is_dir() {
        DeviceKind::MdRaid { level: attribute(directory, "md/level").unwrap_or_else(|| "unknown".into()) }
    } else if kernel_name(directory)
        .strip_prefix("loop")
        .is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
    {
        DeviceKind::Loop { backing_file: attribute(directory, "loop/backing_file").map(PathBuf::from) }
    } else {
        DeviceKind::Disk
    }
}

/// What a device that holds another one is, in a sentence, with its own name.
pub(crate) fn describe_holder(directory: &Path) -> (Option<MapperKind>, String, String) {
    match kind(directory, directory) {
        DeviceKind::Mapper { mapper, name } => (Some(mapper), mapper.noun().to_owned(), name),
        DeviceKind::MdRaid { level } => (None, format!("md {level}"), kernel_name(directory)),
        DeviceKind::Loop { .. } => (None, "loop device".to_owned(), kernel_name(directory)),
        DeviceKind::Disk | DeviceKind::Partition { .. } => {
            let name = kernel_name(directory);
            let what = if name.starts_with("bcache") { "bcache" } else { "block device" };
            (None, what.to_owned(), name)
        }
    }
}

/// Vendor and model of a whole device; virtio's vendor is a number.
pub(crate) fn vendor_and_model(whole: &Path) -> Option<String> {
    let device = whole.join("device");
    let vendor = attribute(&device, "vendor").filter(|vendor| !vendor.starts_with("0x"));
    match (vendor, attribute(&device, "model")) {
        (Some(vendor), Some(model)) => Some(format!("{vendor} {model}")),
        (_, model) => model,
    }
}

pub(crate) fn serial(whole: &Path) -> Option<String> {
    attribute(whole, "serial").or_else(|| attribute(whole, "device/serial")).or_else(|| {
        // SCSI page 0x80, "unit serial number" (SPC-4 7.8.15): four bytes of header, then ASCII.
        let page = fs::read(whole.join("device/vpd_pg80")).ok()?;
        let serial = String::from_utf8_lossy(page.get(4..)?).trim_matches(['\0', ' ']).to_owned();
        (!serial.is_empty()).then_some(serial)
    })
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

pub(crate) fn number_attribute(directory: &Path, name: &str) -> Option<u64> {
    attribute(directory, name)?.parse().ok()
}

/// The trimmed text of an attribute; none when it is absent or blank.
pub(crate) fn attribute(directory: &Path, name: &str) -> Option<String> {
    raw_attribute(directory, name).filter(|text| !text.is_empty())
}

fn raw_attribute(directory: &Path, name: &str) -> Option<String> {
    let text = fs::read(directory.join(name)).ok()?;
    Some(String::from_utf8_lossy(&text).trim_matches(['\0', '\n', ' ']).to_owned())
}

/// The names in a directory, sorted; none when there is no such directory.
pub(crate) fn entries(directory: &Path) -> Vec<String> {
    let Ok(read) = fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<String> =
        read.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned())).collect();
    names.sort();
    names
}
