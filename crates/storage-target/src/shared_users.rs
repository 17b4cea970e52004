//! Users of a device's bytes that have not claimed it: processes that write, and exports of the kernel.

use crate::exports::{Export, exports};
use crate::roots::Roots;
use crate::sysfs::{DeviceNumber, attribute};
use crate::usage::{block_directory, is_same_file};
use crate::writers::{Wanted, writers};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

/// Process or export that may write to a device, or to a device below it, without having claimed it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SharedUser {
    /// The kernel name of the device that is used, or the name of the file behind a loop device.
    pub used: String,
    /// Description of the user: "is open for writing by qemu-system-x86 (process 4711)".
    pub by: String,
}

/// Devices and files that hold the bytes of a target.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    /// Kernel names.
    pub(crate) devices: BTreeSet<String>,
    /// Files behind loop devices and exports.
    pub(crate) files: Vec<String>,
    /// Exports by which the target itself reaches its bytes: no users beside it.
    pub(crate) attached_to: Vec<Export>,
}

/// Lists the users of the devices and files that the target reaches.
pub(crate) fn shared_users(roots: &Roots, reach: &Reach) -> Vec<SharedUser> {
    let devices = reach.devices.iter().filter_map(|name| {
        let number = attribute(&block_directory(roots, name)?, "dev")?;
        let (major, minor) = number.split_once(':')?;
        Some((DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? }, name.clone()))
    });
    let files = reach.files.iter().filter_map(|file| {
        let metadata = fs::metadata(file).ok()?;
        Some(((metadata.dev(), metadata.ino()), file.clone()))
    });
    let wanted = Wanted { devices: devices.collect(), files: files.collect() };
    let mut users: BTreeSet<SharedUser> = writers(roots, &wanted)
        .into_iter()
        .map(|writer| SharedUser { used: writer.opened, by: written_by(&writer.process) })
        .collect();
    for export in exports(roots).into_iter().filter(|export| !reach.attached_to.contains(export)) {
        let file = || reach.files.iter().find(|file| is_same_file(file, &export.backing)).cloned();
        if let Some(used) = export.device(roots, &reach.devices).or_else(file) {
            users.insert(SharedUser { used, by: exported_by(&export.by) });
        }
    }
    users.into_iter().collect()
}

/// Lists the users of the regular file of this device and inode number, as sentences.
pub(crate) fn shared_users_of_file(roots: &Roots, device: u64, inode: u64) -> Vec<String> {
    let wanted = Wanted { files: vec![((device, inode), String::new())], ..Wanted::default() };
    let written = writers(roots, &wanted).into_iter().map(|writer| written_by(&writer.process));
    let is_this = |path: &str| fs::metadata(path).is_ok_and(|m| m.dev() == device && m.ino() == inode);
    let exported = exports(roots).into_iter().filter(|export| is_this(&export.backing));
    written.chain(exported.map(|export| exported_by(&export.by))).map(|by| format!("it {by}")).collect()
}

fn written_by(process: &str) -> String {
    format!("is open for writing by {process}")
}

fn exported_by(exporter: &str) -> String {
    format!("is exported by {exporter}")
}

impl SharedUser {
    /// Returns the reason why nothing may be written to the device `kernel_name` during the use.
    pub(crate) fn reason(&self, kernel_name: &str) -> String {
        if self.used == kernel_name {
            format!("it {}", self.by)
        } else if self.used.starts_with('/') {
            format!("{} below it {}", self.used, self.by)
        } else {
            format!("/dev/{} leads to its bytes and {}", self.used, self.by)
        }
    }
}
