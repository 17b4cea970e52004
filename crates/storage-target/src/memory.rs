//! Targets that answer from the host's memory: what is measured there is not storage.

use crate::classify::Classification;
use crate::inspect::{Inspected, Subject};
use crate::roots::Roots;
use crate::sysfs::{attribute, entries, kernel_name, whole_device};
use crate::usage::directory_of_node;
use std::fs;
use std::path::Path;

/// `statfs(2)`: tmpfs and ramfs.
const MEMORY_MAGICS: [u64; 2] = [0x0102_1994, 0x8584_58f6];
/// Devices made of memory.
const MEMORY_DEVICES: [&str; 2] = ["ram", "zram"];
/// More layers than this are none that anybody stacks.
const LAYERS_LIMIT: u32 = 16;

impl Inspected {
    /// Returns the reason why the host's memory answers instead of storage, where it does; `direct` is true if the
    /// load bypasses the page cache of the target itself.
    pub fn answers_from_memory(&self, roots: &Roots, direct: bool) -> Option<String> {
        let below = match &self.subject {
            Subject::Nbd(_) => return None,
            Subject::Null => return Some("a null target answers at once and stores nothing".to_owned()),
            Subject::NewFile { path } => in_memory_file_system(path),
            Subject::Existing(Classification::File(file)) => in_memory_file_system(&file.path),
            Subject::Existing(Classification::BlockDevice { device, .. }) => {
                directory_of_node(roots, &format!("/dev/{}", device.kernel_name))
                    .and_then(|directory| below_device(&directory, LAYERS_LIMIT))
            }
        };
        below.or_else(|| (!direct).then(|| "the load goes through the page cache (`direct: 0`)".to_owned()))
    }
}

fn in_memory_file_system(path: &Path) -> Option<String> {
    let existing = if path.exists() { path } else { path.parent()? };
    let magic = rustix::fs::statfs(existing).ok()?.f_type as u64 & 0xffff_ffff;
    MEMORY_MAGICS.contains(&magic).then(|| format!("{} lies in memory (tmpfs)", path.display()))
}

/// Walks a device down to what it is made of.
fn below_device(directory: &Path, layers: u32) -> Option<String> {
    let whole = whole_device(directory);
    let name = kernel_name(&whole);
    let number = name.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let kind = &name[..name.len() - number.len()];
    if MEMORY_DEVICES.contains(&kind) {
        return Some(format!("/dev/{name} is a RAM disk"));
    }
    if let Some(file) = attribute(&whole, "loop/backing_file") {
        let cached = attribute(&whole, "loop/dio").is_some_and(|dio| dio == "0");
        return in_memory_file_system(Path::new(&file)).or_else(|| {
            cached.then(|| {
                format!(
                    "loop device /dev/{name} goes through the page cache of {file} (losetup --direct-io=on passes it by)"
                )
            })
        });
    }
    let slaves = entries(&directory.join("slaves"));
    slaves
        .iter()
        .filter(|_| layers > 0)
        .filter_map(|slave| fs::canonicalize(directory.join("slaves").join(slave)).ok())
        .find_map(|slave| below_device(&slave, layers - 1))
}
