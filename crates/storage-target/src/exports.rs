//! Exports of the kernel's storage targets: nvmet and LIO open what they export without claiming it, so that no
//! exclusive open tells of them. Who writes through an export may be another host, or this one over a network.

use crate::roots::Roots;
use crate::sysfs::{attribute, entries, kernel_name, serial};
use crate::usage::kernel_name_of_node;
use std::fs;
use std::path::{Path, PathBuf};

/// Export of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Export {
    /// Backing as the kernel was told: `/dev/sdb`, `/srv/image`; `host:channel:target:lun` of LIO's pscsi.
    pub(crate) backing: String,
    /// Exporter: "nvmet as namespace 1 of nqn.2014-08.org.example".
    pub(crate) by: String,
    /// The exporter has opened the backing exclusively.
    pub(crate) claims_backing: bool,
    name: NameOnWire,
}

/// By what a device that is attached to an export shows which one it is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NameOnWire {
    Namespace {
        nqn: String,
        id: String,
    },
    /// Serial number of a SCSI unit; `None` where the exporter was told none.
    Serial(Option<String>),
}

/// Everything that is exported now.
pub(crate) fn exports(roots: &Roots) -> Vec<Export> {
    let mut found = namespaces(roots);
    found.extend(backstores(roots));
    found
}

/// Enabled namespaces of nvmet (Documentation/ABI/testing/configfs-nvmet: subsystems/NQN/namespaces/ID).
fn namespaces(roots: &Roots) -> Vec<Export> {
    let mut found = Vec::new();
    for (nqn, subsystem) in children(&roots.sysfs.join("kernel/config/nvmet/subsystems")) {
        for (id, namespace) in children(&subsystem.join("namespaces")) {
            let is_enabled = attribute(&namespace, "enable").is_some_and(|value| value != "0");
            if let Some(backing) = attribute(&namespace, "device_path").filter(|_| is_enabled) {
                found.push(Export {
                    backing,
                    by: format!("nvmet as namespace {id} of {nqn}"),
                    claims_backing: false,
                    name: NameOnWire::Namespace { nqn: nqn.clone(), id },
                });
            }
        }
    }
    found
}

/// Backstores of LIO (target/core/TYPE_NUMBER/NAME), whether or not a LUN shows them yet.
fn backstores(roots: &Roots) -> Vec<Export> {
    let mut found = Vec::new();
    for (adapter, directory) in children(&roots.sysfs.join("kernel/config/target/core")) {
        let kind = adapter.rsplit_once('_').map_or(adapter.as_str(), |(kind, _)| kind);
        for (name, backstore) in children(&directory) {
            let Some(info) = attribute(&backstore, "info") else { continue };
            let backing = match kind {
                "fileio" => after(&info, "File: "),
                // `iBlock device: sdb  UDEV PATH: /dev/sdb  readonly: 0`
                "iblock" => after(&info, "iBlock device: ").map(|name| format!("/dev/{name}")),
                "pscsi" => scsi_address(&info),
                _ => None,
            };
            if let Some(backing) = backing {
                let serial = attribute(&backstore, "wwn/vpd_unit_serial");
                found.push(Export {
                    backing,
                    by: format!("LIO as backstore {kind}/{name}"),
                    claims_backing: kind != "fileio",
                    name: NameOnWire::Serial(serial.and_then(|text| after(&text, "Serial Number:"))),
                });
            }
        }
    }
    found
}

impl Export {
    /// The kernel name of the block device that is exported, among the `names`.
    pub(crate) fn device<'a>(
        &self,
        roots: &Roots,
        names: impl IntoIterator<Item = &'a String>,
    ) -> Option<String> {
        let node = kernel_name_of_node(roots, &self.backing);
        names
            .into_iter()
            .find(|name| Some(*name) == node.as_ref() || self.is_scsi_device(roots, name))
            .cloned()
    }

    /// Returns true if the whole device with this sysfs directory is attached to the export, over a network or
    /// without one (nvme_loop, tcm_loop). A unit of LIO without a serial number may be attached to any backstore
    /// without one.
    pub(crate) fn is_attached_as(&self, whole: &Path) -> bool {
        match &self.name {
            NameOnWire::Namespace { nqn, id } => {
                attribute(whole, "device/subsysnqn").as_ref() == Some(nqn)
                    && attribute(whole, "nsid").as_ref() == Some(id)
            }
            NameOnWire::Serial(ours) => {
                let is_unit_of_lio = || attribute(whole, "device/vendor").as_deref() == Some("LIO-ORG");
                serial(whole) == *ours && (ours.is_some() || is_unit_of_lio())
            }
        }
    }

    fn is_scsi_device(&self, roots: &Roots, name: &str) -> bool {
        let device = roots.sysfs.join("class/block").join(name.replace('/', "!")).join("device");
        self.backing.contains(':')
            && fs::canonicalize(device).is_ok_and(|device| kernel_name(&device) == self.backing)
    }
}

fn children(directory: &Path) -> Vec<(String, PathBuf)> {
    let named = |name: String| (name.clone(), directory.join(name));
    entries(directory).into_iter().map(named).filter(|(_, path)| path.is_dir()).collect()
}

/// The word behind `key`.
fn after(text: &str, key: &str) -> Option<String> {
    Some(text.split_once(key)?.1.split_whitespace().next()?.to_owned())
}

/// `Channel ID: 0 Target ID: 3 LUN: 0 Host ID: 2` → `2:0:3:0`, as the SCSI device is named.
fn scsi_address(info: &str) -> Option<String> {
    let field = |key| after(info, key);
    let (host, channel) = (field("Host ID: ")?, field("Channel ID: ")?);
    Some(format!("{host}:{channel}:{}:{}", field("Target ID: ")?, field("LUN: ")?))
}
