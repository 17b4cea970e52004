//! Fault and maintenance events of arrays of drives behind controllers, parsed from plans.

use layout::DriveIndex;
use serde_json::{Map, Value};

use super::loss::{DRIVE, drive_of};
use crate::settings::bad;
use crate::slow::DRIVE_SLOW;
use crate::{Event, TwinError};

/// Argument of an event: the controller's number.
const CONTROLLER: &str = "controller";
/// Argument of an event: the node's number.
pub(crate) const NODE: &str = "node";

/// Remedy where an array has no nodes that could fail.
const NODES_REMEDY: &str = "give the array `nodes:`, and pools over them";

/// Returns the error of the event that takes a controller of a cluster.
pub(crate) fn no_controllers() -> TwinError {
    let (part, remedy) = ("controllers beside its nodes", "these fail as a whole, by `node-failure`");
    TwinError::NoSuchPart { event: Event::ControllerFailover.name(), part, remedy }
}

/// Fault or maintenance event of an array of drives behind controllers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultEvent {
    /// A drive is lost.
    DriveFails(DriveIndex),
    /// A new drive takes the place of a lost one.
    DriveIsReplaced(DriveIndex),
    /// The firmware of all controllers is updated.
    FirmwareUpdate,
    /// A controller leaves and comes back.
    ControllerFails(u32),
    /// A node is lost.
    NodeFails(u32),
    /// A new node takes the place of a lost one.
    NodeIsReplaced(u32),
}

/// Capabilities of an array that decide which events it accepts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Capabilities {
    /// Drives of its set.
    pub drives: u32,
    pub controllers: u32,
    /// Nodes of a cluster; 0 of an array that is none.
    pub nodes: u32,
    /// Description that would let its controllers leave, where its own does not.
    pub update_remedy: Option<&'static str>,
    /// A controller is away, or a verification goes on.
    pub is_busy: bool,
}

impl Capabilities {
    /// Reads an event and what it is told; refuses what this array cannot do.
    pub fn fault_event(&self, action: &str, arguments: &Map<String, Value>) -> Result<FaultEvent, TwinError> {
        let Some(event) = Event::from_name(action) else {
            let known = Event::ALL.map(Event::name).into_iter().chain([DRIVE_SLOW]);
            let known = known.collect::<Vec<_>>().join(", ");
            return Err(TwinError::UnknownEvent { event: action.to_owned(), known });
        };
        let refused = |remedy| Err(TwinError::NoSuchEvent { event: event.name(), remedy });
        match event {
            Event::DriveFailure | Event::DriveReplacement => {
                self.check_number(event, DRIVE, self.drives, arguments)?;
                let drive = drive_of(arguments);
                Ok(match event {
                    Event::DriveFailure => FaultEvent::DriveFails(drive),
                    _ => FaultEvent::DriveIsReplaced(drive),
                })
            }
            Event::FirmwareUpdate | Event::ControllerFailover => {
                let is_failover = event == Event::ControllerFailover;
                let controllers = if is_failover { self.controllers } else { 0 };
                match self.update_remedy {
                    Some(_) if is_failover && self.nodes > 0 => return Err(no_controllers()),
                    Some(remedy) => return refused(remedy),
                    None => {}
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
                    let (event, part) = (event.name(), "nodes");
                    return Err(TwinError::NoSuchPart { event, part, remedy: NODES_REMEDY });
                }
                self.check_number(event, NODE, self.nodes, arguments)?;
                let node = arguments.get(NODE).and_then(Value::as_u64).unwrap_or(0) as u32;
                Ok(match event {
                    Event::NodeFailure => FaultEvent::NodeFails(node),
                    _ => FaultEvent::NodeIsReplaced(node),
                })
            }
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

    const ALL: Capabilities =
        Capabilities { drives: 6, controllers: 2, nodes: 3, update_remedy: None, is_busy: false };

    fn arguments_of(name: &str, value: Value) -> Map<String, Value> {
        Map::from_iter([(name.to_owned(), value)])
    }

    /// Proves that an event takes the part it is told and the first where it is told none, and that parts which are not
    /// there, things nobody asked for and unknown events are refused.
    #[test]
    fn events_name_their_parts() {
        let read = |action: &str, arguments: Map<String, Value>| ALL.fault_event(action, &arguments);
        let none = Map::new;
        assert_eq!(read("drive-failure", none()), Ok(FaultEvent::DriveFails(0)));
        assert_eq!(read("drive-failure", arguments_of("drive", 5.into())), Ok(FaultEvent::DriveFails(5)));
        assert_eq!(
            read("drive-replacement", arguments_of("drive", 5.into())),
            Ok(FaultEvent::DriveIsReplaced(5))
        );
        assert_eq!(
            read("controller-failover", arguments_of("controller", 1.into())),
            Ok(FaultEvent::ControllerFails(1))
        );
        assert_eq!(read("firmware-update", none()), Ok(FaultEvent::FirmwareUpdate));
        for (action, arguments) in [
            ("drive-failure", arguments_of("drive", 6.into())),
            ("drive-failure", arguments_of("drive", "x".into())),
            ("drive-failure", arguments_of("disk", 1.into())),
            ("controller-failover", arguments_of("controller", 2.into())),
            ("firmware-update", arguments_of("controller", 0.into())),
            ("earthquake", none()),
        ] {
            assert!(read(action, arguments.clone()).is_err(), "{action} {arguments:?}");
        }
    }

    /// Proves that what an array is not described for, what it has no part of, and what has to wait, is refused with the reason.
    #[test]
    fn what_cannot_be_is_refused() {
        let cluster = Capabilities { update_remedy: Some("describe it"), ..ALL };
        let lone = Capabilities { nodes: 0, ..cluster };
        let says = |capabilities: &Capabilities, action: &str| {
            capabilities.fault_event(action, &Map::new()).unwrap_err().to_string()
        };
        assert!(says(&lone, "controller-failover").contains("describe it"));
        assert!(says(&cluster, "firmware-update").contains("describe it"));
        assert!(says(&cluster, "controller-failover").contains("it has no controllers beside its nodes"));
        assert!(says(&lone, "node-failure").contains("it has no nodes"));
        assert!(says(&Capabilities { is_busy: true, ..ALL }, "firmware-update").contains("has to wait"));
    }
}
