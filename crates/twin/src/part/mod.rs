//! Parts that several kinds of arrays are made of: what a description says of them, what it must satisfy, what they are
//! in simulated time, and what they count.
//!
//! A kind keeps what only it has. Where kinds share most of the keys of a part and not all, a macro declares the struct
//! of each: serde cannot refuse unknown keys, nor say in which line they stand, where one struct is flattened into another.

use crate::{Origin, Parameter};

mod controller;
mod counters;
mod crowding;
mod disks;
mod drive;
mod flash_drives;
mod hard_disks;
mod host;
mod link;
mod modules;

pub(crate) use controller::count_processors;
pub(crate) use counters::Counters;
pub(crate) use crowding::Crowding;
pub(crate) use disks::Disks;
pub(crate) use drive::{Traffic, bytes_per_s, check_capacity, count_arm, nanos_of_ms, nanos_of_us};
pub(crate) use flash_drives::{SUPERBLOCKS, UNITS_PER_SUPERBLOCK, flash_drives, no_flash_drive};
pub(crate) use hard_disks::{DiskSwitches, check_hard_disk, hard_disks, switched_hard_disk};
pub(crate) use host::count_threads;
pub(crate) use link::LinkDirection;
pub(crate) use modules::{ModuleTiming, Modules};

/// A parameter that the model makes of others.
pub(crate) fn assumed<T>(value: T) -> Parameter<T> {
    Parameter { value, origin: Origin::Assumed, from: String::new() }
}
