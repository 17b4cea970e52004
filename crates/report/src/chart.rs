//! Charts: data, static SVG and the table behind them.
//!
//! The SVG needs no script and prints in black and white: series differ in marker and dash (or hatching) as well
//! as in colour. Colours are classes of the page's style sheet, so light and dark need no second drawing.

mod bars;
pub(crate) mod frame;
mod lines;
pub(crate) mod scale;
mod scatter;
mod table;

pub(crate) use frame::{fitted as fitted_text, text_width};
pub use scale::{Axis, Scale, TickFormat};
pub(crate) use scatter::draw as scatter;

use std::fmt::Write as _;
use units::human_count;

/// Most series that one chart may show: as many as have a marker and a dash of their own.
pub const SERIES_LIMIT: usize = 6;

/// One chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Identifier on the page.
    pub id: String,
    /// Title: one quantity against another.
    pub title: String,
    /// Caption with what must be known to read it: what a point stands for, what is missing.
    pub caption: String,
    /// Along the bottom; for `Scale::Categories`, the groups of a bar chart.
    pub x: Axis,
    /// Up the side.
    pub y: Axis,
    /// At most `SERIES_LIMIT` different `style` numbers.
    pub series: Vec<Series>,
    /// Events along x.
    pub marks: Vec<Mark>,
    /// Reference values of y.
    pub levels: Vec<Level>,
    /// Meaning of the points' ranges, as a column of the chart's table has it.
    pub ranges: Ranges,
}

/// Meaning of the ranges of a chart's points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ranges {
    /// The smallest and the largest of the values that a point stands for.
    #[default]
    Extremes,
    /// Its 5th and 95th percentile.
    Percentiles,
    /// The interval of its value, with 95 % confidence.
    Confidence,
    /// The range of values that differ by noise alone.
    Noise,
}

impl Ranges {
    /// The words for it.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Ranges::Extremes => "smallest to largest",
            Ranges::Percentiles => "p5 to p95",
            Ranges::Confidence => "95 % range",
            Ranges::Noise => "range of noise",
        }
    }
}

/// Points that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Label that tells it from the others.
    pub label: String,
    /// Number of its colour, marker and dash: below `SERIES_LIMIT`. A published series has the number of the measured
    /// one that it stands beside.
    pub style: usize,
    /// Origin of its figures.
    pub role: Role,
    /// In order of x.
    pub points: Vec<Point>,
}

/// Origin of the figures of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// This run's.
    Run,
    /// This run's, each point by itself: no line.
    Loose,
    /// Somebody's published test: hollow diamonds, no line.
    Published,
}

/// A point, or the place of a missing one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Position along x; the index of the category in a bar chart.
    pub x: f64,
    /// The value; `None` is a gap in the line.
    pub y: Option<f64>,
    /// Smallest and largest of what the value summarises.
    pub range: Option<(f64, f64)>,
}

impl Point {
    /// A point without a range.
    pub fn new(x: f64, y: Option<f64>) -> Self {
        Point { x, y, range: None }
    }
}

/// Marked event: a labelled line across the plot, or a band where it lasted.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Time of the event, or of its beginning.
    pub x: f64,
    /// End of the event, if it lasted.
    pub until: Option<f64>,
    /// Label of the event.
    pub label: String,
}

/// A labelled horizontal line: what a vendor declares, a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// Height of the line.
    pub y: f64,
    /// Label of the line.
    pub label: String,
}

impl Chart {
    /// The drawing, as an `<svg>` element with a title and a description.
    pub fn svg(&self) -> String {
        match self.x.scale {
            Scale::Categories(_) => bars::draw(self),
            _ => lines::draw(self),
        }
    }

    /// The numbers behind the drawing: a row for each x, a column for each series.
    pub fn data_table(&self) -> crate::table::Table {
        table::of(self)
    }

    /// Description for a reader who cannot see the drawing: the axes, the ends and extremes of each series, lines and marks.
    pub fn description(&self) -> String {
        let mut text = format!("{} against {}.", self.y.heading(), self.x.heading());
        for series in &self.series {
            let known = || {
                series
                    .points
                    .iter()
                    .filter_map(|point| point.y.map(|y| (point.x, y)).filter(|known| known.1.is_finite()))
            };
            let Some(least) = known().min_by(|a, b| a.1.total_cmp(&b.1)) else {
                let _ = write!(text, " {}: no values.", series.label);
                continue;
            };
            let most = known().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(least);
            let _ = write!(
                text,
                " {}{}: {}, from {} at {} to {} at {}.",
                if series.label.is_empty() { "This run" } else { &series.label },
                if series.role == Role::Published { " (published)" } else { "" },
                human_count(known().count() as u64, "value"),
                scale::plain(least.1),
                self.x.value_text(least.0),
                scale::plain(most.1),
                self.x.value_text(most.0),
            );
        }
        for level in &self.levels {
            let _ = write!(text, " Line at {}: {}.", scale::plain(level.y), level.label);
        }
        for mark in &self.marks {
            let _ = write!(text, " Mark at {}: {}.", self.x.value_text(mark.x), mark.label);
        }
        text
    }

    fn finite_ys(&self) -> impl Iterator<Item = f64> + '_ {
        let points = self.series.iter().flat_map(|series| &series.points);
        points
            .flat_map(|point| [point.y, point.range.map(|r| r.0), point.range.map(|r| r.1)])
            .flatten()
            .chain(self.levels.iter().map(|level| level.y))
            .filter(|y| y.is_finite())
    }
}
