//! Load searches of a case.

use load::{Bound, BoundSearch};

/// Variable of a load search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchOver {
    /// The rate of arrivals in open loop, over all jobs and loads.
    Rate,
    /// Each job's queue depth, in closed loop.
    Iodepth,
}

/// The largest load whose latency stays under a bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadSearch {
    /// Latency measure and its bound.
    pub bound: Bound,
    /// Setting that the search varies.
    pub over: SearchOver,
    /// Search parameters.
    pub search: BoundSearch,
}
