//! Names of events of an array's model, as its twin spells them. A volume's limit and template are kept with it under theirs.

use twin::Event;

pub(crate) use twin::DRIVE_SLOW;

pub(crate) const CONTROLLER_FAILOVER: &str = Event::ControllerFailover.name();
pub(crate) const DRIVE_FAILURE: &str = Event::DriveFailure.name();
pub(crate) const DRIVE_REPLACEMENT: &str = Event::DriveReplacement.name();
pub(crate) const FIRMWARE_UPDATE: &str = Event::FirmwareUpdate.name();
pub(crate) const LIMIT: &str = Event::Limit.name();
pub(crate) const SERVICE_START: &str = Event::ServiceStart.name();
pub(crate) const SERVICE_STOP: &str = Event::ServiceStop.name();
pub(crate) const TEMPLATE: &str = Event::Template.name();
