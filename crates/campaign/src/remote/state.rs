//! State of the hosts of a run, between cases and in them.

use crate::message::Message;
use crate::remote::connect::{HostEvents, OpenHost, now_ns};
use driver::Change;
use hosts::Reply;
use std::sync::OnceLock;
use std::time::Duration;
use store::RunClock;

/// Longest wait of the worker before it checks its state again.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// Links to hosts, and what came of them.
#[derive(Debug)]
pub(super) struct State {
    pub open: Vec<OpenHost>,
    pub events: HostEvents,
    /// Reason for the loss of a host.
    pub lost: Option<String>,
}

/// Names of the hosts, and the run's clock.
#[derive(Debug)]
pub(super) struct HostContext {
    pub names: Vec<String>,
    pub clock: OnceLock<RunClock>,
}

impl HostContext {
    pub fn new(names: Vec<String>) -> HostContext {
        HostContext { names, clock: OnceLock::new() }
    }

    /// A moment of the machine's monotonic clock on the run's.
    pub fn run_clock_ns(&self, monotonic_ns: u64) -> u64 {
        let Some(clock) = self.clock.get() else { return 0 };
        clock.now_ns().saturating_sub(now_ns().saturating_sub(monotonic_ns))
    }

    /// The message of a host that concerns no load.
    pub fn common_message(&self, number: usize, case_index: Option<u32>, reply: Reply) -> Option<Message> {
        let host = &self.names[number];
        Some(match reply {
            Reply::Changed { is_of_case, name, before, after } => {
                let change = Change { scope: "host", name: format!("{host}: {name}"), before, after };
                Message::Changed { case_index: case_index.filter(|_| is_of_case), change }
            }
            Reply::Warning { text } => Message::Warning { text: format!("host `{host}`: {text}") },
            _ => return None,
        })
    }
}
