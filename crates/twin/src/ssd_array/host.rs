//! The host's threads, its queues to the LUNs, its adapters, and the links between host and controllers.

use super::Description;
use super::command::Command;
use super::settings::Settings;
use crate::engine::{Rate, Server, Slots, nanos_of_us};
use crate::part::{Counters, LinkServers, count_threads};

/// The host and its links.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    queue_depth: u32,
    /// False: every command takes its controller's first link.
    balances: bool,
    /// By LUN and link.
    queues: Box<[Slots]>,
    job_ns: u64,
    job_rate: Rate,
    /// The thread of each job that has issued something.
    threads: Vec<Server>,
    links: LinkServers,
    adapter_rate: Rate,
    /// The adapter behind each link.
    adapters: Box<[Server]>,
    /// For each controller, the link that is next; links are dealt to controllers in turn.
    next_link: Box<[u16]>,
    /// For each link, the one that follows among those of its controller.
    after_link: Box<[u16]>,
}

impl Host {
    pub fn new(description: &Description, settings: Settings) -> Self {
        let (host, links) = (&description.host, &description.links);
        let or_none = |is_on: bool, ns: u64| if is_on { ns } else { 0 };
        let or_unlimited = |is_on: bool, mb_per_s: f64| {
            if is_on { Rate::from_mb_per_s(mb_per_s) } else { Rate::UNLIMITED }
        };
        let per_kib_us = host.job_us_per_kib.get();
        let has_job_rate = settings.on.host && per_kib_us > 0.0;
        let paths = description.layout.luns.get() * links.count.get();
        let controllers = description.controllers.count.get();
        let after_link = (0..links.count.get())
            .map(|link| if link + controllers < links.count.get() { link + controllers } else { link % controllers } as u16)
            .collect();
        let queue_depth = if settings.on.host { host.queue_depth.get() } else { u32::MAX };
        Host {
            queue_depth,
            balances: settings.on.balancing,
            queues: vec![Slots::new(queue_depth); paths as usize].into(),
            job_ns: or_none(settings.on.host, nanos_of_us(host.job_us.get())),
            // A KiB in so many µs: 10^6 bytes a second are bytes a µs.
            job_rate: or_unlimited(has_job_rate, 1024.0 / per_kib_us),
            threads: Vec::new(),
            links: LinkServers::new(links, settings.on.links),
            adapter_rate: or_unlimited(settings.on.host, host.adapter_mb_per_s.get()),
            adapters: vec![Server::default(); links.count.get() as usize].into(),
            next_link: (0..controllers as u16).collect(),
            after_link,
        }
    }

    /// Returns when a job's thread, asked now, hands over an I/O of so many bytes.
    #[inline]
    pub fn issued_at_ns(&mut self, now_ns: u64, job: u32, bytes: u32) -> u64 {
        if job as usize >= self.threads.len() {
            self.threads.resize(job as usize + 1, Server::default());
        }
        let service_ns = self.job_ns + self.job_rate.duration_ns(u64::from(bytes));
        self.threads[job as usize].serve(now_ns, service_ns)
    }

    /// The link that a command to a controller takes: its links take turns.
    #[inline]
    pub fn choose_link(&mut self, controller: u16) -> u16 {
        if !self.balances {
            return controller;
        }
        let next = &mut self.next_link[usize::from(controller)];
        let link = *next;
        *next = self.after_link[usize::from(link)];
        link
    }

    fn queue(&mut self, command: &Command) -> &mut Slots {
        &mut self.queues[usize::from(command.lun) * self.links.count() + usize::from(command.link)]
    }

    /// Returns whether a command may be sent now; otherwise it waits for its LUN and link.
    #[inline]
    pub fn may_send(&mut self, index: u32, command: &Command) -> bool {
        self.queue_depth == u32::MAX || self.queue(command).admit(index)
    }

    /// A command is answered. Returns the one that is sent in its place.
    #[inline]
    pub fn answered(&mut self, command: &Command) -> Option<u32> {
        if self.queue_depth == u32::MAX {
            return None;
        }
        self.queue(command).leave()
    }

    /// Returns when a command without data reaches the array: it takes no part in what limits data.
    #[inline]
    pub fn command_ns(&self) -> u64 {
        self.links.command_ns()
    }

    /// Returns whether reads share anything with writes on their way: an adapter that limits both.
    pub fn shares_adapters(&self) -> bool {
        self.adapter_rate != Rate::UNLIMITED
    }

    /// Returns when written data, sent now, are in the array.
    #[inline]
    pub fn send_to_array(&mut self, now_ns: u64, link: u16, bytes: u64) -> u64 {
        let moved_ns = self.adapt(now_ns, link, bytes);
        self.links.send_to_array(now_ns, u32::from(link), bytes).max(moved_ns)
    }

    /// Returns when read data, sent at `at_ns`, are in the host.
    #[inline]
    pub fn send_to_host(&mut self, at_ns: u64, link: u16, bytes: u64) -> u64 {
        let moved_ns = self.adapt(at_ns, link, bytes);
        self.links.send_to_host(at_ns, u32::from(link), bytes).max(moved_ns)
    }

    /// Returns when the adapter behind a link has moved data.
    #[inline]
    fn adapt(&mut self, now_ns: u64, link: u16, bytes: u64) -> u64 {
        // An adapter that takes no time is no resource: reads come to it ahead of the clock.
        if !self.shares_adapters() {
            return now_ns;
        }
        self.adapters[usize::from(link)].serve(now_ns, self.adapter_rate.duration_ns(bytes))
    }

    /// Counts what threads, links and adapters have done.
    pub fn count_into(&self, counters: &mut Counters) {
        let busy_ns = self.threads.iter().map(Server::busy_ns).sum();
        count_threads(self.threads.len() as u64, busy_ns, counters, "host");
        self.links.count_into(counters, |index, entity, counters| {
            counters.add(entity, "adapter_busy_ns", self.adapters[index].busy_ns());
        });
    }
}
