//! Carrying out a plan on a target: which case next, on which engine, what is kept, and what an interruption
//! or a failure leaves behind.
//!
//! ```text
//! Request ──prepare──▶ Campaign ──run_campaign──▶ Summary
//!            (all checks, nothing written)  (run directory, cases one by one)
//! ```
//!
//! Everything that can be refused is refused by [`prepare`] or [`resume`], before a byte is written anywhere.

#![doc = include_str!("../README.md")]

mod bench;
mod conditions;
mod coordinator;
mod dependencies;
mod error;
mod executor;
mod inventory;
mod load_choice;
mod longest_first;
mod message;
mod missed_event;
mod pace;
mod pauses;
mod pictures;
mod prepare;
mod rate_share;
mod real;
mod remote;
mod rounds;
mod sample_sum;
mod search;
mod shards;
mod simulated;
mod targets;
mod verify;
mod watch;
mod worker;

pub use bench::{
    BENCH_ROUNDS, BENCH_THREADS, PlanRow, ProbeCost, ScenarioRow, ValidationPoint, bench_fast_forward,
    bench_memory, bench_plans, bench_probe, bench_scenarios, bench_validation, sum_validation,
    wait_for_peak_memory,
};
pub use coordinator::{Summary, run_campaign};
pub use error::CampaignError;
pub use prepare::{Campaign, Request, check_free, mix_seed, new_case, prepare, resume};
pub use real::EngineChoice;
pub use remote::{AgentClock, run_agent};
pub use shards::shards_at_most;
pub use simulated::{TwinCache, condition_after, simulate_case};
pub use verify::{VerifiedLoad, verify_run};
pub use watch::{Progress, Watcher};
