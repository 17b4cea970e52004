//! Conclusions: sentences on the first page of a report, each backed by a finding.
//!
//! No sentence without a finding behind it.

mod falls;
mod latencies;
mod limits;
mod published;
mod rates;

pub(crate) use falls::HELD_MOST_S;

use crate::cited::Cited;
use crate::finding::{Fact, Finding};
use crate::{Findings, Kind};
use serde::Serialize;

/// A sentence with the findings that carry it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Conclusion {
    /// Weight in the order of conclusions, 0 to 100.
    pub weight: u32,
    /// The sentence, each number with its source.
    pub text: Cited,
    /// The findings, the one that carries most first.
    pub findings: Vec<String>,
}

/// Sentences of one kind beyond so many are summed up.
const OF_A_KIND_LIMIT: usize = 4;

impl Findings {
    /// Conclusions for a reader, the weightiest first.
    pub fn conclusions(&self) -> Vec<Conclusion> {
        let mut all = Vec::new();
        all.extend(self.highest());
        all.extend(self.cliffs());
        all.extend(self.limits());
        all.extend(self.latencies());
        all.extend(self.blocks());
        all.extend(self.saturations());
        all.extend(self.penalties());
        all.extend(self.disruptions());
        all.extend(self.conformances());
        all.extend(self.paths());
        all.extend(self.unsteady());
        all.extend(self.claims_refuted());
        all.extend(self.claims_not_shown());
        all.sort_by_key(|conclusion| std::cmp::Reverse(conclusion.weight));
        all
    }

    /// The findings of a kind with their facts, the largest first by some number.
    pub(crate) fn ranked<'a, T>(
        &'a self,
        kind: Kind,
        fact: impl Fn(&'a Fact) -> Option<&'a T>,
        size: impl Fn(&T) -> f64,
    ) -> Vec<(&'a Finding, &'a T)> {
        let mut found: Vec<(&Finding, &T)> =
            self.of_kind(kind).filter_map(|finding| Some((finding, fact(&finding.fact)?))).collect();
        found.sort_by(|a, b| size(b.1).total_cmp(&size(a.1)));
        found
    }
}

fn one(weight: u32, finding: &Finding, text: Cited) -> Conclusion {
    Conclusion { weight, text, findings: vec![finding.id.clone()] }
}
