//! Fixtures of the tests of the parts.

use super::Description;

/// The shipped system.
pub(super) fn description() -> Description {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../arrays/storpool.yaml");
    let array: crate::ArrayDescription =
        serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    array.replicated.unwrap()
}
