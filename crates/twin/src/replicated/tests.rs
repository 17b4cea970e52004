//! Fixtures of the tests of the parts.

use super::Description;

/// The shipped system.
pub(super) fn description() -> Description {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../arrays/storpool.yaml");
    // By way of JSON: the types read from YAML at once are compiled for half a minute.
    let document: serde_json::Value =
        serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let array: crate::ArrayDescription = serde_json::from_value(document).unwrap();
    array.replicated.unwrap()
}
