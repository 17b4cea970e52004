//! Hosts: what all kinds of them must satisfy, and what their threads do.

use super::Counters;
use crate::description::{PART_LIMIT, STEP_LIMIT_US, whole, within};
use crate::{DescriptionError, Parameter};

/// Refuses a number of hosts, and a time in which they submit, that no array has.
pub(crate) fn check_hosts(
    count: &Parameter<u32>,
    submission_us: &Parameter<f64>,
) -> Result<(), DescriptionError> {
    whole("hosts.count", count, 1, u64::from(PART_LIMIT))?;
    within("hosts.submission_us", submission_us, 0.0, STEP_LIMIT_US)
}

/// How many threads there are of hosts that are called so, and for how long these worked together. Both, always: what is busy
/// for a share of the time is the one divided by the other.
pub(crate) fn count_threads(threads: u64, busy_ns: u64, counters: &mut Counters, entity: &str) {
    counters.add(entity, "fill_threads", threads);
    counters.add(entity, "threads_busy_ns", busy_ns);
}

/// The threads of hosts in simulated time, where each I/O that is outstanding has one of its own: all take equally long, and
/// none holds up another.
#[derive(Debug, Clone)]
pub(crate) struct HostThreads {
    entity: &'static str,
    submission_ns: u64,
    submissions: u64,
    /// As many as ever had something outstanding.
    threads: u64,
}

impl HostThreads {
    /// Threads of so many hosts that take so long before an I/O goes out.
    pub fn new(hosts: u32, submission_ns: u64) -> HostThreads {
        let entity = if hosts == 1 { "host" } else { "hosts" };
        HostThreads { entity, submission_ns, submissions: 0, threads: 0 }
    }

    /// When the I/O of a tag, which its thread takes up now, goes out on a link.
    #[inline]
    pub fn submit(&mut self, now_ns: u64, tag: u32) -> u64 {
        self.threads = self.threads.max(u64::from(tag) + 1);
        self.submissions += 1;
        now_ns + self.submission_ns
    }

    /// What they have done.
    pub fn count_into(&self, counters: &mut Counters) {
        count_threads(self.threads, self.submissions * self.submission_ns, counters, self.entity);
    }
}
