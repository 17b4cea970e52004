//! Services of nodes that are stopped and started: their drives do not serve meanwhile and then catch up.

use std::collections::BTreeSet;

use serde_json::Value;

use super::ChainView;
use super::placement::{DriveSlot, Drives};
use crate::TwinError;
use crate::drive::Slowness;
use crate::settings::bad;

/// Services of a node by name, and what they are on the way to.
#[derive(Debug, Clone)]
pub(crate) struct ServiceNames {
    nodes: u32,
    controllers: u32,
    pub initiator: String,
    pub controller: String,
    pub driver: String,
    /// By group: its drives are reached through the driver.
    is_driven: Box<[bool]>,
}

impl ServiceNames {
    pub fn new(array: &array::Array) -> Self {
        let name = |role: u64, otherwise: &str| {
            array.service_of(role).map_or_else(|| otherwise.to_owned(), |service| service.name.text.clone())
        };
        ServiceNames {
            nodes: array.node_count(),
            controllers: array.controllers.count.count(),
            initiator: name(array::Service::INITIATOR, "initiator"),
            controller: name(array::Service::CONTROLLERS, "controller"),
            driver: name(array::Service::DRIVER, "driver"),
            is_driven: array.groups.iter().map(|group| group.keys.command.get() > 0).collect(),
        }
    }

    /// Returns whether the drives of a group are reached through the driver of their node.
    #[inline]
    pub fn is_driven(&self, group: usize) -> bool {
        self.is_driven[group]
    }

    /// Returns whether a driver is on the way to any drives.
    pub fn has_driver(&self) -> bool {
        self.is_driven.contains(&true)
    }

    /// Reads `node-1/server-0` or `node-1/nvmed`.
    fn service(&self, text: &str) -> Option<NodeService> {
        let (node, service) = text.strip_prefix("node-")?.split_once('/')?;
        let node = node.parse().ok().filter(|&node: &u32| node < self.nodes)?;
        if service == self.driver && self.has_driver() {
            return Some(NodeService { node, which: Which::Driver });
        }
        let number = service.strip_prefix(&self.controller)?.strip_prefix('-')?.parse().ok();
        let number = number.filter(|&number: &u32| number < self.controllers)?;
        Some(NodeService { node, which: Which::Controller(number) })
    }

    fn parse(&self, value: &Value) -> Result<NodeService, TwinError> {
        value.as_str().and_then(|text| self.service(text)).ok_or_else(|| {
            let known = match self.has_driver() {
                true => format!("node-0/{}-0, node-0/{}", self.controller, self.driver),
                false => format!("node-0/{}-0", self.controller),
            };
            let takes = format!("{known} and the like: other services are not on the way of I/O to drives");
            bad("service", value, &takes)
        })
    }

    /// Name of a service among the counters.
    pub fn entity(&self, service: NodeService) -> String {
        match service.which {
            Which::Controller(number) => format!("node-{}/{}-{number}", service.node, self.controller),
            Which::Driver => format!("node-{}/{}", service.node, self.driver),
        }
    }

    /// Returns whether a drive is reached through a service.
    fn reaches(&self, service: NodeService, drive_slot: DriveSlot) -> bool {
        let is_own = match service.which {
            Which::Controller(number) => drive_slot.controller == number,
            Which::Driver => self.is_driven[drive_slot.group],
        };
        drive_slot.node == service.node && is_own
    }
}

/// A service that I/O to drives of its node goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeService {
    node: u32,
    which: Which,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Which {
    /// The controller of that number.
    Controller(u32),
    /// The driver of the node.
    Driver,
}

impl NodeService {
    /// Reads `node-1/server-0` or `node-1/nvmed`.
    pub fn parse(names: &ServiceNames, value: &Value) -> Result<Self, TwinError> {
        names.parse(value)
    }
}

/// A service of a node, and the drives that are reached through it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceDrives {
    /// Its name, as in `node-1/server-0`.
    pub service: String,
    /// Numbers of drives, in the order of the groups, each node by node.
    pub drives: Vec<u32>,
}

/// Returns which drives of an array of chains a service is on the way to.
///
/// # Errors
/// [`TwinError`] where there is no such service, or it is on the way to none.
pub fn service_drives(array: &array::Array, service: &str) -> Result<ServiceDrives, TwinError> {
    let names = ServiceNames::new(array);
    let service = NodeService::parse(&names, &Value::from(service))?;
    let drives = Drives::new(array);
    let reached = (0..drives.count()).filter(|&drive| names.reaches(service, drives.drive_slot(drive)));
    Ok(ServiceDrives { service: names.entity(service), drives: reached.collect() })
}

/// The services that are stopped.
pub(crate) type Stopped = BTreeSet<NodeService>;

impl ChainView<'_> {
    /// A service stops or starts.
    pub(super) fn run_service(&mut self, service: NodeService, runs: bool) {
        let has_changed =
            if runs { self.chain.stopped.remove(&service) } else { self.chain.stopped.insert(service) };
        if !has_changed {
            return;
        }
        let drives: Vec<u32> = (0..self.chain.placement.drives.count())
            .filter(|&drive| self.chain.names.reaches(service, self.chain.placement.drives.drive_slot(drive)))
            .collect();
        let mut stale = 0;
        for &drive in &drives {
            let drive_slot = self.chain.placement.drives.drive_slot(drive);
            let is_running =
                !self.chain.stopped.iter().any(|&stopped| self.chain.names.reaches(stopped, drive_slot));
            self.chain.placement.availability.set_running(drive, is_running);
            stale += self.chain.placement.availability.stale_on(drive);
        }
        let entity = self.chain.names.entity(service);
        self.note(if runs {
            format!("{entity} has started; {stale} replicas lack writes")
        } else {
            format!("{entity} has stopped; {} drives do not serve", drives.len())
        });
        self.restart_relocation();
    }

    /// An empty drive takes the place of one that has failed: what still is to lie there is made anew.
    pub(super) fn replace_drive(&mut self, drive: u32) {
        if !self.chain.placement.availability.is_lost(drive) {
            return;
        }
        self.fit_empty_drive(drive);
        let name = self.chain.drive_name(drive);
        self.note(format!("{name} is replaced"));
        self.restart_relocation();
    }

    /// A node and its drives are gone.
    pub(super) fn lose_node(&mut self, node: u32) {
        let drives: Vec<u32> =
            self.drives_of(node).filter(|&drive| !self.chain.placement.availability.is_lost(drive)).collect();
        drives.iter().for_each(|&drive| self.chain.placement.availability.fail(drive));
        self.note(format!("node-{node} fails with its {} drives", drives.len()));
        self.restart_relocation();
    }

    /// A new node with empty drives takes the place of a lost one.
    pub(super) fn replace_node(&mut self, node: u32) {
        let drives: Vec<u32> =
            self.drives_of(node).filter(|&drive| self.chain.placement.availability.is_lost(drive)).collect();
        drives.iter().for_each(|&drive| self.fit_empty_drive(drive));
        self.note(format!("a new node takes the place of node-{node}"));
        self.restart_relocation();
    }

    fn drives_of(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let drives = &self.chain.placement.drives;
        (0..drives.count()).filter(move |&drive| drives.drive_slot(drive).node == node)
    }

    /// An empty drive is where a lost one was.
    fn fit_empty_drive(&mut self, drive: u32) {
        self.chain.placement.availability.replace(drive);
        let group = self.chain.placement.drives.drive_slot(drive).group;
        let number = self.chain.placement.drives.number_in_group(drive);
        self.groups.drives[group].slow_down(number, Slowness::NONE);
        for volume in 0..self.chain.volumes.len() as u32 {
            for object in 0..self.chain.placement.objects(volume) {
                if self.chain.placement.places(volume, object).iter().any(|place| place.drive == drive) {
                    self.chain.placement.availability.miss(drive, volume, object);
                }
            }
        }
    }
}
