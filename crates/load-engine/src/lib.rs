//! Driving a load on real devices with io_uring, at less cost than fio and with a histogram for every interval.
//!
//! ```text
//! LoadSpec ─▶ load::Schedule ─▶ worker (one thread, one ring) ─▶ device
//!                                  │ one sample an interval
//!                                  ▼
//!                        collector (the caller's thread) ─▶ on_sample
//! ```
//!
//! Jobs are spread over workers. A worker shares nothing with the others while it runs: it has its own schedule, its own
//! registered buffers, its own ring and its own counts, which it hands over at the end of each interval. Latency counts
//! from the moment before a batch is handed to the kernel (in open loop from the intended arrival) to the moment after
//! the kernel returned with the completion: one reading of the clock at each, for the whole batch.
//!
//! Where io_uring is absent or forbidden, threads with `pread` and `pwrite` take its place, and the outcome says so.
//! This room never knows plans.

#![doc = include_str!("../README.md")]

mod arena;
mod bench;
mod capabilities;
mod error;
mod handover;
mod journal;
mod null;
mod opened;
mod options;
mod outcome;
mod parts;
mod polling;
mod queue;
mod run;
mod start;
mod striping;
mod threads;
mod trim;
mod uring;
mod verify;
mod warnings;
mod worker;

pub use bench::{BenchResult, BenchSettings, bench};
pub use capabilities::{Capabilities, Engine};
pub use error::RingError;
pub use handover::{Handover, HandoverChoice};
pub use journal::read_journals;
pub use opened::OpenTarget;
pub use options::{ErrorPolicy, HANG_AFTER, HANG_LIMIT, Interface, RingOptions, TrimKind};
pub use outcome::{Ended, ErrorCount, ErrorKind, Hang, RingOutcome};
pub use run::{Progress, RingCase, RingTargets, run, run_behind};
pub use start::StartBarrier;
pub use striping::stripe_chunk_bytes;
pub use trim::discard;
pub use verify::{VerifyReport, verify};
