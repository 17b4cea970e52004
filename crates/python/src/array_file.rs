//! Arrays for Python: texts in the array language, checked, with one value replaced at a time.

use crate::errors::{refused, refused_plain};
use pyo3::prelude::*;

/// Names of the arrays that ship.
#[pyfunction]
pub fn array_names() -> Vec<&'static str> {
    plan::shipped_arrays().iter().map(|array| array.name).collect()
}

/// Name and text of an array, found by its name or path and checked, and whether it ships.
#[pyfunction]
pub fn array_load(name_or_path: &str) -> PyResult<(String, String, bool)> {
    let is_shipped = plan::shipped_arrays().iter().any(|array| array.name == name_or_path);
    let loaded = plan::load_array(name_or_path).map_err(refused)?;
    Ok((loaded.name, loaded.text, is_shipped))
}

/// Checks the text of an array.
#[pyfunction]
pub fn array_parse(name: &str, text: &str) -> PyResult<()> {
    plan::parse_array(name, text).map(|_| ()).map_err(refused)
}

/// Computes the properties of an array of parts by arithmetic, as `arraylab check --json` has them.
#[pyfunction]
pub fn array_check(name: &str, text: &str) -> PyResult<String> {
    let description = plan::parse_array(name, text).map_err(refused)?;
    Ok(plan::array_check(name, &description.parts).to_string())
}

/// The text of an array with the value at a path replaced (`groups[0].drives.count`, or its end where one place has it), checked. `value` is JSON.
#[pyfunction]
pub fn array_replace(name: &str, text: &str, path: &str, value: &str) -> PyResult<String> {
    let value = serde_json::from_str(value).map_err(refused_plain)?;
    plan::replace_value(name, text, path, value).map_err(refused)
}
