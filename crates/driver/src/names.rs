//! Names and IDs that mark objects created by arraylab.

use sha2::{Digest as _, Sha256};

/// Prefix of the names of everything that a shipped driver makes.
pub(crate) const PREFIX: &str = "arraylab-";

/// The name of the virtual disk that a driver makes with these options: 15 characters, the longest name that
/// MegaRAID firmware keeps. It depends on the controller and the drives, so that one setup never takes another's
/// virtual disk, or a person's `arraylab-results`, for its own.
pub(crate) fn own_name(driver: &str, place: &str) -> String {
    format!("{PREFIX}{}", &digest(&format!("{driver}\n{place}"))[..6])
}

/// The ID that permits losing a virtual disk that arraylab did not make.
pub(crate) fn consent_id(driver: &str, readable: &str, identity: &str) -> String {
    let readable: String = readable
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '_' })
        .take(24)
        .collect();
    format!("{driver}.{readable}-{}", &digest(&format!("{driver}\n{identity}"))[..10])
}

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}
