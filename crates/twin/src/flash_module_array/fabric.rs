//! Hosts and links: which way a command takes, and how long its data travels.

use super::Description;
use super::Settings;
use crate::engine::{Rate, Server, nanos_of_us};

/// One full-duplex link.
#[derive(Debug, Clone, Default)]
pub(crate) struct Link {
    pub host: u32,
    pub controller: u32,
    to_array: Server,
    to_host: Server,
    pub to_array_bytes: u64,
    pub to_host_bytes: u64,
}

impl Link {
    /// Busy times of the direction to the array and of that to the host.
    pub fn busy_ns(&self) -> [u64; 2] {
        [self.to_array.busy_ns(), self.to_host.busy_ns()]
    }
}

/// The links of one host, which take turns.
#[derive(Debug, Clone)]
struct Paths {
    links: Box<[u32]>,
    next: usize,
}

/// Hosts and links.
#[derive(Debug, Clone)]
pub(crate) struct Fabric {
    submission_ns: u64,
    /// False: a host takes its first open link always.
    balances: bool,
    command_ns: u64,
    rate: Rate,
    links: Box<[Link]>,
    hosts: Box<[Paths]>,
}

impl Fabric {
    pub fn new(description: &Description, settings: Settings) -> Self {
        let hosts = description.hosts.count.get();
        let controllers = description.controllers.count.get();
        let links: Box<[Link]> = (0..description.links.count.get())
            // Dealt to hosts first, so that every host reaches every controller where there are links enough.
            .map(|index| Link {
                host: index % hosts,
                controller: (index / hosts) % controllers,
                ..Link::default()
            })
            .collect();
        let paths = |host| {
            let of_host = (0..links.len() as u32).filter(|&index| links[index as usize].host == host);
            Paths { links: of_host.collect(), next: 0 }
        };
        let hosts = (0..hosts).map(paths).collect();
        let (command_ns, rate) = if settings.links {
            let links = &description.links;
            (nanos_of_us(links.command_us.get()), Rate::from_mb_per_s(links.mb_per_s.get()))
        } else {
            (0, Rate::UNLIMITED)
        };
        Fabric {
            submission_ns: nanos_of_us(description.hosts.submission_us.get()),
            balances: settings.balancing,
            command_ns,
            rate,
            links,
            hosts,
        }
    }

    /// When an I/O that a thread issues now goes out on a link.
    #[inline]
    pub fn issued_at_ns(&self, now_ns: u64) -> u64 {
        now_ns + self.submission_ns
    }

    /// The next link of a job's host whose controller `is_known_up` to the host; any link where none is.
    #[inline]
    pub fn choose(&mut self, job: u32, is_known_up: impl Fn(u32) -> bool) -> u32 {
        let count = self.hosts.len() as u32;
        let paths = &mut self.hosts[(job % count) as usize];
        if !self.balances {
            paths.next = 0;
        }
        let mut chosen = paths.links[paths.next];
        for _ in 0..paths.links.len() {
            chosen = paths.links[paths.next];
            paths.next = if paths.next + 1 == paths.links.len() { 0 } else { paths.next + 1 };
            if is_known_up(self.links[chosen as usize].controller) {
                break;
            }
        }
        chosen
    }

    /// The controller at a link's end.
    #[inline]
    pub fn controller_of(&self, link: u32) -> u32 {
        self.links[link as usize].controller
    }

    /// Sends written data; returns when the controller has it.
    #[inline]
    pub fn send_to_array(&mut self, now_ns: u64, link: u32, bytes: u64) -> u64 {
        let link = &mut self.links[link as usize];
        link.to_array_bytes += bytes;
        link.to_array.serve(now_ns, self.command_ns + self.rate.duration_ns(bytes))
    }

    /// Sends read data; returns when the host has it.
    #[inline]
    pub fn send_to_host(&mut self, now_ns: u64, link: u32, bytes: u64) -> u64 {
        let link = &mut self.links[link as usize];
        link.to_host_bytes += bytes;
        link.to_host.serve(now_ns, self.command_ns + self.rate.duration_ns(bytes))
    }

    /// The links, for their counters.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        self.links.iter()
    }
}
