//! The probe itself.

use crate::balance::push_balance;
use crate::counter::HostInterval;
use crate::cpu::{Cpus, push_load};
use crate::device_selection::DeviceSelection;
use crate::diskstats::{Disks, Line, parse_line, parse_stat_file};
use crate::path_states::PathStates;
use crate::pressure::{Pressure, RESOURCES};
use crate::topology::Topology;
use diagnostic::Diagnostic;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Directories of the kernel's view of the host; parameters, so that recorded readings can be tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeRoots {
    /// Directory of procfs, normally `/proc`.
    pub proc: PathBuf,
    /// Directory of sysfs, normally `/sys`.
    pub sysfs: PathBuf,
}

impl ProbeRoots {
    /// The running host.
    pub fn system() -> Self {
        ProbeRoots { proc: "/proc".into(), sysfs: "/sys".into() }
    }
}

/// Errors of reading the host.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// A file that every Linux has.
    #[error("cannot read `{path}`")]
    Read {
        /// Path that was read.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The background thread.
    #[error("cannot start the host probe")]
    Thread(#[source] io::Error),
    /// The interval.
    #[error("a probe interval of {0:?} is shorter than 10 ms")]
    Interval(std::time::Duration),
    /// The receiver of the counters panicked.
    #[error("the host probe ended early, because the receiver of its counters failed")]
    Ended,
}

impl Diagnostic for ProbeError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(match self {
            ProbeError::Read { .. } => "/proc must be mounted; the run can go on without host counters",
            ProbeError::Thread(_) => "the limit of threads may be reached (ulimit -u)",
            ProbeError::Interval(_) => "iostat's own shortest is 1 s",
            ProbeError::Ended => "this is a defect of arraylab",
        }))
    }
}

/// Between looks at sysfs while no device comes or goes: a path may be taken out of a map and put back.
const SCAN_EVERY_NS: u64 = 30 * units::NANOS_PER_SECOND;

/// Reads the host and compares with the reading before. Buffers are reused, so that a reading costs microseconds
/// for a device.
#[derive(Debug)]
pub struct HostProbe {
    roots: ProbeRoots,
    selection: DeviceSelection,
    topology: Topology,
    scanned_ns: u64,
    disks: Disks,
    paths: PathStates,
    cpus: Cpus,
    pressures: Vec<Pressure>,
    all: Arc<str>,
    interval: HostInterval,
    has_given: bool,
    last_ns: u64,
    stat: String,
    other: String,
    bytes: Vec<u8>,
}

impl HostProbe {
    /// Takes the first reading, at `now_ns` on the run's clock.
    pub fn new(roots: ProbeRoots, selection: DeviceSelection, now_ns: u64) -> Result<Self, ProbeError> {
        let topology = Topology::scan(&roots.sysfs, &selection);
        let mut probe = HostProbe {
            roots,
            selection,
            topology,
            scanned_ns: now_ns,
            disks: Disks::default(),
            paths: PathStates::default(),
            cpus: Cpus::default(),
            pressures: RESOURCES.iter().map(|resource| Pressure::of(resource)).collect(),
            all: "all".into(),
            interval: HostInterval::default(),
            has_given: false,
            last_ns: now_ns,
            stat: String::new(),
            other: String::new(),
            bytes: Vec::new(),
        };
        probe.take(now_ns, 1.0)?;
        Ok(probe)
    }

    /// Takes a reading at `now_ns` on the run's clock; gives what happened since the one before.
    pub fn read(&mut self, now_ns: u64) -> Result<&HostInterval, ProbeError> {
        let elapsed_ns = now_ns.saturating_sub(self.last_ns).max(1);
        self.interval.counters.clear();
        // What the first reading found is still to be given.
        if self.has_given {
            self.interval.path_changes.clear();
        }
        self.has_given = true;
        self.take(now_ns, elapsed_ns as f64 / units::NANOS_PER_SECOND as f64)?;
        self.interval.start_ns = self.last_ns;
        self.interval.end_ns = now_ns;
        self.last_ns = now_ns;
        Ok(&self.interval)
    }

    /// Returns the time of the last reading on the run's clock, in nanoseconds.
    pub fn last_ns(&self) -> u64 {
        self.last_ns
    }

    fn take(&mut self, now_ns: u64, elapsed_s: f64) -> Result<(), ProbeError> {
        self.take_disks(now_ns)?;
        let proc = &self.roots.proc;
        let counters = &mut self.interval.counters;
        self.disks.push_counters(elapsed_s, counters);
        self.paths.read(&self.topology, counters, &mut self.interval.path_changes);
        push_balance(&self.topology, &self.disks, &self.paths, elapsed_s, counters);
        required(&proc.join("stat"), &mut self.bytes, &mut self.stat)?;
        self.cpus.read(&self.stat, counters);
        required(&proc.join("loadavg"), &mut self.bytes, &mut self.other)?;
        push_load(&self.other, &self.stat, &self.all, counters);
        for (pressure, resource) in self.pressures.iter_mut().zip(RESOURCES) {
            // A kernel without PSI, or booted with psi=0, has no such file or refuses to read it.
            if required(&proc.join("pressure").join(resource), &mut self.bytes, &mut self.other).is_ok() {
                pressure.read(&self.other, elapsed_s, counters);
            }
        }
        Ok(())
    }

    fn take_disks(&mut self, now_ns: u64) -> Result<(), ProbeError> {
        required(&self.roots.proc.join("diskstats"), &mut self.bytes, &mut self.other)?;
        self.disks.begin();
        self.other.lines().filter_map(parse_line).for_each(|line| self.disks.take(&line));
        // Some kernels keep the hidden devices behind a native NVMe multipath out of /proc/diskstats.
        for path in self.topology.multipaths.iter().flat_map(|multipath| &multipath.paths) {
            if !self.disks.has_taken(&path.name) {
                let stat = self.roots.sysfs.join("block").join(path.name.replace('/', "!")).join("stat");
                // A path that is gone has no such file.
                let read = required(&stat, &mut self.bytes, &mut self.other);
                if let Some(stats) = read.ok().and_then(|()| parse_stat_file(&self.other)) {
                    self.disks.take(&Line { number: (0, 0), name: &path.name, stats });
                }
            }
        }
        let changed = self.disks.end();
        if changed || now_ns.saturating_sub(self.scanned_ns) >= SCAN_EVERY_NS {
            self.topology = Topology::scan(&self.roots.sysfs, &self.selection);
            self.scanned_ns = now_ns;
            let topology = &self.topology;
            self.disks.assign(|name| topology.role(name));
        }
        Ok(())
    }
}

fn required(path: &Path, bytes: &mut Vec<u8>, text: &mut String) -> Result<(), ProbeError> {
    bytes.clear();
    text.clear();
    File::open(path)
        .and_then(|mut file| file.read_to_end(bytes))
        .map_err(|source| ProbeError::Read { path: path.to_owned(), source })?;
    text.push_str(&String::from_utf8_lossy(bytes));
    Ok(())
}
