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
    let array = plan::parts_of(name, &description).map_err(refused)?;
    Ok(plan::array_check(name, array).to_string())
}

/// The text of an array with the value at a path replaced (`groups[0].drives.count`, or its end where one place has it), checked. `value` is JSON.
#[pyfunction]
pub fn array_replace(name: &str, text: &str, path: &str, value: &str) -> PyResult<String> {
    let mut document: Value = plan::parse_yaml(name, text).map_err(refused)?;
    let value = serde_json::from_str(value).map_err(refused)?;
    let steps = whole_path(&document, steps_of(path)?, path)?;
    place(&mut document, &steps, path, value)?;
    let text = serde_json::to_string_pretty(&document).map_err(refused)?;
    plan::parse_array(name, &text).map_err(refused)?;
    Ok(text)
}

/// One step of a path: a key or a number in a list.
#[derive(Debug, Clone, PartialEq)]
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

/// The path from the document's root: the end of a path is enough where one place alone has it, as for a fit.
fn whole_path(document: &Value, steps: Vec<PathStep>, path: &str) -> PyResult<Vec<PathStep>> {
    let Some(PathStep::Key(first)) = steps.first() else { return Ok(steps) };
    if document.get(first).is_some() {
        return Ok(steps);
    }
    let mut found = Vec::new();
    find_key(document, first, &mut Vec::new(), &mut found);
    match found.len() {
        // The language says what is wrong with a key that is nowhere.
        0 => Ok(steps),
        1 => Ok(found.remove(0).into_iter().chain(steps).collect()),
        _ => {
            let places: Vec<String> =
                found.iter().map(|place| format!("{}.{path}", printed(place))).collect();
            let text = format!("`{path}` is in {} places\nhint: one of {}", places.len(), places.join(", "));
            Err(raise_text(&text, REFUSED))
        }
    }
}

/// Paths of the maps below the root that have a key.
fn find_key(at: &Value, key: &str, path: &mut Vec<PathStep>, found: &mut Vec<Vec<PathStep>>) {
    let mut look = |step: PathStep, value: &Value| {
        path.push(step);
        if value.get(key).is_some() {
            found.push(path.clone());
        }
        find_key(value, key, path, found);
        path.pop();
    };
    match at {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| look(PathStep::Key(name.clone()), value));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| look(PathStep::Index(index), value));
        }
        _ => {}
    }
}

fn printed(steps: &[PathStep]) -> String {
    let mut text = String::new();
    for step in steps {
        match step {
            PathStep::Key(key) if text.is_empty() => text.push_str(key),
            PathStep::Key(key) => text.push_str(&format!(".{key}")),
            PathStep::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
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
    // Where a value stood with its origin, the new one has another.
    *at = if at.get("value").is_some() && !value.is_object() {
        json!({ "value": value, "origin": "assumed", "from": "replaced by the user" })
    } else {
        value
    };
    Ok(())
}
