//! States of the paths to devices, and what has changed since the reading before.

use crate::counter::{Counter, PathChange};
use crate::topology::{PathState, Topology};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Paths by entity (`mpatha/sdb`), as they were in the last reading.
#[derive(Debug, Default)]
pub(crate) struct PathStates {
    known: BTreeMap<Arc<str>, PathState>,
    has_read: bool,
}

impl PathStates {
    /// Reads the state of each path: a counter `online` (1 or 0) for each, and what changed. In the first reading, paths
    /// that are lost already are changes.
    pub(crate) fn read(
        &mut self,
        topology: &Topology,
        counters: &mut Vec<Counter>,
        changes: &mut Vec<PathChange>,
    ) {
        let mut now: BTreeMap<Arc<str>, PathState> = BTreeMap::new();
        for path in topology.multipaths.iter().flat_map(|multipath| &multipath.paths) {
            let state = path.state();
            let value = if state.is_usable { 1.0 } else { 0.0 };
            counters.push(Counter {
                source: "path",
                entity: Arc::clone(&path.entity),
                name: "online",
                value,
            });
            now.insert(Arc::clone(&path.entity), state);
        }
        for (entity, state) in &now {
            let was_usable = match self.known.get(entity) {
                Some(before) => before.is_usable,
                // At first every path is taken to have been there; one that appears later is back.
                None => !self.has_read,
            };
            if was_usable != state.is_usable {
                changes.push(PathChange {
                    path: Arc::clone(entity),
                    is_usable: state.is_usable,
                    state: state.state_text.clone(),
                });
            }
        }
        // The driver of a map may take a path out of it before its device goes.
        for (entity, _) in
            self.known.iter().filter(|(entity, before)| before.is_usable && !now.contains_key(*entity))
        {
            changes.push(PathChange { path: Arc::clone(entity), is_usable: false, state: "gone".to_owned() });
        }
        self.known = now;
        self.has_read = true;
    }

    /// Returns true if a path can carry I/O; a path that was not read yet counts as usable.
    pub(crate) fn is_usable(&self, entity: &str) -> bool {
        self.known.get(entity).is_none_or(|state| state.is_usable)
    }
}
