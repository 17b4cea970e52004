//! Comparison of fast-forward with exact simulation over random arrays, loads and events.

mod case;
mod compare;

pub use case::FastForwardCase;
pub use compare::{
    Bounds, FastForwardRow, FastForwardSummary, ServiceCases, bench_fast_forward, compare_fast_forward,
};
