//! Fault and maintenance events of arrays of drives behind controllers, parsed from plans.

use layout::DriveIndex;
use serde_json::{Map, Value};

use super::loss::{DRIVE, drive_of};
use crate::settings::bad;
use crate::{Event, TwinError};

/// Argument of an event: the controller's number.
const CONTROLLER: &str = "controller";
/// Argument of an event: the node's number.
pub(crate) const NODE: &str = "node";

/// Remedy where an array has no nodes that could fail.
const NODES_REMEDY: &str = "give the array `nodes:`, and pools over them";
/// Remedy where controllers cannot leave.
pub(crate) const FAILOVER_REMEDY: &str = "it needs two controllers in one array";
/// Remedy where an array has no chains of replicas.
const CHAIN_REMEDY: &str = "it needs pools with `path: chain`";

/// Returns the error of the event that takes a controller of a cluster.
pub(crate) fn no_controllers() -> TwinError {
    let (part, remedy) = ("controllers beside its nodes", "these fail as a whole, by `node-failure`");
    TwinError::NoSuchPart { event: Event::ControllerFailover.name(), part, remedy }
}

/// Fault or maintenance event of an array of drives behind controllers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultEvent {
    /// The firmware of all controllers is updated.
    FirmwareUpdate,
    /// A controller leaves and comes back.
    ControllerFails(u32),
    /// Fault that the model carries out at its moment.
    Scheduled(Fault),
}

/// Fault that is scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A drive is lost.
    DriveFails(DriveIndex),
    /// A new drive takes the place of a lost one.
    DriveIsReplaced(DriveIndex),
    /// A node is lost.
    NodeFails(u32),
    /// A new node takes the place of a lost one.
    NodeIsReplaced(u32),
    /// A snapshot of all volumes is taken.
    Snapshot,
    /// The oldest snapshot is deleted.
    SnapshotDeletion,
    /// The link to the second array is cut.
    MirrorLinkFails,
    /// The link to the second array is back.
    MirrorLinkIsBack,
}

/// Capabilities of an array that decide which events it accepts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Capabilities {
    /// Drives of its set.
    pub drives: u32,
    pub controllers: u32,
    /// Nodes of a cluster; 0 of an array that is none.
    pub nodes: u32,
    /// A controller can take over what another one served.
    pub can_fail_over: bool,
    /// A controller is away, or a verification goes on.
    pub is_busy: bool,
    pub has_snapshots: bool,
    /// It copies its writes to a second array.
    pub has_mirror: bool,
}

impl Capabilities {
    /// Reads an event and what it is told; refuses what this array cannot do.
    pub fn fault_event(&self, event: Event, arguments: &Map<String, Value>) -> Result<FaultEvent, TwinError> {
        let refused = |remedy| Err(TwinError::NoSuchEvent { event: event.name(), remedy });
        let lacks = |part, remedy| Err(TwinError::NoSuchPart { event: event.name(), part, remedy });
        match event {
            Event::DriveFailure | Event::DriveReplacement => {
                self.check_number(event, DRIVE, self.drives, arguments)?;
                let drive = drive_of(arguments);
                Ok(FaultEvent::Scheduled(match event {
                    Event::DriveFailure => Fault::DriveFails(drive),
                    _ => Fault::DriveIsReplaced(drive),
                }))
            }
            Event::FirmwareUpdate | Event::ControllerFailover => {
                let is_failover = event == Event::ControllerFailover;
                let controllers = if is_failover { self.controllers } else { 0 };
                if !self.can_fail_over {
                    let is_of_nodes = is_failover && self.nodes > 0;
                    return if is_of_nodes { Err(no_controllers()) } else { refused(FAILOVER_REMEDY) };
                }
                if self.is_busy {
                    return Err(TwinError::Busy { event: event.name() });
                }
                self.check_number(event, CONTROLLER, controllers, arguments)?;
                let controller = arguments.get(CONTROLLER).and_then(Value::as_u64).unwrap_or(0);
                Ok(match event {
                    Event::ControllerFailover => FaultEvent::ControllerFails(controller as u32),
                    _ => FaultEvent::FirmwareUpdate,
                })
            }
            Event::NodeFailure | Event::NodeReplacement => {
                if self.nodes == 0 {
                    return lacks("nodes", NODES_REMEDY);
                }
                self.check_number(event, NODE, self.nodes, arguments)?;
                let node = arguments.get(NODE).and_then(Value::as_u64).unwrap_or(0) as u32;
                Ok(FaultEvent::Scheduled(match event {
                    Event::NodeFailure => Fault::NodeFails(node),
                    _ => Fault::NodeIsReplaced(node),
                }))
            }
            Event::Snapshot | Event::SnapshotDeletion if !self.has_snapshots => {
                refused("give the array `snapshots:`")
            }
            Event::MirrorLinkFailure | Event::MirrorLinkRecovery if !self.has_mirror => {
                refused("give the array `mirror:`")
            }
            Event::Snapshot
            | Event::SnapshotDeletion
            | Event::MirrorLinkFailure
            | Event::MirrorLinkRecovery => {
                self.check_number(event, "", 0, arguments)?;
                Ok(FaultEvent::Scheduled(match event {
                    Event::Snapshot => Fault::Snapshot,
                    Event::SnapshotDeletion => Fault::SnapshotDeletion,
                    Event::MirrorLinkFailure => Fault::MirrorLinkFails,
                    _ => Fault::MirrorLinkIsBack,
                }))
            }
            Event::ServiceStop | Event::ServiceStart => lacks("services on nodes", CHAIN_REMEDY),
            Event::Limit | Event::Template => refused(CHAIN_REMEDY),
        }
    }

    /// Refuses arguments but one that numbers one of `count` parts; any where there are none to number.
    fn check_number(
        &self,
        event: Event,
        key: &str,
        count: u32,
        arguments: &Map<String, Value>,
    ) -> Result<(), TwinError> {
        for (name, value) in arguments {
            if name != key || count == 0 {
                let (event, argument) = (event.name().to_owned(), name.clone());
                return Err(TwinError::UnknownArgument { event, argument });
            }
            if value.as_u64().is_none_or(|number| number >= u64::from(count)) {
                return Err(bad(name, value, &format!("the number of a {key}, 0 to {}", count - 1)));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Capabilities = Capabilities {
        drives: 6,
        controllers: 2,
        nodes: 3,
        can_fail_over: true,
        is_busy: false,
        has_snapshots: true,
        has_mirror: true,
    };

    fn arguments_of(name: &str, value: Value) -> Map<String, Value> {
        Map::from_iter([(name.to_owned(), value)])
    }

    /// Proves that an event takes the part it is told and the first where it is told none, and that parts which are not
    /// there, things nobody asked for and unknown events are refused.
    #[test]
    fn events_name_their_parts() {
        let read =
            |action: &str, arguments: Map<String, Value>| ALL.fault_event(Event::parse(action)?, &arguments);
        let none = Map::new;
        assert_eq!(read("drive-failure", none()), Ok(FaultEvent::Scheduled(Fault::DriveFails(0))));
        assert_eq!(
            read("drive-failure", arguments_of("drive", 5.into())),
            Ok(FaultEvent::Scheduled(Fault::DriveFails(5)))
        );
        assert_eq!(
            read("drive-replacement", arguments_of("drive", 5.into())),
            Ok(FaultEvent::Scheduled(Fault::DriveIsReplaced(5)))
        );
        assert_eq!(
            read("controller-failover", arguments_of("controller", 1.into())),
            Ok(FaultEvent::ControllerFails(1))
        );
        assert_eq!(read("firmware-update", none()), Ok(FaultEvent::FirmwareUpdate));
        assert_eq!(read("snapshot-deletion", none()), Ok(FaultEvent::Scheduled(Fault::SnapshotDeletion)));
        assert_eq!(read("mirror-link-failure", none()), Ok(FaultEvent::Scheduled(Fault::MirrorLinkFails)));
        for (action, arguments) in [
            ("drive-failure", arguments_of("drive", 6.into())),
            ("drive-failure", arguments_of("drive", "x".into())),
            ("drive-failure", arguments_of("disk", 1.into())),
            ("controller-failover", arguments_of("controller", 2.into())),
            ("firmware-update", arguments_of("controller", 0.into())),
            ("snapshot", arguments_of("volume", "lun".into())),
            ("earthquake", none()),
        ] {
            assert!(read(action, arguments.clone()).is_err(), "{action} {arguments:?}");
        }
    }

    /// Proves that what an array is not described for, what it has no part of, and what has to wait, is refused with the reason.
    #[test]
    fn what_cannot_be_is_refused() {
        let cluster = Capabilities { can_fail_over: false, ..ALL };
        let lone = Capabilities { nodes: 0, ..cluster };
        let says = |capabilities: &Capabilities, event: Event| {
            capabilities.fault_event(event, &Map::new()).unwrap_err().to_string()
        };
        assert!(says(&lone, Event::ControllerFailover).contains(FAILOVER_REMEDY));
        assert!(says(&cluster, Event::FirmwareUpdate).contains(FAILOVER_REMEDY));
        assert!(says(&cluster, Event::ControllerFailover).contains("it has no controllers beside its nodes"));
        assert!(says(&lone, Event::NodeFailure).contains("it has no nodes"));
        assert!(says(&ALL, Event::ServiceStop).contains("it has no services on nodes"));
        assert!(says(&ALL, Event::Limit).contains("path: chain"));
        assert!(says(&Capabilities { has_snapshots: false, ..ALL }, Event::Snapshot).contains("snapshots:"));
        assert!(
            says(&Capabilities { has_mirror: false, ..ALL }, Event::MirrorLinkFailure).contains("mirror:")
        );
        assert!(says(&Capabilities { is_busy: true, ..ALL }, Event::FirmwareUpdate).contains("has to wait"));
    }
}
