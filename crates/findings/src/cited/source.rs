//! Sources of cited numbers.

use serde::Serialize;
use std::fmt;

/// Expression that says where a value comes from: a source such as `finding:ID/field`, or a function over some.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source(String);

impl Source {
    fn of(kind: &str, path: &str) -> Source {
        let mut text = format!("{kind}:");
        for letter in path.chars() {
            match letter {
                '%' => text.push_str("%25"),
                '(' => text.push_str("%28"),
                ')' => text.push_str("%29"),
                ';' => text.push_str("%3B"),
                other => text.push(other),
            }
        }
        Source(text)
    }

    /// Field of a finding, by its path in `findings --json`: `before.iops`, `uses.0.mean_percent`.
    pub fn finding(id: &str, field: &str) -> Source {
        Source::of("finding", &format!("{id}/{field}"))
    }

    /// The field of every finding of a kind, for functions over several values.
    pub fn findings(kind: &str, field: &str) -> Source {
        Source::of("findings", &format!("{kind}/{field}"))
    }

    /// Field of a case's result, by its path in `results --json`.
    pub fn result(stage: &str, case: &str, field: &str) -> Source {
        Source::of("result", &format!("{stage}/{case}/{field}"))
    }

    /// Setting of a case.
    pub fn setting(stage: &str, case: &str, name: &str) -> Source {
        Source::of("setting", &format!("{stage}/{case}/{name}"))
    }

    /// Published figure beside a case: the table's file and the quantity.
    pub fn published(stage: &str, case: &str, quantity: &str, file: &str) -> Source {
        Source::of("published", &format!("{stage}/{case}/{quantity}@{file}"))
    }

    /// Figure that the vendor declares, by its place in the plan, from 1.
    pub fn declared(place: usize) -> Source {
        Source::of("declared", &place.to_string())
    }

    /// Limit of a requirement, by its place in the plan, from 1.
    pub fn requirement(place: usize) -> Source {
        Source::of("requirement", &place.to_string())
    }

    /// Constant of a definition, described in `docs/findings.md`.
    pub fn constant(name: &str) -> Source {
        Source::of("constant", name)
    }

    /// Text repeated word for word from a place: `plan`, `manifest`, `warning`, `event`, `array`, `claim`.
    pub fn quote(place: &str) -> Source {
        Source::of("quote", place)
    }

    /// Anything else that is counted or read: `cases:done`, `validation:ARRAY/fitted/iops/rows`.
    pub fn other(kind: &str, path: &str) -> Source {
        Source::of(kind, path)
    }

    /// Function over sources.
    pub fn call<'a>(function: &str, arguments: impl IntoIterator<Item = &'a Source>) -> Source {
        let arguments: Vec<&str> = arguments.into_iter().map(Source::as_str).collect();
        Source(format!("{function}({})", arguments.join(";")))
    }

    /// The expression.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}
