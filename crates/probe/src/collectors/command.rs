//! Counters that a command prints.

use super::cumulative::Cumulative;
use super::pattern::any_matches;
use super::process::Runner;
use super::{CollectError, CollectedValue, Deadline, Source, keep};
use diagnostic::{Problem, text_with_causes};
use serde_json::Value;
use std::time::Instant;

/// A command that prints counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSettings {
    /// Entity of counters that name none.
    pub name: String,
    /// The program and its arguments; no shell reads them.
    pub arguments: Vec<String>,
    /// Names of counters, with `*`, that count since some start: they become rates.
    pub cumulative: Vec<String>,
}

pub(super) struct CommandSource {
    settings: CommandSettings,
    runner: Runner,
    cumulative: Cumulative,
}

impl CommandSource {
    pub(super) fn new(settings: CommandSettings) -> Self {
        CommandSource { settings, runner: Runner::default(), cumulative: Cumulative::default() }
    }
}

impl Source for CommandSource {
    fn collect(&mut self, deadline: &Deadline<'_>) -> Result<Vec<CollectedValue>, CollectError> {
        let output = self.runner.run(&self.settings.arguments, deadline)?;
        let program = self.settings.arguments.first().map_or("", String::as_str);
        if !output.status.success() {
            return Err(output.failure(program));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let mut values = parse(&text, &self.settings.name).map_err(|problem| CollectError::NoCounters {
            from: program.to_owned(),
            problem: text_with_causes(&problem),
        })?;
        let patterns = &self.settings.cumulative;
        self.cumulative.make_rates(&mut values, Instant::now(), |value| any_matches(patterns, &value.name));
        Ok(values)
    }
}

/// A JSON object of numbers, in which an object of numbers is an entity of its own, or lines: `name value` or
/// `entity name value`.
pub(super) fn parse(text: &str, default_entity: &str) -> Result<Vec<CollectedValue>, Problem> {
    let mut values = Vec::new();
    if text.trim_start().starts_with('{') {
        let object: Value =
            serde_json::from_str(text).map_err(|error| Problem::new("broken JSON").caused_by(error))?;
        for (name, value) in object.as_object().into_iter().flatten() {
            match value {
                Value::Object(counters) => counters.iter().for_each(|(counter, value)| {
                    value.as_f64().into_iter().for_each(|value| keep(&mut values, name, counter, value));
                }),
                value => value.as_f64().into_iter().for_each(|v| keep(&mut values, default_entity, name, v)),
            }
        }
    } else {
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().take(4).collect();
            let (entity, name, value) = match words[..] {
                [name, value] => (default_entity, name, value),
                [entity, name, value] => (entity, name, value),
                _ => continue,
            };
            value.parse().into_iter().for_each(|value| keep(&mut values, entity, name, value));
        }
    }
    if values.is_empty() {
        return Err("neither a JSON object of numbers nor lines `name value` or `entity name value`".into());
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectors::{NAME_BYTES_LIMIT, VALUES_LIMIT};
    use proptest::prelude::*;

    fn all(text: &str) -> Vec<(String, String, f64)> {
        let values = parse(text, "array").unwrap();
        values.into_iter().map(|value| (value.entity, value.name, value.value)).collect()
    }

    fn one(entity: &str, name: &str, value: f64) -> (String, String, f64) {
        (entity.to_owned(), name.to_owned(), value)
    }

    /// Proves that both forms are read, that entities are kept, and that what is no number is passed over.
    #[test]
    fn both_forms_are_read() {
        assert_eq!(
            all(
                r#" {"iops": 5, "state": "ok", "on": true, "none": null, "c0": {"busy": 0.5, "deep": {"x": 1}}}"#
            ),
            [one("array", "iops", 5.0), one("c0", "busy", 0.5)]
        );
        assert_eq!(
            all("iops 5\n\n# made by a script\nc0 busy 0.5\nc1 busy NaN\na b c d\nrate 1e3 \r\n"),
            [one("array", "iops", 5.0), one("c0", "busy", 0.5), one("array", "rate", 1000.0)]
        );
        for nothing in ["", "hello\n", "{}", "[1]", "{\"a\": 1", "a inf\n"] {
            assert!(parse(nothing, "array").is_err(), "{nothing}");
        }
    }

    /// Proves that values and the length of names are bounded.
    #[test]
    fn answers_are_bounded() {
        let many: String = (0..VALUES_LIMIT + 5).map(|n| format!("n{n} 1\n")).collect();
        assert_eq!(all(&many).len(), VALUES_LIMIT);
        let long = "x".repeat(NAME_BYTES_LIMIT + 1);
        assert_eq!(all(&format!("{long} 1\na 2\n")), [one("array", "a", 2.0)]);
    }

    proptest! {
        /// Proves that no output panics, and that only finite numbers are kept.
        #[test]
        fn no_output_panics(text in "[{}\":,a-c0-9 .\ne-]{0,200}|\\PC{0,200}") {
            for value in parse(&text, "array").unwrap_or_default() {
                prop_assert!(value.value.is_finite());
            }
        }
    }
}
