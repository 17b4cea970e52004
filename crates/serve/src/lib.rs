//! An array you can attach: a description's layout over real bytes, served over NBD, with a control socket for its
//! faults. `docs/served-arrays.md` tells how to use it.

#![doc = include_str!("../README.md")]

mod array;
mod array_settings;
mod array_view;
mod bench;
mod bounds;
mod chains;
mod conditions;
mod control;
mod control_session;
mod controlled;
mod ctl;
mod error;
mod event_names;
mod events;
mod exports;
mod live;
mod loss_reports;
mod maintenance;
mod model_record;
mod model_record_updates;
mod monitoring;
mod named_drives;
mod opening;
mod options;
mod paced;
mod paced_bench;
mod page;
mod parity_bench;
mod power;
mod reported_losses;
mod run;
mod served_array;
mod served_volume;
mod settings;
mod slice;
mod status;
mod stopped_services;
mod thin;
mod ublk;
mod verbs;
mod view;
mod volumes;
mod write_bench;

pub use array::ServedArray;
pub use bench::{BenchRow, bench, quick_directory, scenarios};
pub use ctl::ctl;
pub use error::ServeError;
pub use options::{Endpoint, Options, parse_speed};
pub use paced::{PacingErrorReport, TwinSpec};
pub use paced_bench::{PACED_POINTS, PacedPoint, PacedRow, bench_paced};
pub use parity_bench::{PARITY_SCENARIOS, ParityRow, bench_parity};
pub use run::{Announcement, Outcome, Served, run, serve_array};
pub use view::view;
pub use write_bench::{WRITE_SCENARIOS, WriteRow, bench_writes};
