//! Array drivers and host settings.
//!
//! [`ArrayDriver`] is the boundary: *set* these array settings, wait until *ready*, tell the *status*, take an
//! *event*. A driver is a program of the user's ([`ExecDriver`]), the operator ([`ManualDriver`]), the control socket
//! of a served array ([`CtlDriver`]), or one of the drivers that ship ([`shipped`]). [`DriverSpec`] reads what
//! `--array` was given and opens it. [`host`] changes settings of the host and puts them back.

mod array;
mod command;
mod ctl;
mod error;
mod exec;
pub mod host;
mod manual;
mod names;
mod options;
mod protection;
pub mod protocol;
pub mod shipped;
mod spec;
mod wait;

pub use array::{ArrayDriver, Change, CreatedDevice, Progress, Readiness, SetOutcome, Settings};
pub use command::{CommandLimits, OUTPUT_LIMIT_BYTES, STDERR_KEPT_BYTES};
pub use ctl::CtlDriver;
pub use error::{DriverError, MissingConsent};
pub use exec::{EXIT_REFUSED, ExecDriver, exec_schema};
pub use manual::ManualDriver;
pub use options::{DRIVES_LIMIT, OPTIONS_LIMIT, Options};
pub use protection::{HostProtection, Protection};
pub use spec::{DriverSpec, Opening, SPEC_LIMIT_BYTES};
pub use wait::{WaitLimits, wait_until_ready};
