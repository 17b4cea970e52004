//! Carrying out a plan on a target: which case next, on which engine, what is kept, and what an interruption
//! or a failure leaves behind.
//!
//! ```text
//! Request ──prepare──▶ Campaign ──carry_out──▶ Summary
//!            (all checks, nothing written)  (run directory, cases one by one)
//! ```
//!
//! Everything that can be refused is refused by [`prepare`] or [`resume`], before a byte is written anywhere.

mod carry_out;
mod error;
mod executor;
mod generated;
mod message;
mod pace;
mod prepare;
mod simulated;
mod watch;

pub use carry_out::{Summary, carry_out};
pub use error::CampaignError;
pub use prepare::{Campaign, Request, prepare, resume};
pub use watch::{Progress, Watcher};
