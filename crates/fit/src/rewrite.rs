//! The array's YAML with fitted values: everything else stays as it was written, comments included.

use twin::ArrayDescription;

use crate::parameters::{as_json, value_of, with_values};
use crate::{FitError, FittedParameter};

/// Returns the text of an array with the values of some parameters changed, each with the origin `fitted` and the data of
/// the fit. A parameter must be on a line of its own: `key: { value: …, origin: …, from: … }`.
pub fn rewrite(
    text: &str,
    array: &ArrayDescription,
    parameters: &[FittedParameter],
    fitted_to: &str,
) -> Result<String, FitError> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for parameter in parameters {
        let key = parameter.path.rsplit('.').next().unwrap_or_default();
        let misplaced = || FitError::Text { parameter: parameter.path.clone(), key: key.to_owned() };
        // A lone map stands for a list of one.
        let line = line_of(&lines, &parameter.path.replace("[0]", "")).ok_or_else(misplaced)?;
        let indent = indent_of(&lines[line]);
        let value = written(array, parameter).ok_or_else(misplaced)?;
        let from = serde_json::Value::from(fitted_to);
        lines[line] =
            format!("{}{key}: {{ value: {value}, origin: fitted, from: {from} }}", " ".repeat(indent));
    }
    let mut text = lines.join("\n");
    text.push('\n');
    // What was written must be what was fitted.
    let read_again = plan::parse_array(&array.name, &text)?;
    let wanted = with_values(&as_json(array)?, parameters);
    let differs = |one: &FittedParameter| value_of(&read_again, &one.path) != Some(one.value);
    match parameters.iter().find(|one| wanted.is_none() || differs(one)) {
        None => Ok(text),
        Some(one) => Err(FitError::Text {
            parameter: one.path.clone(),
            key: one.path.rsplit('.').next().unwrap_or_default().to_owned(),
        }),
    }
}

/// A value as descriptions of this array write it: with its unit in an array of parts.
fn written(array: &ArrayDescription, parameter: &FittedParameter) -> Option<String> {
    if let Some(parts) = &array.composed {
        let mut parts = parts.clone();
        let (key, _) = parts.value_mut(&parameter.path)?;
        return Some(key.kind.print_exactly(parameter.value as u64));
    }
    Some(if parameter.is_whole { (parameter.value as i64).to_string() } else { parameter.value.to_string() })
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The line of the key at a path, where the value is written in braces on that line.
fn line_of(lines: &[String], path: &str) -> Option<usize> {
    let mut open: Vec<(usize, &str)> = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let text = line.trim_start();
        let Some((key, rest)) = text.split_once(':').filter(|_| !text.starts_with(['#', '-'])) else {
            continue;
        };
        let indent = indent_of(line);
        open.retain(|(outer, _)| *outer < indent);
        open.push((indent, key.trim_matches(['"', '\''])));
        let at: Vec<&str> = open.iter().map(|(_, key)| *key).collect();
        if at.join(".") == path {
            let rest = rest.trim();
            return (rest.starts_with('{') && rest.ends_with('}')).then_some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Asked, parameters};

    /// Proves that a fitted value is written where it belongs, with its origin, that nothing else changes, and that the text
    /// still reads as the array.
    #[test]
    fn only_the_fitted_line_changes() {
        let loaded = plan::load_array("raid-levels").unwrap();
        let requested = [Asked::parse("seek_min").unwrap(), Asked::parse("drives.queue=1..9").unwrap()];
        let mut chosen = parameters(&loaded.description, &requested).unwrap();
        (chosen[0].value, chosen[1].value) = (330_000.0, 4.0);
        let text = rewrite(&loaded.text, &loaded.description, &chosen, "mine.csv: \"a\"").unwrap();
        let changed: Vec<&str> = text
            .lines()
            .zip(loaded.text.lines())
            .filter(|(one, other)| one != other)
            .map(|(one, _)| one)
            .collect();
        assert_eq!(
            changed,
            [
                r#"    seek_min: { value: 330us, origin: fitted, from: "mine.csv: \"a\"" }"#,
                r#"    queue: { value: 4, origin: fitted, from: "mine.csv: \"a\"" }"#
            ]
        );
        assert_eq!(text.lines().count(), loaded.text.lines().count());
    }

    /// Proves that fitted values of an array of parts are written with their units, so that they are read again as fitted.
    #[test]
    fn values_of_parts_are_written_with_their_units() {
        let loaded = plan::load_array("flashsystem-840").unwrap();
        let requested = ["fabric.command", "drives.read_rate", "write_interference", "window"];
        let requested = requested.map(|name| Asked::parse(name).unwrap());
        let mut chosen = parameters(&loaded.description, &requested).unwrap();
        for (one, value) in chosen.iter_mut().zip([11_437.0, 548_123_457.0, 141_999.0, 190.0]) {
            one.value = value;
        }
        let text = rewrite(&loaded.text, &loaded.description, &chosen, "mine.csv").unwrap();
        let changed: Vec<&str> = text
            .lines()
            .zip(loaded.text.lines())
            .filter(|(one, other)| one != other)
            .map(|(one, _)| one.trim_start().split(',').next().unwrap_or_default())
            .collect();
        let wanted = [
            "command: { value: 11.437us",
            "window: { value: 190",
            "read_rate: { value: 548123457B/s",
            "write_interference: { value: 14.1999%",
        ];
        assert_eq!(changed, wanted);
    }

    /// Proves that a value that is not on a line of its own is refused with how to write it.
    #[test]
    fn other_layouts_are_refused() {
        let loaded = plan::load_array("raid-levels").unwrap();
        let chosen = parameters(&loaded.description, &[Asked::parse("rpm").unwrap()]).unwrap();
        let written = "    rpm: { value: 7200,";
        let broken = loaded.text.replace(written, "    rpm:\n      { value: 7200,");
        assert_ne!(broken, loaded.text);
        let error =
            diagnostic::full_text(&rewrite(&broken, &loaded.description, &chosen, "mine.csv").unwrap_err());
        assert!(error.contains("rpm: { value"), "{error}");
    }
}
