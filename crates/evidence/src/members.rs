//! List of members, `bundle.json`, and the names that they may have.

use serde::{Deserialize, Serialize};

/// The version of `bundle.json` that this code writes and reads.
pub const BUNDLE_VERSION: u32 = 1;

/// Word in `bundle.json` by which a bundle is known.
pub(crate) const FORMAT: &str = "arraylab-bundle";

pub(crate) const LIST: &str = "bundle.json";
pub(crate) const MANIFEST: &str = "run/manifest.json";
pub(crate) const DATABASE: &str = "run/run.sqlite";
pub(crate) const PICTURES: &str = "run/pictures";
pub(crate) const PLAN: &str = "plan.yaml";
pub(crate) const ARRAY: &str = "array.yaml";
pub(crate) const INVENTORY: &str = "inventory.json";
pub(crate) const REPORT_JSON: &str = "report.json";
pub(crate) const REPORT_HTML: &str = "report.html";
pub(crate) const PUBLISHED: &str = "published";

/// Longest name of a member: that of a tar header without extensions.
const NAME_BYTES_LIMIT: usize = 100;

/// A file of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its name.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
}

/// `bundle.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// `arraylab-bundle`.
    pub format: String,
    /// [`BUNDLE_VERSION`].
    pub version: u32,
    /// The version of arraylab that wrote the bundle.
    pub arraylab_version: String,
    /// The run.
    pub run_id: String,
    /// The creation of the run.
    pub created_utc: String,
    /// All other files, in the order of the archive.
    pub members: Vec<Member>,
}

/// Returns true if a name stays within the bundle: up to four plain parts of letters, digits, `.`, `_`, `-`.
pub(crate) fn is_plain(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
    };
    name.len() <= NAME_BYTES_LIMIT && name.split('/').count() <= 4 && name.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that no name leads out of a bundle.
    #[test]
    fn names_are_plain() {
        for name in ["report.json", "run/run.sqlite", "published/unseen/dorado-2100-g2.csv"] {
            assert!(is_plain(name), "{name}");
        }
        let long = "a".repeat(101);
        for name in
            ["", "/etc/passwd", "../x", "a/../b", "a//b", "a/.", ".hidden", "a\\b", "a\0", "a b", "ä", &long]
        {
            assert!(!is_plain(name), "{name:?}");
        }
    }
}
