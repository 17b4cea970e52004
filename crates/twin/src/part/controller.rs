//! Controllers: what all kinds of them must satisfy.

use super::Links;
use crate::description::{PART_LIMIT, whole};
use crate::{DescriptionError, Parameter};

/// Refuses numbers of controllers, and of the processors of each, that no array with these links has.
pub(crate) fn check_controllers(
    count: &Parameter<u32>,
    processors: &Parameter<u32>,
    links: &Links,
) -> Result<(), DescriptionError> {
    whole("controllers.count", count, 1, u64::from(PART_LIMIT))?;
    links.check_reach(count.get(), "controller")?;
    whole("controllers.processors", processors, 1, u64::from(PART_LIMIT))
}
