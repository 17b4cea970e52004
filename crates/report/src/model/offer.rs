//! First page of a sizing run: an answer, its figures and its basis for each array.

use crate::chart::Chart;
use crate::table::Table;
use findings::Cited;

/// Page of a sizing run.
#[derive(Debug, Clone, PartialEq)]
pub struct SizingPage {
    /// Workload, requirements and growth.
    pub question: Vec<Cited>,
    /// Warning about arrays that no published row validates.
    pub caution: Option<Cited>,
    /// Order of several arrays, where their ranges allow one.
    pub ranking: Vec<Cited>,
    /// Designs of a space over cost and headroom.
    pub designs: Option<Designs>,
    /// One for each array, or for each design of the front.
    pub offers: Vec<Offer>,
}

/// Array as an answer to the question.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// Identifier on the page.
    pub id: String,
    /// Name of the array, with the values of its design.
    pub name: Cited,
    /// `meets`, `too-close-to-call`, `fails`, `not-shown` or `not-modelled`, of the healthy state.
    pub verdict: String,
    /// The answer in one sentence.
    pub sentence: Cited,
    /// Each state with its latency, headroom and verdict.
    pub states: Table,
    /// Reasons of verdicts that the figures do not give.
    pub reasons: Vec<Cited>,
    /// Capacity, endurance, rebuild, price and power.
    pub properties: Table,
    /// Latency against IOPS; `None` where nothing was delivered.
    pub chart: Option<Chart>,
    /// Basis of the ranges.
    pub basis: Vec<Cited>,
    /// Gaps of the answer.
    pub not_tested: Vec<Cited>,
    /// Questions to the vendor.
    pub ask: Vec<Cited>,
}

impl Offer {
    /// The lists with their titles, without empty ones.
    pub fn lists(&self) -> impl Iterator<Item = (&'static str, &[Cited])> {
        let all = [
            ("Basis", self.basis.as_slice()),
            ("Not tested", self.not_tested.as_slice()),
            ("Ask the vendor", self.ask.as_slice()),
        ];
        all.into_iter().filter(|(_, lines)| !lines.is_empty())
    }
}

/// Designs of a space.
#[derive(Debug, Clone, PartialEq)]
pub struct Designs {
    /// Number of designs, of those that were left out and of those on the front.
    pub intro: Vec<Cited>,
    /// Headroom against cost.
    pub chart: Chart,
    /// A row for each design that was searched, by cost.
    pub table: Table,
}

impl SizingPage {
    /// Its tables, in the order of the page.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        let designs = self.designs.iter().map(|designs| &designs.table);
        designs.chain(self.offers.iter().flat_map(|offer| [&offer.states, &offer.properties]))
    }

    /// Its charts, in the order of the page.
    pub fn charts(&self) -> impl Iterator<Item = &Chart> {
        let designs = self.designs.iter().map(|designs| &designs.chart);
        designs.chain(self.offers.iter().filter_map(|offer| offer.chart.as_ref()))
    }
}
