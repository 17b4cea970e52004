//! Digital twins: simulation of storage arrays in nanoseconds.
//!
//! An [`ArrayDescription`] says what parts an array has; [`Twin::build`] makes resources of them, and commands
//! travel through these as small state machines. Nothing here knows bytes, plans or real devices; whatever
//! drives a real device through [`load::Device`] drives a twin.

#![doc = include_str!("../README.md")]

mod availability;
mod bench;
mod cache;
mod composed;
mod counters;
mod description;
pub mod drive;
mod engine;
mod error;
mod event;
mod event_loop;
mod faults;
pub mod part;
mod payload;
mod settings;
mod slow;
mod twin;

pub use bench::{
    Bounds, FastForwardCase, FastForwardRow, FastForwardSummary, ServiceCases, bench_fast_forward,
    compare_fast_forward,
};
pub use cache::{ReadCacheFill, WriteCacheFill, WriteCacheLevel};
pub use composed::{FlashUnits, Limit, Limiter, ServiceDrives, service_drives};
pub use counters::TwinCounter;
pub use description::{ArrayDescription, DescriptionError, Topology, TopologyPart};
pub use error::TwinError;
pub use event::{Event, TwinNote};
pub use faults::{ControllerFaults, Faults, SetFaults};
pub use settings::{SHRINK_LIMIT, Setting};
pub use slow::DRIVE_SLOW;
pub use twin::Twin;
