//! Tables of a run by columns, from which CSV files and data frames are made.
//!
//! Column names are those of the JSON with dots in them and end in their unit; a value that is not known is missing,
//! never zero. Rows stand in the order of the plan.

#![doc = include_str!("../README.md")]

mod column;
mod csv;
mod files;
mod json_rows;
mod tables;

pub use column::{Column, Frame, Values};
pub use files::{FileError, write_csv_files};
pub use tables::{claims, counters, events, findings, histogram_bins, results, samples};
