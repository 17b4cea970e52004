//! The guard where one disk is several block devices: on constructed hosts with and without multipath.

mod host;

use host::{Host, WWN};
use std::fs;

/// Proves that a mount of another path to the same disk bars a disk, and that the reason names path, WWN and place.
#[test]
fn a_mount_on_the_other_path_counts() {
    let host = Host::two_paths();
    assert_eq!(host.reasons("sdh"), [""; 0], "an unused second path is no use");
    let host = host.mount("8:96", "/dev/sdg", "/mnt");
    assert_eq!(
        host.reasons("sdh"),
        [format!("/dev/sdg has the same WWN {WWN} and is mounted at /mnt (ext4)")]
    );
    assert_eq!(host.reasons("sdg"), ["it is mounted at /mnt (ext4)"]);
}

/// Proves that partitions, swap, LVM, md and multipath on another path bar a disk.
#[test]
fn every_use_of_the_other_path_counts() {
    let same = format!("/dev/sdg has the same WWN {WWN} and");
    let host = Host::two_paths();
    host.partition("sdg", "sdg1", "8:97", "2048", "1000000");
    assert_eq!(host.reasons("sdh"), [format!("{same} is partitioned (sdg1)")]);

    let host = Host::two_paths();
    host.partition("sdg", "sdg1", "8:97", "2048", "1000000");
    let host = host.mount("8:97", "/dev/sdg1", "/mnt");
    assert_eq!(host.reasons("sdh")[0], format!("{same} is in use: sdg1 on it is mounted at /mnt (ext4)"));

    assert_eq!(Host::two_paths().swap("/dev/sdg").reasons("sdh"), [format!("{same} is swap space in use")]);

    let host = Host::two_paths();
    host.over("dm-3", "252:3", &[("dm/name", "vg-data"), ("dm/uuid", "LVM-abcdef")], &["sdg"]);
    assert_eq!(host.reasons("sdh"), [format!("{same} is held by LVM volume vg-data (dm-3)")]);
    let host = host.mount("252:3", "/dev/mapper/vg-data", "/srv");
    assert_eq!(host.reasons("sdh")[0], format!("{same} is in use: dm-3 on it is mounted at /srv (ext4)"));

    let host = Host::two_paths();
    host.over("md0", "9:0", &[("md/level", "raid1")], &["sdg"]);
    assert_eq!(host.reasons("sdh"), [format!("{same} is held by md raid1 md0")]);

    // multipathd has a map of one path and not yet of the other.
    let host = Host::two_paths();
    let uuid = format!("mpath-3{}", &WWN[4..]);
    host.over("dm-0", "252:0", &[("dm/name", "mpatha"), ("dm/uuid", &uuid)], &["sdg"]);
    assert_eq!(host.reasons("sdh"), [format!("{same} is one path of multipath device mpatha (dm-0)")]);
    assert_eq!(host.reasons("dm-0"), [""; 0], "the map itself is free");
}

/// Proves that a multipath device is barred by a path that is not in it, also while all its own paths are gone.
#[test]
fn a_path_outside_the_multipath_device_counts() {
    let uuid = format!("mpath-3{}", &WWN[4..]);
    for slaves in [&["sdh"][..], &[]] {
        let host = Host::two_paths().mount("8:96", "/dev/sdg", "/mnt");
        host.over("dm-0", "252:0", &[("dm/name", "mpatha"), ("dm/uuid", &uuid)], slaves);
        assert_eq!(
            host.reasons("dm-0"),
            [format!("/dev/sdg has the same WWN {WWN} and is mounted at /mnt (ext4)")]
        );
    }
    // The other way round: a map without paths is mounted, and a path has come back beside it.
    let host = Host::two_paths();
    host.over("dm-0", "252:0", &[("dm/name", "mpatha"), ("dm/uuid", &uuid)], &[]);
    let host = host.mount("252:0", "/dev/mapper/mpatha", "/mnt");
    assert_eq!(
        host.reasons("sdh"),
        [format!("/dev/dm-0 has the same WWN {WWN} and is mounted at /mnt (ext4)")]
    );
}

/// Proves that a partition is barred by the partition of the other path that has its sectors, by whatever has that
/// whole path, and not by a neighbour.
#[test]
fn a_partition_is_barred_by_its_own_sectors() {
    let partitioned = || {
        let host = Host::two_paths();
        for (disk, minor) in [("sdg", 97), ("sdh", 113)] {
            host.partition(disk, &format!("{disk}1"), &format!("8:{minor}"), "2048", "1000000");
            host.partition(disk, &format!("{disk}2"), &format!("8:{}", minor + 1), "1002048", "1000000");
        }
        host
    };
    assert_eq!(partitioned().reasons("sdh1"), [""; 0]);
    let host = partitioned().mount("8:97", "/dev/sdg1", "/mnt");
    assert_eq!(
        host.reasons("sdh1"),
        [format!("/dev/sdg has the same WWN {WWN} and is in use: sdg1 on it is mounted at /mnt (ext4)")]
    );
    assert_eq!(host.reasons("sdh2"), [""; 0], "a neighbour is none of its bytes");

    let host = partitioned().mount("8:96", "/dev/sdg", "/mnt");
    assert_eq!(
        host.reasons("sdh2"),
        [format!("/dev/sdg has the same WWN {WWN} and is mounted at /mnt (ext4)")]
    );

    // A logical volume on a partition: down to the disk, over to the other path, up through its partition.
    let host = partitioned();
    host.over("dm-3", "252:3", &[("dm/name", "vg-data"), ("dm/uuid", "LVM-abcdef")], &["sdh2"]);
    host.over("md0", "9:0", &[("md/level", "raid1")], &["dm-3"]);
    assert_eq!(host.reasons("md0"), [""; 0]);
    let host = host.mount("8:98", "/dev/sdg2", "/mnt");
    for device in ["dm-3", "md0"] {
        let reason = host.reasons(device).join("; ");
        assert!(reason.contains("in use: sdg2 on it is mounted at /mnt"), "{device}: {reason}");
    }
}

/// Proves that NVMe namespaces are told apart by their identifiers, not by the serial number that they share.
#[test]
fn namespaces_of_one_controller_are_two_disks() {
    let serial = ("device/serial", "S5G9NE0R700123");
    let model = ("device/model", "SAMSUNG MZWLR3T8HBLS-00007");
    let host = Host::new();
    host.disk("nvme0n1", "259:0", "nvme/nvme0", &[serial, model, ("nsid", "1")]);
    host.disk("nvme0n2", "259:1", "nvme/nvme0b", &[serial, model, ("nsid", "2")]);
    host.disk("nvme1n1", "259:2", "nvme/nvme1", &[serial, model, ("nsid", "1")]);
    let host = host.mount("259:0", "/dev/nvme0n1", "/mnt");
    assert_eq!(host.reasons("nvme0n2"), [""; 0]);
    assert_eq!(
        host.reasons("nvme1n1"),
        [
            "/dev/nvme0n1 has the same serial number S5G9NE0R700123, model and size and is mounted at /mnt (ext4)"
        ]
    );

    let host = Host::new();
    let nguid = |last: &str| format!("6479a744-7c20-0000-0000-0000000000{last}");
    for (name, number, id) in
        [("nvme0n1", "259:0", "01"), ("nvme1n1", "259:1", "01"), ("nvme2n1", "259:2", "02")]
    {
        host.disk(name, number, name, &[("nguid", nguid(id).as_str()), ("eui", "00 00 00 00 00 00 00 00")]);
    }
    let host = host.mount("259:0", "/dev/nvme0n1", "/mnt");
    assert_eq!(
        host.reasons("nvme1n1"),
        ["/dev/nvme0n1 has the same NGUID 6479a7447c2000000000000000000001 and is mounted at /mnt (ext4)"]
    );
    assert_eq!(host.reasons("nvme2n1"), [""; 0]);
}

/// Proves that devices without a name of their own are never taken for one another: blank, zero and placeholder
/// values, one serial number at two sizes, and one serial number for all LUNs of an array.
#[test]
fn what_names_no_disk_makes_no_two_devices_one() {
    let never_the_same: &[[&[(&str, &str)]; 2]] = &[
        [&[], &[]],
        [&[("serial", "")], &[("serial", "")]],
        [&[("serial", "0000")], &[("serial", "0000")]],
        [&[("serial", "0123456789ABCDEF")], &[("serial", "0123456789ABCDEF")]],
        [&[("device/wwid", "naa.0000000000000000")], &[("device/wwid", "naa.0000000000000000")]],
        [&[("device/wwid", "naa.5000000000000000")], &[("device/wwid", "naa.5000000000000000")]],
        [
            &[("device/wwid", "t10.ATA     DISK     00000000")],
            &[("device/wwid", "t10.ATA     DISK     00000000")],
        ],
        [
            &[("wwid", "nvme.1b36-30303030-51454d55-00000001")],
            &[("wwid", "nvme.1b36-30303030-51454d55-00000001")],
        ],
        [&[("eui", "0000000000000000"), ("nguid", "")], &[("eui", "0000000000000000"), ("nguid", "")]],
        [&[("serial", "S0M4K002"), ("size", "4096")], &[("serial", "S0M4K002"), ("size", "8192")]],
        [&[("serial", "S0M4K002"), ("device/model", "A")], &[("serial", "S0M4K002"), ("device/model", "B")]],
        [
            &[("serial", "ARRAY7"), ("device/wwid", "naa.60001")],
            &[("serial", "ARRAY7"), ("device/wwid", "naa.60002")],
        ],
    ];
    for (index, [one, other]) in never_the_same.iter().enumerate() {
        let host = Host::new();
        host.disk("sda", "8:0", "host1/target1:0:0/1:0:0:0", one);
        host.disk("sdb", "8:16", "host2/target2:0:0/2:0:0:0", other);
        let host = host.mount("8:0", "/dev/sda", "/mnt");
        assert_eq!(host.reasons("sdb"), [""; 0], "case {index}: {one:?} {other:?}");
    }
    // Without a WWN, one serial number on one target is an array's; on two targets it is a disk with two ports.
    let lun = [("device/vendor", "HUAWEI"), ("device/model", "S5500T"), ("serial", "2102350SHY")];
    let host = Host::new();
    host.disk("sda", "8:0", "host1/target1:0:0/1:0:0:0", &lun);
    host.disk("sdb", "8:16", "host1/target1:0:0/1:0:0:1", &lun);
    host.disk("sdc", "8:32", "host2/target2:0:0/2:0:0:0", &lun);
    let host = host.mount("8:0", "/dev/sda", "/mnt");
    assert_eq!(host.reasons("sdb"), [""; 0]);
    assert_eq!(
        host.reasons("sdc"),
        ["/dev/sda has the same serial number 2102350SHY, model and size and is mounted at /mnt (ext4)"]
    );
}

/// Proves that a resized LUN is one disk by its WWN while one path still has the old size.
#[test]
fn a_wwn_counts_at_another_size() {
    let host = Host::two_paths();
    fs::write(host.sysfs("sdg").join("size"), "4194304\n").unwrap();
    let host = host.mount("8:96", "/dev/sdg", "/mnt");
    assert_eq!(host.reasons("sdh").len(), 1);
}

/// Proves that a loop device is barred by the disk it is set up over and by another loop device over its file, and an
/// md array by its double.
#[test]
fn loop_devices_and_md_arrays_have_doubles() {
    let host = Host::new();
    host.disk("sdk", "8:160", "host1/target1:0:0/1:0:0:0", &[]);
    host.disk("loop1", "7:1", "virtual/loop1", &[("loop/backing_file", "/dev/sdk")]);
    let host = host.mount("8:160", "/dev/sdk", "/mnt");
    assert_eq!(
        host.reasons("loop1"),
        ["/dev/sdk is what loop1 is set up over and is mounted at /mnt (ext4)"]
    );

    let host = Host::new();
    host.disk("loop1", "7:1", "virtual/loop1", &[("loop/backing_file", "/srv/image")]);
    host.disk("loop2", "7:2", "virtual/loop2", &[("loop/backing_file", "/srv/image")]);
    host.disk("loop3", "7:3", "virtual/loop3", &[("loop/backing_file", "/srv/other")]);
    let host = host.mount("7:1", "/dev/loop1", "/mnt");
    assert_eq!(
        host.reasons("loop2"),
        ["/dev/loop1 is over the same file as loop2 (/srv/image) and is mounted at /mnt (ext4)"]
    );
    assert_eq!(host.reasons("loop3"), [""; 0]);

    let host = Host::new();
    let uuid = ("md/uuid", "3aaa0122:29827cfa:5331ad66:ca767371");
    host.disk("sda", "8:0", "host1/target1:0:0/1:0:0:0", &[]);
    host.disk("sdb", "8:16", "host2/target2:0:0/2:0:0:0", &[]);
    host.over("md0", "9:0", &[("md/level", "raid1"), uuid], &["sda"]);
    host.over("md127", "9:127", &[("md/level", "raid1"), uuid], &["sdb"]);
    let host = host.mount("9:0", "/dev/md0", "/mnt");
    assert!(host.reasons("md127")[0].contains("/dev/md0 has the same UUID"), "{:?}", host.reasons("md127"));
}

/// Proves that a loop device is barred by the use of any device on the way to the disk, and not by a neighbour of it.
#[test]
fn a_loop_device_over_a_mapped_device_is_barred_by_its_use() {
    let built = || {
        let host = Host::new();
        host.disk("sdk", "8:160", "host1/target1:0:0/1:0:0:0", &[]);
        host.over("dm-0", "252:0", &[("dm/name", "vg-a"), ("dm/uuid", "LVM-abcdef")], &["sdk"]);
        host.over("dm-1", "252:1", &[("dm/name", "vg-b"), ("dm/uuid", "LVM-abcdeg")], &["sdk"]);
        host.disk("loop1", "7:1", "virtual/loop1", &[("loop/backing_file", "/dev/dm-0")]);
        host
    };
    assert_eq!(
        built().mount("252:0", "/dev/mapper/vg-a", "/mnt").reasons("loop1"),
        ["/dev/dm-0 is what loop1 is set up over and is mounted at /mnt (ext4)"]
    );
    assert_eq!(built().mount("252:1", "/dev/mapper/vg-b", "/mnt").reasons("loop1"), [""; 0], "a neighbour");
}

/// Proves that a disk attached to an export of this very host is barred by the use of what is exported, and by nothing
/// else.
#[test]
fn a_disk_attached_to_an_export_of_this_host_is_barred_by_its_backing() {
    let attached = || {
        let host = Host::new();
        host.disk("sdk", "8:160", "host1/target1:0:0/1:0:0:0", &[]);
        host.disk("sdl", "8:176", "host1/target1:0:1/1:0:1:0", &[]);
        host.disk("nvme2n1", "259:1", "nvme-subsys2", &[("nsid", "1"), ("device/subsysnqn", "lab")]);
        host.disk("nvme3n1", "259:2", "nvme-subsys3", &[("nsid", "1"), ("device/subsysnqn", "elsewhere")]);
        host.config("nvmet/subsystems/lab/namespaces/1/device_path", "/dev/sdk");
        host.config("nvmet/subsystems/lab/namespaces/1/enable", "1");
        let page = b"\0\x80\0\x04a1b2";
        host.disk("sdm", "8:192", "host5/target5:0:0/5:0:0:0", &[("device/vendor", "LIO-ORG")]);
        fs::write(host.sysfs("sdm").join("device/vpd_pg80"), page).unwrap();
        host.config("target/core/fileio_0/store/info", "TCM FILEIO ID: 0  File: /dev/sdl  Size: 1");
        host.config("target/core/fileio_0/store/wwn/vpd_unit_serial", "T10 VPD Unit Serial Number: a1b2");
        host
    };
    for name in ["nvme2n1", "nvme3n1", "sdm"] {
        assert_eq!(attached().reasons(name), [""; 0], "{name}: nobody uses its backing");
    }
    let reasons =
        |number: &str, node: &str, target: &str| attached().mount(number, node, "/mnt").reasons(target);
    assert_eq!(
        reasons("8:160", "/dev/sdk", "nvme2n1"),
        [
            "/dev/sdk is what nvme2n1 is attached to (nvmet as namespace 1 of lab) and is mounted at /mnt (ext4)"
        ]
    );
    assert_eq!(reasons("8:160", "/dev/sdk", "nvme3n1"), [""; 0], "an export of another host");
    assert_eq!(
        reasons("8:176", "/dev/sdl", "sdm"),
        ["/dev/sdl is what sdm is attached to (LIO as backstore fileio/store) and is mounted at /mnt (ext4)"]
    );
    assert_eq!(reasons("8:176", "/dev/sdl", "nvme2n1"), [""; 0], "another export's");
}

/// Proves that a unit of LIO without a serial number is barred by an export of itself, which is not taken for what it is
/// attached to, and by a second export that it may be attached to as well.
#[test]
fn a_unit_without_a_serial_number_is_told_from_its_own_export() {
    let unit = |backings: &[&str]| {
        let host = Host::new();
        host.disk("sdk", "8:160", "host1/target1:0:0/1:0:0:0", &[]);
        host.disk("sdl", "8:176", "host1/target1:0:1/1:0:1:0", &[]);
        host.disk("sdm", "8:192", "host5/target5:0:0/5:0:0:0", &[("device/vendor", "LIO-ORG")]);
        for (index, backing) in backings.iter().enumerate() {
            let info = format!("TCM FILEIO ID: 0  File: {backing}  Size: 1");
            host.config(&format!("target/core/fileio_{index}/store/info"), &info);
        }
        host.reasons("sdm")
    };
    assert_eq!(unit(&["/dev/sdk"]), [""; 0]);
    assert_eq!(unit(&["/dev/sdm"]), ["it is exported by LIO as backstore fileio/store"]);
    assert_eq!(unit(&["/dev/sdk", "/dev/sdm"]), ["it is exported by LIO as backstore fileio/store"]);
    assert_eq!(unit(&["/dev/sdk", "/dev/sdl"]).len(), 2, "either may be below");
}
