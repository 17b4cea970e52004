//! Classification and the reasons not to write, on the recorded sysfs of a server.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use storage_target::{BlockDevice, DeviceKind, DeviceNumber, MapperKind, Roots, classify_block_device};

/// Lays a `.tree` file out in a directory.
fn lay_out(text: &str, root: &Path) -> Roots {
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (path, link) = match line.split_once(" -> ") {
            Some((path, link)) => (path, Some(link)),
            None => (line.split_once(" =").expect(line).0, None),
        };
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match link {
            Some(link) => symlink(link, &path).unwrap(),
            None => fs::write(&path, unescape(line.split_once(" =").unwrap().1.trim_start())).unwrap(),
        }
    }
    Roots { sysfs: root.join("sys"), proc: root.join("proc"), dev: root.join("dev") }
}

/// `\n`, `\t`, `\\` and `\xNN`.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match (byte, byte == b'\\') {
            (byte, false) => byte,
            _ => match rest.next().expect("an escape") {
                b'n' => b'\n',
                b't' => b'\t',
                b'x' => {
                    let digits = [rest.next().unwrap(), rest.next().unwrap()];
                    u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
                }
                other => other,
            },
        });
    }
    if !bytes.ends_with(b"\n") && !text.contains("\\x") {
        bytes.push(b'\n');
    }
    bytes
}

fn server() -> (tempfile::TempDir, Roots) {
    let directory = tempfile::tempdir().unwrap();
    let roots = lay_out(include_str!("sysfs/server.tree"), directory.path());
    (directory, roots)
}

fn device(roots: &Roots, name: &str) -> BlockDevice {
    let number = fs::read_to_string(roots.sysfs.join("class/block").join(name).join("dev")).expect(name);
    let (major, minor) = number.trim().split_once(':').unwrap();
    let number = DeviceNumber { major: major.parse().unwrap(), minor: minor.parse().unwrap() };
    let device = classify_block_device(roots, number).unwrap();
    assert_eq!(device.kernel_name, name);
    device
}

/// Proves that every fact of a plain disk is read, and that nothing speaks against writing it.
#[test]
fn a_plain_disk_is_free() {
    let (_directory, roots) = server();
    let disk = device(&roots, "sdb");
    assert_eq!(disk.reasons_not_to_write(), [""; 0]);
    assert_eq!(disk.kind, DeviceKind::Disk);
    assert_eq!(disk.size_bytes, 1_172_123_568 * 512);
    assert_eq!(disk.model.as_deref(), Some("SEAGATE ST600MM0006"));
    assert_eq!(disk.serial.as_deref(), Some("S0M4K002"));
    assert_eq!(disk.wwn.as_deref(), Some("naa.5000c5007a000002"));
    assert_eq!((disk.rotational, disk.read_only, disk.diskseq), (Some(true), false, Some(10)));
    assert_eq!((disk.logical_block_size_bytes, disk.physical_block_size_bytes), (512, 4096));
}

/// Proves for each kind of use that it is found and named in words.
#[test]
fn every_use_is_a_reason() {
    let (_directory, roots) = server();
    for (name, reasons) in [
        (
            "sda",
            &[
                "sda1 on it is mounted at /boot (ext4)",
                "sda2 is swap space in use",
                "it is partitioned (sda1, sda2, sda3)",
            ][..],
        ),
        ("sda1", &["it is mounted at /boot (ext4)"]),
        ("sda2", &["sda2 is swap space in use"]),
        ("sda3", &[]),
        ("sdc", &["it is one path of multipath device mpatha (dm-0)"]),
        ("sdd", &["it is one path of multipath device mpatha (dm-0)"]),
        ("dm-0", &[]),
        ("sde", &["dm-1 on it is mounted at /mnt/my data (xfs)", "sde is held by LVM volume vg-data (dm-1)"]),
        ("dm-1", &["it is mounted at /mnt/my data (xfs)"]),
        ("sdf", &["sdf1 is held by md raid1 md0", "it is partitioned (sdf1)"]),
        ("sdf1", &["sdf1 is held by md raid1 md0"]),
        ("sdg", &["sdg is held by md raid1 md0"]),
        ("md0", &[]),
        ("sdh", &["sdh is held by dm-crypt device secret (dm-2)"]),
        ("dm-2", &[]),
        ("sdi", &["it is read-only"]),
        ("sdj", &["it is mounted at /srv/j (xfs)"]),
        ("sdk", &["sdk is held by loop device loop1"]),
        ("sdl", &["it is mounted at /srv/l (btrfs)"]),
        ("nvme0n1", &[]),
        ("loop0", &[]),
        ("loop1", &[]),
    ] {
        assert_eq!(device(&roots, name).reasons_not_to_write(), reasons, "{name}");
    }
}

/// Proves that each kind of device is told, with what it is made from.
#[test]
fn kinds_and_parts_are_told() {
    let (_directory, roots) = server();
    let multipath = device(&roots, "dm-0");
    assert_eq!(multipath.kind, DeviceKind::Mapper { mapper: MapperKind::Multipath, name: "mpatha".into() });
    assert_eq!(multipath.slaves, ["sdc", "sdd"]);
    assert!(matches!(
        device(&roots, "dm-1").kind,
        DeviceKind::Mapper { mapper: MapperKind::LogicalVolume, .. }
    ));
    assert!(matches!(device(&roots, "dm-2").kind, DeviceKind::Mapper { mapper: MapperKind::Crypt, .. }));
    assert_eq!(device(&roots, "md0").kind, DeviceKind::MdRaid { level: "raid1".into() });
    assert_eq!(device(&roots, "md0").slaves, ["sdf1", "sdg"]);
    let partition = device(&roots, "sda3");
    assert_eq!(partition.kind, DeviceKind::Partition { of: "sda".into() });
    assert_eq!(partition.start_bytes, Some(9_439_232 * 512));
    assert_eq!(partition.serial.as_deref(), Some("S0M4K001"), "a partition is on its disk");
    let nvme = device(&roots, "nvme0n1");
    assert_eq!(nvme.nvme_paths, ["nvme0c0n1", "nvme0c1n1"]);
    assert_eq!(nvme.wwn.as_deref(), Some("eui.0025384b11b2c3d4"));
    assert_eq!(nvme.serial.as_deref(), Some("S5G9NE0R700123"));
    assert_eq!(
        device(&roots, "loop0").kind,
        DeviceKind::Loop { backing_file: Some("/srv/images/my disk.img".into()) }
    );
    assert_eq!(device(&roots, "loop2").kind, DeviceKind::Loop { backing_file: None });
}

/// Proves that a device which sysfs does not know is an error that names the file looked for.
#[test]
fn an_unknown_device_is_an_error() {
    let (_directory, roots) = server();
    let error = classify_block_device(&roots, DeviceNumber { major: 8, minor: 240 }).unwrap_err();
    assert!(error.to_string().contains("sys/dev/block/8:240"), "{error}");
}

/// Proves that a host whose mounts cannot be read is an error, not a host without mounts.
#[test]
fn unreadable_mounts_are_an_error() {
    let (directory, roots) = server();
    fs::remove_file(directory.path().join("proc/self/mountinfo")).unwrap();
    let error = classify_block_device(&roots, DeviceNumber { major: 8, minor: 16 }).unwrap_err();
    assert!(error.to_string().contains("mountinfo"), "{error}");
}
