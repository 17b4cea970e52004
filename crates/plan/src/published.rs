//! Published figures: tables of what others measured in the same test, and which row belongs to which case.

use crate::matrix::{Condition, SettingValues};
use crate::quantity::Quantity;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// What a published figure is of the cases that its row belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FigureOf {
    /// The figure of each of them; there is one, as a rule.
    #[default]
    Each,
    /// The largest among them.
    Maximum,
    /// The smallest among them.
    Minimum,
    /// The figure of that one of them which has the row's maximum or minimum.
    AtExtreme,
}

/// One published figure.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedFigure {
    /// Quantity of the figure.
    pub quantity: Quantity,
    /// The figure, in the quantity's unit.
    pub value: f64,
    /// The table that it comes from.
    pub file: String,
    /// Source that the table names.
    pub source: Option<String>,
}

/// Folder of published rows that no twin is fitted to.
pub const UNSEEN_FOLDER: &str = "unseen";

impl PublishedFigure {
    /// True for a row that no twin is fitted to.
    pub fn is_unseen(&self) -> bool {
        is_unseen(&self.file)
    }
}

/// True for a file of rows that no twin is fitted to, by the name that plans give it.
fn is_unseen(file: &str) -> bool {
    Path::new(file).starts_with(UNSEEN_FOLDER)
}

/// A table of published results, read for a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedTable {
    /// The name by which the plan refers to it.
    pub file: String,
    /// The stages whose cases its rows stand beside.
    pub stages: Vec<String>,
    /// Its rows, in order.
    pub rows: Vec<PublishedRow>,
    pub(crate) cases: Condition,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedRow {
    /// Its figures, in the quantities' units.
    pub figures: Vec<PublishedValue>,
    /// Source that the table names.
    pub source: Option<String>,
    /// The settings of the cases that it belongs to.
    pub(crate) settings: Vec<(&'static str, Vec<CellPart>)>,
}

/// A figure of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PublishedValue {
    /// Quantity of the figure.
    pub quantity: Quantity,
    /// The figure, in the quantity's unit.
    pub value: f64,
    /// Half of the last printed digit, in the quantity's unit: a printed 0.6 may be anything from 0.55 to 0.65.
    pub half_digit: f64,
    /// Statistic that the figure is, over the cases that the row belongs to.
    pub of: FigureOf,
}

/// One of the values that a cell allows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CellPart {
    One(Value),
    Range { least: f64, most: f64 },
}

impl CellPart {
    fn allows(&self, value: &Value) -> bool {
        match self {
            CellPart::One(one) => one == value,
            CellPart::Range { least, most } => {
                value.as_f64().is_some_and(|number| (*least..=*most).contains(&number))
            }
        }
    }
}

impl PublishedRow {
    fn allows(&self, settings: &SettingValues) -> bool {
        self.settings.iter().all(|(name, parts)| {
            settings.get(*name).is_some_and(|value| parts.iter().any(|part| part.allows(value)))
        })
    }

    /// True where a figure is the largest or the smallest of several cases, not that of each.
    pub fn has_extreme(&self) -> bool {
        self.figures.iter().any(|figure| figure.of != FigureOf::Each)
    }
}

impl PublishedTable {
    /// True for rows that no twin is fitted to.
    pub fn is_unseen(&self) -> bool {
        is_unseen(&self.file)
    }

    /// The rows that belong to a case, whose figures may be of that case or of all cases of the row.
    pub fn rows_for<'a>(
        &'a self,
        stage: &str,
        settings: &'a SettingValues,
    ) -> impl Iterator<Item = &'a PublishedRow> {
        let is_meant = self.covers(stage, settings);
        self.rows.iter().filter(move |row| is_meant && row.allows(settings))
    }

    /// True where a row belongs to a case.
    pub fn has_row_for(&self, row: &PublishedRow, stage: &str, settings: &SettingValues) -> bool {
        self.covers(stage, settings) && row.allows(settings)
    }

    fn covers(&self, stage: &str, settings: &SettingValues) -> bool {
        self.stages.iter().any(|name| name == stage) && self.cases.holds(settings)
    }
}
