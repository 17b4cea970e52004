//! Array language: an array described by its parts, resolved to numbers that know where they come from, and what follows from
//! them by arithmetic.

#![doc = include_str!("../README.md")]

mod bill;
mod capacity;
mod ceilings;
mod chain;
mod chain_check;
mod chain_demand;
mod change;
mod check;
mod demand;
mod description;
mod drive;
mod entity;
mod limits;
mod lists;
mod node;
mod node_services;
mod parameter;
mod problem;
mod quantity;
mod refusal;
mod resolve;
mod section;
mod service_check;
mod services;
mod sets;
mod suggest;
mod value;
mod volume_limits;
mod warnings;
mod wear;

pub use bill::{Bill, bill};
pub use capacity::{Capacity, capacity, totals};
pub use ceilings::{BLOCK_SIZES, Ceiling, ceilings, demand};
pub use chain::{CHAIN_LIMIT, NodeDrive};
pub use demand::Demand;
pub use description::{
    Array, Backend, Cache, Controllers, DriveCount, Erasure, Fabric, Failover, FileSystem, Group, GroupKeys,
    Hosts, LayoutKind, Limit, Network, Nodes, OPEN_QUEUE, Pool, PoolKeys, Rebuild, Volume, VolumeKeys,
};
pub use drive::{Drives, FlashModule, HardDisk, SolidState};
pub use entity::without_group;
pub use node::{Content, Node, Place};
pub use node_services::{Journal, Service, Slice};
pub use parameter::{Origin, Parameter, SetBy};
pub use problem::Problem;
pub use quantity::{Endurance, Kind, UNKNOWN, UNLIMITED};
pub use resolve::{PART_KINDS, PartSource, resolve, resolve_part};
pub use section::{Key, Section};
pub use services::{
    DriveCache, FIBRE_NS_PER_KM, Mirror, Reduction, Replication, Snapshots, TIER_MOVES_LIMIT, Thin, Tier,
};
pub use sets::{DriveSlot, Set, VolumePlace, sets, volume_bytes};
pub use suggest::{did_you_mean, nearest, shorten};
pub use volume_limits::{limited_volumes, striped_volumes};
pub use warnings::{Warning, warnings};
pub use wear::{RatedWrites, rated_writes};
