//! Hosts, links to the array, the network between nodes, and links to the drives.

use super::adapters::Adapters;
use super::file_system::Completions;
use super::host_queues::HostQueues;
use super::paths::{Destination, Paths};
use super::protocol::Protocol;
use super::rates::rate;
use super::settings::Settings;
use super::threads::Threads;
use crate::engine::Rate;
use crate::part::{Counters, LinkDirection, count_threads};

/// Pipe in both directions.
#[derive(Debug, Clone, Default)]
struct Port {
    out: LinkDirection,
    into: LinkDirection,
}

impl Port {
    fn count_into(&self, counters: &mut Counters, entity: &str, names: [&'static str; 4]) {
        counters.add(entity, names[0], self.out.bytes);
        counters.add(entity, names[1], self.into.bytes);
        counters.add(entity, names[2], self.out.busy_ns());
        counters.add(entity, names[3], self.into.busy_ns());
    }
}

/// Equal ports with one rate.
#[derive(Debug, Clone)]
struct Ports {
    command_ns: u64,
    rate: Rate,
    ports: Box<[Port]>,
}

impl Ports {
    fn new(count: u32, command_ns: u64, rate: Rate) -> Ports {
        Ports { command_ns, rate, ports: vec![Port::default(); count as usize].into() }
    }

    #[inline]
    fn service_ns(&self, bytes: u64) -> u64 {
        self.command_ns + self.rate.duration_ns(bytes)
    }

    #[inline]
    fn send(&mut self, now_ns: u64, port: usize, bytes: u64, is_out: bool) -> u64 {
        let service_ns = self.service_ns(bytes);
        let port = &mut self.ports[port];
        let direction = if is_out { &mut port.out } else { &mut port.into };
        direction.carry(now_ns, bytes, service_ns)
    }

    fn count_into(&self, counters: &mut Counters, name: &str, names: [&'static str; 4]) {
        for (index, port) in self.ports.iter().enumerate() {
            port.count_into(counters, &format!("{name}-{index}"), names);
        }
    }
}

/// Hosts and all that carries data.
#[derive(Debug, Clone)]
pub(crate) struct Fabric {
    threads: Threads,
    /// None where hosts use the volumes raw.
    completions: Option<Completions>,
    links: Ports,
    /// None where adapters limit nothing.
    adapters: Option<Adapters>,
    /// None where any number of commands may be under way to a volume.
    pub queues: Option<HostQueues>,
    pub link_latency_ns: u64,
    paths: Paths,
    /// By node, as if its ports were one pipe of their sum.
    network: Option<Ports>,
    network_latency_ns: u64,
    network_header_bytes: u64,
    /// By group and, where each node has one, node.
    backends: Vec<Option<Backend>>,
    /// Data takes time between controllers and drives.
    pub delays_drives: bool,
}

/// Links to the drives of one group: one pipe of their sum for each node.
#[derive(Debug, Clone)]
struct Backend {
    ports: Ports,
    latency_ns: u64,
}

impl Backend {
    fn takes_time(&self) -> bool {
        self.ports.command_ns > 0 || self.ports.rate != Rate::UNLIMITED || self.latency_ns > 0
    }
}

impl Fabric {
    pub fn new(array: &array::Array, settings: &Settings, volumes: usize) -> Fabric {
        let on = settings.on;
        let or_none = |is_on: bool, ns: u64| if is_on { ns } else { 0 };
        let links = array.fabric.ports.count();
        let pipe = |ports: u64, bytes_per_s: u64, command_ns: u64, is_on: bool, count: u32| {
            let total_rate = bytes_per_s.saturating_mul(ports);
            Ports::new(count, or_none(is_on, command_ns / ports), rate(total_rate, is_on))
        };
        let sites = super::services::array_sites(array, settings);
        let backends: Vec<Option<Backend>> = (0..sites)
            .flat_map(|_| &array.groups)
            .map(|group| {
                let backend = group.backend.as_ref()?;
                let count = if group.is_per_node { array.node_count() } else { 1 };
                Some(Backend {
                    ports: pipe(
                        backend.ports.get(),
                        backend.rate.get(),
                        backend.command.get(),
                        on.backend,
                        count,
                    ),
                    latency_ns: or_none(on.backend, backend.latency.get()),
                })
            })
            .collect();
        let network = array.network.as_ref();
        let file_system = array.file_system.as_ref().filter(|_| settings.uses_file_system);
        let initiator_ns = Protocol::new(array, on).initiator_ns;
        let file_system_ns = file_system.map_or(0, |file_system| file_system.submit.get());
        Fabric {
            completions: file_system
                .map(|file_system| Completions::new(file_system, array.hosts.count.count())),
            threads: Threads::new(&array.hosts, initiator_ns + file_system_ns, on.host),
            links: Ports::new(
                links,
                or_none(on.links, array.fabric.command.get()),
                rate(array.fabric.rate.get(), on.links),
            ),
            adapters: Adapters::new(&array.fabric, on.host),
            queues: HostQueues::new(array, volumes, on.host),
            link_latency_ns: or_none(on.links, array.fabric.latency.get()),
            paths: Paths::new(array, on.balancing),
            network: network.map(|network| {
                pipe(
                    network.ports.get(),
                    network.rate.get(),
                    network.command.get(),
                    on.network,
                    array.node_count(),
                )
            }),
            delays_drives: network.is_some() || backends.iter().flatten().any(Backend::takes_time),
            network_header_bytes: network.map_or(0, |network| network.header.get()),
            network_latency_ns: network.map_or(0, |network| or_none(on.network, network.latency.get())),
            backends,
        }
    }

    /// Returns when the thread of an I/O, asked now, hands it over: `moved` are its bytes, and whether it reads.
    #[inline]
    pub fn issued_at_ns(&mut self, now_ns: u64, job: u32, tag: u32, moved: (u32, bool)) -> u64 {
        self.threads.submit(now_ns, job, tag, moved)
    }

    /// Returns whether a host has something to do before the application has an answer.
    #[inline]
    pub fn delivers(&self) -> bool {
        self.completions.is_some() || self.threads.complete_answers()
    }

    /// Returns when the application has the answer to an I/O of a tag: `moved` are its bytes, and whether it reads.
    pub fn delivered_at_ns(&mut self, now_ns: u64, host: u16, tag: u32, moved: (u32, bool)) -> u64 {
        let at_ns = match &mut self.completions {
            Some(completions) => completions.complete(now_ns, host, u64::from(moved.0)),
            None => now_ns,
        };
        if self.threads.complete_answers() { self.threads.complete(at_ns, tag, moved) } else { at_ns }
    }

    /// I/Os that hosts have issued.
    pub fn issued_ios(&self) -> u64 {
        self.threads.ios
    }

    /// Returns whether I/Os are handed over in the order in which threads are asked.
    pub fn keeps_order(&self) -> bool {
        self.threads.keep_order() && self.queues.is_none()
    }

    /// Returns whether read data reaches the hosts in a time that no other I/O changes.
    pub fn returns_unhindered(&self) -> bool {
        self.links.command_ns == 0
            && self.links.rate == Rate::UNLIMITED
            && self.adapters.is_none()
            && !self.delivers()
    }

    /// Read data passed the link, where that takes no time.
    #[inline]
    pub fn note_returned(&mut self, link: u16, bytes: u64) {
        self.links.ports[usize::from(link)].into.bytes += bytes;
    }

    /// Returns whether reads share nothing with writes on their way: no adapter limits both.
    pub fn has_ways_apart(&self) -> bool {
        self.adapters.is_none()
    }

    /// Host of a job.
    #[inline]
    pub fn host_of(&self, job: u32) -> u16 {
        self.paths.host_of(job)
    }

    /// Returns whether there is nothing to choose.
    #[inline]
    pub fn has_one_link(&self) -> bool {
        self.links.ports.len() == 1
    }

    /// The link that a host's command takes to a controller, or to any of a node that `is_known_up` to the host.
    #[inline(always)]
    pub fn choose_link(&mut self, host: u16, to: Destination, is_known_up: impl Fn(u32) -> bool) -> u16 {
        self.paths.choose(host, to, is_known_up)
    }

    /// Controller at a link's end.
    #[inline]
    pub fn controller_of(&self, link: u16) -> u16 {
        self.paths.controller_of(link)
    }

    /// Returns when a command, with data if it writes, is at its controller.
    #[inline]
    pub fn send_to_array(&mut self, now_ns: u64, link: u16, bytes: Option<u64>) -> u64 {
        let carried_ns = match bytes {
            Some(bytes) => self.carry(now_ns, usize::from(link), bytes, true),
            // A read's command holds the link that its data comes over.
            None => now_ns,
        };
        carried_ns + self.link_latency_ns
    }

    /// Returns when read data, or an answer without data, is in the host.
    #[inline]
    pub fn send_to_host(&mut self, now_ns: u64, link: u16, bytes: Option<u64>) -> u64 {
        let carried_ns = match bytes {
            Some(bytes) => self.carry(now_ns, usize::from(link), bytes, false),
            None => now_ns,
        };
        carried_ns + self.link_latency_ns
    }

    /// Returns when a link and the adapter behind it have both moved data.
    #[inline]
    fn carry(&mut self, now_ns: u64, link: usize, bytes: u64, is_out: bool) -> u64 {
        let carried_ns = self.links.send(now_ns, link, bytes, is_out);
        match &mut self.adapters {
            Some(adapters) => adapters.move_ns(now_ns, link, bytes).max(carried_ns),
            None => carried_ns,
        }
    }

    /// Returns how long data waits and travels between a node's controller and the drive of another node, and over the
    /// links to the drive. All is charged at the moment of the I/O, as inside a drive (`docs/models/composed.md`).
    #[inline]
    pub fn wait_for_drive_ns(&mut self, now_ns: u64, path: DrivePath, bytes: u64) -> u64 {
        let mut wait_ns = 0;
        if path.home != path.node
            && let Some(network) = &mut self.network
        {
            let (from, to) = if path.is_read { (path.node, path.home) } else { (path.home, path.node) };
            let bytes = bytes + self.network_header_bytes;
            wait_ns += network.send(now_ns, usize::from(from), bytes, true) - now_ns;
            // The receiving port takes the data as it is sent; only what it must wait for others counts.
            let received_ns = network.send(now_ns, usize::from(to), bytes, false) - now_ns;
            wait_ns += received_ns.saturating_sub(network.service_ns(bytes)) + self.network_latency_ns * 2;
        }
        if let Some(backend) = &mut self.backends[path.group] {
            let pipe = if backend.ports.ports.len() == 1 { 0 } else { usize::from(path.node) };
            wait_ns += backend.ports.send(now_ns, pipe, bytes, !path.is_read) - now_ns + backend.latency_ns;
        }
        wait_ns
    }

    /// Counts what links have carried.
    pub fn count_into(&self, counters: &mut Counters, hosts: u32) {
        let (threads, busy_ns) = self.threads.count();
        count_threads(threads, busy_ns, counters, if hosts == 1 { "host" } else { "hosts" });
        if let Some(completions) = &self.completions {
            completions.count_into(counters);
        }
        let names = ["to_array_bytes", "to_host_bytes", "to_array_busy_ns", "to_host_busy_ns"];
        self.links.count_into(counters, "link", names);
        if let Some(adapters) = &self.adapters {
            adapters.count_into(counters);
        }
        if let Some(network) = &self.network {
            let names = ["sent_bytes", "received_bytes", "sent_busy_ns", "received_busy_ns"];
            network.count_into(counters, "network", names);
        }
        let names = ["to_drives_bytes", "from_drives_bytes", "to_drives_busy_ns", "from_drives_busy_ns"];
        for (group, backend) in self.backends.iter().enumerate() {
            match backend {
                // One pipe is known by the name of all such links.
                Some(backend) if self.backends.len() == 1 && backend.ports.ports.len() == 1 => {
                    backend.ports.ports[0].count_into(counters, "drive-links", names);
                }
                Some(backend) => backend.ports.count_into(counters, &format!("drive-links-{group}"), names),
                None => {}
            }
        }
    }
}

/// Path of data between a controller and a drive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DrivePath {
    pub group: usize,
    /// Node of the controller.
    pub home: u16,
    /// Node of the drive.
    pub node: u16,
    pub is_read: bool,
}
