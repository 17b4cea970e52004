//! How long it takes: an array brought to life in simulated time.
//!
//! An [`ArrayDescription`] says what parts an array has; [`Twin::build`] makes resources of them, and commands
//! travel through these as small state machines. Nothing here knows bytes, plans or real devices; whatever
//! drives a real device through [`load::Device`] drives a twin.

mod array;
mod counters;
mod description;
pub mod drive;
mod engine;
mod error;
mod event;
mod settings;

pub use array::Twin;
pub use counters::TwinCounter;
pub use description::{
    ArrayDescription, Bench, BenchPart, Controllers, DescriptionError, FirmwareUpdate, FlashModules, Hosts,
    Layout, Links, Origin, Parameter,
};
pub use error::TwinError;
pub use event::{Event, TwinNote};
pub use settings::{SETTINGS, Setting};
