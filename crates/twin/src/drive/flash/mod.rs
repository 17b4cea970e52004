//! Flash: translation, collection, and how long both take.

pub mod analytic;
mod description;
mod module;
#[cfg(test)]
mod module_tests;
mod policy;
mod sample;
pub mod translation;
#[cfg(test)]
mod translation_tests;

pub use description::{CAPACITY_LIMIT_BYTES, CollectionPolicy, DIES_LIMIT, FlashDescription, WriteFrontiers};
pub use module::{Condition, FlashCounters, FlashDrive};
