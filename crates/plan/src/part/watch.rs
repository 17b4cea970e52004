//! Telemetry sources of a run.

use probe::HttpAddress;

/// Telemetry of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watch {
    /// Block devices beside those under test.
    pub devices: WatchedDevices,
    /// True where the drives' SMART counters and temperatures are read.
    pub has_health: bool,
    /// Commands that print counters.
    pub commands: Vec<WatchedCommand>,
    /// Addresses with counters as Prometheus text.
    pub addresses: Vec<WatchedAddress>,
}

/// Block devices that are watched beside those under test and what these are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchedDevices {
    /// Every whole device of the host.
    All,
    /// These, by path or by kernel name.
    Named(Vec<String>),
}

impl Default for WatchedDevices {
    fn default() -> Self {
        WatchedDevices::Named(Vec::new())
    }
}

/// A command that prints counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedCommand {
    /// Entity that the counters belong to.
    pub name: String,
    /// The program and its arguments; no shell reads them.
    pub arguments: Vec<String>,
    /// Counters, by their names with `*`, that count since some start.
    pub cumulative: Vec<String>,
    /// Poll interval and timeout of the command.
    pub poll: PollSettings,
}

/// An address with counters as Prometheus text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedAddress {
    /// Entity that the counters belong to.
    pub name: String,
    /// HTTP address of the source.
    pub address: HttpAddress,
    /// The metrics that are kept, by their names with `*`.
    pub metrics: Vec<String>,
    /// Poll interval and timeout of the address.
    pub poll: PollSettings,
}

/// Poll interval and timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PollSettings {
    /// Time between questions.
    pub every_ns: u64,
    /// Timeout of one answer.
    pub timeout_ns: u64,
}
