//! Plans and runs as files of other tools.
//!
//! ```text
//! plan ──expand──▶ cases ──▶ fio job files, vdbench parameter files
//!                       └──▶ what they do not say, setting by setting
//! run directory ──▶ fio JSON · OpenMetrics text
//! ```
//!
//! Nothing is dropped silently: a setting is written, says nothing for its load, or is listed with the reason, also
//! in the head of the file. No figure is made up: what a run does not hold is left out.

#![doc = include_str!("../README.md")]

mod error;
mod fio_file;
mod fio_json;
mod fio_option_list;
mod fio_options;
mod fio_range;
mod fio_rates;
mod left_out;
mod load_settings;
mod not_exported;
mod open_metrics;
mod plan_file;
mod plan_parts;
mod vdbench_file;
mod vdbench_load;

pub use error::ExportError;
pub use fio_json::fio_json;
pub use not_exported::{NotExported, WHOLE_CASE};
pub use open_metrics::write_open_metrics;
pub use plan_file::{ExportedFile, FileLayout, PlanExport, PlanFormat, export_plan};
