//! Availability: drive loss and rebuild, controller failover and firmware update, the same for every kind of array.
//!
//! These modules say which step is due and when; the array model knows what the step costs its parts.

mod background;
mod failover;
mod fault_event;
mod loss;
mod migration;
mod rebuild;
mod recovery;
mod refill;

pub(crate) use background::{BackgroundRebuild, BackgroundSchedule, BackgroundTask};
pub use failover::FirmwareUpdate;
pub(crate) use failover::{ControllerEvent, Failover};
pub(crate) use fault_event::{Capabilities, FaultEvent};
pub(crate) use loss::DATA_LOST;
pub(crate) use migration::{Migrates, Migrating, Migration};
pub use rebuild::Rebuild;
pub(crate) use recovery::Recovery;
pub(crate) use refill::{Rebuilds, Refill, Refilling};

use crate::DescriptionError;

/// Refuses rebuilds and updates that no array of so many controllers and drives of such a size can follow, naming the key.
pub(crate) fn check_availability(
    rebuild: Option<&Rebuild>,
    update: Option<&FirmwareUpdate>,
    controllers: u32,
    drive_bytes: u64,
) -> Result<(), DescriptionError> {
    if let Some(rebuild) = rebuild {
        rebuild.check()?;
    }
    update.map_or(Ok(()), |update| update.check(controllers, drive_bytes))
}
