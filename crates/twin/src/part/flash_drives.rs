//! Solid-state drives: how their model refuses one, and what is counted of it.

use super::Counters;
use crate::DescriptionError;
use crate::drive;
use crate::drive::flash::FlashCounters;

/// Returns what the flash model says of a drive that cannot be, as an error of the array's description.
pub(crate) fn no_flash_drive(error: drive::DescriptionError) -> DescriptionError {
    let drive::DescriptionError { key, reason } = error;
    DescriptionError {
        path: key.to_owned(),
        problem: "no drive can have it".into(),
        hint: format!("it must be {reason}"),
    }
}

/// Counts what a drive's flash did, and how long what bounds it was busy, as counters of a part.
pub(crate) fn count_flash(drive: &FlashCounters, counters: &mut Counters, entity: &str) {
    counters.add(entity, "programs", drive.programs);
    counters.add(entity, "erases", drive.erases);
    counters.add(entity, "bus_busy_ns", drive.bus_busy_ns);
    counters.add(entity, "dies_busy_ns", drive.dies_busy_ns);
    counters.add(entity, "commands_busy_ns", drive.commands_busy_ns);
}
