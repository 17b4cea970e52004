//! Block devices in sysfs: numbers, kinds, names and attributes (Documentation/ABI/stable/sysfs-block).

use serde::Serialize;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// The kernel's number of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceNumber {
    /// The driver.
    pub major: u32,
    /// The device within the driver.
    pub minor: u32,
}

impl DeviceNumber {
    /// Splits a device number of `st_rdev` or `st_dev`.
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

/// Kind of a block device.
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
        /// File behind the loop device; `None` while it is not set up.
        backing_file: Option<PathBuf>,
    },
    /// Made by device mapper.
    Mapper {
        /// Kind of the device-mapper target, from the prefix of its UUID.
        mapper: MapperKind,
        /// Its name under `/dev/mapper`.
        name: String,
    },
    /// A Linux software RAID.
    MdRaid {
        /// RAID level, for example `raid5`.
        level: String,
    },
}

/// Owner of a device-mapper device, by the prefix of `dm/uuid`.
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

    /// Returns the noun for a sentence.
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

/// Kind of a block device; `whole` is the directory of the whole device.
pub(crate) fn kind(directory: &Path, whole: &Path) -> DeviceKind {
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

/// Describes a device that holds another one, in a sentence, with its own name.
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
