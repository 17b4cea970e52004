//! Counter values of a probe.

use std::sync::Arc;

/// One number about one thing during one interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Counter {
    /// `disk`, `volume`, `path`, `multipath`, `port`, `cpu`, `load` or `psi`.
    pub source: &'static str,
    /// Entity, for example `sdb`, `vg0-data`, `mpatha/sdb`, or `all` for all processors.
    pub entity: Arc<str>,
    /// The name that `iostat` or the kernel uses, unit included.
    pub name: &'static str,
    /// A rate or a mean over the interval.
    pub value: f64,
}

/// A path that was lost or came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// The device and the path: `mpatha/sdb`, `nvme0n1/nvme0c1n1`.
    pub path: Arc<str>,
    /// True if the path can carry I/O now.
    pub is_usable: bool,
    /// The kernel's word for its state, or `gone`.
    pub state: String,
}

/// All counters of one interval.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostInterval {
    /// Start on the run's clock, in nanoseconds.
    pub start_ns: u64,
    /// End on the run's clock, in nanoseconds.
    pub end_ns: u64,
    /// Devices by name, the balance between paths, then processors, load, pressure.
    pub counters: Vec<Counter>,
    /// Paths whose state is another than at the reading before.
    pub path_changes: Vec<PathChange>,
}

impl HostInterval {
    /// One value by its three names.
    pub fn value(&self, source: &str, entity: &str, name: &str) -> Option<f64> {
        let is_it = |counter: &&Counter| {
            counter.source == source && &*counter.entity == entity && counter.name == name
        };
        self.counters.iter().find(is_it).map(|counter| counter.value)
    }
}
