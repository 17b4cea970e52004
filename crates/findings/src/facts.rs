//! JSON fields of each kind of finding; `docs/findings.md` describes them for scripts.
//!
//! `docs/findings.md` describes them for scripts.

mod bounds;
mod changes;
mod falls;
mod levels;
mod limits;
mod steady;

pub use bounds::*;
pub use changes::*;
pub use falls::*;
pub use levels::*;
pub use limits::*;
pub use steady::*;

use serde::Serialize;
use serde_json::Value;

/// A rate in both units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Rate {
    /// Operations a second.
    pub iops: f64,
    /// Bytes a second.
    pub bw_bytes_per_s: f64,
}

/// The settings that a group has in common.
pub type Map = serde_json::Map<String, Value>;
