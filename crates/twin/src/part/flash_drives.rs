//! Solid-state drives: how their model refuses one.

use crate::DescriptionError;
use crate::drive;

/// Returns what the flash model says of a drive that cannot be, as an error of the array's description.
pub(crate) fn no_flash_drive(error: drive::DescriptionError) -> DescriptionError {
    let drive::DescriptionError { key, reason } = error;
    DescriptionError {
        path: key.to_owned(),
        problem: "no drive can have it".into(),
        hint: format!("it must be {reason}"),
    }
}
