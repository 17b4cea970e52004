//! Disk by what it calls itself: the same LUN has another path on every host, and the same WWN on all.

use crate::disk_identity::DiskIdentity;
use crate::error::TargetError;
use crate::roots::Roots;
use crate::sysfs::{attribute, entries};
use std::fmt;
use std::path::{Path, PathBuf};

/// Name that a disk reports for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiskName {
    /// `wwn:`, a WWN or an identifier of an NVMe namespace: `naa.5000c500…`, `0x5000c500…`, `eui.0025…`.
    Wwn(String),
    /// `serial:`, a serial number.
    Serial(String),
}

impl fmt::Display for DiskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DiskName::Wwn(wwn) => write!(f, "wwn:{wwn}"),
            DiskName::Serial(serial) => write!(f, "serial:{serial}"),
        }
    }
}

/// The device of this host that is so called: its multipath map where there is one.
pub(crate) fn find_disk(roots: &Roots, name: &DiskName) -> Result<PathBuf, TargetError> {
    let block = roots.sysfs.join("block");
    // The paths of native NVMe multipath are shown and cannot be opened: `nvme0c1n1` is hidden behind `nvme0n1`.
    let is_hidden = |device: &str| attribute(&block.join(device), "hidden").is_some_and(|flag| flag == "1");
    let is_it = |device: &String| {
        let identity = DiskIdentity::read(&block.join(device));
        let has_name = match name {
            DiskName::Wwn(wwn) => identity.has_wwn(wwn),
            DiskName::Serial(serial) => identity.has_serial(serial),
        };
        has_name && !is_hidden(device)
    };
    let found: Vec<String> = entries(&block).into_iter().filter(is_it).collect();
    let is_map = |device: &&String| {
        attribute(&block.join(device.as_str()), "dm/uuid").is_some_and(|uuid| uuid.starts_with("mpath-"))
    };
    let maps: Vec<&String> = found.iter().filter(is_map).collect();
    let unsuitable = |what: String, hint: &str| TargetError::Unsuitable {
        path: Path::new(&name.to_string()).to_owned(),
        what,
        hint: hint.to_owned(),
    };
    match (maps.as_slice(), found.as_slice()) {
        ([map], _) => Ok(roots.dev.join(map.as_str())),
        ([], [only]) => Ok(roots.dev.join(only)),
        ([], []) => Err(unsuitable(
            "the name of no disk that this host sees".to_owned(),
            "compare it with `lsblk -o NAME,WWN,SERIAL`, and look whether the LUN is mapped to this host",
        )),
        _ => Err(unsuitable(
            format!("the name of several devices: {}", found.join(", ")),
            "start multipathd, or name one of them by its path",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn host(attributes: &[(&str, &str)]) -> (tempfile::TempDir, Roots) {
        let directory = tempfile::tempdir().unwrap();
        for (path, value) in attributes {
            let path = directory.path().join("sys/block").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{value}\n")).unwrap();
        }
        let under = |name: &str| directory.path().join(name);
        let roots = Roots { sysfs: under("sys"), proc: under("proc"), dev: "/dev".into() };
        (directory, roots)
    }

    fn found(roots: &Roots, name: &DiskName) -> String {
        find_disk(roots, name)
            .map_or_else(|error| diagnostic::full_text(&error), |path| path.display().to_string())
    }

    /// Proves that a disk is found by its WWN in each spelling and by its serial number, that a namespace is found by its
    /// EUI-64, and that a name of nobody, a placeholder included, is refused.
    #[test]
    fn disks_are_found_by_what_they_call_themselves() {
        let (_directory, roots) = host(&[
            ("sda/device/wwid", "naa.5000c5007a000001"),
            ("sdb/device/wwid", "naa.5000c5007a000002"),
            ("sdb/device/serial", "S0M4K002"),
            ("sdc/device/serial", "0000"),
            ("nvme0n1/eui", "00 25 38 4b 81 00 12 34"),
            ("nvme0c1n1/eui", "00 25 38 4b 81 00 12 34"),
            ("nvme0c1n1/hidden", "1"),
        ]);
        for wwn in ["naa.5000c5007a000002", "NAA.5000C5007A000002", "0x5000c5007a000002", "5000c5007a000002"]
        {
            assert_eq!(found(&roots, &DiskName::Wwn(wwn.into())), "/dev/sdb");
        }
        assert_eq!(found(&roots, &DiskName::Wwn("eui.0025384b81001234".into())), "/dev/nvme0n1");
        assert_eq!(found(&roots, &DiskName::Serial("S0M4K002".into())), "/dev/sdb");
        for nobody in [DiskName::Wwn("naa.5".into()), DiskName::Serial("0000".into())] {
            assert!(found(&roots, &nobody).contains("the name of no disk"), "{nobody}");
        }
    }

    /// Proves that of several paths the multipath map is taken, and that without one they are named and refused.
    #[test]
    fn several_paths_need_their_map() {
        let paths =
            [("sdg/device/wwid", "naa.6000c5007a000009"), ("sdh/device/wwid", "naa.6000c5007a000009")];
        let name = DiskName::Wwn("naa.6000c5007a000009".into());
        let (_directory, roots) = host(&paths);
        let refused = found(&roots, &name);
        assert!(refused.contains("several devices: sdg, sdh") && refused.contains("multipathd"), "{refused}");
        let map = [("dm-0/dm/uuid", "mpath-36000c5007a000009")];
        let (_directory, roots) = host(&[&paths[..], &map[..]].concat());
        assert_eq!(found(&roots, &name), "/dev/dm-0");
    }
}
