//! Published rows beside what the twins give: how far each model is off, on rows that it was fitted to and on rows that no fit has
//! seen.

use super::plans::run_on_twin;
use crate::CampaignError;
use findings::ValidationRow;
use plan::{FigureOf, PublishedRow, PublishedTable, PublishedValue};
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use store::{CaseResult, CaseStatus, Run};

/// A published figure and the twin's.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidationPoint {
    /// The array.
    pub array: &'static str,
    /// `fitted` or `unseen`.
    pub set: &'static str,
    /// The quantity, by its path in results.
    pub metric: String,
    /// The case, or for a maximum or minimum over several cases the one that has it.
    pub row: String,
    /// The published figure, in the quantity's unit.
    pub published: f64,
    /// The twin's.
    pub simulated: f64,
}

impl ValidationPoint {
    /// Simulated ÷ published − 1.
    pub fn error(&self) -> f64 {
        self.simulated / self.published - 1.0
    }
}

/// Runs the stages of the shipped plans that have published rows on their twins, and sets the two side by side.
pub fn bench_validation(
    directory: &Path,
    interrupt: &AtomicBool,
) -> Result<Vec<ValidationPoint>, CampaignError> {
    let arrays = plan::shipped_arrays();
    let mut points = Vec::new();
    for shipped in plan::shipped_plans() {
        if arrays.iter().any(|array| array.name == shipped.name) {
            points.extend(validate_plan(shipped.name, directory, interrupt)?);
        }
    }
    Ok(points)
}

/// Sums points up by array, set and quantity, in their order.
pub fn sum_validation(points: &[ValidationPoint]) -> Vec<ValidationRow> {
    let mut rows: Vec<ValidationRow> = Vec::new();
    for point in points {
        let size = point.error().abs();
        let is_its = |row: &&mut ValidationRow| {
            (row.array.as_str(), row.set.as_str(), &row.metric) == (point.array, point.set, &point.metric)
        };
        match rows.iter_mut().find(is_its) {
            Some(row) => {
                row.mean_error = (row.mean_error * row.rows as f64 + size) / (row.rows + 1) as f64;
                row.rows += 1;
                if size > row.worst_error {
                    (row.worst_error, row.worst_row) = (size, point.row.clone());
                }
            }
            None => rows.push(ValidationRow {
                array: point.array.into(),
                set: point.set.into(),
                metric: point.metric.clone(),
                rows: 1,
                mean_error: size,
                worst_error: size,
                worst_row: point.row.clone(),
            }),
        }
    }
    // Digits beyond these are no news, and keep the document from changing with them.
    let rounded = |share: f64| (share * 1e4).round() / 1e4;
    for row in &mut rows {
        (row.mean_error, row.worst_error) = (rounded(row.mean_error), rounded(row.worst_error));
    }
    rows
}

fn validate_plan(
    name: &'static str,
    directory: &Path,
    interrupt: &AtomicBool,
) -> Result<Vec<ValidationPoint>, CampaignError> {
    let plan = plan::load_plan(name)?.plan;
    let mut stages: Vec<String> = Vec::new();
    for stage in plan.published.iter().flat_map(|table| &table.stages) {
        if !stages.contains(stage) {
            stages.push(stage.clone());
        }
    }
    if stages.is_empty() {
        return Ok(Vec::new());
    }
    run_on_twin(name, plan::Selection { stages, ..plan::Selection::default() }, directory, interrupt)?;
    let run = Run::open_read_only(&directory.join(name))?;
    let mut results = run.results()?;
    findings::add_sustained(&mut results, &findings::find(&run, &plan)?);
    results.retain(|result| result.status == CaseStatus::Done);
    let mut points = Vec::new();
    for table in &plan.published {
        for row in &table.rows {
            points.extend(points_of(name, table, row, &results));
        }
    }
    Ok(points)
}

fn points_of(
    array: &'static str,
    table: &PublishedTable,
    row: &PublishedRow,
    results: &[CaseResult],
) -> Vec<ValidationPoint> {
    let set = if table.is_unseen() { "unseen" } else { "fitted" };
    let cases: Vec<&CaseResult> =
        results.iter().filter(|result| table.has_row_for(row, &result.stage, &result.settings)).collect();
    let point = |figure: &PublishedValue, case: &CaseResult| {
        let metric = figure.quantity.name().to_owned();
        let simulated = value(case, &metric)?;
        (figure.value > 0.0).then(|| ValidationPoint {
            array,
            set,
            row: format!("{}/{}", case.stage, case.case),
            published: figure.value,
            simulated,
            metric,
        })
    };
    // The case that has the row's maximum or minimum, for the figures that belong to that one.
    let extreme = row.figures.iter().find_map(|figure| extreme_case(figure, &cases));
    row.figures
        .iter()
        .flat_map(|figure| match figure.of {
            FigureOf::Each => cases.iter().filter_map(|case| point(figure, case)).collect::<Vec<_>>(),
            FigureOf::Maximum | FigureOf::Minimum => {
                extreme_case(figure, &cases).and_then(|case| point(figure, case)).into_iter().collect()
            }
            FigureOf::AtExtreme => extreme.and_then(|case| point(figure, case)).into_iter().collect(),
        })
        .collect()
}

fn extreme_case<'a>(figure: &PublishedValue, cases: &[&'a CaseResult]) -> Option<&'a CaseResult> {
    let with_value = cases.iter().filter_map(|case| Some((value(case, figure.quantity.name())?, *case)));
    match figure.of {
        FigureOf::Maximum => with_value.max_by(|a, b| a.0.total_cmp(&b.0)),
        FigureOf::Minimum => with_value.min_by(|a, b| a.0.total_cmp(&b.0)),
        FigureOf::Each | FigureOf::AtExtreme => None,
    }
    .map(|(_, case)| case)
}

/// A quantity of a result by its path, as `arraylab results --json` has it.
fn value(result: &CaseResult, path: &str) -> Option<f64> {
    let whole = serde_json::to_value(result).ok()?;
    path.split('.')
        .try_fold(&whole, |at, key| at.get(key))
        .and_then(Value::as_f64)
        .filter(|value| *value > 0.0)
}
