//! The flash drives of a node, as settings make them.

use super::description::NvmeDrives;
use super::settings::Settings;
use crate::drive::flash::FlashDescription;

/// Spare flash with which collection hardly ever has to move anything.
const SPARE_WITHOUT_COLLECTION: f64 = 10.0;

/// The drive model's description of one of them.
pub(crate) fn describe(drives: &NvmeDrives, settings: &Settings) -> FlashDescription {
    let mut flash = drives.flash();
    if !settings.on.gc {
        flash.over_provisioning = SPARE_WITHOUT_COLLECTION;
    }
    flash
}
