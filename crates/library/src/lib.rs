//! Library of published results, and conditions under which figures are comparable.
//!
//! An entry is a file of `library/`, a row a figure with the conditions that its publication states. Where a publication
//! is silent, the field is missing: never zero, and never a guess.

#![doc = include_str!("../README.md")]

mod conditions;
mod entry;
mod error;
mod filter;
mod shipped;

pub use conditions::{Conditions, Difference, IN_FLIGHT_FACTOR, differences, of_row};
pub use entry::{Choice, Entry, FigureKind, Row};
pub use error::LibraryError;
pub use filter::{Filter, KEYS};
pub use shipped::{entries, find};
