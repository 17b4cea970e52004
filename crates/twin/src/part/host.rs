//! Hosts: how their threads are counted.

use super::Counters;

/// Counts threads of hosts that are called so, and for how long these worked together. Both, always: what is busy
/// for a share of the time is the one divided by the other.
pub(crate) fn count_threads(threads: u64, busy_ns: u64, counters: &mut Counters, entity: &str) {
    counters.add(entity, "fill_threads", threads);
    counters.add(entity, "threads_busy_ns", busy_ns);
}
