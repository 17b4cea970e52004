//! Services of nodes that are stopped and started: their drives do not serve meanwhile and then catch up.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Description;
use super::Model;
use super::placement::{DriveSlot, Drives};
use crate::TwinError;
use crate::array_model::ArrayModel;
use crate::drive::Slowness;
use crate::settings::bad;

const NVMED: &str = "nvmed";
const SERVER: &str = "server-";

/// A service that I/O to drives of its node goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeService {
    node: u32,
    which: Which,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Which {
    /// The instance of that number of the storage server.
    Server(u32),
    /// The service of all NVMe drives.
    Nvmed,
}

impl NodeService {
    /// Reads `node-1/server-0` or `node-1/nvmed`.
    pub fn parse(description: &Description, value: &Value) -> Result<Self, TwinError> {
        let takes =
            "node-0/server-0, node-0/nvmed and the like: other services are not on the way of I/O to drives";
        let parsed = || {
            let (node, service) = value.as_str()?.strip_prefix("node-")?.split_once('/')?;
            let node = node.parse().ok().filter(|&node: &u32| node < description.nodes.count.get())?;
            let which = match service.strip_prefix(SERVER) {
                Some(number) => {
                    let number = number.parse().ok();
                    Which::Server(number.filter(|&number: &u32| number < description.server_instances())?)
                }
                None if service == NVMED => Which::Nvmed,
                None => return None,
            };
            Some(NodeService { node, which })
        };
        parsed().ok_or_else(|| bad("service", value, takes))
    }

    /// Its name among the counters.
    pub fn entity(self) -> String {
        match self.which {
            Which::Server(number) => format!("node-{}/{SERVER}{number}", self.node),
            Which::Nvmed => format!("node-{}/{NVMED}", self.node),
        }
    }

    /// Returns whether a drive is reached through it.
    fn has(self, drive_slot: DriveSlot) -> bool {
        let is_own = match self.which {
            Which::Server(number) => drive_slot.instance == number,
            Which::Nvmed => drive_slot.is_nvme,
        };
        drive_slot.node == self.node && is_own
    }
}

/// A service of a node, and the drives that are reached through it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceDrives {
    /// Its name, as in `node-1/server-0`.
    pub service: String,
    /// Numbers of drives: all flash drives first, node by node, then all hard disks.
    pub drives: Vec<u32>,
}

/// Returns which drives a service is on the way to.
///
/// # Errors
/// [`TwinError`] where there is no such service, or it is on the way to none.
pub fn service_drives(description: &Description, service: &str) -> Result<ServiceDrives, TwinError> {
    let service = NodeService::parse(description, &Value::from(service))?;
    let drives = Drives::new(description);
    let reached = (0..drives.count()).filter(|&drive| service.has(drives.drive_slot(drive)));
    Ok(ServiceDrives { service: service.entity(), drives: reached.collect() })
}

/// The services that are stopped.
pub(crate) type Stopped = BTreeSet<NodeService>;

impl Model {
    /// A service stops or starts.
    pub(super) fn run_service(&mut self, service: NodeService, runs: bool) {
        let has_changed = if runs { self.stopped.remove(&service) } else { self.stopped.insert(service) };
        if !has_changed {
            return;
        }
        let drives: Vec<u32> = (0..self.placement.drives.count())
            .filter(|&drive| service.has(self.placement.drives.drive_slot(drive)))
            .collect();
        let mut stale = 0;
        for &drive in &drives {
            let drive_slot = self.placement.drives.drive_slot(drive);
            let is_running = !self.stopped.iter().any(|stopped| stopped.has(drive_slot));
            self.placement.availability.set_running(drive, is_running);
            stale += self.placement.availability.stale_on(drive);
        }
        let entity = service.entity();
        self.note(if runs {
            format!("{entity} has started; {stale} replicas lack writes")
        } else {
            format!("{entity} has stopped; {} drives do not serve", drives.len())
        });
        self.restart_relocation();
    }

    /// An empty drive takes the place of one that has failed: what still is to lie there is made anew.
    pub(super) fn replace_drive(&mut self, drive: u32) {
        if !self.placement.availability.is_lost(drive) {
            return;
        }
        self.placement.availability.replace(drive);
        self.slow_drive(drive, Slowness::NONE);
        for volume in 0..self.volumes.len() as u32 {
            for object in 0..self.placement.objects(volume) {
                if self.placement.places(volume, object).iter().any(|place| place.drive == drive) {
                    self.placement.availability.miss(drive, volume, object);
                }
            }
        }
        let name = super::report::drive_name(&self.placement.drives, drive);
        self.note(format!("{name} is replaced"));
        self.restart_relocation();
    }
}
