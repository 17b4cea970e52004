//! Courses of timed events: what an array does by itself over minutes and hours, whatever its parts are.
//!
//! A course says what is due and when; the kind of array that follows it knows what that costs its parts.

mod controllers;
mod event;
mod loss;
mod own;
mod rebuild;
mod recovery;
mod refill;

pub use controllers::FirmwareUpdate;
pub(crate) use controllers::{ControllerCourse, Due};
pub(crate) use event::{Faculties, Occurrence};
pub(crate) use loss::DATA_LOST;
pub(crate) use own::{Agenda, Own, OwnAccount};
pub use rebuild::Rebuild;
pub(crate) use recovery::Recovery;
pub(crate) use refill::{Rebuilds, Refill, Refilling};

use crate::DescriptionError;

/// Refuses courses that no array of so many controllers and drives of such a size can follow, naming the key.
pub(crate) fn check_courses(
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
