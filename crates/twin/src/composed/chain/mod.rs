//! Chains of replicas: objects that lie on drives of several nodes, and the path of I/Os through these.
//!
//! A read: initiator → network → controller of the last replica → drive → network → initiator. A write: initiator → first → … →
//! last replica, each of which forwards it at once, puts it on its drive or into its protected buffer, and answers the initiator;
//! it is complete with the last answer (chain replication; van Renesse and Schneider, OSDI 2004, where the last replica alone
//! answers). `docs/models/chain.md` has the equations.

mod availability;
mod background;
mod buffer;
mod event;
mod instance;
mod journal;
mod machines;
mod node;
mod path;
mod placement;
mod relocation;
mod report;
mod request;
mod row;
mod services;
mod steps;
#[cfg(test)]
mod tests;
mod volume;

use load::Random;
use serde_json::{Map, Value};

use super::Model;
use super::drives::GroupDrives;
use super::groups::Groups;
use super::limit::Limit;
use super::settings::Settings;
use crate::engine::{EventQueue, Slab};
use crate::settings::bad;
use crate::{Event, TwinError, TwinNote};
pub(crate) use event::ChainEvent;
use instance::{Instance, share};
use journal::{DiskJournal, Outcome};
use machines::Machines;
use node::{Costs, Node};
use placement::{Placement, pool_of, row_of};
use relocation::Relocation;
use request::{Io, Request};
use row::Row;
use services::{ServiceNames, Stopped};
use volume::ChainVolume;

pub use services::{ServiceDrives, service_drives};

/// Stream of random numbers for the pieces of the index that are read.
const INDEX_STREAM: u64 = 2;

/// Pool on which volumes may lie.
#[derive(Debug, Clone)]
pub(crate) struct ChainPool {
    pub name: String,
    pub groups: Row<u8>,
}

/// Traffic of a drive that answers at once.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moved {
    pub bytes: u64,
    pub ns: u64,
}

/// State of all chains of an array, beside its drives.
#[derive(Debug, Clone)]
pub(crate) struct Chain {
    settings: Settings,
    /// Nodes issue load, too.
    has_initiators: bool,
    pools: Vec<ChainPool>,
    volumes: Box<[ChainVolume]>,
    placement: Placement,
    relocation: Relocation,
    machines: Machines,
    /// Block drivers, by machine: nodes first, then hosts.
    initiators: Box<[Instance]>,
    nodes: Box<[Node]>,
    costs: Costs,
    /// By drive; `None` of drives that are no hard disks.
    journals: Box<[Option<DiskJournal>]>,
    /// By drive: what was read and written of drives that are no hard disks.
    reads: Box<[Moved]>,
    writes: Box<[Moved]>,
    names: ServiceNames,
    group_names: Vec<String>,
    outcomes: Vec<Outcome>,
    random: Random,
    ios: Vec<Io>,
    requests: Slab<Request>,
    planned: Vec<background::ScheduledEvent>,
    stopped: Stopped,
}

/// Chains with the clock, the queue and the drives of their array.
pub(crate) struct ChainView<'a> {
    chain: &'a mut Chain,
    now_ns: u64,
    queue: &'a mut EventQueue,
    groups: &'a mut Groups,
    notes: &'a mut Vec<TwinNote>,
}

impl Chain {
    /// The chains of an array that has such pools, whose drives are then filled as far as volumes lie on them.
    pub fn new(
        array: &array::Array,
        settings: &Settings,
        groups: &mut Groups,
        seed: u64,
    ) -> Result<Option<Box<Chain>>, TwinError> {
        if !array.has_chains() {
            return Ok(None);
        }
        let on = settings.on;
        let placement = Placement::new(array, seed)?;
        let node_count = array.node_count();
        let nodes: Box<[Node]> =
            (0..node_count).map(|node| Node::new(array, settings, &placement, node)).collect();
        let initiator_share = share(array, settings, array::Service::INITIATOR, 1);
        let machines = node_count + array.hosts.count.count();
        let initiator = Instance::new(initiator_share, on.host && on.processors);
        let pools: Vec<ChainPool> = array
            .pools
            .iter()
            .enumerate()
            .map(|(index, pool)| ChainPool {
                name: pool.keys.name.text.clone(),
                groups: row_of(array, index),
            })
            .collect();
        let volumes = array.volumes.iter().enumerate().map(|(index, volume)| {
            let limit = match settings.limit.filter(|_| index == settings.volume) {
                Some(limit) => limit,
                None => volume.limit.as_ref().map_or(Limit::default(), Limit::of),
            };
            let groups = row_of(array, pool_of(array, volume));
            ChainVolume::new(&volume.keys.name.text, volume.keys.size.get(), groups, limit, on.limits)
        });
        let count = placement.drives.count();
        let drives = 0..count;
        for (group, described) in array.groups.iter().enumerate() {
            let capacity_bytes = described.drives.capacity_bytes() as f64;
            let fill = |drive: u32| {
                f64::from(placement.held(drive)) * placement.object_bytes as f64 / capacity_bytes
            };
            match &mut groups.drives[group] {
                GroupDrives::SolidStates(drives) => {
                    drives.fill(array.drives_in(group).map(fill).collect());
                    // Relocations use them before the first I/O of a host.
                    drives.prepare();
                }
                // Their completions come by events, also where they serve in order.
                GroupDrives::HardDisks(disks) => disks.answers_at_once = false,
                GroupDrives::Modules(_) => {}
            }
        }
        let journal = |drive: u32| {
            let group = &array.groups[placement.drives.drive_slot(drive).group];
            let array::Drives::HardDisk(disk) = &group.drives else { return None };
            let log_first_byte = u64::from(placement.held(drive)) * placement.object_bytes;
            let journal = group.journal.as_ref().filter(|_| on.copy_on_write);
            Some(DiskJournal::new(journal, log_first_byte, disk.capacity.get()))
        };
        Ok(Some(Box::new(Chain {
            has_initiators: array.nodes.as_ref().is_some_and(|nodes| nodes.initiators.is_on()),
            pools,
            volumes: volumes.collect(),
            relocation: Relocation::new(&array.rebuild),
            machines: Machines::new(array, on),
            costs: Costs::new(array, &initiator, &nodes[0]),
            initiators: vec![initiator; machines as usize].into(),
            nodes,
            journals: drives.map(journal).collect(),
            reads: vec![Moved::default(); count as usize].into(),
            writes: vec![Moved::default(); count as usize].into(),
            names: ServiceNames::new(array),
            group_names: array.groups.iter().map(|group| group.name().to_owned()).collect(),
            outcomes: Vec::new(),
            random: Random::from_seed_and_stream(seed, INDEX_STREAM),
            ios: Vec::new(),
            requests: Slab::default(),
            planned: Vec::new(),
            stopped: Stopped::new(),
            settings: settings.clone(),
            placement,
        })))
    }

    /// Machine that issues the I/Os of a job which says nothing of it.
    fn machine_of(&self, job: u32) -> u32 {
        let nodes = self.nodes.len() as u32;
        match self.settings.host {
            Some(host) => host,
            None if self.has_initiators => 0,
            None => nodes + job % (self.initiators.len() as u32 - nodes),
        }
    }

    /// Machine that a value names.
    pub fn machine(&self, value: &Value) -> Result<u32, TwinError> {
        let (nodes, machines) = (self.nodes.len() as u32, self.initiators.len() as u32);
        machine_of(value, self.has_initiators, nodes, machines - nodes)
            .ok_or_else(|| bad("host", value, "node, client, or one of them by number as in node-1"))
    }

    /// Checks an event.
    pub fn event(
        &self,
        event: Event,
        arguments: &Map<String, Value>,
    ) -> Result<background::ScheduledEvent, TwinError> {
        background::ScheduledEvent::new(self, event, arguments)
    }

    /// Refuses the loss of a node that issues the load; `issuers` are the machines that attachments name.
    pub fn check_issuers(
        &self,
        planned: &background::ScheduledEvent,
        mut issuers: impl Iterator<Item = Option<u32>>,
    ) -> Result<(), TwinError> {
        let background::ScheduledEvent::NodeFailure { node } = planned else { return Ok(()) };
        if issuers.any(|host| host.unwrap_or_else(|| self.machine_of(0)) == *node) {
            let remedy = "the node issues the load itself: set `host` to another machine";
            return Err(TwinError::NoSuchEvent { event: Event::NodeFailure.name(), remedy });
        }
        Ok(())
    }

    /// A window of a fast-forward begins.
    pub fn begin_window(&mut self) {
        let buffers = self.nodes.iter_mut().flat_map(|node| node.buffers.iter_mut().flatten());
        buffers.for_each(buffer::Buffer::begin_window);
    }

    /// Returns how long it goes on as in a window: what lasts longer than one is what moves and what the buffers hold. Volumes fill so
    /// little of the flash drives that collection hardly moves anything, whatever is written (`docs/models/storpool.md`).
    pub fn steady_for_ns(&self) -> u64 {
        let mut buffers = self.nodes.iter().flat_map(|node| node.buffers.iter().flatten());
        let is_steady = !self.relocation.is_under_way && buffers.all(buffer::Buffer::is_steady);
        if is_steady { u64::MAX } else { 0 }
    }

    /// Returns whether an event makes the load of some volumes chaotic. Where a volume of flash and disks loses a replica on flash,
    /// reads go to disks, which hold the places of all queues; writes fill the buffers behind them until the load stalls and starts
    /// anew. When that happens differs by half a minute from one seed to the next (1,024 outstanding, 4K, 30 % reads: 29 to 62 s
    /// after the failure in eight exact runs, `docs/models/storpool.md`).
    pub fn is_chaotic_after(&self, event: Event, mut volumes: impl Iterator<Item = usize>) -> bool {
        let is_mixed = |volume: usize| {
            let groups = &self.volumes[volume].groups;
            groups.iter().any(|group| *group != groups[0])
        };
        let takes_replicas = matches!(event, Event::DriveFailure | Event::NodeFailure | Event::ServiceStop);
        takes_replicas && volumes.any(is_mixed)
    }

    /// The drive of a name.
    pub fn find_drive(&self, name: &str) -> Option<u32> {
        report::find_drive(self, name)
    }

    /// The name of a drive.
    pub fn drive_name(&self, drive: u32) -> String {
        report::drive_name(self, drive)
    }
}

/// Number of the machine that a value names, nodes first, then hosts: `node`, `client`, or one of them by number as in `node-1`.
pub(crate) fn machine_named(array: &array::Array, value: &Value) -> Option<u32> {
    let has_initiators = array.nodes.as_ref().is_some_and(|nodes| nodes.initiators.is_on());
    machine_of(value, has_initiators, array.node_count(), array.hosts.count.count())
}

fn machine_of(value: &Value, has_initiators: bool, nodes: u32, hosts: u32) -> Option<u32> {
    let text = value.as_str()?;
    let (kind, index) = match text.split_once('-') {
        Some((kind, index)) => (kind, index.parse().ok()?),
        None => (text, 0),
    };
    match kind {
        "node" if has_initiators && index < nodes => Some(index),
        "client" if index < hosts => Some(nodes + index),
        _ => None,
    }
}

impl Model {
    /// The chains of the array, with what they share with the rest of it.
    #[inline]
    pub(super) fn chain_view(&mut self) -> Option<ChainView<'_>> {
        let chain = self.chain.as_deref_mut()?;
        Some(ChainView {
            chain,
            now_ns: self.now_ns,
            queue: &mut self.queue,
            groups: &mut self.groups,
            notes: &mut self.notes,
        })
    }

    /// Counters of an array of chains: of volumes, drives and services by their names.
    pub(super) fn count_chain(&self, chain: &Chain, counters: &mut crate::part::Counters) {
        report::count_into(chain, &self.groups, counters);
    }
}
