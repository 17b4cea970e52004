//! Drives: a hard disk and a flash module, as parts that an event loop calls.
//!
//! A drive computes when an I/O ends from what it did before; it never looks at a clock and holds no data.

mod description;
pub mod disk;
pub mod flash;
mod slowness;
#[cfg(test)]
mod stopwatch;

pub use description::DescriptionError;
pub use slowness::Slowness;
