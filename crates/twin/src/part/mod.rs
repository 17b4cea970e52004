//! Parts of arrays in simulated time, and what they count.

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
pub(crate) use drive::{Traffic, count_arm};
pub(crate) use flash_drives::{count_flash, no_flash_drive};
pub(crate) use hard_disks::{DiskSwitches, switched_hard_disk};
pub(crate) use host::count_threads;
pub(crate) use link::LinkDirection;
pub(crate) use modules::{ModuleTiming, Modules};
