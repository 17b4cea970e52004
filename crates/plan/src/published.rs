//! Published figures: tables of what others measured in the same test, and which row belongs to which case.

use crate::document::{PublishedDocument, SettingColumn};
use crate::plan::{Condition, Plan, SettingValues};
use crate::quantity::Quantity;
use crate::setting::{Setting, SettingKind, setting_or_error};
use crate::source::SourceText;
use crate::yaml::{FILE_BYTES_LIMIT, Located, OneOrMap};
use crate::{PlanError, PlanErrorKind, shipped};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// The column in which every table of ours names where a row comes from.
const SOURCE_COLUMN: &str = "source";

/// The word of a cell that leaves its setting open, as an empty cell does.
const ANY: &str = "any";

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
    /// Which quantity it is.
    pub quantity: Quantity,
    /// The figure, in the quantity's unit.
    pub value: f64,
    /// The table that it comes from.
    pub file: String,
    /// What the table names as its source.
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
    cases: Condition,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedRow {
    /// Its figures, in the quantities' units.
    pub figures: Vec<PublishedValue>,
    /// What the table names as its source.
    pub source: Option<String>,
    /// The settings of the cases that it belongs to.
    settings: Vec<(&'static str, Vec<CellPart>)>,
}

/// A figure of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PublishedValue {
    /// Which quantity it is.
    pub quantity: Quantity,
    /// The figure, in the quantity's unit.
    pub value: f64,
    /// Half of the last printed digit, in the quantity's unit: a printed 0.6 may be anything from 0.55 to 0.65.
    pub half_digit: f64,
    /// What it is of the cases that the row belongs to.
    pub of: FigureOf,
}

/// One of the values that a cell allows.
#[derive(Debug, Clone, PartialEq)]
enum CellPart {
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

impl Plan {
    /// The published figures of a case. A maximum or minimum over several cases is none of them
    /// ([`Plan::published_extremes`]).
    pub fn published_for(&self, stage: &str, settings: &SettingValues) -> Vec<PublishedFigure> {
        let mut figures = Vec::new();
        for table in &self.published {
            for row in table.rows_for(stage, settings) {
                let own = row.figures.iter().filter(|figure| figure.of == FigureOf::Each);
                figures.extend(own.map(|figure| PublishedFigure {
                    quantity: figure.quantity,
                    value: figure.value,
                    file: table.file.clone(),
                    source: row.source.clone(),
                }));
            }
        }
        figures
    }

    /// The published rows whose figures are maxima or minima over several cases, each with its table;
    /// [`PublishedTable::has_row_for`] tells which cases.
    pub fn published_extremes(&self) -> impl Iterator<Item = (&PublishedTable, &PublishedRow)> {
        self.published
            .iter()
            .flat_map(|table| table.rows.iter().map(move |row| (table, row)))
            .filter(|(_, row)| row.has_extreme())
    }
}

/// What a column says about a setting.
struct CellReader {
    index: usize,
    setting: &'static Setting,
    /// The column's words, each with its value.
    words: Vec<(String, Value)>,
}

impl CellReader {
    /// Reads `4k`, `4k/8k` (one of several), `16k-64k` (a range of numbers).
    fn parts(&self, cell: &str) -> Result<Vec<CellPart>, PlanError> {
        if let Some((_, value)) = self.words.iter().find(|(word, _)| word == cell) {
            return Ok(vec![CellPart::One(value.clone())]);
        }
        cell.split('/').map(|part| self.part(part)).collect()
    }

    fn part(&self, text: &str) -> Result<CellPart, PlanError> {
        let is_number = matches!(
            self.setting.kind,
            SettingKind::Size { .. }
                | SettingKind::Count { .. }
                | SettingKind::Percent
                | SettingKind::Duration { .. }
        );
        let Some((least, most)) = text.split_once('-').filter(|_| is_number) else {
            return self.setting.parse(text).map(CellPart::One);
        };
        let number = |text: &str| self.setting.parse(text).map(|value| value.as_f64().unwrap_or_default());
        Ok(CellPart::Range { least: number(least)?, most: number(most)? })
    }
}

/// Reads the table that a plan names: the given text, else that of a shipped one, else the file beside the plan's.
pub(crate) fn read(
    source: &SourceText,
    directory: Option<&Path>,
    document: &PublishedDocument,
    given: Option<&str>,
    cases: Condition,
) -> Result<PublishedTable, PlanError> {
    let at = |place, kind, message: String| PlanError::new(kind, message).at(source.excerpt(place));
    let file = &document.file;
    let text = match (given.or_else(|| shipped::published_text(&file.value)), directory) {
        (Some(text), _) => text.to_owned(),
        (None, Some(directory)) => crate::library::read_text(&directory.join(&file.value), FILE_BYTES_LIMIT)
            .map_err(|error| at(file.place, PlanErrorKind::Published, error.message().to_owned()))?,
        (None, None) => {
            let message = format!("no published table `{}` ships", file.value);
            return Err(at(file.place, PlanErrorKind::Published, message)
                .maybe_hint(array::did_you_mean(&file.value, shipped::published_names())));
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
                .maybe_hint(array::did_you_mean(&name.value, headers.iter()))
        })
    };

    let mut readers = Vec::new();
    for (name, wanted) in &document.settings.0 {
        readers.push(cell_reader(source, column(name)?, wanted)?);
    }
    let mut quantities = Vec::new();
    for (name, wanted) in
        document.quantities.0.iter().flat_map(|(name, all)| all.0.iter().map(move |one| (name, one)))
    {
        let times = match &wanted.times {
            Some(times) if !(times.value.is_finite() && times.value > 0.0) => {
                return Err(at(times.place, PlanErrorKind::OutOfRange, "`times` must be above 0".into()));
            }
            times => times.as_ref().map_or(1.0, |times| times.value),
        };
        let mut rows = Vec::new();
        for (name, texts) in &wanted.rows.0 {
            let texts: Vec<String> = texts.0.iter().map(|text| text.value.clone()).collect();
            rows.push((column(name)?, texts));
        }
        quantities.push((column(name)?, wanted, times, rows));
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
        for reader in &readers {
            if let Some(text) = cell(reader.index).filter(|text| *text != ANY) {
                let parts = reader.parts(text).map_err(|error| bad_cell(reader.index, error.message()))?;
                row.settings.push((reader.setting.name, parts));
            }
        }
        for (index, wanted, times, rows) in &quantities {
            let is_meant = rows
                .iter()
                .all(|(column, texts)| texts.iter().any(|text| record.get(*column) == Some(text.as_str())));
            if let Some(text) = cell(*index).filter(|_| is_meant) {
                let figure: f64 = text.parse().map_err(|_| bad_cell(*index, "not a number"))?;
                if !figure.is_finite() {
                    return Err(bad_cell(*index, "not a finite number"));
                }
                row.figures.push(PublishedValue {
                    quantity: wanted.quantity,
                    value: figure * times,
                    half_digit: half_digit(text) * times,
                    of: wanted.of,
                });
            }
        }
        row.source = source_column.and_then(cell).map(str::to_owned);
        rows.push(row);
    }
    Ok(PublishedTable {
        file: file.value.clone(),
        stages: document.stages.iter().map(|stage| stage.value.clone()).collect(),
        rows,
        cases,
    })
}

/// Half of the last digit that a number is printed with. Zeros at the end of a whole number count as printed.
fn half_digit(text: &str) -> f64 {
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    0.5 / (0..decimals).fold(1.0, |scale, _| scale * 10.0)
}

fn cell_reader(source: &SourceText, index: usize, column: &SettingColumn) -> Result<CellReader, PlanError> {
    let found = |name: &Located<String>| {
        setting_or_error(&name.value).map_err(|error| error.at(source.excerpt(name.place)))
    };
    match column {
        OneOrMap::One(name) => Ok(CellReader { index, setting: found(name)?, words: Vec::new() }),
        OneOrMap::Map(column) => {
            let setting = found(&column.setting)?;
            let mut words = Vec::new();
            for (word, value) in &column.words.0 {
                let value =
                    setting.parse(&value.value).map_err(|error| error.at(source.excerpt(value.place)))?;
                words.push((word.value.clone(), value));
            }
            Ok(CellReader { index, setting, words })
        }
    }
}
