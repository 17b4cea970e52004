//! Links between hosts and controllers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Counters;
use crate::description::{PART_LIMIT, STEP_LIMIT_US, rate, refuse, whole, within};
use crate::engine::{Rate, Server, nanos_of_us};
use crate::{DescriptionError, Parameter};

/// Full-duplex links between hosts and controllers, dealt to controllers in turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Links {
    /// What they are, for drawings.
    pub label: String,
    /// How many in all.
    pub count: Parameter<u32>,
    /// What a link carries in each direction, in 10^6 bytes a second.
    pub mb_per_s: Parameter<f64>,
    /// Microseconds that a command holds the direction its data takes, beside its bytes.
    pub command_us: Parameter<f64>,
}

impl Links {
    /// Refuses what no links can be, naming the key.
    pub(crate) fn check(&self) -> Result<(), DescriptionError> {
        whole("links.count", &self.count, 1, u64::from(PART_LIMIT))?;
        rate("links.mb_per_s", &self.mb_per_s)?;
        within("links.command_us", &self.command_us, 0.0, STEP_LIMIT_US)
    }

    /// Refuses fewer links than there are of the parts that each needs one, such as a `controller`.
    pub(crate) fn check_reach(&self, count: u32, part: &str) -> Result<(), DescriptionError> {
        let links = self.count.get();
        if links >= count {
            return Ok(());
        }
        refuse(
            "links.count",
            format!("{links} links leave {} of {count} {part}s with no link", count - links),
            format!("give every {part} a link"),
        )
    }
}

/// Transmission queue of one direction of a link.
#[derive(Debug, Clone, Default)]
pub(crate) struct LinkDirection {
    server: Server,
    pub bytes: u64,
}

impl LinkDirection {
    /// Carries so many bytes, which take so long; returns when they are there.
    #[inline]
    pub fn carry(&mut self, now_ns: u64, bytes: u64, service_ns: u64) -> u64 {
        self.bytes += bytes;
        self.server.serve(now_ns, service_ns)
    }

    /// All the time that it was given to carry, also that which is still to come.
    pub fn busy_ns(&self) -> u64 {
        self.server.busy_ns()
    }
}

/// Both directions of one link.
#[derive(Debug, Clone, Default)]
struct LinkServer {
    to_array: LinkDirection,
    to_host: LinkDirection,
}

/// Links of the array in simulated time.
#[derive(Debug, Clone)]
pub(crate) struct LinkServers {
    command_ns: u64,
    rate: Rate,
    links: Box<[LinkServer]>,
}

impl LinkServers {
    /// Links that carry nothing yet; any load in no time unless they `take_time`.
    pub fn new(links: &Links, take_time: bool) -> Self {
        let (command_ns, rate) = if take_time {
            (nanos_of_us(links.command_us.get()), Rate::from_mb_per_s(links.mb_per_s.get()))
        } else {
            (0, Rate::UNLIMITED)
        };
        LinkServers {
            command_ns,
            rate,
            links: vec![LinkServer::default(); links.count.get() as usize].into(),
        }
    }

    /// Returns how many there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.links.len()
    }

    /// Returns how long a command without data takes.
    #[inline]
    pub fn command_ns(&self) -> u64 {
        self.command_ns
    }

    #[inline]
    fn service_ns(&self, bytes: u64) -> u64 {
        self.command_ns + self.rate.duration_ns(bytes)
    }

    /// Sends written data; returns when the controller has it.
    #[inline]
    pub fn send_to_array(&mut self, now_ns: u64, link: u32, bytes: u64) -> u64 {
        let service_ns = self.service_ns(bytes);
        self.links[link as usize].to_array.carry(now_ns, bytes, service_ns)
    }

    /// Sends read data; returns when the host has it.
    #[inline]
    pub fn send_to_host(&mut self, now_ns: u64, link: u32, bytes: u64) -> u64 {
        let service_ns = self.service_ns(bytes);
        self.links[link as usize].to_host.carry(now_ns, bytes, service_ns)
    }

    /// Counts what each link has carried; `and_more` adds what else is known of a link, by its number and its name.
    pub fn count_into(&self, counters: &mut Counters, mut and_more: impl FnMut(usize, &str, &mut Counters)) {
        for (index, wire) in self.links.iter().enumerate() {
            let entity = format!("link-{index}");
            counters.add(&entity, "to_array_bytes", wire.to_array.bytes);
            counters.add(&entity, "to_host_bytes", wire.to_host.bytes);
            counters.add(&entity, "to_array_busy_ns", wire.to_array.busy_ns());
            counters.add(&entity, "to_host_busy_ns", wire.to_host.busy_ns());
            and_more(index, &entity, counters);
        }
    }
}
