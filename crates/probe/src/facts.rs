//! Host facts for the manifest.

use crate::host::ProbeRoots;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;

/// The queue attributes that decide how a device answers (Documentation/ABI/stable/sysfs-block).
const QUEUE_ATTRIBUTES: [&str; 10] = [
    "scheduler",
    "nr_requests",
    "nomerges",
    "rq_affinity",
    "read_ahead_kb",
    "max_sectors_kb",
    "rotational",
    "write_cache",
    "wbt_lat_usec",
    "io_poll",
];

/// Kernel, processors with their NUMA nodes, memory, name and distribution of the host, and of each device (kernel names) its
/// queue, its hardware queues and its NUMA node. What cannot be read is null.
pub fn host_facts(roots: &ProbeRoots, devices: &[String]) -> Value {
    let cpuinfo = text(&roots.proc.join("cpuinfo")).unwrap_or_default();
    let cpu_value = |key: &str| {
        cpuinfo
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.trim() == key)
            .map(|(_, value)| value.trim().to_owned())
    };
    let logical = cpuinfo
        .lines()
        .filter(|line| line.split(':').next().is_some_and(|k| k.trim() == "processor"))
        .count();
    let queues: Map<String, Value> =
        devices.iter().map(|device| (device.clone(), queue(&roots.sysfs, device))).collect();
    json!({
        "hostname": text(&roots.proc.join("sys/kernel/hostname")),
        "kernel": text(&roots.proc.join("sys/kernel/osrelease")),
        "kernel_build": text(&roots.proc.join("sys/kernel/version")),
        "distribution": distribution(),
        "architecture": std::env::consts::ARCH,
        "cpu_model": cpu_value("model name").or_else(|| cpu_value("Model")),
        "cpu_logical": if logical == 0 { Value::Null } else { json!(logical) },
        "cpu_cores_a_socket": cpu_value("cpu cores").and_then(|cores| cores.parse::<u32>().ok()),
        "numa_nodes": numa_nodes(&roots.sysfs),
        "memory_bytes": memory_bytes(&roots.proc),
        "boot_command_line": text(&roots.proc.join("cmdline")),
        "devices": queues,
    })
}

fn queue(sysfs: &Path, device: &str) -> Value {
    let directory = sysfs.join("class/block").join(device.replace('/', "!"));
    // A partition has its disk's queue.
    let disk = if directory.join("queue").is_dir() { directory } else { directory.join("..") };
    let queue = disk.join("queue");
    let mut attributes: Map<String, Value> =
        QUEUE_ATTRIBUTES.iter().map(|name| ((*name).to_owned(), json!(text(&queue.join(name))))).collect();
    attributes.insert("hardware_queues".to_owned(), json!(hardware_queues(&disk)));
    attributes.insert("numa_node".to_owned(), json!(numa_node(&disk)));
    Value::Object(attributes)
}

/// The kernel has a directory for each under `mq`; devices made of others (device mapper, md, NVMe multipath heads) have none.
fn hardware_queues(disk: &Path) -> Option<usize> {
    Some(fs::read_dir(disk.join("mq")).ok()?.count())
}

/// Returns the NUMA node of the adapter that a disk hangs on, the nearest device above it that has one.
fn numa_node(disk: &Path) -> Option<u32> {
    let path = fs::canonicalize(disk).ok()?;
    let node = path.ancestors().find_map(|device| text(&device.join("numa_node")))?;
    // -1 where the firmware names none.
    node.parse().ok()
}

/// Returns the processors of each NUMA node, as the kernel lists them (`0-7,16-23`).
fn numa_nodes(sysfs: &Path) -> Option<Map<String, Value>> {
    let nodes = fs::read_dir(sysfs.join("devices/system/node")).ok()?.flatten();
    Some(
        nodes
            .filter_map(|node| {
                let number = node.file_name().to_str()?.strip_prefix("node")?.parse::<u32>().ok()?;
                Some((number.to_string(), json!(text(&node.path().join("cpulist"))?)))
            })
            .collect(),
    )
}

fn memory_bytes(proc: &Path) -> Option<u64> {
    let meminfo = text(&proc.join("meminfo"))?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// os-release(5).
fn distribution() -> Option<String> {
    let release = text(Path::new("/etc/os-release")).or_else(|| text(Path::new("/usr/lib/os-release")))?;
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

fn text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned())
}
