//! Block devices of the host that telemetry covers.

use crate::CampaignError;
use diagnostic::Problem;
use plan::WatchedDevices;
use probe::DeviceSelection;
use std::fs;
use std::path::Path;

/// The devices under test and those that the plan names. Where the devices under test are not known (a file, an
/// address, an array whose driver makes them anew) the whole host is watched.
pub(crate) fn watched_devices(
    sysfs: &Path,
    under_test: Vec<String>,
    is_made_anew: bool,
    wanted: &WatchedDevices,
) -> Result<DeviceSelection, CampaignError> {
    let WatchedDevices::Named(names) = wanted else { return Ok(DeviceSelection::Whole) };
    if is_made_anew {
        return Ok(DeviceSelection::Whole);
    }
    let mut named = Vec::with_capacity(names.len());
    for name in names {
        named.push(kernel_name(sysfs, name).ok_or_else(|| {
            Problem::new(format!("`watch: devices` names `{name}`, which is no block device of this host"))
                .with_hint("`lsblk` lists them")
        })?);
    }
    if under_test.is_empty() {
        return Ok(DeviceSelection::Whole);
    }
    named.extend(under_test);
    named.sort_unstable();
    named.dedup();
    Ok(DeviceSelection::Named(named))
}

/// `/dev/mapper/logs` is a link to `/dev/dm-3`, which the kernel calls `dm-3`.
fn kernel_name(sysfs: &Path, device: &str) -> Option<String> {
    let name = if device.starts_with('/') {
        let real = fs::canonicalize(device).ok()?;
        real.to_str()?.strip_prefix("/dev/")?.to_owned()
    } else {
        device.to_owned()
    };
    // The kernel writes the `/` of a device's name as `!` in sysfs.
    sysfs.join("class/block").join(name.replace('/', "!")).exists().then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(under_test: &[&str], is_made_anew: bool, names: &[&str]) -> Result<DeviceSelection, String> {
        let sysfs = tempfile::tempdir().unwrap();
        for name in ["sda", "sdb", "cciss!c0d0"] {
            fs::create_dir_all(sysfs.path().join("class/block").join(name)).unwrap();
        }
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let wanted = WatchedDevices::Named(owned(names));
        watched_devices(sysfs.path(), owned(under_test), is_made_anew, &wanted)
            .map_err(|error| error.to_string())
    }

    /// Proves that the plan's devices are watched beside those under test, once each, that the whole host is watched
    /// where nobody knows the device under test, and that a device which is not there is refused by its name.
    #[test]
    fn devices_are_those_under_test_and_those_named() {
        let named = |names: &[&str]| {
            Ok(DeviceSelection::Named(names.iter().map(|name| (*name).to_owned()).collect()))
        };
        assert_eq!(selection(&["sda"], false, &["cciss/c0d0", "sda"]), named(&["cciss/c0d0", "sda"]));
        assert_eq!(selection(&["sda"], false, &[]), named(&["sda"]));
        assert_eq!(selection(&[], false, &["sdb"]), Ok(DeviceSelection::Whole));
        assert_eq!(selection(&["sda"], true, &["sdz"]), Ok(DeviceSelection::Whole));
        assert!(selection(&["sda"], false, &["sdz"]).unwrap_err().contains("`sdz`"));
        assert!(selection(&["sda"], false, &["/dev/null"]).unwrap_err().contains("`/dev/null`"));
    }
}
