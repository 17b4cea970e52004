//! Reading of published tables: which row belongs to which cases, and its figures.

use crate::document::{PublishedDocument, SettingColumn};
use crate::file_text::read_text;
use crate::matrix::Condition;
use crate::published::{CellPart, PublishedRow, PublishedTable, PublishedValue};
use crate::setting::{Setting, SettingKind, setting_or_error};
use crate::source::SourceText;
use crate::yaml::{FILE_BYTES_LIMIT, Located, OneOrMap};
use crate::{PlanError, PlanErrorKind, shipped};
use serde_json::Value;
use std::path::Path;

/// The column in which every table of ours names where a row comes from.
const SOURCE_COLUMN: &str = "source";

/// The word of a cell that leaves its setting open, as an empty cell does.
const ANY: &str = "any";

/// Reader of a column whose cells are values of a setting.
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
        (None, Some(directory)) => read_text(&directory.join(&file.value), FILE_BYTES_LIMIT)
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
