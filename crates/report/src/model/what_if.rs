//! First page of a run about changes of an array: before and after, gains of parts, and the walk from limit to limit.

use crate::chart::Chart;
use crate::table::Table;
use findings::Cited;

/// Page of a run about changes.
#[derive(Debug, Clone, PartialEq)]
pub struct WhatIfPage {
    /// Array and load.
    pub question: Vec<Cited>,
    /// Warning about an array that no published row validates.
    pub caution: Option<Cited>,
    /// A sentence for the array as it is, and one for each change.
    pub answers: Vec<Cited>,
    /// Before and after each change.
    pub effects: Table,
    /// Rate and latencies before and after.
    pub charts: Vec<Chart>,
    /// Gain from a quarter more of each part.
    pub gains: Table,
    /// The walk from limit to limit; `None` where it was not requested.
    pub walk: Option<WalkOfLimits>,
    /// Basis of the ranges, and reservations.
    pub basis: Vec<Cited>,
}

/// Walk from one limiting part to the next.
#[derive(Debug, Clone, PartialEq)]
pub struct WalkOfLimits {
    /// A sentence for each step.
    pub sentences: Vec<Cited>,
    /// Gain from a quarter more of each part at each step; `None` where nothing gains.
    pub chart: Option<Chart>,
    /// The steps; `None` where there is none.
    pub table: Option<Table>,
}
