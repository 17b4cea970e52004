//! Report model, independent of format and of the source of its facts.
//!
//! Nothing here knows where the facts came from.

mod answers_page;
mod offer;
mod what_if;

use crate::chart::Chart;
use crate::contour::Contour;
use crate::heat_map::HeatMap;
pub use crate::table::{Column, Table};
use crate::topology::Drawing;
pub use answers_page::AnswersPage;
use findings::{Cited, Finding};
pub use offer::{Designs, Offer, SizingPage};
use serde_json::Value;
pub use what_if::{WalkOfLimits, WhatIfPage};

/// A whole report.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Title: the test, in a few words.
    pub title: Cited,
    /// One sentence: on what, and when.
    pub subtitle: Cited,
    /// Origin of the figures: measured or simulated.
    pub origin: Origin,
    /// Verdict by the plan's requirements, and what of it failed or is missing.
    pub verdict: Verdict,
    /// Answers of a run that answers a question; `None` of a test.
    pub answers: Option<AnswersPage>,
    /// Decision page: what is needed beside the verdict.
    pub decision: Decision,
    /// Known gaps of the model, and how well it was validated; empty of a measurement.
    pub model: Vec<Cited>,
    /// Facts that a reader needs to judge or repeat the run: target, times, version, seed.
    pub facts: Vec<Fact>,
    /// The figures that a reader takes away.
    pub headlines: Vec<Headline>,
    /// Answers in short: what the target sustains, when it falls, what limits it.
    pub in_short: Vec<Answer>,
    /// Conclusions, the weightiest first; empty where nothing was looked for.
    pub conclusions: Vec<Conclusion>,
    /// Warnings that a reader must know before trusting a figure.
    pub warnings: Vec<Cited>,
    /// Requirements of the plan, each with PASS or FAIL.
    pub requirements: Vec<Table>,
    /// Pictures that the plan brings.
    pub pictures: Vec<Picture>,
    /// The bench: hosts, links, controllers, drives.
    pub bench: Option<Drawing>,
    /// Tables that describe what was tested, beside the drawing.
    pub tested: Vec<Table>,
    /// This run beside published and declared figures.
    pub comparisons: Vec<Table>,
    /// One a stage.
    pub sections: Vec<Section>,
    /// Cases without a result, and why.
    pub not_run: Vec<Table>,
    /// Method: how load was made, what is counted, what was set.
    pub method: Vec<Cited>,
    /// Output of commands about the host and the array.
    pub inventory: Vec<Output>,
    /// The findings that numbers of this report cite. Not as JSON until somebody asks for that: one about all pairs of a large
    /// campaign rests on as many cases.
    pub findings: Vec<Finding>,
    /// The claims that it repeats, as `arraylab claims --json` prints them.
    pub claims: Vec<Value>,
}

/// Verdict on a run, in one word and in sentences.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Verdict {
    /// `None` where the plan requires nothing, or nothing of what it requires can be judged.
    pub passed: Option<bool>,
    /// Meaning of the verdict to somebody who has to decide, in one sentence.
    pub meaning: &'static str,
    /// Reasons: how many limits were kept, which were not, which cases failed or are missing.
    pub because: Vec<Cited>,
}

/// Lists of the first page for the one who decides.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decision {
    /// Risks of accepting this.
    pub risk: Vec<Cited>,
    /// Gaps of the test: what nobody has seen here.
    pub not_tested: Vec<Cited>,
    /// Questions to the vendor.
    pub ask: Vec<Cited>,
}

impl Decision {
    /// The lists with their titles, without empty ones.
    pub fn lists(&self) -> impl Iterator<Item = (&'static str, &[Cited])> {
        let all = [
            ("The risk", self.risk.as_slice()),
            ("Not tested", self.not_tested.as_slice()),
            ("Ask the vendor", self.ask.as_slice()),
        ];
        all.into_iter().filter(|(_, lines)| !lines.is_empty())
    }
}

impl Verdict {
    /// `pass`, `fail` or `none`.
    pub fn name(&self) -> &'static str {
        match self.passed {
            Some(true) => "pass",
            Some(false) => "fail",
            None => "none",
        }
    }
}

/// A picture that the plan brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Caption, in one line.
    pub caption: String,
    /// Its name in the plan.
    pub file: String,
    /// `image/png`, `image/jpeg` or `image/webp`.
    pub media_type: &'static str,
    /// The picture itself.
    pub bytes: Vec<u8>,
}

/// Output of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The command, and when it was run.
    pub title: String,
    /// Text that it wrote, and why it failed where it did.
    pub text: String,
}

/// Origin of figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A model answered in simulated time.
    Simulated {
        /// The twin's name.
        twin: String,
    },
    /// A device or file answered in real time.
    Measured {
        /// Target that answered.
        target: String,
    },
}

/// A name and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// Name of the fact.
    pub name: String,
    /// Value of the fact.
    pub value: Cited,
}

impl Fact {
    /// A fact from anything that is text.
    pub fn new(name: impl Into<String>, value: impl Into<Cited>) -> Self {
        Fact { name: name.into(), value: value.into() }
    }
}

/// A figure large on the first screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Headline {
    /// Label of the tile: `Highest IOPS`.
    pub label: String,
    /// The figure with its unit.
    pub value: Cited,
    /// The case it belongs to, and what else bounds it.
    pub detail: Cited,
    /// The section that shows it.
    pub section_id: String,
}

/// A question that every reader has, and what the run answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The question.
    pub question: String,
    /// The answer, with its numbers and where they are shown.
    pub answer: Conclusion,
}

/// A sentence that findings carry.
#[derive(Debug, Clone, PartialEq)]
pub struct Conclusion {
    /// The sentence, with its numbers.
    pub text: Cited,
    /// `holds`, `refuted`, `not-shown`, or nothing for a plain finding.
    pub verdict: Option<String>,
    /// Charts or sections that show it: identifiers of this page and what to call them.
    pub evidence: Vec<Evidence>,
}

/// A place on this page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Identifier of a chart, table or section.
    pub id: String,
    /// Text of the link.
    pub label: String,
}

/// A stage of the plan: what it asked, its charts and its tables.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Identifier on the page.
    pub id: String,
    /// The stage's name or title.
    pub title: Cited,
    /// Course of the stage, in sentences.
    pub intro: Vec<Cited>,
    /// The charts, in order.
    pub charts: Vec<Chart>,
    /// So many of the charts, the first, stay large where many others are small multiples.
    pub large_charts: usize,
    /// Contours, after the large charts.
    pub contours: Vec<Contour>,
    /// Heat maps, after the contours.
    pub heat_maps: Vec<HeatMap>,
    /// The tables, in order.
    pub tables: Vec<Table>,
    /// Notes about what was left out or thinned, in sentences.
    pub notes: Vec<Cited>,
}
