//! The links between hosts and controllers, the one to the drives, and what a file system costs the hosts.

use super::description::Description;
use super::settings::Settings;
use crate::engine::{Rate, Server, nanos_of_us};
use crate::part::{Counters, HostThreads, LinkServers};

/// What a file system costs its hosts.
#[derive(Debug, Clone)]
struct Completions {
    service_ns: u64,
    rate: Rate,
    hosts: Box<[Server]>,
}

/// Everything between hosts and controllers, and between controllers and drives.
#[derive(Debug, Clone)]
pub(crate) struct Fabric {
    pub threads: HostThreads,
    completions: Option<Completions>,
    pub links: LinkServers,
    drive_rate: Rate,
    to_drives: Server,
    from_drives: Server,
}

impl Fabric {
    pub fn new(description: &Description, settings: &Settings) -> Fabric {
        let hosts = &description.hosts;
        let file_system = settings.file_system.map(|index| &hosts.file_systems[index]);
        let drive_rate = if settings.on.links {
            Rate::from_mb_per_s(description.drive_links.mb_per_s.get())
        } else {
            Rate::UNLIMITED
        };
        let extra_us = file_system.map_or(0.0, |file_system| file_system.submission_us.get());
        let submission_us = if settings.on.processors { hosts.submission_us.get() + extra_us } else { 0.0 };
        Fabric {
            threads: HostThreads::new(hosts.count.get(), nanos_of_us(submission_us)),
            completions: file_system.map(|file_system| Completions {
                service_ns: nanos_of_us(file_system.completion_us.get()),
                rate: Rate::from_mb_per_s(file_system.completion_mb_per_s.get()),
                hosts: vec![Server::default(); hosts.count.get() as usize].into(),
            }),
            links: LinkServers::new(&description.links, settings.on.links),
            drive_rate,
            to_drives: Server::default(),
            from_drives: Server::default(),
        }
    }

    /// Whether data reaches the hosts in no time.
    pub fn costs_nothing(&self) -> bool {
        self.links.cost_nothing() && self.completions.is_none()
    }

    /// Whether hosts have work with an answer.
    #[inline]
    pub fn has_completions(&self) -> bool {
        self.completions.is_some()
    }

    /// A host's work with an answer; returns when the application has it.
    pub fn complete(&mut self, now_ns: u64, job: u32, bytes: u64) -> u64 {
        let Some(completions) = &mut self.completions else { return now_ns };
        let index = job as usize % completions.hosts.len();
        let service_ns = completions.service_ns + completions.rate.duration_ns(bytes);
        completions.hosts[index].serve(now_ns, service_ns)
    }

    /// What the hosts have done: their threads, and where there is a file system each host with answers.
    pub fn count_hosts(&self, counters: &mut Counters) {
        self.threads.count_into(counters);
        let hosts = self.completions.iter().flat_map(|completions| &completions.hosts);
        for (index, host) in hosts.enumerate() {
            counters.add(&format!("host-{index}"), "completion_busy_ns", host.busy_ns());
        }
    }

    /// Sends data to the drives; returns when it is there.
    #[inline]
    pub fn send_to_drives(&mut self, now_ns: u64, bytes: u64) -> u64 {
        self.to_drives.serve(now_ns, self.drive_rate.duration_ns(bytes))
    }

    /// Sends data from the drives; returns when the controller has it.
    #[inline]
    pub fn send_from_drives(&mut self, now_ns: u64, bytes: u64) -> u64 {
        self.from_drives.serve(now_ns, self.drive_rate.duration_ns(bytes))
    }

    /// Busy times of the links to and from the drives.
    pub fn drive_links_busy_ns(&self) -> [u64; 2] {
        [self.to_drives.busy_ns(), self.from_drives.busy_ns()]
    }
}
