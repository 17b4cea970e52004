//! Data placement: where a logical byte lies on an array's drives, and the drive I/Os of a host I/O.
//!
//! Pure functions: no time and no bytes. The twins plan with them what they time, the byte path what it moves, so
//! that both are the same array. A [`Layout`] is made once from a checked geometry; planning then fills an
//! [`IoList`] that the caller keeps, and allocates nothing once that has grown.

#![doc = include_str!("../README.md")]

mod band;
mod cluster;
mod condition;
mod divisor;
mod error;
mod io;
mod layout;
mod pieces;
mod plan;
mod pool;
mod replicas;
mod rotation;
mod segments;

pub use band::{Band, Bands};
pub use cluster::ClusterSpec;
pub use condition::{Condition, DriveIndex, DriveSet, Healthy, Rebuilding};
pub use divisor::Divisor;
pub use error::{
    DRIVE_CAPACITY_LIMIT, DRIVE_COUNT_LIMIT, LayoutError, PARITY_WIDTH_LIMIT, REPLICA_COPIES_LIMIT,
    REPLICA_OBJECTS_LIMIT, SECTOR_BYTES, SEGMENT_BYTES_LIMIT, StripeLost,
};
pub use io::{DriveIo, IoList, Place, Role};
pub use layout::{Layout, Missing, Raid, Redundancy};
pub use pieces::{Migration, Move, Piece};
pub use plan::{ParityInitialisation, ParityUpdate};
pub use pool::{POOL_PIECE_COUNT_LIMIT, PoolSpec};
pub use replicas::ReplicaSpec;
pub use rotation::Rotation;
pub use segments::CoveredSegment;
