//! Hosts and links: which way a command takes, and how long its data travels.

use super::Description;
use super::Settings;
use crate::engine::nanos_of_us;
use crate::part::{HostThreads, LinkServers};

/// The links of one host, which take turns.
#[derive(Debug, Clone)]
struct Paths {
    links: Box<[u32]>,
    next: usize,
}

/// Hosts and links.
#[derive(Debug, Clone)]
pub(crate) struct Fabric {
    pub threads: HostThreads,
    /// False: a host takes its first open link always.
    balances: bool,
    pub links: LinkServers,
    /// By link: the controller at its end.
    controllers: Box<[u32]>,
    hosts: Box<[Paths]>,
}

impl Fabric {
    pub fn new(description: &Description, settings: Settings) -> Self {
        let hosts = description.hosts.count.get();
        let controllers = description.controllers.count.get();
        let links = description.links.count.get();
        let paths =
            |host| Paths { links: (0..links).filter(|index| index % hosts == host).collect(), next: 0 };
        let submission_ns =
            if settings.host { nanos_of_us(description.hosts.submission_us.get()) } else { 0 };
        Fabric {
            threads: HostThreads::new(hosts, submission_ns),
            balances: settings.balancing,
            links: LinkServers::new(&description.links, settings.links),
            // Dealt to hosts first, so that every host reaches every controller where there are links enough.
            controllers: (0..links).map(|index| (index / hosts) % controllers).collect(),
            hosts: (0..hosts).map(paths).collect(),
        }
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
            if is_known_up(self.controllers[chosen as usize]) {
                break;
            }
        }
        chosen
    }

    /// The controller at a link's end.
    #[inline]
    pub fn controller_of(&self, link: u32) -> u32 {
        self.controllers[link as usize]
    }
}
