//! Topology of block devices, from sysfs: which are volumes of the device mapper or of md, which are
//! paths to one device by dm-multipath or by native NVMe multipath, and which host port a path leaves by.

use crate::device_selection::DeviceSelection;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The device mapper's own prefix for maps of multipathd (libmultipath, `UUID_PREFIX`).
const MULTIPATH_UUID_PREFIX: &str = "mpath-";

/// Under which names a device's counters are given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Role {
    /// `disk`, `volume` or `path`.
    pub(crate) source: &'static str,
    pub(crate) entity: Arc<str>,
}

/// A device with several paths to it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Multipath {
    pub(crate) entity: Arc<str>,
    pub(crate) paths: Vec<PathDevice>,
}

/// One of them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PathDevice {
    /// Its kernel name.
    pub(crate) name: String,
    pub(crate) entity: Arc<str>,
    /// The host port it leaves by: `host2` of SCSI, `nvme1` of NVMe.
    pub(crate) port: Option<Arc<str>>,
    /// File in which the kernel shows the state.
    state: PathBuf,
    /// Its directory of sysfs.
    directory: PathBuf,
}

impl PathDevice {
    /// Returns the current state of the path, in the kernel's words (`running`, `offline`, `live`, `connecting`); `gone`
    /// without a device.
    pub(crate) fn state(&self) -> PathState {
        // Asymmetric namespace access: nvme-core, `nvme_ana_state_names`.
        let ana = text(&self.directory.join("ana_state"));
        if let Some(state_text) = ana.filter(|ana| matches!(&**ana, "inaccessible" | "persistent-loss")) {
            return PathState { is_usable: false, state_text };
        }
        match text(&self.state) {
            // SCSI: `sdev_states` of drivers/scsi/scsi_sysfs.c; NVMe: `nvme_sysfs_show_state`.
            Some(state_text) => {
                PathState { is_usable: matches!(&*state_text, "running" | "live"), state_text }
            }
            // Not every driver says how its devices are.
            None if self.directory.exists() => {
                PathState { is_usable: true, state_text: "unknown".to_owned() }
            }
            None => PathState { is_usable: false, state_text: "gone".to_owned() },
        }
    }
}

/// The state of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathState {
    /// True if the path can carry I/O.
    pub(crate) is_usable: bool,
    pub(crate) state_text: String,
}

/// The devices that are watched.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    roles: BTreeMap<String, Role>,
    pub(crate) multipaths: Vec<Multipath>,
}

impl Topology {
    /// Looks at sysfs: the devices of the selection and, below named ones, everything that they are made of.
    pub(crate) fn scan(sysfs: &Path, selection: &DeviceSelection) -> Topology {
        let block = Block { sysfs };
        let whole = block.whole_devices();
        let mut waiting: Vec<String> = match selection {
            DeviceSelection::Whole => whole.clone(),
            DeviceSelection::Named(names) => names.clone(),
        };
        let mut topology = Topology::default();
        let mut seen = BTreeSet::new();
        while let Some(name) = waiting.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            let slaves = block.slaves(&name);
            let (role, is_multipath) = block.role(&name);
            let paths = if is_multipath { slaves.clone() } else { nvme_paths(&name, &whole) };
            if !paths.is_empty() {
                topology.add_multipath(&block, &role.entity, paths);
            }
            // A path keeps the role that its device gave it, whichever is seen first.
            topology.roles.entry(name).or_insert(role);
            waiting.extend(slaves);
        }
        topology.multipaths.sort_by(|a, b| a.entity.cmp(&b.entity));
        topology
    }

    /// Under which names a device's counters are given; none where it is not watched.
    pub(crate) fn role(&self, name: &str) -> Option<Role> {
        self.roles.get(name).cloned()
    }

    /// Lists the lowest watched devices, those made of no other watched one: drives, and paths to devices of which the
    /// drives are not seen.
    pub(crate) fn drives(&self) -> Vec<String> {
        let heads: BTreeSet<&Arc<str>> = self.multipaths.iter().map(|multipath| &multipath.entity).collect();
        let is_drive = |role: &Role| match role.source {
            "disk" => !heads.contains(&role.entity),
            source => source == "path",
        };
        self.roles.iter().filter(|(_, role)| is_drive(role)).map(|(name, _)| name.clone()).collect()
    }

    fn add_multipath(&mut self, block: &Block<'_>, head: &Arc<str>, names: Vec<String>) {
        let mut paths = Vec::with_capacity(names.len());
        for name in names {
            let entity: Arc<str> = format!("{head}/{name}").into();
            self.roles.insert(name.clone(), Role { source: "path", entity: Arc::clone(&entity) });
            let port = block.port(&name);
            let (state, directory) = (block.state(&name), block.directory(&name));
            paths.push(PathDevice { name, entity, port, state, directory });
        }
        self.multipaths.push(Multipath { entity: Arc::clone(head), paths });
    }
}

/// `nvme0n1` is reached by `nvme0c0n1`, `nvme0c1n1`, …: subsystem, controller, namespace (nvme-core, `multipath.c`).
fn nvme_paths(head: &str, whole: &[String]) -> Vec<String> {
    let Some((subsystem, namespace)) = head.strip_prefix("nvme").and_then(|rest| rest.split_once('n')) else {
        return Vec::new();
    };
    let is_path = |name: &&String| {
        nvme_path_parts(name).is_some_and(|parts| parts.0 == subsystem && parts.2 == namespace)
    };
    whole.iter().filter(is_path).cloned().collect()
}

/// Subsystem, controller and namespace of `nvme0c1n1`.
fn nvme_path_parts(name: &str) -> Option<(&str, &str, &str)> {
    let (subsystem, rest) = name.strip_prefix("nvme")?.split_once('c')?;
    let (controller, namespace) = rest.split_once('n')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    [subsystem, controller, namespace]
        .into_iter()
        .all(is_number)
        .then_some((subsystem, controller, namespace))
}

/// `/sys/block` and `/sys/class/block`.
struct Block<'a> {
    sysfs: &'a Path,
}

impl Block<'_> {
    /// The kernel writes the `/` of a device's name as `!` in sysfs.
    fn directory(&self, name: &str) -> PathBuf {
        self.sysfs.join("block").join(name.replace('/', "!"))
    }

    fn whole_devices(&self) -> Vec<String> {
        names_in(&self.sysfs.join("block"))
    }

    fn slaves(&self, name: &str) -> Vec<String> {
        names_in(&self.directory(name).join("slaves"))
    }

    /// The role of a device by itself, and whether it is a map of multipathd.
    fn role(&self, name: &str) -> (Role, bool) {
        let directory = self.directory(name);
        if let Some(map) = text(&directory.join("dm/name")) {
            let uuid = text(&directory.join("dm/uuid")).unwrap_or_default();
            let is_multipath = uuid.starts_with(MULTIPATH_UUID_PREFIX);
            return (Role { source: "volume", entity: map.into() }, is_multipath);
        }
        let source = if directory.join("md").is_dir() { "volume" } else { "disk" };
        (Role { source, entity: name.into() }, false)
    }

    fn state(&self, path: &str) -> PathBuf {
        match nvme_path_parts(path) {
            Some((_, controller, _)) => self.sysfs.join(format!("class/nvme/nvme{controller}/state")),
            None => self.directory(path).join("device/state"),
        }
    }

    fn port(&self, path: &str) -> Option<Arc<str>> {
        if let Some((_, controller, _)) = nvme_path_parts(path) {
            return Some(format!("nvme{controller}").into());
        }
        // …/host2/rport-2:0-1/target2:0:1/2:0:1:0/block/sdb
        let real = fs::canonicalize(self.directory(path)).ok()?;
        let is_host = |part: &&str| {
            part.strip_prefix("host").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        real.iter().filter_map(|part| part.to_str()).find(is_host).map(Arc::from)
    }
}

fn names_in(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .map(|name| name.replace('!', "/"))
        .collect();
    names.sort_unstable();
    names
}

/// Returns the text of an attribute, unless it is missing or empty.
fn text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that only names of the form nvme0c1n1 are paths, and only of their own subsystem and namespace.
    #[test]
    fn nvme_paths_are_told_by_name() {
        assert_eq!(nvme_path_parts("nvme12c3n4"), Some(("12", "3", "4")));
        for name in ["nvme0n1", "nvme0c1", "nvme0cn1", "nvmexc1n1", "sdc1n1", "nvme0c1n1p1", ""] {
            assert_eq!(nvme_path_parts(name), None, "{name}");
        }
        let whole = ["nvme0c0n1", "nvme0c1n1", "nvme0c0n2", "nvme1c0n1", "nvme0n1"].map(str::to_owned);
        assert_eq!(nvme_paths("nvme0n1", &whole), ["nvme0c0n1", "nvme0c1n1"]);
        assert!(nvme_paths("nvme0c0n1", &whole).is_empty());
        assert!(nvme_paths("sda", &whole).is_empty());
    }
}
