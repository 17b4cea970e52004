//! Replacement of one value of an array's text by its path.

use crate::{PlanError, PlanErrorKind};
use serde_json::{Map, Value, json};

/// Deepest path of a value; the array language needs 6.
const PATH_DEPTH_LIMIT: usize = 16;

/// Names of the field for keys of the array language, with these: links are the fabric's ports.
const SYNONYMS: [(&[&str], &[&str]); 2] =
    [(&["links", "count"], &["fabric", "ports"]), (&["links"], &["fabric"])];

/// Text of an array with the value at a path replaced, checked: `groups[0].drives.count`, or the end of a path where one place
/// alone has it, as `drives.count`. Maps that lack on the way are made.
pub fn replace_value(name: &str, text: &str, path: &str, value: Value) -> Result<String, PlanError> {
    replace_values(name, text, &[(path, value)])
}

/// Replaces several values at once; only the result as a whole must be valid.
pub fn replace_values(name: &str, text: &str, values: &[(&str, Value)]) -> Result<String, PlanError> {
    let mut document: Value = crate::parse_yaml(name, text)?;
    for (path, value) in values {
        let steps = whole_path(&document, steps_of(path)?, path)?;
        place(&mut document, &steps, path, value.clone())?;
    }
    let text = serde_json::to_string_pretty(&document)
        .map_err(|error| PlanError::new(PlanErrorKind::Syntax, error.to_string()))?;
    crate::parse_array(name, &text)?;
    Ok(text)
}

/// One step of a path: a key or a number in a list.
#[derive(Debug, Clone, PartialEq)]
enum PathStep {
    Key(String),
    Index(usize),
}

fn wrong(message: String, hint: &str) -> PlanError {
    PlanError::new(PlanErrorKind::UnknownKey, message).with_hint(hint)
}

fn steps_of(path: &str) -> Result<Vec<PathStep>, PlanError> {
    let no_path = || {
        wrong(
            format!("`{path}` is no path of a value"),
            "keys with dots, such as drives.count or groups[0].drives.count",
        )
    };
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (key, indexes) = part.split_once('[').map_or((part, ""), |(key, rest)| (key, rest));
        match (key.parse::<usize>(), key) {
            (_, "") => return Err(no_path()),
            (Ok(index), _) => steps.push(PathStep::Index(index)),
            (Err(_), key) => steps.push(PathStep::Key(key.to_owned())),
        }
        for index in indexes.split('[').filter(|text| !text.is_empty()) {
            let number = index.strip_suffix(']').and_then(|text| text.parse().ok());
            steps.push(PathStep::Index(number.ok_or_else(no_path)?));
        }
    }
    if steps.is_empty() || steps.len() > PATH_DEPTH_LIMIT {
        return Err(no_path());
    }
    Ok(steps)
}

/// The path from the document's root: the end of a path is enough where one place alone has it, as for a fit.
fn whole_path(document: &Value, steps: Vec<PathStep>, path: &str) -> Result<Vec<PathStep>, PlanError> {
    let Some(PathStep::Key(first)) = steps.first() else { return Ok(steps) };
    if document.get(first).is_some() {
        return Ok(steps);
    }
    let mut found = Vec::new();
    find_key(document, first, &mut Vec::new(), &mut found);
    match found.len() {
        0 => Ok(in_the_language(document, steps)),
        1 => Ok(found.remove(0).into_iter().chain(steps).collect()),
        _ => {
            let places: Vec<String> =
                found.iter().map(|place| format!("{}.{path}", printed(place))).collect();
            let message = format!("`{path}` is in {} places", places.len());
            Err(wrong(message, &format!("one of {}", places.join(", "))))
        }
    }
}

/// A path whose first keys are nowhere, with those of the array language where they mean the same. The language says what is wrong
/// with the others.
fn in_the_language(document: &Value, steps: Vec<PathStep>) -> Vec<PathStep> {
    let key = |name: &&str| PathStep::Key((*name).to_owned());
    for (given, meant) in SYNONYMS {
        let begins =
            steps.len() >= given.len() && steps.iter().zip(given).all(|(step, name)| *step == key(name));
        if begins && document.get("groups").is_some() {
            return meant.iter().map(key).chain(steps[given.len()..].iter().cloned()).collect();
        }
    }
    steps
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
fn place(document: &mut Value, steps: &[PathStep], path: &str, value: Value) -> Result<(), PlanError> {
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
                        let message = format!("`{path}`: there are {} items before `{key}`", items.len());
                        return Err(wrong(message, "give a number, such as groups[0]"));
                    }
                    _ => {
                        let message = format!("`{path}`: nothing is below the value before `{key}`");
                        return Err(wrong(message, "`arraylab check` lists all paths"));
                    }
                }
            }
            PathStep::Index(index) => match at {
                Value::Array(items) => {
                    let message = format!("`{path}`: there is no item {index} of {}", items.len());
                    items.get_mut(*index).ok_or_else(|| wrong(message, "items are counted from 0"))?
                }
                one if *index == 0 => one,
                _ => {
                    let message = format!("`{path}`: there is one item, number 0");
                    return Err(wrong(message, "items are counted from 0"));
                }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(text: &str) -> u64 {
        let description = crate::parse_array("array", text).unwrap();
        description.parts.fabric.ports.get()
    }

    /// Proves that a value is found by its whole path, by its end, and by the field's name for links.
    #[test]
    fn values_are_found_by_their_paths() {
        let shipped = crate::load_array("flashsystem-840").unwrap();
        for (path, value) in [("fabric.ports", 12), ("links.count", 16)] {
            let text = replace_value("array", &shipped.text, path, json!(value)).unwrap();
            assert_eq!(ports(&text), value);
        }
        let drives = |path: &str| {
            let text = replace_value("array", &shipped.text, path, json!(16)).unwrap();
            crate::parse_array("array", &text).unwrap().parts.groups[0].count.count.get()
        };
        assert_eq!(drives("drives.count"), 16);
        assert_eq!(drives("groups[0].drives.count"), 16);
    }

    /// Proves that a value that cannot be is refused, with what may stand there.
    #[test]
    fn values_that_cannot_be_are_refused() {
        let shipped = crate::load_array("flashsystem-840").unwrap();
        for (path, value) in [
            ("fabric.ports", json!(0)),
            ("fabric.ports.deeper", json!(1)),
            ("groups[7].drives.count", json!(1)),
            ("", json!(1)),
            ("a..b", json!(1)),
            ("fabric.prots", json!(1)),
        ] {
            let refused =
                diagnostic::full_text(&replace_value("array", &shipped.text, path, value).unwrap_err());
            assert!(refused.contains("hint:"), "{path}: {refused}");
        }
    }
}
