//! Plans for Python.

use crate::errors::refused;
use crate::table::Table;
use frame::Frame;
use pyo3::prelude::*;
use serde_json::json;

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
        let plan = plan::parse_plan(name, name, text).map_err(refused)?;
        let selection = plan::Selection { stages, only, set };
        let cases = plan::expand(&plan, &selection).map_err(refused)?;
        let row = |case: &plan::Case| {
            json!({
                "plan": case.plan,
                "stage": case.stage,
                "case": case.name,
                "settings": case.settings,
                "estimated_duration_s": case.estimated_duration_ns as f64 / 1e9,
                "estimated_write_bytes": case.estimated_write_bytes,
            })
        };
        Ok::<_, PyErr>(Frame::of_rows(cases.iter().map(row).collect()))
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
    let plan = plan::parse_plan(name, name, text).map_err(refused)?;
    let cases = plan::expand(&plan, &plan::Selection { stages, only, set }).map_err(refused)?;
    Ok(campaign::shards_at_most(&cases, &plan))
}
