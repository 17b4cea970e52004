//! Pareto front of designs over cost and headroom.

use crate::SizeRow;
use serde_json::{Map, Value};

/// Cost of a design, by its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cost {
    /// US dollars.
    Price,
    /// Drives.
    Drives,
}

impl Cost {
    /// The price where all designs have one.
    pub fn of<'a>(mut rows: impl Iterator<Item = &'a SizeRow>) -> Cost {
        if rows.all(|row| row.cost_usd().is_some()) { Cost::Price } else { Cost::Drives }
    }

    /// Cost of a row's design.
    pub fn of_row(self, row: &SizeRow) -> Option<f64> {
        match self {
            Cost::Price => row.cost_usd(),
            Cost::Drives => row.drives.map(|drives| drives as f64),
        }
    }
}

/// Design of a space with what the front is over.
struct Candidate {
    array: String,
    design: Map<String, Value>,
    /// Price in US dollars, or drives.
    cost: f64,
    /// The least over the states that have one.
    headroom: f64,
}

impl Candidate {
    fn is_of(&self, row: &SizeRow) -> bool {
        self.array == row.array && self.design == row.design
    }

    fn beats(&self, other: &Candidate) -> bool {
        self.cost <= other.cost
            && self.headroom >= other.headroom
            && (self.cost < other.cost || self.headroom > other.headroom)
    }
}

/// Marks designs that no other is at least as good as, by cost and the least headroom over the states that have one.
pub(crate) fn mark_pareto(rows: &mut [SizeRow]) {
    let cost = Cost::of(rows.iter());
    let mut candidates: Vec<Candidate> = Vec::new();
    for row in rows.iter() {
        let (Some(cost), Some(headroom)) = (cost.of_row(row), row.headroom) else { continue };
        match candidates.iter_mut().find(|one| one.is_of(row)) {
            Some(known) => known.headroom = known.headroom.min(headroom),
            None => {
                let (array, design) = (row.array.clone(), row.design.clone());
                candidates.push(Candidate { array, design, cost, headroom });
            }
        }
    }
    for row in rows {
        let own = candidates.iter().find(|one| one.is_of(row));
        row.pareto = own.is_some_and(|own| !candidates.iter().any(|other| other.beats(own)));
    }
}
