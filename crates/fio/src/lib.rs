//! fio as a load engine: its job files are written, it is run, and what it leaves behind is read back.
//!
//! ```text
//! LoadSpec ──job::write──▶ jobs.fio ──run──▶ fio ──▶ fio.json             ──report──┐
//!                                              └──▶ fio_clat_hist.N.log  ──logs────┴─align──▶ samples
//! ```
//!
//! Counts, bytes, means and extremes are fio's own; histograms of all jobs are merged bin by bin, and a
//! percentile is only ever taken from a merged histogram, never averaged.

#![doc = include_str!("../README.md")]

mod align;
mod engine;
mod error;
mod job;
mod jobfile;
mod logs;
mod outcome;
mod report;
mod run;
mod server;
mod shape;

pub use engine::{ENGINE_VARIABLE, Engine, Version};
pub use error::FioError;
pub use job::{FioCase, Target};
pub use jobfile::{JobFileError, JobOption, JobSection, read_job_file};
pub use logs::{
    HistogramLog, HistogramRow, IntervalLog, IntervalRow, LogError, LogKind, read_histogram_log,
    read_interval_log,
};
pub use outcome::{CpuUse, DirectionTotals, FioOutcome, read_back};
pub use report::{DiskUse, Job, JobDirection, Latency, Report, ReportError, SteadyState, read_report};
pub use run::Progress;
pub use server::Server;
pub use shape::check_shape;
