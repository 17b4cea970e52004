//! Settings of cases, shared by all that hold those of the same case.

use serde_json::{Map, Value};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Weak};

/// Settings of a case. A large campaign has as many as cases, and records, results and findings all show them: they share
/// one copy.
pub type Settings = Arc<Map<String, Value>>;

/// Settings that a reader handed out and that somebody still holds, by the index of their case.
#[derive(Debug, Default)]
pub(crate) struct SharedSettings {
    /// With the hash of the text that they were read from: whoever writes the run may change it.
    known: HashMap<u32, (u64, Weak<Map<String, Value>>)>,
    hasher: RandomState,
}

impl SharedSettings {
    /// Returns the settings of a case, parsed only where nobody holds what was parsed of this text before.
    pub fn of_case(&mut self, case_index: u32, text: &str) -> serde_json::Result<Settings> {
        let hash = self.hasher.hash_one(text);
        if let Some((known_hash, known)) = self.known.get(&case_index)
            && *known_hash == hash
            && let Some(settings) = known.upgrade()
        {
            return Ok(settings);
        }
        let parsed: Map<String, Value> = serde_json::from_str(text)?;
        // Collected anew, without the room that a map which grew keeps for more.
        let settings = Arc::new(parsed.into_iter().collect());
        self.known.insert(case_index, (hash, Arc::downgrade(&settings)));
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that settings are shared while somebody holds them, read anew where they changed, and never those of another case.
    #[test]
    fn settings_are_shared_until_they_change() {
        let mut shared = SharedSettings::default();
        let first = shared.of_case(0, r#"{"bs": 4096}"#).expect("settings");
        let again = shared.of_case(0, r#"{"bs": 4096}"#).expect("settings");
        let other = shared.of_case(1, r#"{"bs": 4096}"#).expect("settings");
        let changed = shared.of_case(0, r#"{"bs": 8192}"#).expect("settings");
        assert!(Arc::ptr_eq(&first, &again) && !Arc::ptr_eq(&first, &other));
        assert_eq!((&first["bs"], &changed["bs"]), (&Value::from(4096), &Value::from(8192)));
        drop((first, again, other, changed));
        assert!(shared.known.values().all(|(_, settings)| settings.strong_count() == 0));
        assert!(shared.of_case(0, "{").is_err());
    }
}
