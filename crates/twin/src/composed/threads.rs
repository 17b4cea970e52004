//! Threads of hosts: one for each job, or one for each outstanding I/O.

use super::rates::rate;
use crate::engine::{Rate, Server};

/// Threads that hand I/Os over.
#[derive(Debug, Clone)]
pub(crate) struct Threads {
    submit_ns: u64,
    copy: Rate,
    of: ThreadsOf,
    /// I/Os that were handed over.
    pub ios: u64,
}

#[derive(Debug, Clone)]
enum ThreadsOf {
    /// By job: its I/Os wait for each other.
    Jobs(Vec<Server>),
    /// No I/O waits for another. How many were ever outstanding, and for how long their threads worked.
    Ios { threads: u64, busy_ns: u64 },
}

impl Threads {
    /// Threads that have done nothing yet; they take no time unless `take_time`. Protocol and file system cost `more_ns` an I/O.
    pub fn new(hosts: &array::Hosts, more_ns: u64, take_time: bool) -> Threads {
        Threads {
            submit_ns: if take_time { hosts.submit.get() + more_ns } else { 0 },
            copy: rate(hosts.copy.get(), take_time),
            of: if hosts.threads.get() == 1 {
                ThreadsOf::Ios { threads: 0, busy_ns: 0 }
            } else {
                ThreadsOf::Jobs(Vec::new())
            },
            ios: 0,
        }
    }

    /// Returns when the thread of an I/O, which takes it up now or after others, hands it over.
    #[inline]
    pub fn submit(&mut self, now_ns: u64, job: u32, tag: u32, bytes: u32) -> u64 {
        self.ios += 1;
        let service_ns = self.submit_ns + self.copy.duration_ns(u64::from(bytes));
        match &mut self.of {
            ThreadsOf::Ios { threads, busy_ns } => {
                *threads = (*threads).max(u64::from(tag) + 1);
                *busy_ns += service_ns;
                now_ns + service_ns
            }
            ThreadsOf::Jobs(jobs) => {
                if job as usize >= jobs.len() {
                    jobs.resize(job as usize + 1, Server::default());
                }
                jobs[job as usize].serve(now_ns, service_ns)
            }
        }
    }

    /// Returns whether I/Os are handed over in the order in which they are taken up, whatever their jobs and sizes.
    pub fn keep_order(&self) -> bool {
        matches!(self.of, ThreadsOf::Ios { .. }) && self.copy == Rate::UNLIMITED
    }

    /// Returns how many there are, and for how long they worked together.
    pub fn count(&self) -> (u64, u64) {
        match &self.of {
            ThreadsOf::Ios { threads, busy_ns } => (*threads, *busy_ns),
            ThreadsOf::Jobs(jobs) => (jobs.len() as u64, jobs.iter().map(Server::busy_ns).sum()),
        }
    }
}
