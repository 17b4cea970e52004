//! Telemetry of the host during a case: block devices, processors, pressure, on the run's clock.
//!
//! [`HostProbe`] reads `/proc` at the end of each interval and gives the columns of `iostat -x`, the processor
//! shares of `iostat -c`, load and pressure; [`ProbeThread`] does so in the background. Volumes of the device mapper,
//! paths of dm-multipath and of native NVMe multipath, and the balance between them are told apart by sysfs.
//! [`CollectorThread`] asks what may answer late or never: a command, a Prometheus address, the drives' health.
//! [`host_facts`] describes the host for the manifest.

#![doc = include_str!("../README.md")]

mod balance;
mod collectors;
mod counter;
mod cpu;
mod device_selection;
mod diskstats;
mod facts;
mod host;
mod path_states;
mod pressure;
mod recording;
mod thread;
mod topology;

#[doc(hidden)]
pub use collectors::read_as_any_answer;
pub use collectors::{
    AddressError, Answer, CollectedValue, CollectorSettings, CollectorSource, CollectorSummary,
    CollectorThread, CommandSettings, HEALTH_INTERVAL_MINIMUM, HealthSettings, HttpAddress, NAME_BYTES_LIMIT,
    PrometheusSettings, VALUES_LIMIT,
};
pub use counter::{Counter, HostInterval, PathChange};
pub use device_selection::DeviceSelection;
pub use facts::host_facts;
pub use host::{HostProbe, ProbeError, ProbeRoots};
pub use recording::{
    RECORDING_VERSION, RecordError, RecordSettings, RecordedDirection, RecordedMinute, RecordingHead, record,
};
pub use thread::{INTERVAL_MINIMUM, ProbeSettings, ProbeSummary, ProbeThread};
