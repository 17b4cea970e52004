//! Cost of host telemetry with many devices: reading and storing.

use super::process::thread_processor_ns;
use crate::CampaignError;
use crate::coordinator::borrowed;
use crate::real::owned;
use diagnostic::Problem;
use probe::{DeviceSelection, HostProbe, ProbeRoots};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use store::{Manifest, NewCase, Run, StoreError};
use units::NANOS_PER_SECOND;

/// Devices with several paths, and the paths of each: with these and the drives behind nothing else, 200 devices.
const MAPS: usize = 40;
const PATHS_OF_A_MAP: usize = 4;
/// Readings, one a second: several looks at sysfs are among them.
const READINGS: u64 = 120;
/// Ports of the host.
const PORTS: usize = 4;

/// Cost of host telemetry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbeCost {
    /// Block devices that were watched.
    pub devices: usize,
    /// Counters of each reading.
    pub counters: usize,
    /// Readings, one for each second.
    pub readings: u64,
    /// Processor time of reading the host, for each reading.
    pub read_ns: u64,
    /// Processor time of keeping what was read, for each reading.
    pub keep_ns: u64,
}

impl ProbeCost {
    /// Returns the utilisation of one core, at one reading a second.
    pub fn share_of_a_core(&self) -> f64 {
        (self.read_ns + self.keep_ns) as f64 / NANOS_PER_SECOND as f64
    }
}

/// Watches a recorded host with 40 devices of four paths each for two minutes of its time, and stores the counters in a
/// run. Its files are written into `directory`, which should be in memory, as sysfs is.
pub fn bench_probe(directory: &Path) -> Result<ProbeCost, CampaignError> {
    let failed = |source: io::Error| {
        Problem::new(format!("cannot record a host in {}", directory.display())).caused_by(source)
    };
    let host = directory.join("host");
    record(&host).map_err(failed)?;
    let roots = ProbeRoots { proc: host.clone(), sysfs: host.clone() };
    let mut run = create_run(&directory.join("run"))?;
    run.begin_case(0)?;
    write_readings(&host, 0).map_err(failed)?;
    let not_read = |error: probe::ProbeError| Problem::of(&error);
    let mut probe = HostProbe::new(roots, DeviceSelection::Whole, 0).map_err(not_read)?;
    let mut cost = ProbeCost {
        devices: MAPS * (PATHS_OF_A_MAP + 1),
        counters: 0,
        readings: READINGS,
        read_ns: 0,
        keep_ns: 0,
    };
    for second in 1..=READINGS {
        write_readings(&host, second).map_err(failed)?;
        let begun_ns = thread_processor_ns();
        let counters = owned(probe.read(second * NANOS_PER_SECOND).map_err(not_read)?);
        let read_ns = thread_processor_ns();
        let at_ns = second * NANOS_PER_SECOND;
        run.append_counters(Some(0), at_ns, Some(at_ns), &borrowed(&counters))?;
        cost.read_ns += read_ns - begun_ns;
        cost.keep_ns += thread_processor_ns() - read_ns;
        cost.counters = counters.len();
    }
    cost.read_ns /= READINGS;
    cost.keep_ns /= READINGS;
    Ok(cost)
}

fn create_run(directory: &Path) -> Result<Run, StoreError> {
    let case = NewCase {
        plan: "bench".into(),
        stage: "watched".into(),
        name: "watched".into(),
        settings: plan::SettingValues::new(),
        estimated_duration_ns: READINGS * NANOS_PER_SECOND,
        estimated_write_bytes: 0,
    };
    let manifest = Manifest { interval_ns: NANOS_PER_SECOND, engine: "fio".into(), ..Manifest::default() };
    Run::create(directory, &manifest, &[case])
}

fn path_name(map: usize, path: usize) -> String {
    format!("sd{}", map * PATHS_OF_A_MAP + path)
}

/// sysfs of maps of multipathd over SCSI disks, and what of `/proc` does not change.
fn record(host: &Path) -> io::Result<()> {
    let block = host.join("block");
    fs::create_dir_all(&block)?;
    for map in 0..MAPS {
        let device = block.join(format!("dm-{map}"));
        fs::create_dir_all(device.join("dm"))?;
        fs::write(device.join("dm/name"), format!("mpath{map}\n"))?;
        fs::write(device.join("dm/uuid"), format!("mpath-3600a0b8{map:08}\n"))?;
        for path in 0..PATHS_OF_A_MAP {
            let (name, port) = (path_name(map, path), path % PORTS);
            let real = host.join(format!("devices/pci0/host{port}/target/{port}:0:0:{map}/block/{name}"));
            fs::create_dir_all(&real)?;
            fs::create_dir_all(device.join("slaves").join(&name))?;
            std::os::unix::fs::symlink(real, block.join(name))?;
        }
    }
    fs::write(host.join("loadavg"), "1.10 1.20 1.30 3/999 1234\n")?;
    fs::create_dir_all(host.join("pressure"))?;
    for resource in ["cpu", "io", "memory"] {
        fs::write(host.join("pressure").join(resource), "some avg10=0.00 total=1000\n")?;
    }
    Ok(())
}

/// Writes the kernel's counters after so many seconds under load: every path carries a share of it.
fn write_readings(host: &Path, second: u64) -> io::Result<()> {
    let mut diskstats = String::new();
    let mut line = |minor: usize, name: &str, paths: u64| {
        let ios = second * 1000 * paths;
        let (sectors, milliseconds) = (ios * 8, ios / 2);
        let _ = writeln!(
            diskstats,
            " 8 {minor} {name} {ios} 3 {sectors} {milliseconds} {ios} 5 {sectors} {milliseconds} 4 {milliseconds} {milliseconds} 0 0 0 0 7 9"
        );
    };
    for map in 0..MAPS {
        line(1000 + map, &format!("dm-{map}"), PATHS_OF_A_MAP as u64);
        for path in 0..PATHS_OF_A_MAP {
            line(map * PATHS_OF_A_MAP + path, &path_name(map, path), 1);
        }
    }
    fs::write(host.join("diskstats"), diskstats)?;
    let ticks = second * 50;
    let mut stat = format!("cpu {ticks} 0 {ticks} {ticks} 0 0 0 0 0 0\n");
    for processor in 0..64 {
        let _ = writeln!(stat, "cpu{processor} {ticks} 0 {ticks} {ticks} 0 0 0 0 0 0");
    }
    fs::write(host.join("stat"), stat)
}
