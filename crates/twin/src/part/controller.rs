//! Controllers: what all kinds of them must satisfy, and how their processors are counted.

use super::{Counters, Links};
use crate::description::{PART_LIMIT, whole};
use crate::engine::ServerPool;
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

/// Counts processors of a part, and for how long these worked together. Both, always: what is busy for a share of the
/// time is the one divided by the other.
pub(crate) fn count_processors(processors: &ServerPool, counters: &mut Counters, entity: &str) {
    counters.add(entity, "processors", processors.servers());
    counters.add(entity, "processors_busy_ns", processors.busy_ns());
}
