//! What the host did while a case ran: block devices, processors, pressure, on the run's clock.
//!
//! [`HostProbe`] reads `/proc` at the end of each interval and gives the columns of `iostat -x`, the processor
//! shares of `iostat -c`, load and pressure; [`ProbeThread`] does so in the background. [`host_facts`] describes the
//! host for the manifest.

mod counter;
mod cpu;
mod diskstats;
mod facts;
mod host;
mod pressure;
mod thread;

pub use counter::{Counter, HostInterval};
pub use facts::host_facts;
pub use host::{DeviceSelection, HostProbe, ProbeError, ProbeRoots};
pub use thread::{INTERVAL_MINIMUM, ProbeSettings, ProbeSummary, ProbeThread};
