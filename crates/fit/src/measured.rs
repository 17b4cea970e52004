//! The rows to fit to: published tables that a plan knows how to read, or results of a run as `arraylab results --csv`
//! prints them.

use std::path::Path;

use plan::{Case, FigureOf, LoadedPlan, PublishedTable, PublishedValue, Quantity, Selection};
use serde_json::{Map, Value};

use crate::FitError;
use crate::columns::{self, SETTINGS_PREFIX};

/// The most rows: each is simulated once for each evaluation.
const POINTS_LIMIT: usize = 2_000;
/// The quantities that are taken from results: what a user of storage sees.
const RESULT_QUANTITIES: [&str; 3] = ["iops", "read.latency_ns.mean", "write.latency_ns.mean"];

/// A measured figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredFigure {
    /// Quantity of the figure.
    pub quantity: Quantity,
    /// Measured value, above 0.
    pub value: f64,
    /// Half of the last printed digit: the bound of the rounding error.
    pub half_digit: f64,
    /// Statistic that the figure is, over the point's cases.
    pub of: FigureOf,
}

impl MeasuredFigure {
    /// A figure of one case, of which every digit is known.
    fn exact(quantity: Quantity, value: f64) -> MeasuredFigure {
        MeasuredFigure { quantity, value, half_digit: 0.0, of: FigureOf::Each }
    }
}

/// Measured case with its figures, or several cases with the maximum or the minimum over them.
#[derive(Debug, Clone)]
pub struct MeasuredPoint {
    /// Cases with the point's settings and load. More than one where the figures are the maximum or the minimum of several.
    pub cases: Vec<Case>,
    /// Measured figures.
    pub figures: Vec<MeasuredFigure>,
    /// File, stage and case.
    pub label: String,
    /// Number of the measured row that its figures are from: several cases may belong to one row, and are held out
    /// together.
    pub row: usize,
}

/// All rows, and how many could not be taken.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// Points: cases with figures of their own, and sets of cases with a known maximum or minimum.
    pub points: Vec<MeasuredPoint>,
    /// Rows that no case is selected for, or with figures of 0.
    pub left_out: usize,
}

impl Rows {
    /// Measured rows that the points are of.
    pub fn count(&self) -> usize {
        self.points.iter().map(|point| point.row + 1).max().unwrap_or(0)
    }
}

/// Reads the rows of some CSV files. A file that `plan` names as a published table is read as the plan says, with the
/// file's own text where there is such a file, and only the cases of `selection` count; any other is results.
pub fn read_rows(
    files: &[String],
    plan: Option<&LoadedPlan>,
    selection: &Selection,
) -> Result<Rows, FitError> {
    let mut rows = Rows::default();
    for file in files {
        if Path::new(file).components().any(|part| part.as_os_str() == plan::UNSEEN_FOLDER) {
            return Err(FitError::Rows(format!(
                "`{file}` is kept for validation and never fitted to; `make validate` compares with it"
            )));
        }
        let table = plan.and_then(|plan| Some((plan, table_name(plan, file)?)));
        match table {
            Some((plan, name)) => read_published(&mut rows, plan, &name, file, selection)?,
            None => read_results(&mut rows, file)?,
        }
    }
    if rows.points.is_empty() {
        let left_out = rows.left_out;
        return Err(FitError::Rows(format!(
            "there is nothing to fit to: no row of {} belongs to a case that is selected ({left_out} left out)",
            files.join(", ")
        )));
    }
    if rows.points.len() > POINTS_LIMIT {
        return Err(FitError::Rows(format!(
            "{} measured cases are too many; at most {POINTS_LIMIT} can be fitted to",
            rows.points.len()
        )));
    }
    Ok(rows)
}

/// The name by which a plan knows a file: `raid-levels/read-512.csv` for `published/raid-levels/read-512.csv`.
fn table_name(plan: &LoadedPlan, file: &str) -> Option<String> {
    let names = plan.plan.published.iter().map(|table| table.file.as_str());
    names.into_iter().find(|name| Path::new(file).ends_with(name)).map(str::to_owned)
}

fn read_published(
    rows: &mut Rows,
    plan: &LoadedPlan,
    name: &str,
    file: &str,
    selection: &Selection,
) -> Result<(), FitError> {
    let is_shipped_name = file == name && !Path::new(file).exists();
    let text =
        if is_shipped_name { None } else { Some(plan::read_text(Path::new(file), plan::FILE_BYTES_LIMIT)?) };
    let given = text.as_deref().map(|text| (name, text));
    let read = plan::parse_plan_with_table(&plan.name, &plan.source, &plan.text, given)?;
    let cases = plan::expand(&read, selection)?;
    let mut places = RowNumbers { before: rows.count(), known: Vec::new() };
    let mut used = Vec::new();
    // A file may be read twice, with figures of one row for cases of several stages.
    for table in read.published.iter().filter(|table| table.file == name) {
        used.resize(table.rows.len(), false);
        take_cases(rows, table, &cases, &mut places, &mut used);
        take_extremes(rows, table, &cases, &mut places, &mut used);
    }
    rows.left_out += used.iter().filter(|used| !**used).count();
    Ok(())
}

/// Rows of the file to which points belong, by number.
struct RowNumbers {
    before: usize,
    known: Vec<Vec<usize>>,
}

impl RowNumbers {
    /// One number for all points that have the same rows of the file.
    fn number(&mut self, own: Vec<usize>) -> usize {
        let place = self.known.iter().position(|one| *one == own).unwrap_or_else(|| {
            self.known.push(own);
            self.known.len() - 1
        });
        self.before + place
    }
}

/// Figures of single cases.
fn take_cases(
    rows: &mut Rows,
    table: &PublishedTable,
    cases: &[Case],
    places: &mut RowNumbers,
    used: &mut [bool],
) {
    for case in cases {
        let mut figures = Vec::new();
        let mut own = Vec::new();
        for (index, (row, used)) in table.rows.iter().zip(used.iter_mut()).enumerate() {
            if !table.has_row_for(row, &case.stage, &case.settings) {
                continue;
            }
            for figure in row.figures.iter().filter(|figure| figure.of == FigureOf::Each) {
                if let Some(figure) = measured(figure) {
                    figures.push(figure);
                    own.push(index);
                    *used = true;
                }
            }
        }
        if !figures.is_empty() {
            own.dedup();
            let label = format!("{}: {} {}", table.file, case.stage, case.name);
            let row = places.number(own);
            rows.points.push(MeasuredPoint { cases: vec![case.clone()], figures, label, row });
        }
    }
}

/// Figures that are the most or the least of several cases.
fn take_extremes(
    rows: &mut Rows,
    table: &PublishedTable,
    cases: &[Case],
    places: &mut RowNumbers,
    used: &mut [bool],
) {
    for (index, (row, used)) in table.rows.iter().zip(used).enumerate() {
        let extremes = row.figures.iter().filter(|figure| figure.of != FigureOf::Each);
        let figures: Vec<MeasuredFigure> = extremes.filter_map(measured).collect();
        let own = |case: &&Case| table.has_row_for(row, &case.stage, &case.settings);
        let cases = near_its_population(&figures, cases.iter().filter(own).cloned().collect());
        if let (Some(first), false) = (cases.first(), figures.is_empty()) {
            // The heading is the first line.
            let label = format!("{}, line {}: {} like {}", table.file, index + 2, first.stage, first.name);
            rows.points.push(MeasuredPoint { cases, figures, label, row: places.number(vec![index]) });
            *used = true;
        }
    }
}

fn measured(figure: &PublishedValue) -> Option<MeasuredFigure> {
    let &PublishedValue { quantity, value, half_digit, of } = figure;
    (value > 0.0).then_some(MeasuredFigure { quantity, value, half_digit, of })
}

/// Keeps, of each block size, the cases whose outstanding I/Os are nearest to those of the measurement, where these follow by
/// Little's law from the peak IOPS and their latency. Else keeps all.
fn near_its_population(figures: &[MeasuredFigure], cases: Vec<Case>) -> Vec<Case> {
    let of = |of: FigureOf, ends: &str| {
        let found = figures.iter().find(|figure| figure.of == of && figure.quantity.name().ends_with(ends));
        found.map(|figure| figure.value)
    };
    let (Some(iops), Some(latency_ns)) =
        (of(FigureOf::Maximum, "iops"), of(FigureOf::AtExtreme, "latency_ns.mean"))
    else {
        return cases;
    };
    let outstanding = iops * latency_ns / units::NANOS_PER_SECOND as f64;
    let distance =
        |case: &Case| libm::log(f64::from(case.load.numjobs * case.load.iodepth) / outstanding).abs();
    let nearest = |bs_bytes: u32| {
        let alike = cases.iter().filter(|case| case.load.bs_bytes == bs_bytes);
        alike.map(distance).fold(f64::MAX, f64::min)
    };
    let kept = cases.iter().filter(|case| distance(case) <= nearest(case.load.bs_bytes));
    kept.cloned().collect()
}

/// Rows of `arraylab results --csv`: their settings become the stages of a plan, so that they are checked as those of any
/// plan are.
fn read_results(rows: &mut Rows, file: &str) -> Result<(), FitError> {
    let text = plan::read_text(Path::new(file), plan::FILE_BYTES_LIMIT)?;
    let csv_error = |source| FitError::Csv { file: file.to_owned(), source };
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(csv_error)?.clone();
    let column = |name: &str| headers.iter().position(|header| header == name);
    if !headers.iter().any(|header| header.starts_with(SETTINGS_PREFIX)) || column("iops").is_none() {
        return Err(FitError::Rows(format!(
            "`{file}` is neither a published table of the plan nor results: it has no columns `{SETTINGS_PREFIX}…` and \
             `iops`; name the plan that reads it with --plan, or give what `arraylab results RUN --csv` prints"
        )));
    }
    columns::check(file, &headers)?;
    let mut stages = Map::new();
    let mut measured = Vec::new();
    for (index, record) in reader.records().enumerate() {
        let record = record.map_err(csv_error)?;
        let line = record.position().map_or(0, csv::Position::line);
        let cell = |name: &str| column(name).and_then(|at| record.get(at)).filter(|cell| !cell.is_empty());
        let mut figures = Vec::new();
        for quantity in RESULT_QUANTITIES.into_iter().filter_map(Quantity::named) {
            let Some(text) = cell(quantity.name()) else { continue };
            let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| {
                FitError::Rows(format!("`{file}`, line {line}, column `{}`: not a number", quantity.name()))
            })?;
            if value > 0.0 {
                figures.push(MeasuredFigure::exact(quantity, value));
            }
        }
        if figures.is_empty() || cell("status").is_some_and(|status| status != "done") {
            rows.left_out += 1;
            continue;
        }
        let mut settings = Map::new();
        for (header, value) in headers.iter().zip(record.iter()).filter(|(_, value)| !value.is_empty()) {
            if let Some(name) = header.strip_prefix(SETTINGS_PREFIX) {
                settings.insert(name.to_owned(), number_or_text(value));
            }
        }
        stages.insert(format!("row-{}", index + 1), serde_json::json!({ "settings": settings }));
        let label = format!("{file}, line {line}: {}", cell("case").unwrap_or_default());
        measured.push((label, figures));
    }
    if measured.is_empty() {
        return Ok(());
    }
    let document = serde_json::json!({ "title": "Rows to fit to", "stages": stages });
    // JSON is YAML.
    let plan = plan::parse_plan("rows", file, &document.to_string())?;
    let cases = plan::expand(&plan, &Selection::default())?;
    let before = rows.count();
    for (index, (case, (label, figures))) in cases.into_iter().zip(measured).enumerate() {
        rows.points.push(MeasuredPoint { cases: vec![case], figures, label, row: before + index });
    }
    Ok(())
}

fn number_or_text(text: &str) -> Value {
    serde_json::from_str::<Value>(text).ok().filter(Value::is_number).unwrap_or_else(|| Value::from(text))
}
