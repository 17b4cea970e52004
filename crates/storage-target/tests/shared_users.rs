//! The guard where somebody uses a disk without having claimed it: writers and exports, on constructed hosts.

mod host;

use host::{Host, WWN};
use std::fs;
use storage_target::{Guard, GuardRefusal, TargetSpec, inspect};
use test_support::Nbdkit;

const READ_WRITE_DIRECT: &str = "0140002";
const WRITE_ONLY: &str = "0100001";
const READ_ONLY: &str = "0100000";

fn one_disk() -> Host {
    let host = Host::new();
    host.disk("vrd", "8:32", "host1/target1:0:3/1:0:3:0", &[("device/wwid", WWN)]);
    host
}

/// Proves that a process that holds a disk open for writing bars it, and one that reads does not.
#[test]
fn a_writer_bars_its_disk() {
    for flags in [READ_WRITE_DIRECT, WRITE_ONLY] {
        let host = one_disk();
        host.process(4711, "qemu-system-x86", "vrd", flags);
        assert_eq!(
            host.reasons("vrd"),
            ["it is open for writing by qemu-system-x86 (process 4711)"],
            "{flags}"
        );
    }
    let host = one_disk();
    host.process(4711, "smartd", "vrd", READ_ONLY);
    assert_eq!(host.reasons("vrd"), [""; 0]);
    host.process(4712, "dd", "vrdother", READ_WRITE_DIRECT);
    assert_eq!(host.reasons("vrd"), [""; 0], "another device");
}

/// Proves that our own process is no other writer: a permit holds its device open itself.
#[test]
fn we_are_no_other_writer() {
    let host = one_disk();
    host.process(std::process::id(), "arraylab", "vrd", READ_WRITE_DIRECT);
    assert_eq!(host.reasons("vrd"), [""; 0]);
}

/// Proves that a writer counts on the whole disk of a partition, on what is made of the target, below it, and on its
/// second path, and not on a neighbour.
#[test]
fn a_writer_counts_wherever_the_bytes_are() {
    let built = || {
        let host = one_disk();
        host.disk("vrs", "8:48", "host2/target2:0:3/2:0:3:0", &[("device/wwid", WWN)]);
        host.partition("vrd", "vrd1", "8:33", "2048", "1000000");
        host.partition("vrd", "vrd2", "8:34", "1002048", "1000000");
        host.over("dm-3", "252:3", &[("dm/name", "vg-data"), ("dm/uuid", "LVM-abcdef")], &["vrd1"]);
        host
    };
    let is_barred = |opened: &str, target: &str| {
        let host = built();
        host.process(9, "writer", opened, READ_WRITE_DIRECT);
        host.reasons(target).iter().any(|reason| reason.contains("is open for writing by writer (process 9)"))
    };
    for (opened, target, is_reached) in [
        ("vrd", "vrd1", true),
        ("vrd", "dm-3", true),
        ("vrd1", "dm-3", true),
        ("dm-3", "vrd", true),
        ("dm-3", "vrd1", true),
        ("vrs", "vrd", true),
        ("vrs", "dm-3", true),
        ("vrd1", "vrs", true),
        ("vrd2", "vrd1", false),
        ("vrd2", "dm-3", false),
    ] {
        assert_eq!(is_barred(opened, target), is_reached, "{opened} is open, {target} is the target");
    }
}

/// Proves that what nvmet exports is barred while the namespace is enabled, and not before.
#[test]
fn a_namespace_of_nvmet_bars_its_disk() {
    let namespace = "nvmet/subsystems/nqn.lab/namespaces/7";
    let host = one_disk();
    host.config(&format!("{namespace}/device_path"), "/dev/vrd").config(&format!("{namespace}/enable"), "0");
    assert_eq!(host.reasons("vrd"), [""; 0]);
    host.config(&format!("{namespace}/enable"), "1");
    assert_eq!(host.reasons("vrd"), ["it is exported by nvmet as namespace 7 of nqn.lab"]);
}

/// Proves that what LIO exports is barred: a file backstore on a disk, a block and a SCSI backstore.
#[test]
fn backstores_of_lio_bar_their_disk() {
    for (place, info) in [
        ("fileio_0", "TCM FILEIO ID: 0        File: /dev/vrd  Size: 268435456  Mode: O_DSYNC Async: 0"),
        (
            "iblock_1",
            "iBlock device: vrd  UDEV PATH: /dev/vrd  readonly: 0\n        Major: 8 Minor: 32  CLAIMED: IBLOCK",
        ),
        ("pscsi_2", "SCSI Device Bus Location: Channel ID: 0 Target ID: 3 LUN: 0 Host ID: 1"),
    ] {
        let host = one_disk();
        host.disk("vrt", "8:64", "host1/target1:0:4/1:0:4:0", &[]);
        host.config(
            &format!("target/core/{place}/store/info"),
            &format!("Status: ACTIVATED\n        {info}"),
        );
        let kind = place.split('_').next().unwrap();
        assert_eq!(host.reasons("vrd"), [format!("it is exported by LIO as backstore {kind}/store")]);
        assert_eq!(host.reasons("vrt"), [""; 0], "another disk");
    }
}

/// Proves that a disk reached over a network is told from a local one, also below what is made of it.
#[test]
fn a_disk_on_a_network_is_known() {
    let host = Host::new();
    host.disk("vra", "8:0", "host1/target1:0:3/1:0:3:0", &[]);
    host.disk("vrb", "8:16", "host5/session3/target5:0:0/5:0:0:0", &[]);
    host.disk("vrc", "8:32", "host6/rport-6:0-1/target6:0:0/6:0:0:0", &[]);
    host.disk("vrd", "259:0", "nvme-fabrics/ctl/nvme4", &[("device/transport", "tcp")]);
    host.disk("nvme5n1", "259:1", "nvme-subsystem/nvme-subsys5", &[]);
    host.disk("nvme5c6n1", "259:2", "nvme-fabrics/ctl/nvme6", &[("device/transport", "rdma")]);
    host.disk("nbd0", "43:0", "virtual/nbd0", &[]);
    host.over("dm-3", "252:3", &[("dm/name", "vg-data"), ("dm/uuid", "LVM-abcdef")], &["vra", "vrb"]);
    let fabric = |name: &str| host.device(name).fabric;
    let all = ["vra", "vrb", "vrc", "vrd", "nbd0", "dm-3"].map(fabric);
    assert_eq!(fabric("nvme5n1"), Some("NVMe/RDMA"), "the head, by its path");
    let iscsi = Some("iSCSI");
    assert_eq!(all, [None, iscsi, Some("Fibre Channel"), Some("NVMe/TCP"), Some("NBD"), iscsi]);
}

/// Proves that an NBD export is barred by what is mounted through the kernel's client of the same server, and not by an idle
/// client, by a device of another size, or by a client of another server.
#[test]
fn an_export_mounted_through_the_kernels_client_is_barred() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("a b").display().to_string();
    let _server = Nbdkit::start(&socket, &["memory", "1m"]);
    let reasons = |path: &str, state: &str, device_sectors: &str, is_mounted: bool| {
        let host = Host::new();
        host.disk("nbd0", "43:0", "virtual/nbd0", &[("pid", "812"), ("size", device_sectors)]);
        let host = if is_mounted { host.mount("43:0", "/dev/nbd0", "/mnt") } else { host };
        // The client itself has its device open, and does not use it.
        host.process(812, "nbd-client", "nbd0", READ_WRITE_DIRECT);
        fs::create_dir_all(host.path("proc/net")).unwrap();
        let table = format!("0000000080c116b1: 00000003 00000000 00000000 0001 {state}   663 {path}\n");
        fs::write(host.path("proc/net/unix"), table).unwrap();
        let address = format!("nbd+unix:///?socket={}", socket.replace(' ', "%20"));
        let Ok(TargetSpec::Storage(spec)) = TargetSpec::parse(&address) else { panic!("{address}") };
        let found = inspect(&host.roots(), &spec).unwrap();
        let consent: Vec<String> = found.consent_id.clone().into_iter().collect();
        match Guard::new(host.roots()).check_write(&found, &consent) {
            Err(GuardRefusal::Forbidden { reasons, .. }) => reasons,
            other => {
                assert_eq!(other, Ok(()));
                Vec::new()
            }
        }
    };
    assert_eq!(
        reasons(&socket, "03", "2048", true),
        [
            "/dev/nbd0 is attached to the same server, has the size of the export and is mounted at /mnt (ext4)"
        ]
    );
    assert_eq!(
        reasons("a b", "03", "2048", true).len(),
        1,
        "as a server started in that directory writes it"
    );
    assert_eq!(reasons(&socket, "03", "2048", false), [""; 0], "an idle client");
    assert_eq!(reasons(&socket, "03", "1024", true), [""; 0], "another size");
    assert_eq!(reasons(&socket, "01", "2048", true), [""; 0], "a socket that listens");
    assert_eq!(reasons("/run/other", "03", "2048", true), [""; 0], "another server");
}
