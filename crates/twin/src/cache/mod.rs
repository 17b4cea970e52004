//! Caches of controllers: written data on its way to the drives, and read data that is kept.

mod drive;
mod read;
mod ways;
mod write_back;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use drive::{DriveCache, SECTOR_BYTES};
pub(crate) use read::ReadCache;
pub use read::ReadCacheFill;
pub(crate) use write_back::WriteCache;
pub use write_back::{WriteCacheFill, WriteCacheLevel};

/// In which order a cache puts written data on the drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DestageOrder {
    /// Stripe after stripe over the addresses, round and round.
    Address,
    /// The stripe that has waited longest.
    Age,
}
