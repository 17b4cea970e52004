//! The array's YAML with fitted values: everything else stays as it was written, comments included.

use twin::ArrayDescription;

use crate::parameters::{value_of, with_values};
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
        let line = line_of(&lines, &parameter.path).ok_or_else(misplaced)?;
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
    let wanted = with_values(array, parameters);
    let differs = |one: &FittedParameter| value_of(&read_again, &one.path) != Some(one.value);
    match parameters.iter().find(|one| wanted.is_none() || differs(one)) {
        None => Ok(text),
        Some(one) => Err(FitError::Text {
            parameter: one.path.clone(),
            key: one.path.rsplit('.').next().unwrap_or_default().to_owned(),
        }),
    }
}

/// A value as descriptions write it: with its unit.
fn written(array: &ArrayDescription, parameter: &FittedParameter) -> Option<String> {
    let mut parts = array.parts.clone();
    let (key, _) = parts.value_mut(&parameter.path)?;
    Some(key.kind.print_exactly(parameter.value as u64))
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Key, or item of a list, that the lines below are in.
struct Open {
    indent: usize,
    /// From the top of the document: `groups[0].per_node`.
    path: String,
    /// Items of a list that have begun in it.
    items: usize,
}

/// The line of the key at a path, where the value is written in braces on that line. A lone map stands for a list of one.
fn line_of(lines: &[String], path: &str) -> Option<usize> {
    let in_lone_map = path.replace("[0]", "");
    let mut open: Vec<Open> = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let mut text = line.trim_start();
        let mut indent = indent_of(line);
        if text.starts_with('#') {
            continue;
        }
        if let Some(item) = text.strip_prefix("- ") {
            open.retain(|outer| outer.indent < indent);
            let list = open.last_mut()?;
            let path = format!("{}[{}]", list.path, list.items);
            list.items += 1;
            open.push(Open { indent, path, items: 0 });
            indent += text.len() - item.trim_start().len();
            text = item.trim_start();
        }
        let Some((key, rest)) = text.split_once(':') else { continue };
        open.retain(|outer| outer.indent < indent);
        let key = key.trim_matches(['"', '\'']);
        let here = open.last().map_or_else(|| key.to_owned(), |outer| format!("{}.{key}", outer.path));
        if here == path || here == in_lone_map {
            let rest = rest.trim();
            return (rest.starts_with('{') && rest.ends_with('}')).then_some(number);
        }
        open.push(Open { indent, path: here, items: 0 });
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

    /// Lines of a text that another has otherwise, to their first comma.
    fn changed_lines<'a>(text: &'a str, other: &str) -> Vec<&'a str> {
        let changed = text.lines().zip(other.lines()).filter(|(one, other)| one != other);
        changed.map(|(one, _)| one.trim_start().split(',').next().unwrap_or_default()).collect()
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
        let changed = changed_lines(&text, &loaded.text);
        let wanted = [
            "command: { value: 11.437us",
            "window: { value: 190",
            "read_rate: { value: 548123457B/s",
            "write_interference: { value: 14.1999%",
        ];
        assert_eq!(changed, wanted);
    }

    /// Proves that values of groups in a list are written where they stand, those of each group in its own item.
    #[test]
    fn values_of_listed_groups_are_written_where_they_stand() {
        let loaded = plan::load_array("storpool").unwrap();
        let requested = ["groups[0].per_node.read", "groups[1].write", "network.latency"];
        let requested = requested.map(|name| Asked::parse(name).unwrap());
        let mut chosen = parameters(&loaded.description, &requested).unwrap();
        for (one, value) in chosen.iter_mut().zip([80_000.0, 21_000.0, 11_000.0]) {
            one.value = value;
        }
        let text = rewrite(&loaded.text, &loaded.description, &chosen, "mine.csv").unwrap();
        let changed = changed_lines(&text, &loaded.text);
        assert_eq!(changed, ["latency: { value: 11us", "read: { value: 80us", "write: { value: 21us"]);
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
