//! Parts that several kinds of arrays are made of: what a description says of them, what it must satisfy, what they are
//! in simulated time, and what they count.
//!
//! A kind keeps what only it has. Where a kind's part has the keys of a common one and more, a macro declares it: serde
//! cannot refuse unknown keys, nor say in which line they stand, where one struct is flattened into another.

mod controller;
mod counters;
mod host;
mod link;

pub(crate) use controller::check_controllers;
pub(crate) use counters::Counters;
pub(crate) use host::check_hosts;
pub use link::Links;
pub(crate) use link::{Way, Wires};
