//! Arrays for Python: texts in the array language, checked, with one value replaced at a time.

use crate::errors::{REFUSED, raise_text, refused};
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

/// Deepest path of a value; the array language needs 6.
const PATH_DEPTH_LIMIT: usize = 16;

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

/// What follows from an array of parts by arithmetic, as `arraylab check --json` has it.
#[pyfunction]
pub fn array_check(name: &str, text: &str) -> PyResult<String> {
    let description = plan::parse_array(name, text).map_err(refused)?;
    match &description.composed {
        Some(array) => Ok(plan::array_check(name, array).to_string()),
        None => Err(raise_text(
            &format!(
                "`{name}` is described by one kind of array, not by parts: there is nothing to work out\n\
                 hint: `arraylab show array {name}` prints its values with their origins"
            ),
            REFUSED,
        )),
    }
}

/// The text of an array with the value at a path replaced (`drives.count`, `groups[0].drives.count`), checked. `value` is JSON.
#[pyfunction]
pub fn array_replace(name: &str, text: &str, path: &str, value: &str) -> PyResult<String> {
    let mut document: Value = plan::parse_yaml(name, text).map_err(refused)?;
    let value = serde_json::from_str(value).map_err(refused)?;
    let steps = steps_of(path)?;
    place(&mut document, &steps, path, value)?;
    let text = serde_json::to_string_pretty(&document).map_err(refused)?;
    plan::parse_array(name, &text).map_err(refused)?;
    Ok(text)
}

/// One step of a path: a key or a number in a list.
#[derive(Debug, PartialEq)]
enum PathStep {
    Key(String),
    Index(usize),
}

fn steps_of(path: &str) -> PyResult<Vec<PathStep>> {
    let wrong = || {
        raise_text(
            &format!(
                "`{path}` is no path of a value\nhint: keys with dots, such as drives.count or groups[0].drives.count"
            ),
            REFUSED,
        )
    };
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (key, indexes) = part.split_once('[').map_or((part, ""), |(key, rest)| (key, rest));
        match (key.parse::<usize>(), key) {
            (_, "") => return Err(wrong()),
            (Ok(index), _) => steps.push(PathStep::Index(index)),
            (Err(_), key) => steps.push(PathStep::Key(key.to_owned())),
        }
        for index in indexes.split('[').filter(|text| !text.is_empty()) {
            let number = index.strip_suffix(']').and_then(|text| text.parse().ok());
            steps.push(PathStep::Index(number.ok_or_else(wrong)?));
        }
    }
    if steps.is_empty() || steps.len() > PATH_DEPTH_LIMIT {
        return Err(wrong());
    }
    Ok(steps)
}

/// Puts a value where a path leads. Maps that lack are made; a part that is named by a lone text becomes a map that uses it,
/// and a lone map stands for a list of one.
fn place(document: &mut Value, steps: &[PathStep], path: &str, value: Value) -> PyResult<()> {
    let mut at = document;
    for step in steps {
        if let Value::String(part) = at {
            *at = json!({ "use": part });
        }
        at = match step {
            PathStep::Key(key) => {
                // A list of one and its only item are written alike.
                if at.as_array().is_some_and(|items| items.len() == 1) {
                    at = &mut at[0];
                }
                match at {
                    Value::Object(members) => members.entry(key.clone()).or_insert(Value::Object(Map::new())),
                    Value::Array(items) => {
                        let text = format!(
                            "`{path}`: there are {} items before `{key}`\nhint: give a number, such as groups[0]",
                            items.len()
                        );
                        return Err(raise_text(&text, REFUSED));
                    }
                    _ => {
                        let text = format!("`{path}`: nothing is below the value before `{key}`");
                        return Err(raise_text(&text, REFUSED));
                    }
                }
            }
            PathStep::Index(index) => match at {
                Value::Array(items) => {
                    let length = items.len();
                    items.get_mut(*index).ok_or_else(|| {
                        raise_text(&format!("`{path}`: there is no item {index} of {length}"), REFUSED)
                    })?
                }
                one if *index == 0 => one,
                _ => return Err(raise_text(&format!("`{path}`: there is one item, number 0"), REFUSED)),
            },
        };
    }
    *at = value;
    Ok(())
}
