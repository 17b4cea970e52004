//! Published figures: tables of what others measured in the same test, and which row belongs to which case.

use crate::document::PublishedDocument;
use crate::plan::{Plan, SettingValues};
use crate::quantity::Quantity;
use crate::setting::{Setting, setting_or_error};
use crate::source::SourceText;
use crate::yaml::{FILE_BYTES_LIMIT, Located};
use crate::{PlanError, PlanErrorKind, shipped};
use serde_json::Value;
use std::path::Path;

/// The column in which every table of ours names where a row comes from.
const SOURCE_COLUMN: &str = "source";

/// One published figure.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedFigure {
    /// Which quantity it is.
    pub quantity: Quantity,
    /// The figure, in the quantity's unit.
    pub value: f64,
    /// The table that it comes from.
    pub file: String,
    /// What the table names as its source.
    pub source: Option<String>,
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
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedRow {
    /// The settings of the cases that it belongs to.
    pub settings: Vec<(&'static str, Value)>,
    /// Its figures, in the quantities' units.
    pub figures: Vec<(Quantity, f64)>,
    /// What the table names as its source.
    pub source: Option<String>,
}

impl PublishedTable {
    /// The rows that belong to a case.
    pub fn rows_for<'a>(
        &'a self,
        stage: &str,
        settings: &'a SettingValues,
    ) -> impl Iterator<Item = &'a PublishedRow> {
        let is_meant = self.stages.iter().any(|name| name == stage);
        self.rows.iter().filter(move |row| {
            is_meant && row.settings.iter().all(|(name, value)| settings.get(*name) == Some(value))
        })
    }
}

impl Plan {
    /// The published figures that stand beside a case.
    pub fn published_for(&self, stage: &str, settings: &SettingValues) -> Vec<PublishedFigure> {
        let mut figures = Vec::new();
        for table in &self.published {
            for row in table.rows_for(stage, settings) {
                figures.extend(row.figures.iter().map(|&(quantity, value)| PublishedFigure {
                    quantity,
                    value,
                    file: table.file.clone(),
                    source: row.source.clone(),
                }));
            }
        }
        figures
    }
}

/// Reads the table that a plan names: from the shipped ones, else from beside the plan's file.
pub(crate) fn read(
    source: &SourceText,
    directory: Option<&Path>,
    document: &PublishedDocument,
) -> Result<PublishedTable, PlanError> {
    let at = |place, kind, message: String| PlanError::new(kind, message).at(source.excerpt(place));
    let file = &document.file;
    let text = match (shipped::published_text(&file.value), directory) {
        (Some(text), _) => text.to_owned(),
        (None, Some(directory)) => crate::library::read_text(&directory.join(&file.value), FILE_BYTES_LIMIT)
            .map_err(|error| at(file.place, PlanErrorKind::Published, error.message().to_owned()))?,
        (None, None) => {
            let message = format!("no published table `{}` ships", file.value);
            return Err(at(file.place, PlanErrorKind::Published, message)
                .maybe_hint(crate::suggest::did_you_mean(&file.value, shipped::published_names())));
        }
    };
    let csv_error = |error: csv::Error| {
        let message = format!("the table `{}` is not CSV: {error}", file.value);
        at(file.place, PlanErrorKind::Published, message).caused_by(error)
    };
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(csv_error)?.clone();
    let column = |name: &Located<String>| {
        headers.iter().position(|header| header == name.value).ok_or_else(|| {
            let message = format!("the table `{}` has no column `{}`", file.value, name.value);
            at(name.place, PlanErrorKind::Published, message)
                .maybe_hint(crate::suggest::did_you_mean(&name.value, headers.iter()))
        })
    };

    let mut settings: Vec<(usize, &'static Setting)> = Vec::new();
    for (name, setting_name) in &document.settings.0 {
        let setting = setting_or_error(&setting_name.value)
            .map_err(|error| error.at(source.excerpt(setting_name.place)))?;
        settings.push((column(name)?, setting));
    }
    let mut quantities = Vec::new();
    for (name, wanted) in &document.quantities.0 {
        let times = match &wanted.times {
            Some(times) if !(times.value.is_finite() && times.value > 0.0) => {
                return Err(at(times.place, PlanErrorKind::OutOfRange, "`times` must be above 0".into()));
            }
            times => times.as_ref().map_or(1.0, |times| times.value),
        };
        quantities.push((column(name)?, wanted.quantity, times));
    }
    let source_column = headers.iter().position(|header| header == SOURCE_COLUMN);

    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(csv_error)?;
        let line = record.position().map_or(0, csv::Position::line);
        let bad_cell = |index: usize, reason: &str| {
            let message = format!(
                "the table `{}`, line {line}, column `{}`: {reason}",
                file.value,
                headers.get(index).unwrap_or_default()
            );
            at(file.place, PlanErrorKind::Published, message)
        };
        let cell = |index: usize| record.get(index).filter(|cell| !cell.is_empty());
        let mut row = PublishedRow { settings: Vec::new(), figures: Vec::new(), source: None };
        for &(index, setting) in &settings {
            if let Some(text) = cell(index) {
                let value = setting.parse(text).map_err(|error| bad_cell(index, error.message()))?;
                row.settings.push((setting.name, value));
            }
        }
        for &(index, quantity, times) in &quantities {
            if let Some(text) = cell(index) {
                let figure: f64 = text.parse().map_err(|_| bad_cell(index, "not a number"))?;
                if !figure.is_finite() {
                    return Err(bad_cell(index, "not a finite number"));
                }
                row.figures.push((quantity, figure * times));
            }
        }
        row.source = source_column.and_then(cell).map(str::to_owned);
        rows.push(row);
    }
    Ok(PublishedTable {
        file: file.value.clone(),
        stages: document.stages.iter().map(|stage| stage.value.clone()).collect(),
        rows,
    })
}
