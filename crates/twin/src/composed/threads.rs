//! Threads of hosts: one for each job, one for each outstanding I/O, or one for each host.

use super::rates::rate;
use crate::engine::{Rate, Server};

/// Threads that hand I/Os over.
#[derive(Debug, Clone)]
pub(crate) struct Threads {
    submit_ns: u64,
    complete_ns: u64,
    copy: Rate,
    of: ThreadsOf,
    /// I/Os that were handed over.
    pub ios: u64,
    /// By tag: the job whose thread has something to do for the answer.
    jobs: Vec<u32>,
}

#[derive(Debug, Clone)]
enum ThreadsOf {
    /// By job: its I/Os wait for each other.
    Jobs(Vec<Server>),
    /// No I/O waits for another. How many were ever outstanding, and for how long their threads worked.
    Ios { threads: u64, busy_ns: u64 },
    /// By host: all its I/Os wait for each other, on the way out and back.
    Hosts(Vec<Server>),
}

impl Threads {
    /// Threads that have done nothing yet; they take no time unless `take_time`. Protocol and file system cost `more_ns` an I/O.
    pub fn new(hosts: &array::Hosts, more_ns: u64, take_time: bool) -> Threads {
        Threads {
            submit_ns: if take_time { hosts.submit.get() + more_ns } else { 0 },
            complete_ns: if take_time { hosts.complete.get() } else { 0 },
            copy: rate(hosts.copy.get(), take_time),
            of: match hosts.threads.get() {
                1 => ThreadsOf::Ios { threads: 0, busy_ns: 0 },
                2 => ThreadsOf::Hosts(vec![Server::default(); hosts.count.count() as usize]),
                _ => ThreadsOf::Jobs(Vec::new()),
            },
            ios: 0,
            jobs: Vec::new(),
        }
    }

    /// Returns when the thread of an I/O, which takes it up now or after others, hands it over.
    #[inline]
    pub fn submit(&mut self, now_ns: u64, job: u32, tag: u32, (bytes, is_read): (u32, bool)) -> u64 {
        self.ios += 1;
        if self.complete_answers() {
            if tag as usize >= self.jobs.len() {
                self.jobs.resize(tag as usize + 1, 0);
            }
            self.jobs[tag as usize] = job;
        }
        // The thread of a host copies read data on the way back.
        let copies = !(is_read && matches!(self.of, ThreadsOf::Hosts(_)));
        let copied = if copies { u64::from(bytes) } else { 0 };
        let service_ns = self.submit_ns + self.copy.duration_ns(copied);
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
            ThreadsOf::Hosts(hosts) => {
                let host = job as usize % hosts.len();
                hosts[host].serve(now_ns, service_ns)
            }
        }
    }

    /// Returns whether threads have something to do for an answer.
    #[inline]
    pub fn complete_answers(&self) -> bool {
        self.complete_ns > 0 || (matches!(self.of, ThreadsOf::Hosts(_)) && self.copy != Rate::UNLIMITED)
    }

    /// Returns when the application has the answer to an I/O of a tag.
    pub fn complete(&mut self, now_ns: u64, tag: u32, (bytes, is_read): (u32, bool)) -> u64 {
        let job = self.jobs[tag as usize];
        match &mut self.of {
            ThreadsOf::Ios { busy_ns, .. } => {
                *busy_ns += self.complete_ns;
                now_ns + self.complete_ns
            }
            ThreadsOf::Jobs(jobs) => jobs[job as usize].serve(now_ns, self.complete_ns),
            ThreadsOf::Hosts(hosts) => {
                let copied = if is_read { u64::from(bytes) } else { 0 };
                let host = job as usize % hosts.len();
                hosts[host].serve(now_ns, self.complete_ns + self.copy.duration_ns(copied))
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
            ThreadsOf::Jobs(servers) | ThreadsOf::Hosts(servers) => {
                (servers.len() as u64, servers.iter().map(Server::busy_ns).sum())
            }
        }
    }
}
