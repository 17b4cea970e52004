//! Cases whose jobs and depth are those of a case of an earlier stage, chosen from its results.

use plan::{Case, LoadChoice, Quantity, SettingValues};
use serde_json::Value;
use store::{CaseResult, CaseStatus, RunReader, StoreError};
use units::human_rate;

const JOBS: &str = "numjobs";
const DEPTH: &str = "iodepth";

/// Jobs and depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    pub jobs: u32,
    pub depth: u32,
}

/// A load that may be chosen, with its results: one, or one in each round of the measurement window.
struct Point {
    load: Load,
    results: Vec<CaseResult>,
}

impl Load {
    /// The load of settings that give both.
    pub fn of(settings: &SettingValues) -> Option<Load> {
        let count = |name| settings.get(name).and_then(Value::as_u64).and_then(|count| count.try_into().ok());
        Some(Load { jobs: count(JOBS)?, depth: count(DEPTH)? })
    }

    /// The case with this load.
    pub fn put_into(self, case: &Case) -> Case {
        let mut case = case.clone();
        case.settings.insert(JOBS.to_owned(), self.jobs.into());
        case.settings.insert(DEPTH.to_owned(), self.depth.into());
        (case.load.numjobs, case.load.iodepth) = (self.jobs, self.depth);
        case
    }
}

/// Chooses jobs and depth from the results so far, with the choice in words. Of rounds only those of the `window` count.
/// `None` where no case can be chosen.
pub(crate) fn choose(
    run: &RunReader,
    choice: &LoadChoice,
    window: Option<&[u64]>,
) -> Result<Option<(Load, String)>, StoreError> {
    let is_counted = |result: &CaseResult| {
        let round = result.settings.get("repeat").and_then(Value::as_u64);
        let is_in_window = round.zip(window).is_none_or(|(round, window)| window.contains(&round));
        result.status == CaseStatus::Done && choice.is_about(&result.stage, &result.settings) && is_in_window
    };
    let mut points: Vec<Point> = Vec::new();
    for result in run.results()?.into_iter().filter(is_counted) {
        let Some(load) = Load::of(&result.settings) else { continue };
        match points.iter_mut().find(|point| point.load == load) {
            Some(point) => point.results.push(result),
            None => points.push(Point { load, results: vec![result] }),
        }
    }
    let quantity = choice.pick.quantity;
    let Some(best) = choice.pick.best(points.iter(), |point, of| point.mean(of)) else { return Ok(None) };
    let best_value = best.mean(quantity).unwrap_or_default();
    let named = |point: &Point| format!("{} jobs of depth {}", point.load.jobs, point.load.depth);
    let of = format!("{} in `{}`", quantity.name(), choice.stage);
    if !choice.is_half_way() {
        let says = format!("the load is {}: {} {of}", named(best), human_rate(best_value));
        return Ok(Some((best.load, says)));
    }
    let is_other_end = |point: &&Point| point.results.iter().any(|one| choice.is_other_end(&one.settings));
    let Some(other) = points.iter().find(is_other_end).and_then(|point| point.mean(quantity)) else {
        return Ok(None);
    };
    let half = (best_value + other) / 2.0;
    let distance = |point: &&Point| Some((point.mean(quantity)? - half).abs());
    let within = points.iter().filter(|point| choice.pick.allows(|of| point.mean(of)));
    let nearest = within
        .filter_map(|point| Some((distance(&point)?, point)))
        .reduce(|a, b| if b.0 < a.0 { b } else { a });
    Ok(nearest.map(|(_, point)| {
        let value = human_rate(point.mean(quantity).unwrap_or_default());
        let says = format!(
            "the load is {}: {value} {of}, nearest to {}, half-way between {} and {}",
            named(point),
            human_rate(half),
            human_rate(best_value),
            human_rate(other)
        );
        (point.load, says)
    }))
}

/// Returns the reason why a case cannot be run: no result can be chosen for it.
pub(crate) fn unknown(choice: &LoadChoice) -> String {
    format!("its jobs and depth are those of a case of `{}`, of which no result can be chosen", choice.stage)
}

impl Point {
    fn mean(&self, quantity: Quantity) -> Option<f64> {
        let values: Vec<f64> = self.results.iter().filter_map(|one| one.quantity(quantity.name())).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }
}
