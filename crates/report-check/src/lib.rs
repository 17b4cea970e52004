//! Report checker that shares no code with the report writer.
//!
//! It reads a run's SQLite and the report's JSON (`arraylab report RUN --format json`), recomputes every number from samples,
//! and holds each text against its value, each sentence against what it cites, and each tile and table row against its
//! case. What it finds are contradictions; a right report has none.

#![doc = include_str!("../README.md")]

mod answer_data;
mod claims;
mod comparison;
mod expression;
mod facts;
mod histogram;
mod mismatch;
mod printed;
mod quotes;
mod resolve;
mod run;
mod sentences;
mod sizing;
mod tables;
mod what_if;

pub use comparison::check_comparison;
pub use run::Run;

use expression::Expression;
use facts::Facts;
use mismatch::Mismatch;
use resolve::{Resolver, unit_of};
use serde_json::Value;
use std::fmt;

/// Rounding of a value that was computed in another order.
const EXACT: f64 = 1e-6;

/// Rows of a published table that may be about one case.
const PUBLISHED_ROWS: usize = 60;

/// Contradiction in a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    /// Part of the report, with the text.
    pub place: String,
    /// Contradiction in words.
    pub what: String,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.place, self.what)
    }
}

/// A text of the report with its numbers.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a> {
    /// Part of the report that holds the text.
    pub place: &'a str,
    /// The text object.
    pub json: &'a Value,
    /// The head of its column, which may say the unit.
    pub column: Option<&'a str>,
}

impl<'a> Text<'a> {
    pub fn text(&self) -> &'a str {
        self.json["text"].as_str().unwrap_or_default()
    }

    pub fn numbers(&self) -> &'a [Value] {
        self.json["numbers"].as_array().map(Vec::as_slice).unwrap_or_default()
    }
}

/// Collects contradictions.
pub(crate) struct Findings(Vec<Contradiction>);

impl Findings {
    pub fn add(&mut self, place: &str, what: impl Into<String>) {
        self.0.push(Contradiction { place: place.to_owned(), what: what.into() });
    }
}

/// Everything in a report that contradicts the run or itself.
pub fn check(run: &Run, report: &Value) -> Vec<Contradiction> {
    let resolver = Resolver::new(run, report);
    let mut found = Findings(Vec::new());
    let facts = Facts { run };
    let mut ids: Vec<&str> = Vec::new();
    for finding in report["findings"].as_array().into_iter().flatten() {
        let Some(fields) = finding.as_object() else { continue };
        let id = finding["id"].as_str().unwrap_or_default();
        if ids.contains(&id) {
            found.add(id, "the finding stands twice");
        }
        ids.push(id);
        let kind = finding["kind"].as_str().unwrap_or_default();
        if !id.starts_with(&format!("{kind}/")) {
            found.add(id, "its identifier is of another kind");
        }
        facts.differences(fields).into_iter().for_each(|what| found.add("findings", what));
    }
    each_text(report, &mut |text| {
        numbers(&mut found, &resolver, run, text);
    });
    sentences::check(&mut found, run, &resolver, report);
    tables::check(&mut found, run, report);
    sizing::check(&mut found, run, report);
    what_if::check(&mut found, run, report);
    verdict(&mut found, &resolver, report);
    found.0
}

/// The verdict follows from the requirements.
fn verdict(found: &mut Findings, resolver: &Resolver<'_>, report: &Value) {
    let rows = resolver.requirements();
    let has = |verdict: &str| rows.contains(&verdict);
    let expected = if has("fail") {
        "fail"
    } else if has("pass") && !has("not-shown") {
        "pass"
    } else {
        "none"
    };
    let verdict = report["verdict"].as_str().unwrap_or_default();
    if verdict != expected {
        found.add("verdict", format!("it is {verdict}, the requirements give {expected}"));
    }
}

/// Calls back with every text of the report.
fn each_text(report: &Value, with: &mut dyn FnMut(Text<'_>)) {
    let items = |name: &str| report[name].as_array().map(Vec::as_slice).unwrap_or_default();
    for name in ["title", "subtitle"] {
        with(Text { place: name, json: &report[name], column: None });
    }
    for sentence in items("sentences") {
        let part = sentence["part"].as_str().unwrap_or("sentence");
        with(Text { place: part, json: sentence, column: None });
    }
    for warning in items("warnings") {
        with(Text { place: "warning", json: warning, column: None });
    }
    for tile in items("tiles") {
        let label = tile["label"].as_str();
        with(Text { place: "tile", json: &tile["value"], column: label });
        with(Text { place: "tile", json: &tile["detail"], column: None });
    }
    for fact in items("facts") {
        with(Text { place: "fact", json: &fact["value"], column: None });
    }
    for table in items("tables") {
        let place = format!("table {}", table["id"].as_str().unwrap_or_default());
        let caption = table["caption"]["text"].as_str();
        with(Text { place: &place, json: &table["caption"], column: None });
        let columns = table["columns"].as_array().map(Vec::as_slice).unwrap_or_default();
        for column in columns {
            with(Text { place: &place, json: column, column: None });
        }
        for row in table["rows"].as_array().into_iter().flatten() {
            for (place_in_row, cell) in row.as_array().into_iter().flatten().enumerate() {
                let head_at = |place: usize| columns.get(place).and_then(|column| column["text"].as_str());
                // A published figure stands beside the run's, in its unit.
                let head = match head_at(place_in_row) {
                    Some("published") => place_in_row.checked_sub(1).and_then(head_at),
                    head => head,
                };
                // The unit stands in the head, in the first cell of the row, or in the caption.
                let first = row[0]["text"].as_str();
                let says: Vec<&str> = [head, first, caption].into_iter().flatten().collect();
                let says = says.join(" ");
                let head = Some(says.as_str());
                with(Text { place: &place, json: cell, column: head });
            }
        }
    }
}

/// Every digit has a source, every number is what its source gives, and is printed as what it is.
fn numbers(found: &mut Findings, resolver: &Resolver<'_>, run: &Run, text: Text<'_>) {
    each_number(found, text, &mut |found, number, own| one(found, resolver, run, text, number, own));
}

/// Calls back with every number of a text that stands where it says; every digit belongs to one.
fn each_number(found: &mut Findings, text: Text<'_>, with: &mut dyn FnMut(&mut Findings, &Value, &str)) {
    let letters: Vec<char> = text.text().chars().collect();
    let shown = |what: String| format!("{what} in “{}”", text.text());
    let mut next = 0usize;
    for number in text.numbers() {
        let own = number["text"].as_str().unwrap_or_default();
        let length = own.chars().count();
        let Some(at) = number["at"].as_u64().map(|at| at as usize) else {
            found.add(text.place, shown(format!("“{own}” has no place")));
            continue;
        };
        let is_there =
            letters.get(at..at + length).is_some_and(|there| there.iter().copied().eq(own.chars()));
        if !is_there || at < next || length == 0 {
            found.add(text.place, shown(format!("“{own}” is not at {at}")));
            continue;
        }
        let between: String = letters[next..at].iter().collect();
        if between.contains(|c: char| c.is_numeric()) {
            found.add(text.place, shown(format!("a number without a source: “{}”", between.trim())));
        }
        // A number that goes on outside its span is another number.
        let goes_on = |letter: Option<&char>| letter.is_some_and(|letter| letter.is_numeric());
        let is_cut = goes_on(letters.get(at + length))
            || matches!(letters.get(at + length), Some('.' | ',')) && goes_on(letters.get(at + length + 1))
            || at > 0 && goes_on(letters.get(at - 1));
        if is_cut {
            found.add(text.place, shown(format!("“{own}” is a part of a number")));
        }
        next = at + length;
        with(found, number, own);
    }
    let rest: String = letters[next.min(letters.len())..].iter().collect();
    if rest.contains(|c: char| c.is_numeric()) {
        found.add(text.place, shown(format!("a number without a source: “{}”", rest.trim())));
    }
}

fn one(found: &mut Findings, resolver: &Resolver<'_>, run: &Run, text: Text<'_>, number: &Value, own: &str) {
    let from = number["from"].as_str().unwrap_or_default();
    let shown = |what: String| format!("{what} ({from}) in “{}”", text.text());
    let Some(expression) = Expression::parse(from) else {
        return found.add(text.place, shown(format!("“{own}” has no source that can be read")));
    };
    let unit = number["unit"].as_str().unwrap_or_default();
    let Some(value) = number["value"].as_f64() else {
        if unit != "name" {
            return found.add(text.place, shown(format!("“{own}” has no value")));
        }
        if let Err(what) = quotes::check(run, resolver, &expression, own) {
            found.add(text.place, shown(what.to_string()));
        }
        return;
    };
    if unit == "name" {
        return found.add(text.place, shown(format!("“{own}” is a name with a value")));
    }
    if expression.sources().iter().any(|(kind, _)| *kind == "page")
        && !matches!(text.place, "stage" | "verdict" | "warning")
        && !text.place.starts_with("table")
    {
        return found
            .add(text.place, shown(format!("“{own}” counts what the page leaves out, where nothing is")));
    }
    let is_published = expression.sources().iter().any(|(kind, _)| *kind == "published");
    let rows = if is_published { PUBLISHED_ROWS } else { 1 };
    let mut given = Err(Mismatch::Different("nothing".to_owned()));
    for row in 0..rows {
        resolver.try_row(row);
        given = expression.value(&mut |kind, path| resolver.value(kind, path, value));
        if given.as_ref().is_ok_and(|given| close(*given, value)) {
            break;
        }
    }
    resolver.try_row(0);
    match given {
        Ok(recomputed) if close(recomputed, value) => {}
        Ok(recomputed) => {
            found.add(text.place, shown(format!("“{own}” has the value {value}, recomputed {recomputed}")));
        }
        Err(what) => found.add(text.place, shown(format!("“{own}”: {what}"))),
    }
    match expected_unit(&expression) {
        Some(expected) if expected != unit => {
            found.add(text.place, shown(format!("“{own}” is in {unit}, its source in {expected}")));
        }
        None if !matches!(
            unit,
            "count" | "setting" | "iops" | "ratio" | "bytes" | "ns" | "bytes_per_s" | "s"
        ) =>
        {
            found.add(text.place, shown(format!("“{own}” has the unknown unit {unit}")));
        }
        _ => {}
    }
    is_printed_as(found, text, number, value);
}

/// A number is printed as what it is.
fn is_printed_as(found: &mut Findings, text: Text<'_>, number: &Value, value: f64) {
    let word = |name: &str| number[name].as_str().unwrap_or_default();
    let (own, unit) = (word("text"), word("unit"));
    let shown = |what: String| format!("{what} ({}) in “{}”", word("from"), text.text());
    match printed::read(own, unit, text.column) {
        Some(printed) if printed.may_be(value) => {}
        Some(printed) => {
            found.add(text.place, shown(format!("“{own}” says {}, the value is {value}", printed.value)));
        }
        None => found.add(text.place, shown(format!("“{own}” is no number in {unit}"))),
    }
}

/// The unit that an expression's values have; `None` where its sources allow several.
fn expected_unit(expression: &Expression) -> Option<&'static str> {
    let (function, arguments) = match expression {
        Expression::Source(kind, path) => return unit_of(kind, path),
        Expression::Call(function, arguments) => (function.as_str(), arguments),
    };
    // A number of the plan, or a setting, has the unit of what it stands beside, or none.
    let has_any = |one: &Expression| {
        one.sources().iter().all(|(kind, _)| matches!(*kind, "literal" | "setting" | "count"))
    };
    match (function, &arguments[..]) {
        ("percent", _) => Some("ratio"),
        ("seconds", _) => Some("s"),
        ("count" | "discordant", _) => Some("count"),
        ("ratio", [above, below]) => match (expected_unit(above), expected_unit(below)) {
            (Some(above), Some(below)) if above == below => Some("ratio"),
            _ if has_any(above) || has_any(below) => None,
            (Some(above), Some("ratio" | "count")) => Some(above),
            (Some(_), Some(_)) => None,
            _ => Some("ratio"),
        },
        ("product", all) => {
            let mut units =
                all.iter().filter_map(expected_unit).filter(|unit| !matches!(*unit, "ratio" | "count"));
            let first = units.next();
            if units.next().is_some() { None } else { first }
        }
        (_, all) => all.iter().find_map(expected_unit),
    }
}

pub(crate) fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= EXACT * a.abs().max(b.abs()) + 1e-12
}
