//! Volumes and paths, on recorded trees of sysfs.

use probe::{DeviceSelection, HostInterval, HostProbe, ProbeRoots};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

const SECOND: u64 = 1_000_000_000;

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A SCSI disk as sysfs has it: a link into the tree of devices.
fn scsi_disk(root: &Path, name: &str, host: u32) {
    let real =
        root.join(format!("devices/pci0000:00/host{host}/rport-{host}:0-1/target/{host}:0:0:1/block/{name}"));
    fs::create_dir_all(&real).unwrap();
    fs::create_dir_all(root.join("block")).unwrap();
    symlink(real, root.join("block").join(name)).unwrap();
}

fn device_map(root: &Path, name: &str, map: &str, uuid: &str, slaves: &[&str]) {
    let block = root.join("block").join(name);
    write(&block.join("dm/name"), &format!("{map}\n"));
    write(&block.join("dm/uuid"), &format!("{uuid}\n"));
    slaves.iter().for_each(|slave| fs::create_dir_all(block.join("slaves").join(slave)).unwrap());
}

/// Devices with so many reads of 4 KiB each.
fn diskstats(root: &Path, reads: &[(&str, u64)]) {
    let line = |(index, (name, ios)): (usize, &(&str, u64))| {
        format!(" 8 {index} {name} {ios} 0 {} 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", ios * 8)
    };
    write(&root.join("diskstats"), &reads.iter().enumerate().map(line).collect::<String>());
}

fn roots(root: &Path) -> ProbeRoots {
    write(&root.join("stat"), "cpu 1 0 1 10 0 0 0 0 0 0\n");
    write(&root.join("loadavg"), "0.10 0.20 0.30 1/99 1234\n");
    ProbeRoots { proc: root.to_owned(), sysfs: root.to_owned() }
}

/// `vg0-data` on two maps of multipathd, each with a path by either port.
fn san(root: &Path) {
    for (disk, host) in [("sdb", 2), ("sdc", 3), ("sdd", 2), ("sde", 3)] {
        scsi_disk(root, disk, host);
    }
    scsi_disk(root, "sda", 0);
    device_map(root, "dm-0", "mpatha", "mpath-3600a0b8", &["sdb", "sdc"]);
    device_map(root, "dm-1", "mpathb", "mpath-3600a0b9", &["sdd", "sde"]);
    device_map(root, "dm-2", "vg0-data", "LVM-abc", &["dm-0", "dm-1"]);
}

fn sources(interval: &HostInterval, name: &str) -> Vec<String> {
    let of = interval.counters.iter().filter(|counter| counter.name == name);
    of.map(|counter| format!("{}:{}={}", counter.source, counter.entity, counter.value)).collect()
}

/// Proves that a volume under test brings the maps and paths below it, each under its own name, and that the shares
/// of paths and of host ports are those of their I/Os.
#[test]
fn a_volume_brings_its_paths() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    san(root);
    let all = ["sda", "sdb", "sdc", "sdd", "sde", "dm-0", "dm-1", "dm-2"];
    diskstats(root, &all.map(|name| (name, 1000)));
    let mut probe = HostProbe::new(roots(root), DeviceSelection::Named(vec!["dm-2".into()]), 0).unwrap();
    let after = [1000, 1700, 1300, 1500, 1500, 2000, 2000, 3000];
    diskstats(root, &std::array::from_fn::<_, 8, _>(|i| (all[i], after[i])));
    let interval = probe.read(10 * SECOND).unwrap();
    assert_eq!(
        sources(interval, "r/s"),
        [
            "volume:mpatha=100",
            "volume:mpathb=100",
            "volume:vg0-data=200",
            "path:mpatha/sdb=70",
            "path:mpatha/sdc=30",
            "path:mpathb/sdd=50",
            "path:mpathb/sde=50",
            "port:host2=120",
            "port:host3=80",
        ],
        "sda is no part of it"
    );
    assert_eq!(
        sources(interval, "%share"),
        [
            "path:mpatha/sdb=70",
            "path:mpatha/sdc=30",
            "path:mpathb/sdd=50",
            "path:mpathb/sde=50",
            "port:host2=60",
            "port:host3=40"
        ]
    );
    assert_eq!(sources(interval, "%share_most"), ["multipath:mpatha=70", "multipath:mpathb=50"]);
    assert_eq!(sources(interval, "%share_least"), ["multipath:mpatha=30", "multipath:mpathb=50"]);
    assert_eq!(interval.value("port", "host2", "rkB/s"), Some(480.0));
    // Nothing happens: no shares, and no division by nothing.
    let idle = probe.read(20 * SECOND).unwrap();
    assert!(sources(idle, "%share").is_empty());
    assert_eq!(sources(idle, "paths"), ["multipath:mpatha=2", "multipath:mpathb=2"]);
}

/// Proves that a path which goes offline, is taken out of its map or loses its controller is told once with the kernel's word,
/// counts no longer, and is told again when it is back.
#[test]
fn lost_paths_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    san(root);
    let state = |name: &str, text: &str| write(&root.join("block").join(name).join("device/state"), text);
    ["sdb", "sdc", "sdd", "sde"].iter().for_each(|name| state(name, "running\n"));
    let reads = ["sdb", "sdc", "sdd", "sde", "dm-0", "dm-1", "dm-2"].map(|name| (name, 10));
    diskstats(root, &reads);
    let mut probe = HostProbe::new(roots(root), DeviceSelection::Named(vec!["dm-2".into()]), 0).unwrap();
    let changes = |interval: &HostInterval| -> Vec<String> {
        let text_of =
            |change: &probe::PathChange| format!("{} {} {}", change.path, change.is_usable, change.state);
        interval.path_changes.iter().map(text_of).collect()
    };
    let all_there = probe.read(SECOND).unwrap();
    assert!(changes(all_there).is_empty(), "{all_there:?}");
    assert_eq!(all_there.value("path", "mpatha/sdc", "online"), Some(1.0));
    state("sdc", "offline\n");
    let lost = probe.read(2 * SECOND).unwrap();
    assert_eq!(changes(lost), ["mpatha/sdc false offline"]);
    assert_eq!(sources(lost, "paths"), ["multipath:mpatha=1", "multipath:mpathb=2"]);
    assert_eq!(lost.value("path", "mpatha/sdc", "online"), Some(0.0));
    assert!(changes(probe.read(3 * SECOND).unwrap()).is_empty(), "told once");
    state("sdc", "running\n");
    assert_eq!(changes(probe.read(4 * SECOND).unwrap()), ["mpatha/sdc true running"]);
    fs::remove_dir(root.join("block/dm-1/slaves/sde")).unwrap();
    diskstats(root, &reads.map(|(name, ios)| (name, if name == "sde" { 0 } else { ios })));
    // A map is looked at anew every 30 s, or when a device comes or goes.
    assert_eq!(changes(probe.read(40 * SECOND).unwrap()), ["mpathb/sde false gone"]);
}

/// Proves that the state of a native NVMe path is its controller's, that a namespace which a controller does not give
/// access to is lost by that path, and that a path which is lost at the start is told.
#[test]
fn native_nvme_paths_have_states() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    for (path, controller, state) in [("nvme0c0n1", "nvme0", "live"), ("nvme0c1n1", "nvme1", "connecting")] {
        write(&root.join("block").join(path).join("ana_state"), "optimized\n");
        write(&root.join("class/nvme").join(controller).join("state"), state);
    }
    write(&root.join("block/nvme0n1/size"), "8\n");
    diskstats(root, &[("nvme0n1", 0), ("nvme0c0n1", 0), ("nvme0c1n1", 0)]);
    let mut probe = HostProbe::new(roots(root), DeviceSelection::Named(vec!["nvme0n1".into()]), 0).unwrap();
    let at_first = probe.read(SECOND).unwrap();
    assert_eq!(at_first.path_changes.len(), 1, "{at_first:?}");
    assert_eq!(
        (&*at_first.path_changes[0].path, &*at_first.path_changes[0].state),
        ("nvme0n1/nvme0c1n1", "connecting")
    );
    assert_eq!(sources(at_first, "paths"), ["multipath:nvme0n1=1"]);
    write(&root.join("block/nvme0c0n1/ana_state"), "inaccessible\n");
    let none = probe.read(2 * SECOND).unwrap();
    assert_eq!(&*none.path_changes[0].state, "inaccessible");
    assert_eq!(sources(none, "paths"), ["multipath:nvme0n1=0"]);
}

/// Proves that a path which is lost leaves the shares, and that one which appears joins them.
#[test]
fn paths_come_and_go() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    san(root);
    diskstats(root, &[("sdb", 0), ("sdc", 0), ("dm-0", 0)]);
    let mut probe = HostProbe::new(roots(root), DeviceSelection::Named(vec!["dm-0".into()]), 0).unwrap();
    fs::remove_dir(root.join("block/dm-0/slaves/sdc")).unwrap();
    diskstats(root, &[("sdb", 10), ("dm-0", 10)]);
    assert_eq!(sources(probe.read(SECOND).unwrap(), "%share"), ["path:mpatha/sdb=100", "port:host2=100"]);
    scsi_disk(root, "sdf", 4);
    fs::create_dir_all(root.join("block/dm-0/slaves/sdf")).unwrap();
    diskstats(root, &[("sdb", 20), ("dm-0", 20), ("sdf", 0)]);
    probe.read(2 * SECOND).unwrap();
    diskstats(root, &[("sdb", 30), ("dm-0", 50), ("sdf", 30)]);
    let interval = probe.read(3 * SECOND).unwrap();
    assert_eq!(
        sources(interval, "%share"),
        ["path:mpatha/sdb=25", "path:mpatha/sdf=75", "port:host2=25", "port:host4=75"]
    );
}

/// Proves that the hidden devices behind a native NVMe multipath are found by their names and read from their own
/// files where /proc/diskstats does not have them.
#[test]
fn nvme_paths_are_read_from_their_own_files() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let stat = |path: &str, ios: u64| {
        write(&root.join("block").join(path).join("stat"), &format!("{ios} 0 {} 0 0 0 0 0 0 0 0\n", ios * 8));
    };
    fs::create_dir_all(root.join("block/nvme0n1")).unwrap();
    fs::create_dir_all(root.join("block/nvme0n2")).unwrap();
    stat("nvme0c0n1", 100);
    stat("nvme0c1n1", 100);
    stat("nvme0c1n2", 100);
    diskstats(root, &[("nvme0n1", 0), ("nvme0n2", 0)]);
    let mut probe = HostProbe::new(roots(root), DeviceSelection::Named(vec!["nvme0n1".into()]), 0).unwrap();
    stat("nvme0c0n1", 160);
    stat("nvme0c1n1", 140);
    diskstats(root, &[("nvme0n1", 100), ("nvme0n2", 0)]);
    let interval = probe.read(SECOND).unwrap();
    assert_eq!(
        sources(interval, "%share"),
        ["path:nvme0n1/nvme0c0n1=60", "path:nvme0n1/nvme0c1n1=40", "port:nvme0=60", "port:nvme1=40"]
    );
    assert_eq!(
        sources(interval, "r/s"),
        [
            "path:nvme0n1/nvme0c0n1=60",
            "path:nvme0n1/nvme0c1n1=40",
            "disk:nvme0n1=100",
            "port:nvme0=60",
            "port:nvme1=40"
        ]
    );
}

/// Processor time of this thread. `/proc/thread-self/schedstat` counts nanoseconds on the processor.
fn thread_cpu_ns() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Proves that 200 devices with two paths each, 600 in all, cost under 2 % of a core at an interval of 1 s, looks at
/// sysfs included: a reading takes under 20 ms.
#[test]
fn six_hundred_devices_are_cheap() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let root = directory.path();
    let mut names = Vec::new();
    for disk in 0..200 {
        let paths = [format!("sda{disk}x"), format!("sdb{disk}x")];
        scsi_disk(root, &paths[0], 2);
        scsi_disk(root, &paths[1], 3);
        let uuid = format!("mpath-{disk}");
        device_map(root, &format!("dm-{disk}"), &format!("mpath{disk}"), &uuid, &[&paths[0], &paths[1]]);
        names.extend(paths);
        names.push(format!("dm-{disk}"));
    }
    let at = |round: u64| {
        let line = |(index, name): (usize, &String)| {
            let n = 1_000_000_007 + round * 5000 + index as u64;
            format!("   8 {index:7} {name} {n} 5 {n} {n} {n} 7 {n} {n} 0 {n} {n} 0 0 0 0 {n} {n}\n")
        };
        write(&root.join("diskstats"), &names.iter().enumerate().map(line).collect::<String>());
    };
    at(0);
    let devices = (0..200).map(|disk| format!("dm-{disk}")).collect();
    let mut probe = HostProbe::new(roots(root), DeviceSelection::Named(devices), 0).unwrap();
    let (mut spent_ns, rounds) = (0, 60);
    for round in 1..=rounds {
        at(round);
        let before = thread_cpu_ns();
        let interval = probe.read(round * SECOND).unwrap();
        spent_ns += thread_cpu_ns() - before;
        assert_eq!(interval.counters.iter().filter(|c| c.source == "path" && c.name == "r/s").count(), 400);
    }
    let reading_us = spent_ns / rounds / 1000;
    println!(
        "200 devices of 2 paths: {reading_us} µs a reading, {:.3} % of a core at 1 s",
        reading_us as f64 / 1e4
    );
    assert!(reading_us < 20_000, "{reading_us} µs");
}
