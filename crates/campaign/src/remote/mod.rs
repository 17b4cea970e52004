//! Cases on several hosts: agents of this program issue the load, and the coordinator puts together what they count.
//!
//! ```text
//! coordinator                                  agent (ssh HOST arraylab agent)
//! RemoteWorker ──measure, start──▶ Link ──▶ RealWorker: guard, host settings, writes before a case, loads
//!   SampleGrid ◀──samples, ended──     ◀──
//! ```

mod agent;
mod assignment;
mod check;
mod connect;
mod fio_hosts;
mod fio_worker;
mod grid;
mod hosts;
mod outcome;
mod replies;
mod running;
mod state;
mod totals;
mod worker;

pub use agent::{AgentClock, run_agent};
pub(crate) use check::check_hosts;
pub(crate) use fio_worker::FioRemoteWorker;
pub(crate) use hosts::{RunHost, of_manifest, of_request};
pub(crate) use worker::RemoteWorker;
