//! Plans for Python.

use crate::errors::refused;
use crate::table::Table;
use frame::Frame;
use pyo3::prelude::*;

/// Names of the plans that ship.
#[pyfunction]
pub fn plan_names() -> Vec<&'static str> {
    plan::shipped_plans().iter().map(|plan| plan.name).collect()
}

/// An identifier for a run's directory, with the time in it.
#[pyfunction]
pub fn new_run_id() -> String {
    store::new_run_id()
}

/// Name and text of a plan, found by its name or path and checked.
#[pyfunction]
pub fn plan_load(name_or_path: &str) -> PyResult<(String, String)> {
    let loaded = plan::load_plan(name_or_path).map_err(refused)?;
    Ok((loaded.name, loaded.text))
}

/// Checks the text of a plan.
#[pyfunction]
pub fn plan_parse(name: &str, text: &str) -> PyResult<()> {
    plan::parse_plan(name, name, text).map(|_| ()).map_err(refused)
}

/// The cases of a plan, as `arraylab expand --json` has them. `only` and `set` are pairs of a key and a value.
#[pyfunction]
pub fn plan_cases(
    py: Python<'_>,
    name: &str,
    text: &str,
    stages: Vec<String>,
    only: Vec<(String, Vec<String>)>,
    set: Vec<(String, String)>,
) -> PyResult<Table> {
    let frame = py.detach(|| {
        let (_, cases) = expanded(name, text, &plan::Selection { stages, only, set })?;
        Ok::<_, PyErr>(Frame::of_rows(cases.iter().map(plan::Case::expanded_json).collect()))
    })?;
    Table::new(frame)
}

/// The most shards that the cases of a plan can be cut into on a twin.
#[pyfunction]
pub fn plan_shards(
    name: &str,
    text: &str,
    stages: Vec<String>,
    only: Vec<(String, Vec<String>)>,
    set: Vec<(String, String)>,
) -> PyResult<usize> {
    let (plan, cases) = expanded(name, text, &plan::Selection { stages, only, set })?;
    Ok(campaign::shards_at_most(&cases, &plan))
}

fn expanded(name: &str, text: &str, selection: &plan::Selection) -> PyResult<(plan::Plan, Vec<plan::Case>)> {
    let plan = plan::parse_plan(name, name, text).map_err(refused)?;
    let cases = plan::expand(&plan, selection).map_err(refused)?;
    Ok((plan, cases))
}
