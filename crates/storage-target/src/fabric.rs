//! Fabric detection: whether a disk is reached over a network and may have users on other hosts.

use crate::sysfs::{attribute, kernel_name};
use std::path::Path;

/// The network by which the whole device with this sysfs directory is reached; none for a local one. The head of native
/// NVMe multipath has no transport of its own: its paths have.
pub(crate) fn fabric(whole: &Path) -> Option<&'static str> {
    let name = kernel_name(whole);
    if name.strip_prefix("nbd").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit())) {
        return Some("NBD");
    }
    match attribute(whole, "device/transport").as_deref() {
        Some("tcp") => return Some("NVMe/TCP"),
        Some("rdma") => return Some("NVMe/RDMA"),
        Some("fc") => return Some("NVMe/FC"),
        _ => {}
    }
    // …/host5/session3/target5:0:0/… of iSCSI, …/host6/rport-6:0-1/target6:0:0/… of Fibre Channel
    whole.components().find_map(|component| {
        let component = component.as_os_str().to_string_lossy();
        let is_numbered = |prefix: &str| {
            component.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        if is_numbered("session") {
            Some("iSCSI")
        } else if is_numbered("rport-") {
            Some("Fibre Channel")
        } else {
            None
        }
    })
}
