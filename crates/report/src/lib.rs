//! Report of a run: one self-contained HTML page, Markdown, or JSON.
//!
//! A [`Report`] is a tree of words, tables and charts that knows nothing of where its facts came from. The page
//! loads nothing from outside: charts are static SVG with a table under each; uPlot, embedded once, adds zoom
//! where scripts run. The same report gives the same bytes. [`Sentences`] says in words what [`findings`] are; [`junit()`] and
//! [`explain()`] are for other readers.

#![doc = include_str!("../README.md")]

mod chart;
mod comparison;
mod contour;
mod escape;
mod explain;
mod from_run;
pub mod gallery;
mod heat_map;
mod html;
mod json;
mod junit;
mod markdown;
mod model;
pub mod pdf;
pub mod rating;
mod sentences;
mod standalone;
mod table;
mod topology;
mod validation;

pub use chart::{Axis, Chart, Level, Mark, Point, Ranges, Role, SERIES_LIMIT, Scale, Series, TickFormat};
pub use comparison::{Compared, ComparedRun, RUNS_LIMIT, comparison};
pub use contour::{Contour, ContourPoint};
pub use explain::{Experiment, Explanation, SERVICES, ServiceExplanation, explain, explain_service};
pub use from_run::{ReportError, from_run};
pub use heat_map::HeatMap;
pub use junit::junit;
pub use model::{
    Answer, Column, Conclusion, Decision, Evidence, Fact, Headline, Origin, Output, Picture, Report, Section,
    Table, Verdict,
};
pub use sentences::{Sentence, Sentences};
pub use standalone::standalone_svg;
pub use topology::{Drawing, Layer, LayerKind};
pub use validation::{ValidationFigure, validation_pictures};

impl Report {
    /// The report as one HTML page.
    pub fn html(&self) -> String {
        html::page(self)
    }

    /// The report as one JSON object, each number with its source; `docs/report-json.md` describes it.
    pub fn json(&self) -> serde_json::Value {
        json::document(self)
    }

    /// The report as Markdown.
    pub fn markdown(&self) -> String {
        markdown::document(self)
    }
}
