//! Processes that hold a device or a file open for writing without claiming it: virtual machines, NBD and ublk servers, databases.
//!
//! A file that a process keeps only as a mapping, or only registered with io_uring, has no file descriptor and is not
//! found; neither are processes of other users unless this one is root's.

use crate::roots::Roots;
use crate::sysfs::DeviceNumber;
use crate::usage::kernel_name_of_node;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::time::Duration;

/// Devices and files that are searched for.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// Block devices: their numbers and kernel names.
    pub(crate) devices: Vec<(DeviceNumber, String)>,
    /// Regular files: device and inode, with the name to show.
    pub(crate) files: Vec<((u64, u64), String)>,
}

/// A process with an open file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Writer {
    /// The kernel name of the device, or the name of the file.
    pub(crate) opened: String,
    /// "qemu-system-x86 (process 4711)".
    pub(crate) process: String,
}

/// Programs that only look (udev's rules, smartd, wipefs) open a device for writing for a moment too: what counts lasts.
const LOOKS: u32 = 6;
const PAUSE: Duration = Duration::from_millis(20);

/// Lists other processes that hold one of these open for writing, without this program and its children.
pub(crate) fn writers(roots: &Roots, wanted: &Wanted) -> BTreeSet<Writer> {
    let mut persistent = look(roots, wanted);
    for _ in 1..LOOKS {
        if persistent.is_empty() {
            break;
        }
        std::thread::sleep(PAUSE);
        let now = look(roots, wanted);
        persistent.retain(|writer| now.contains(writer));
    }
    persistent
}

fn look(roots: &Roots, wanted: &Wanted) -> BTreeSet<Writer> {
    let mut found = BTreeSet::new();
    if wanted.devices.is_empty() && wanted.files.is_empty() {
        return found;
    }
    let Ok(processes) = fs::read_dir(&roots.proc) else { return found };
    let numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    for number in numbers {
        let process = roots.proc.join(number.to_string());
        let Ok(descriptors) = fs::read_dir(process.join("fd")) else { continue };
        for descriptor in descriptors.flatten() {
            let Some(opened) = wanted.matching(roots, &descriptor.path()) else { continue };
            let is_writing = is_for_writing(&process.join("fdinfo").join(descriptor.file_name()));
            if is_writing && !is_our_own(roots, number) && !is_nbd_client(roots, opened, number) {
                let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
                let process = format!("{} (process {number})", name.trim());
                found.insert(Writer { opened: opened.to_owned(), process });
            }
        }
    }
    found
}

impl Wanted {
    fn matching(&self, roots: &Roots, descriptor: &Path) -> Option<&str> {
        // Sockets, pipes and the like have no path.
        let link = fs::read_link(descriptor).ok()?.to_string_lossy().into_owned();
        if !link.starts_with('/') {
            return None;
        }
        let Ok(metadata) = fs::metadata(descriptor) else {
            let name = kernel_name_of_node(roots, &link)?;
            return self.devices.iter().find(|(_, known)| *known == name).map(|(_, name)| name.as_str());
        };
        if metadata.file_type().is_block_device() {
            let number = DeviceNumber::from_raw(metadata.rdev());
            self.devices.iter().find(|(known, _)| *known == number).map(|(_, name)| name.as_str())
        } else {
            let file = (metadata.dev(), metadata.ino());
            self.files.iter().find(|(known, _)| *known == file).map(|(_, name)| name.as_str())
        }
    }
}

/// `flags:` of `/proc/PID/fdinfo/FD` is octal (proc(5)); the two lowest bits are the access mode.
fn is_for_writing(information: &Path) -> bool {
    const ACCESS_MODE: u32 = 0o3;
    let text = fs::read_to_string(information).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok()).is_some_and(|f| f & ACCESS_MODE != 0)
}

/// The process that lends the device `/dev/nbd0` its connection keeps it open for writing, and writes nothing itself
/// (`nbd-client -nonetlink`).
fn is_nbd_client(roots: &Roots, opened: &str, process: u32) -> bool {
    let client = roots.sysfs.join("block").join(opened).join("pid");
    opened.starts_with("nbd")
        && fs::read_to_string(client).is_ok_and(|text| text.trim() == process.to_string())
}

/// This process, or one that it started: until its `exec` such a process holds copies of our own open files.
fn is_our_own(roots: &Roots, mut process: u32) -> bool {
    const DEEPEST: u32 = 64;
    for _ in 0..DEEPEST {
        if process == std::process::id() {
            return true;
        }
        let status = fs::read_to_string(roots.proc.join(format!("{process}/status"))).unwrap_or_default();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok());
        match parent {
            Some(parent) if parent > 0 => process = parent,
            _ => return false,
        }
    }
    false
}
