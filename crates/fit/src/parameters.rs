//! Fitted parameters of a description, and their bounds.

use twin::ArrayDescription;

use crate::FitError;

/// The most parameters fitted at once: the search takes about a hundred evaluations for each.
const PARAMETERS_LIMIT: usize = 12;

/// Parameter as requested: `seek_min`, or `seek_min=100000..1000000`.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// Its path, or the end of it.
    pub name: String,
    /// The least and the largest value; half and twice the present one unless given.
    pub range: Option<(f64, f64)>,
}

impl Asked {
    /// Reads `NAME` or `NAME=LEAST..MOST`.
    pub fn parse(text: &str) -> Result<Asked, FitError> {
        let Some((name, range)) = text.split_once('=') else {
            return Ok(Asked { name: text.to_owned(), range: None });
        };
        let bound = |text: &str| text.trim().parse::<f64>().ok().filter(|value| value.is_finite());
        let bounds = range.split_once("..").and_then(|(least, most)| Some((bound(least)?, bound(most)?)));
        match bounds.filter(|(least, most)| least < most) {
            Some(range) => Ok(Asked { name: name.to_owned(), range: Some(range) }),
            None => Err(FitError::Parameter(format!(
                "`{text}` is not NAME=LEAST..MOST; for example `seek_min=100000..1000000`"
            ))),
        }
    }
}

/// A parameter that is fitted.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct FittedParameter {
    /// Its path in the description: `groups[0].drives.seek_min`, in nanoseconds, bytes, bytes a second or millionths.
    pub path: String,
    /// Its value before.
    pub before: f64,
    /// Its value now.
    pub value: f64,
    /// Smallest value that is tried.
    pub least: f64,
    /// Largest value that is tried.
    pub most: f64,
    /// True if only whole numbers are values of it.
    pub is_whole: bool,
}

/// Returns the requested parameters, or all numbers of the description whose origin is `fitted`.
pub fn parameters(array: &ArrayDescription, requested: &[Asked]) -> Result<Vec<FittedParameter>, FitError> {
    let all = numbers_of(&array.parts);
    let numbers: Vec<&(String, u64, bool)> = all.iter().collect();
    let mut chosen = Vec::new();
    if requested.is_empty() {
        for (path, value, _) in numbers.iter().filter(|(_, _, is_fitted)| *is_fitted) {
            chosen.push(bounded(path, *value, None)?);
        }
        if chosen.is_empty() {
            return Err(FitError::Parameter(format!(
                "no number of `{}` has the origin `fitted`; name those to fit with --parameter, for example one of {}",
                array.name,
                some_of(&numbers)
            )));
        }
    }
    for one in requested {
        let is_meant = |path: &str| path == one.name || path.ends_with(&format!(".{}", one.name));
        let found: Vec<_> = numbers.iter().filter(|(path, _, _)| is_meant(path)).collect();
        match found[..] {
            [(path, value, _)] => chosen.push(bounded(path, *value, one.range)?),
            [] => {
                let last = |path: &'_ str| path.rsplit('.').next().unwrap_or_default().to_owned();
                let names: Vec<String> = numbers.iter().map(|(path, _, _)| last(path)).collect();
                let instead = match plan::nearest(&last(&one.name), names.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are {}", some_of(&numbers)),
                };
                return Err(FitError::Parameter(format!(
                    "`{}` has no number `{}`; {instead}",
                    array.name, one.name
                )));
            }
            _ => {
                let paths: Vec<&str> = found.iter().map(|(path, _, _)| path.as_str()).collect();
                return Err(FitError::Parameter(format!(
                    "`{}` can be {}; say which",
                    one.name,
                    paths.join(" or ")
                )));
            }
        }
    }
    if chosen.len() > PARAMETERS_LIMIT {
        let paths: Vec<&str> = chosen.iter().map(|parameter| parameter.path.as_str()).collect();
        return Err(FitError::Parameter(format!(
            "{} parameters at once are too many (at most {PARAMETERS_LIMIT}); name some of {} with --parameter",
            chosen.len(),
            paths.join(", ")
        )));
    }
    Ok(chosen)
}

/// The description with other values of the parameters; `None` where no array can have them.
pub(crate) fn with_values(
    array: &ArrayDescription,
    parameters: &[FittedParameter],
) -> Option<ArrayDescription> {
    let mut array = array.clone();
    for parameter in parameters {
        let (key, own) = array.parts.value_mut(&parameter.path)?;
        let value = parameter.value as u64;
        if !key.allows(value) {
            return None;
        }
        (own.value, own.text) = (value, key.kind.print_exactly(value));
    }
    array.check().ok()?;
    Some(array)
}

/// All numbers of an array: path, value, and whether the origin is `fitted`.
fn numbers_of(parts: &array::Array) -> Vec<(String, u64, bool)> {
    use array::Kind::{Dollars, Endurance, Power, Switch, Text, Word};
    let mut found = Vec::new();
    for (section, keys, values) in parts.sections() {
        for (key, own) in keys.iter().zip(values) {
            // Prices, watts and ratings have no part in what is measured.
            let is_number = !matches!(key.kind, Text | Word(_) | Switch | Dollars | Power | Endurance)
                && own.get() != array::UNLIMITED;
            if is_number {
                let is_fitted = own.origin == array::Origin::Fitted;
                found.push((format!("{section}.{}", key.name), own.get(), is_fitted));
            }
        }
    }
    found
}

/// The value of a parameter in a description.
pub(crate) fn value_of(array: &ArrayDescription, path: &str) -> Option<f64> {
    let all = numbers_of(&array.parts);
    all.iter().find(|(known, _, _)| known == path).map(|(_, value, _)| *value as f64)
}

fn bounded(path: &str, value: u64, range: Option<(f64, f64)>) -> Result<FittedParameter, FitError> {
    let before = value as f64;
    let (least, most) = range.unwrap_or((before / 2.0, before * 2.0));
    if least >= most {
        return Err(FitError::Parameter(format!(
            "`{path}` is {before}, which gives no range to search; give one, as `--parameter {path}=LEAST..MOST`"
        )));
    }
    Ok(FittedParameter { path: path.to_owned(), before, value: before, least, most, is_whole: true })
}

fn some_of(numbers: &[&(String, u64, bool)]) -> String {
    let paths: Vec<&str> = numbers.iter().map(|(path, _, _)| path.as_str()).collect();
    paths.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a parameter is found by the end of its path, with the range given or half to twice its value, and that
    /// names that mean none or several are refused with what there is.
    #[test]
    fn parameters_are_found_by_name() {
        let array = plan::load_array("raid-levels").unwrap().description;
        let found = |text: &str| parameters(&array, &[Asked::parse(text).unwrap()]);
        let seek = &found("seek_min=100000..1000000").unwrap()[0];
        assert_eq!((seek.path.as_str(), seek.least, seek.most), ("groups[0].drives.seek_min", 1e5, 1e6));
        let rpm = &found("rpm").unwrap()[0];
        assert!(rpm.is_whole && rpm.least == 3600.0 && rpm.most == 14_400.0);
        for (text, part) in [("seek", "has no number"), ("count", "say which"), ("read_ahead", "no range")] {
            let error = diagnostic::full_text(&found(text).unwrap_err());
            assert!(error.contains(part), "{error}");
        }
        for text in ["a=1", "a=2..1", "a=x..y", "a=1..inf"] {
            assert!(Asked::parse(text).is_err(), "{text}");
        }
        assert!(parameters(&array, &[]).unwrap().iter().any(|one| one.path.ends_with("drives.queue")));
    }

    /// Proves that numbers of an array of parts are found by the ends of their paths, in whole units, that those with the origin
    /// `fitted` are the ones fitted by themselves, and that another value makes another array or none.
    #[test]
    fn parameters_of_parts_are_found_by_name() {
        let array = plan::load_array("flashsystem-840").unwrap().description;
        let mut read = parameters(&array, &[Asked::parse("drives.read").unwrap()]).unwrap();
        assert_eq!((read[0].path.as_str(), read[0].before), ("groups[0].drives.read", 1610.0));
        assert!(read[0].is_whole);
        for (text, part) in [("threads", "has no number"), ("copy", "has no number"), ("count", "say which")]
        {
            let error =
                diagnostic::full_text(&parameters(&array, &[Asked::parse(text).unwrap()]).unwrap_err());
            assert!(error.contains(part), "{text}: {error}");
        }
        let fitted: Vec<String> =
            parameters(&array, &[]).unwrap().into_iter().map(|parameter| parameter.path).collect();
        assert_eq!(fitted.len(), 10, "{fitted:?}");
        read[0].value = 1700.0;
        let changed = with_values(&array, &read).unwrap();
        assert_eq!(value_of(&changed, "groups[0].drives.read"), Some(1700.0));
        read[0].value = 1e12;
        assert!(with_values(&array, &read).is_none());
    }
}
