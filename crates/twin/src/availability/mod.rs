//! Availability: drive loss and rebuild, controller failover and firmware update, the same for every array.
//!
//! These modules say which step is due and when; the array model knows what the step costs its parts.

mod failover;
mod fault_event;
mod loss;
mod migration;
mod pace;
mod rebuild;
mod recovery;
mod refill;

pub(crate) use failover::{ControllerEvent, Failover, FirmwareUpdate};
pub(crate) use fault_event::{Capabilities, FAILOVER_REMEDY, Fault, FaultEvent, NODE, no_controllers};
pub(crate) use loss::DATA_LOST;
pub(crate) use migration::{Migrates, Migrating, Migration};
pub(crate) use rebuild::Rebuild;
pub(crate) use recovery::Recovery;
pub(crate) use refill::{Rebuilds, Refill, Refilling};
