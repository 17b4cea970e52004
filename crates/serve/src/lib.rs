//! An array you can attach: a description's layout over real bytes, served over NBD, with a control socket for its
//! faults. `docs/served-arrays.md` tells how to use it.

mod array;
mod bench;
mod control;
mod ctl;
mod error;
mod events;
mod exports;
mod live;
mod named_drives;
mod options;
mod power;
mod run;
mod upkeep;

pub use array::ServedArray;
pub use bench::{BenchRow, bench};
pub use ctl::ctl;
pub use error::ServeError;
pub use options::{Endpoint, Options};
pub use run::{Outcome, run, serve_array};
