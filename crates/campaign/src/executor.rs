//! Executors of cases: twins on several threads, or engines on real targets.

use crate::message::Message;
use crate::real::{HostWatch, RealWorker};
use crate::remote::{FioRemoteWorker, RemoteWorker};
use crate::simulated::Simulator;
use crate::worker::Worker;
use std::sync::mpsc::SyncSender;
use store::RunClock;

/// Executor of a campaign's cases.
#[derive(Debug)]
pub(crate) enum Executor {
    /// Twins in simulated time.
    Twin(Simulator),
    /// An engine on real targets.
    Real(Box<RealWorker>),
    /// Agents on other hosts.
    Remote(Box<RemoteWorker>),
    /// Servers of fio on other hosts.
    FioRemote(Box<FioRemoteWorker>),
}

impl Executor {
    pub fn worker(&self) -> &dyn Worker {
        match self {
            Executor::Twin(simulator) => simulator,
            Executor::Real(worker) => worker.as_ref(),
            Executor::Remote(worker) => worker.as_ref(),
            Executor::FioRemote(worker) => worker.as_ref(),
        }
    }

    /// Returns the number of cases that may run concurrently: 1 on real targets, where cases would disturb each other.
    pub fn threads(&self) -> usize {
        match self {
            Executor::Twin(simulator) => simulator.threads(),
            Executor::Real(_) | Executor::Remote(_) | Executor::FioRemote(_) => 1,
        }
    }

    /// Returns the largest delay of a sample behind the wall clock, where twins are paced by it.
    pub fn late_ns(&self) -> Option<u64> {
        match self {
            Executor::Twin(simulator) => simulator.late_ns(),
            Executor::Real(_) | Executor::Remote(_) | Executor::FioRemote(_) => None,
        }
    }

    /// Returns the name of the engine that issues the load, as results have it.
    pub fn engine_name(&self) -> &'static str {
        match self {
            Executor::Twin(_) => "sim",
            Executor::Real(worker) => worker.engine_name(),
            Executor::Remote(worker) => worker.engine_name(),
            Executor::FioRemote(_) => "fio",
        }
    }

    /// True where a second of the plan is a second of the clock.
    pub fn is_real_time(&self) -> bool {
        !matches!(self, Executor::Twin(_))
    }

    /// Starts to watch the host, where the load is real; what cannot be watched is said in words.
    pub fn watch_host(&self, clock: RunClock, tx: &SyncSender<Message>) -> Option<(HostWatch, Vec<String>)> {
        match self {
            Executor::Twin(_) | Executor::FioRemote(_) => None,
            Executor::Real(worker) => Some(worker.watch_host(clock, tx)),
            // Agents watch their hosts; their counters come with the messages of cases.
            Executor::Remote(worker) => {
                worker.use_clock(clock);
                None
            }
        }
    }
}
