//! Comparison of fast-forward with exact simulation over random arrays, loads and events.

mod case;
mod compare;

pub use case::FastForwardCase;
pub use compare::{Bounds, FastForwardRow, FastForwardSummary, bench_fast_forward};
