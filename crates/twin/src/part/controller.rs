//! Controllers: how their processors are counted.

use super::Counters;
use crate::engine::ServerPool;

/// Counts processors of a part, and for how long these worked together. Both, always: what is busy for a share of the
/// time is the one divided by the other.
pub(crate) fn count_processors(processors: &ServerPool, counters: &mut Counters, entity: &str) {
    counters.add(entity, "processors", processors.servers());
    counters.add(entity, "processors_busy_ns", processors.busy_ns());
}
