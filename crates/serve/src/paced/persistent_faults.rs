//! Persistent faults: the state of parts that a replacement twin has to take over.

use crate::event_names::{DRIVE_FAILURE, DRIVE_REPLACEMENT, DRIVE_SLOW, SERVICE_START, SERVICE_STOP};
use serde_json::{Map, Value};

/// Actions that would bring a new twin into the state of the present one, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct PersistentFaults {
    actions: Vec<(String, Map<String, Value>)>,
}

impl PersistentFaults {
    /// Something has happened.
    pub(super) fn note(&mut self, action: &str, arguments: &Map<String, Value>) {
        match action {
            DRIVE_SLOW => {
                self.forget(DRIVE_SLOW, "drive", arguments);
                if arguments.get("factor").and_then(Value::as_f64) != Some(1.0) {
                    self.keep(action, arguments);
                }
            }
            DRIVE_FAILURE => {
                self.forget(DRIVE_SLOW, "drive", arguments);
                self.forget(DRIVE_FAILURE, "drive", arguments);
                self.keep(action, arguments);
            }
            DRIVE_REPLACEMENT => {
                self.forget(DRIVE_SLOW, "drive", arguments);
                self.forget(DRIVE_FAILURE, "drive", arguments);
            }
            SERVICE_STOP => {
                self.forget(SERVICE_STOP, "service", arguments);
                self.keep(action, arguments);
            }
            SERVICE_START => self.forget(SERVICE_STOP, "service", arguments),
            _ => {}
        }
    }

    /// Of the drives that were lost these still are.
    pub(super) fn lost(&mut self, lost: &[Value]) {
        self.actions.retain(|(action, arguments)| {
            action != DRIVE_FAILURE || arguments.get("drive").is_some_and(|drive| lost.contains(drive))
        });
    }

    /// All of it, or all but the losses of drives.
    pub(super) fn actions(
        &self,
        with_losses: bool,
    ) -> impl Iterator<Item = (String, Map<String, Value>)> + '_ {
        self.actions.iter().filter(move |(action, _)| with_losses || action != DRIVE_FAILURE).cloned()
    }

    fn keep(&mut self, action: &str, arguments: &Map<String, Value>) {
        self.actions.push((action.to_owned(), arguments.clone()));
    }

    fn forget(&mut self, action: &str, key: &str, arguments: &Map<String, Value>) {
        self.actions
            .retain(|(kept, kept_arguments)| kept != action || kept_arguments.get(key) != arguments.get(key));
    }
}
