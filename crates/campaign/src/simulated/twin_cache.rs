//! Cache of one twin as it was built, for others of the same array, settings and seed.

use serde_json::{Map, Value};
use std::sync::{Arc, Mutex, PoisonError};
use twin::{ArrayDescription, Twin, TwinError};

/// Cache of the twin that was built last: building one makes and fills the mapping tables of all its solid-state drives, copying it
/// copies their memory. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct TwinCache(Arc<Mutex<Option<Built>>>);

#[derive(Debug)]
struct Built {
    description: ArrayDescription,
    settings: Map<String, Value>,
    seed: u64,
    twin: Twin,
}

impl TwinCache {
    /// A twin as [`Twin::build`] builds it.
    pub fn build(
        &self,
        description: &ArrayDescription,
        settings: &Map<String, Value>,
        seed: u64,
    ) -> Result<Twin, TwinError> {
        let is_same = |built: &&Built| {
            (built.seed, &built.settings, &built.description) == (seed, settings, description)
        };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(built) = kept.as_ref().filter(is_same) {
            return Ok(built.twin.clone());
        }
        let mut twin = Twin::build(description, settings, seed)?;
        twin.prepare();
        let (description, settings) = (description.clone(), settings.clone());
        *kept = Some(Built { description, settings, seed, twin: twin.clone() });
        Ok(twin)
    }
}
