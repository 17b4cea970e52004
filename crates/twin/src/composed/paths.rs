//! Paths of hosts: which links each reaches, and which of them its next command takes.

/// Links that take turns.
#[derive(Debug, Clone)]
struct Turns {
    links: Box<[u16]>,
    next: usize,
}

impl Turns {
    #[inline]
    fn turn(&mut self) -> u16 {
        let link = self.links[self.next];
        self.next = if self.next + 1 == self.links.len() { 0 } else { self.next + 1 };
        link
    }
}

/// Destination of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Destination {
    /// To this controller.
    Controller(u16),
    /// To any controller of this node.
    Node(u16),
}

/// Links that a host reaches.
#[derive(Debug, Clone)]
struct HostPaths {
    by_controller: Box<[Turns]>,
    by_node: Box<[Turns]>,
}

/// Paths of all hosts.
#[derive(Debug, Clone)]
pub(crate) struct Paths {
    /// One for all where they share the links.
    hosts: Box<[HostPaths]>,
    /// Hosts that jobs are dealt to.
    host_count: u32,
    /// By link.
    controllers: Box<[u16]>,
    /// False: a host takes its first open link always.
    balances: bool,
}

impl Paths {
    pub fn new(array: &array::Array, balances: bool) -> Paths {
        let count = array.controller_count();
        let links = array.fabric.ports.count();
        // Links of their own are dealt to hosts first, so that each host reaches every controller.
        let hosts = if array.fabric.paths.get() == 1 { array.hosts.count.count() } else { 1 };
        let controllers: Box<[u16]> = (0..links).map(|link| (link / hosts % count) as u16).collect();
        let per_node = array.controllers.count.count();
        let turns = |host: u32, is_meant: &dyn Fn(u32) -> bool| {
            let own = (0..links).filter(|link| link % hosts == host);
            let meant = own.filter(|&link| is_meant(u32::from(controllers[link as usize])));
            Turns { links: meant.map(|link| link as u16).collect(), next: 0 }
        };
        let of_host = |host: u32| HostPaths {
            by_controller: (0..count).map(|one| turns(host, &|other| other == one)).collect(),
            by_node: (0..count / per_node)
                .map(|node| turns(host, &|other| other / per_node == node))
                .collect(),
        };
        let hosts = (0..hosts).map(of_host).collect();
        Paths { hosts, host_count: array.hosts.count.count(), controllers, balances }
    }

    /// Host of a job.
    #[inline]
    pub fn host_of(&self, job: u32) -> u16 {
        if self.host_count == 1 { 0 } else { (job % self.host_count) as u16 }
    }

    /// The next link to a destination whose controller `is_known_up` to the host; any link where none is.
    #[inline(always)]
    pub fn choose(&mut self, host: u16, to: Destination, is_known_up: impl Fn(u32) -> bool) -> u16 {
        let paths = &mut self.hosts[if self.hosts.len() == 1 { 0 } else { usize::from(host) }];
        let turns = match to {
            Destination::Controller(controller) => &mut paths.by_controller[usize::from(controller)],
            Destination::Node(node) => &mut paths.by_node[usize::from(node)],
        };
        if !self.balances {
            turns.next = 0;
        }
        let mut link = turns.turn();
        for _ in 1..turns.links.len() {
            if is_known_up(u32::from(self.controllers[usize::from(link)])) {
                break;
            }
            link = turns.turn();
        }
        link
    }

    /// Controller at a link's end.
    #[inline]
    pub fn controller_of(&self, link: u16) -> u16 {
        self.controllers[usize::from(link)]
    }
}
