//! Settings of the host: queue attributes of block devices, sysctls, module parameters; and what a run has mounted.
//!
//! [`HostSettings`] applies them and puts them back: when asked, when dropped, and, after `kill -9`, when the next
//! run opens its state directory. A journal line is on the disk before each change. A setting that somebody else has
//! changed meanwhile is left alone and reported.

mod apply;
mod attribute;
mod devices;
mod error;
mod journal;
mod recover;
mod setting;

pub use apply::{Applied, HostSettings};
pub use attribute::HostRoots;
pub use error::HostError;
pub use journal::default_state_directory;
pub use recover::{PutBack, Recovered, recover};
pub use setting::HostSetting;
