//! `agent`: issuing load for a run on another machine.

use super::run::catch_signals;
use crate::cli::AgentArgs;
use crate::failure::Failure;
use campaign::AgentClock;
use std::process::ExitCode;

/// `arraylab agent`
pub fn agent(arguments: &AgentArgs) -> Result<ExitCode, Failure> {
    let interrupt = catch_signals()?;
    let clock = AgentClock { offset_ns: arguments.clock_offset_ms.saturating_mul(1_000_000) };
    campaign::run_agent(std::io::stdin(), std::io::stdout(), clock, &interrupt);
    Ok(ExitCode::SUCCESS)
}
