//! The probe as a whole, on recorded readings and on the running host.

use probe::{
    DeviceSelection, HostInterval, HostProbe, ProbeError, ProbeRoots, ProbeSettings, ProbeSummary,
    ProbeThread, host_facts,
};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use test_support::wait_until;

const SECOND: u64 = 1_000_000_000;

fn recorded(directory: &Path, diskstats: &str) -> ProbeRoots {
    fs::create_dir_all(directory.join("pressure")).unwrap();
    fs::create_dir_all(directory.join("block/sda")).unwrap();
    fs::write(directory.join("diskstats"), diskstats).unwrap();
    fs::write(directory.join("stat"), "cpu  1 0 1 10 0 0 0 0 0 0\nprocs_running 2\n").unwrap();
    fs::write(directory.join("loadavg"), "0.10 0.20 0.30 1/99 1234\n").unwrap();
    fs::write(directory.join("pressure/io"), "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n").unwrap();
    ProbeRoots { proc: directory.to_owned(), sysfs: directory.to_owned() }
}

/// Proves that an interval carries the run's clock, whole devices only, and all sources.
#[test]
fn an_interval_holds_all_sources() {
    let directory = tempfile::tempdir().unwrap();
    let roots = recorded(directory.path(), include_str!("proc/diskstats.before"));
    let mut probe = HostProbe::new(roots, DeviceSelection::Whole, 7 * SECOND).unwrap();
    fs::write(directory.path().join("diskstats"), include_str!("proc/diskstats.after")).unwrap();
    fs::write(directory.path().join("stat"), "cpu  2 0 1 13 0 0 0 0 0 0\nprocs_running 2\n").unwrap();
    fs::write(directory.path().join("pressure/io"), "some avg10=0.00 avg60=0.00 avg300=0.00 total=501000\n")
        .unwrap();
    let interval = probe.read(12 * SECOND).unwrap();
    assert_eq!((interval.start_ns, interval.end_ns), (7 * SECOND, 12 * SECOND));
    assert_eq!(interval.value("disk", "sda", "r/s"), Some(2000.0));
    assert_eq!(interval.value("disk", "sdb", "r/s"), None, "not in sysfs, so a partition");
    assert_eq!(interval.value("cpu", "all", "%user"), Some(25.0));
    assert_eq!(interval.value("load", "all", "load5"), Some(0.2));
    assert_eq!(interval.value("psi", "io", "%some"), Some(10.0));
}

/// Proves that a host without /proc is an error that names the file, and that a host without PSI is none.
#[test]
fn what_is_missing_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let roots = recorded(directory.path(), "");
    fs::remove_dir_all(directory.path().join("pressure")).unwrap();
    HostProbe::new(roots.clone(), DeviceSelection::Whole, 0).unwrap();
    fs::remove_file(directory.path().join("diskstats")).unwrap();
    let error = diagnostic::full_text(&HostProbe::new(roots, DeviceSelection::Whole, 0).unwrap_err());
    assert!(error.contains("diskstats") && error.contains("\nhint: "), "{error}");
}

fn settings(interval: Duration) -> ProbeSettings {
    ProbeSettings {
        roots: ProbeRoots::system(),
        devices: DeviceSelection::Whole,
        interval,
        run_start: Instant::now(),
    }
}

const INTERVAL: Duration = Duration::from_millis(100);

/// Limit on waiting for a condition: far beyond what any takes on a busy machine, so that it ends only what hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a probe for five intervals or more and a part of another; returns its intervals and its summary.
fn five_and_a_part() -> (Vec<HostInterval>, ProbeSummary) {
    let given: Arc<Mutex<Vec<HostInterval>>> = Arc::default();
    let sink = Arc::clone(&given);
    let settings = settings(INTERVAL);
    let begun = settings.run_start;
    let thread = ProbeThread::start(settings, move |i| sink.lock().unwrap().push(i.clone())).unwrap();
    wait_until(PATIENCE, "five intervals are given", || given.lock().unwrap().len() >= 5);
    let fifth_ns = given.lock().unwrap()[4].end_ns;
    // A tenth of an interval is the shortest that is given in the end.
    let over = Duration::from_nanos(fifth_ns) + INTERVAL * 3 / 5;
    wait_until(PATIENCE, "more than half of another interval is over", || begun.elapsed() >= over);
    let summary = thread.stop().unwrap();
    (given.lock().unwrap().clone(), summary)
}

/// Proves on the running host that intervals follow each other without a gap on whole multiples, that the last,
/// shorter one is kept, and that the processor shares make 100.
#[test]
fn the_thread_gives_every_interval() {
    let (given, summary) = five_and_a_part();
    assert_eq!(given.len() as u64, summary.intervals);
    let last_ns = given.last().unwrap().end_ns;
    assert!(last_ns >= 500_000_000, "five intervals end after 500 ms: {last_ns}");
    // A reading that is late leaves out the moments that have gone by. The stop may come between a moment and its reading.
    let begun = last_ns.div_ceil(INTERVAL.as_nanos() as u64);
    let accounted = given.len() as u64 + summary.late;
    assert!((begun - 1..=begun).contains(&accounted), "{accounted} of {begun} intervals: {summary:?}");
    for pair in given.windows(2) {
        assert_eq!(pair[0].end_ns, pair[1].start_ns);
    }
    assert!(given.len() >= 6, "the last, shorter interval is kept: {} intervals", given.len());
    let shares: f64 =
        given[0].counters.iter().filter(|c| c.source == "cpu" && &*c.entity == "all").map(|c| c.value).sum();
    assert!((shares - 100.0).abs() < 1e-6, "{shares}");
}

/// Proves that dropping a probe ends it at once, and that a nonsensical interval is refused.
#[test]
fn the_thread_ends_with_its_owner() {
    let start = Instant::now();
    drop(ProbeThread::start(settings(Duration::from_secs(3600)), |_| ()).unwrap());
    assert!(start.elapsed() < Duration::from_secs(2));
    assert!(matches!(ProbeThread::start(settings(Duration::ZERO), |_| ()), Err(ProbeError::Interval(_))));
    let has_failed = Arc::new(AtomicBool::new(false));
    let failed = Arc::clone(&has_failed);
    let failing = ProbeThread::start(settings(Duration::from_millis(10)), move |_| {
        failed.store(true, Ordering::Relaxed);
        panic!("a failing sink")
    })
    .unwrap();
    wait_until(PATIENCE, "the sink has failed", || has_failed.load(Ordering::Relaxed));
    assert!(matches!(failing.stop(), Err(ProbeError::Ended)));
}

/// Processor time of this thread. `/proc/thread-self/schedstat` counts nanoseconds on the processor.
fn thread_cpu_ns() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Proves that 200 devices at an interval of 1 s cost under 2 % of a core: a reading takes under 20 ms.
#[test]
fn two_hundred_devices_are_cheap() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let text = |round: u64| -> String {
        (0..200)
            .map(|disk| {
                let n = 1_000_000_007 + round * 5000 + disk;
                format!("   8 {disk:7} sd{disk} {n} 5 {n} {n} {n} 7 {n} {n} 0 {n} {n} 0 0 0 0 {n} {n}\n")
            })
            .collect()
    };
    let roots = recorded(directory.path(), &text(0));
    let names = (0..200).map(|disk| format!("sd{disk}")).collect();
    let mut probe = HostProbe::new(roots, DeviceSelection::Named(names), 0).unwrap();
    let (mut spent_ns, rounds) = (0, 100);
    for round in 1..=rounds {
        fs::write(directory.path().join("diskstats"), text(round)).unwrap();
        let before = thread_cpu_ns();
        let interval = probe.read(round * SECOND).unwrap();
        spent_ns += thread_cpu_ns() - before;
        assert_eq!(interval.counters.iter().filter(|c| c.source == "disk").count(), 200 * 22);
    }
    let reading_us = spent_ns / rounds / 1000;
    println!("200 devices: {reading_us} µs a reading, {:.3} % of a core at 1 s", reading_us as f64 / 1e4);
    assert!(reading_us < 20_000, "{reading_us} µs");
}

/// Proves that the facts name kernel, processors, memory and queue attributes of this host as the system does.
#[test]
fn facts_are_those_of_the_host() {
    let facts = host_facts(&ProbeRoots::system(), &["loop0".to_owned(), "nonesuch".to_owned()]);
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(facts["kernel"], release.trim());
    assert!(facts["cpu_logical"].as_u64().unwrap() >= 1);
    assert!(facts["memory_bytes"].as_u64().unwrap() > 1 << 28);
    let scheduler = fs::read_to_string("/sys/block/loop0/queue/scheduler").unwrap();
    assert_eq!(facts["devices"]["loop0"]["scheduler"], scheduler.trim());
    assert!(facts["devices"]["nonesuch"]["scheduler"].is_null());
}

/// Proves that the facts tell NUMA nodes, and of a disk and its partition the hardware queues and the node of the adapter they
/// hang on; a device of no adapter has neither, and an adapter that the firmware gives no node has none.
#[test]
fn facts_tell_numa_nodes_and_hardware_queues() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let write = |path: &str, text: &str| {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    };
    write("devices/system/node/node0/cpulist", "0-1\n");
    write("devices/system/node/node1/cpulist", "2-3\n");
    write("devices/system/node/possible", "0-1\n");
    let disks = [
        ("nvme0n1", "devices/pci0000:80/0000:80:01.0/nvme/nvme0/nvme0n1", Some("1"), 3),
        ("sda", "devices/pci0000:00/0000:00:05.0/host2/target2:0:0/2:0:0:0/block/sda", Some("-1"), 1),
        ("dm-0", "devices/virtual/block/dm-0", None, 0),
    ];
    fs::create_dir_all(root.join("class/block")).unwrap();
    for (name, path, node, queues) in disks {
        write(&format!("{path}/queue/scheduler"), "none\n");
        (0..queues).for_each(|queue| write(&format!("{path}/mq/{queue}/cpu_list"), "0\n"));
        let adapter = path.split('/').take(3).collect::<Vec<_>>().join("/");
        if let Some(node) = node {
            write(&format!("{adapter}/numa_node"), node);
        }
        std::os::unix::fs::symlink(root.join(path), root.join("class/block").join(name)).unwrap();
    }
    write("devices/pci0000:80/0000:80:01.0/nvme/nvme0/nvme0n1/nvme0n1p1/start", "2048\n");
    let partition = root.join("devices/pci0000:80/0000:80:01.0/nvme/nvme0/nvme0n1/nvme0n1p1");
    std::os::unix::fs::symlink(partition, root.join("class/block/nvme0n1p1")).unwrap();

    let roots = ProbeRoots { proc: root.to_owned(), sysfs: root.to_owned() };
    let names = ["nvme0n1", "nvme0n1p1", "sda", "dm-0"].map(str::to_owned);
    let facts = host_facts(&roots, &names);
    assert_eq!(facts["numa_nodes"], serde_json::json!({ "0": "0-1", "1": "2-3" }));
    let of = |name: &str| {
        let device = &facts["devices"][name];
        assert_eq!(device["scheduler"], "none", "{name}");
        (device["hardware_queues"].as_u64(), device["numa_node"].as_u64())
    };
    assert_eq!(of("nvme0n1"), (Some(3), Some(1)));
    assert_eq!(of("nvme0n1p1"), (Some(3), Some(1)));
    assert_eq!(of("sda"), (Some(1), None));
    assert_eq!(of("dm-0"), (None, None));
}
