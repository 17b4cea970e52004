//! Sentences about findings: conclusions, and the three answers that a reader asks for first.
//!
//! No sentence without a finding behind it.

mod answers;
mod disruptions;
mod falls;
mod latencies;
mod limits;
mod load;
mod published;
mod rates;

use findings::{Cited, Finding, Findings};

/// A sentence with the findings that carry it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sentence {
    /// Weight in the order of conclusions, 0 to 100.
    pub weight: u32,
    /// The sentence, each number with its source.
    pub text: Cited,
    /// The findings, the one that carries most first.
    pub findings: Vec<String>,
}

/// Sentences about the findings of a run.
#[derive(Debug, Clone, Copy)]
pub struct Sentences<'a> {
    found: &'a Findings,
}

impl<'a> Sentences<'a> {
    /// About these findings.
    pub fn of(found: &'a Findings) -> Sentences<'a> {
        Sentences { found }
    }
}

/// Sentences of one kind beyond so many are summed up.
const OF_A_KIND_LIMIT: usize = 4;

impl Sentences<'_> {
    /// Conclusions, the weightiest first.
    pub fn conclusions(&self) -> Vec<Sentence> {
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
}

fn one(weight: u32, finding: &Finding, text: Cited) -> Sentence {
    Sentence { weight, text, findings: vec![finding.id.clone()] }
}
