//! Rows of a sizing run's tables: each is about one answer, and each column about one field of it.

use super::answers::{Answer, Answers};
use super::recompute::TIMES_LIMIT;
use super::words::{of_measure, of_state, of_verdict};
use crate::Findings;
use crate::expression::Expression;
use serde_json::Value;

fn text(cell: &Value) -> &str {
    cell["text"].as_str().unwrap_or_default()
}

/// Paths of a cell's sources of one kind.
fn paths(cell: &Value, wanted: &str) -> Vec<String> {
    let numbers = cell["numbers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let sources = numbers.iter().filter_map(|number| Expression::parse(number["from"].as_str()?));
    let of = |from: Expression| -> Vec<String> {
        let all = from.sources().into_iter().filter(|(kind, _)| *kind == wanted);
        all.map(|(_, path)| path.to_owned()).collect()
    };
    sources.flat_map(of).collect()
}

/// Rows of one table of the first page.
pub fn check(found: &mut Findings, answers: &Answers<'_>, table: &Value) {
    let id = table["id"].as_str().unwrap_or_default();
    if !super::is_own_table(id) {
        return;
    }
    let place = format!("table {id}");
    let caption = text(&table["caption"]);
    let rows = || table["rows"].as_array().into_iter().flatten().filter_map(Value::as_array);
    let mut wrong = |what: String| found.add(&place, what);
    if id == "size-designs-table" {
        let columns = table["columns"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_price = columns.get(2).is_some_and(|column| text(column) == "Price (USD)");
        if is_price != (answers.cost_field() == "cost") {
            wrong("its cost is not that of the front".to_owned());
        }
        rows().for_each(|cells| design(&mut wrong, answers, cells));
        return;
    }
    let name = ["States of ", "Capacity, endurance, rebuild, price and power of "]
        .iter()
        .find_map(|words| caption.strip_prefix(words))
        .map(|rest| rest.split(" at your peak; ").next().unwrap_or_default());
    let of_name: Vec<Answer<'_>> = answers.of_name(name.unwrap_or_default()).copied().collect();
    if of_name.is_empty() {
        return wrong(format!("it is about no array of the run: “{caption}”"));
    }
    if id.ends_with("-states") {
        if rows().count() != of_name.len() {
            wrong("not every state has one row".to_owned());
        }
        rows().for_each(|cells| state(&mut wrong, answers, &of_name, cells));
    } else {
        rows().for_each(|cells| property(&mut wrong, answers, &of_name, cells));
    }
}

/// Holds a cell's sources against the fields that it must show, in order; a cell without is a dash.
fn shows(wrong: &mut dyn FnMut(String), cell: &Value, fields: &[String]) {
    let own = paths(cell, "sizing");
    if own != fields {
        wrong(format!("“{}” cites {own:?} where {fields:?} belongs", text(cell)));
    }
}

/// Fields that a headroom must show: with its range, of which nothing but the lower end is known where all multiples were carried.
fn of_headroom(answer: &Answer<'_>) -> Vec<String> {
    let is_all = answer.number("headroom").is_some_and(|times| times >= TIMES_LIMIT);
    let fields = ["headroom", "headroom_95.0", "headroom_95.1"];
    fields[..if is_all { 2 } else { 3 }].iter().map(|field| format!("{}/{field}", answer.number)).collect()
}

/// A row of states: verdict, latency, limit, headroom and part of that state.
fn state(wrong: &mut dyn FnMut(String), answers: &Answers<'_>, of_name: &[Answer<'_>], cells: &[Value]) {
    let [name, verdict, peak, limit, headroom, full] = cells else {
        return wrong("a row of states has six cells".to_owned());
    };
    let Some(answer) = of_name.iter().find(|answer| of_state(answer.state()) == text(name)) else {
        return wrong(format!("“{}” is no state that was looked at", text(name)));
    };
    if text(verdict) != of_verdict(answer.verdict()) {
        wrong(format!("“{}” of {}, the answer is {}", text(verdict), text(name), answer.verdict()));
    }
    let path = |field: &str| format!("{}/{field}", answer.number);
    let ranged =
        |field: &str| vec![path(field), path(&format!("{field}_95.0")), path(&format!("{field}_95.1"))];
    let requested = answers.question.data["iops"].as_f64().unwrap_or(f64::NAN);
    match answer.number("at_peak.iops") {
        None => {
            shows(wrong, peak, &[]);
            shows(wrong, limit, &[]);
        }
        Some(rate) => {
            if rate < 0.98 * requested {
                shows(wrong, peak, &[path("at_peak.iops"), "question/iops".to_owned()]);
            } else {
                shows(wrong, peak, &ranged("at_peak.latency_ns"));
            }
            shows(wrong, limit, &[path("at_peak.limit_ns")]);
            let measure = answer.text("at_peak.requirement").split(" < ").next().unwrap_or_default();
            if !text(limit).starts_with(&format!("{} < ", of_measure(measure))) {
                wrong(format!("“{}” is no limit of {measure}", text(limit)));
            }
        }
    }
    match answer.number("headroom") {
        Some(times) => {
            shows(wrong, headroom, &of_headroom(answer));
            if text(headroom).starts_with("at least ") != (times >= TIMES_LIMIT) {
                wrong(format!("“{}” where {times} times were carried", text(headroom)));
            }
        }
        None => shows(wrong, headroom, &[]),
    }
    match answer.number("first_full.share") {
        Some(_) => {
            shows(wrong, full, &[path("first_full.share")]);
            let is_none = answer.number("headroom").is_some_and(|times| times >= TIMES_LIMIT);
            let none = if is_none { "none; most: " } else { "" };
            if !text(full).starts_with(&format!("{none}{} (", answer.text("first_full.part"))) {
                wrong(format!("“{}” is not {}", text(full), answer.text("first_full.part")));
            }
        }
        None => shows(wrong, full, &[]),
    }
}

/// Properties and their fields; the first is what makes the row known.
const PROPERTIES: [(&str, &[&str]); 8] = [
    ("Usable capacity", &["usable_bytes"]),
    ("Full", &["full_in_year", "question/growth.years", "question/capacity_bytes"]),
    ("Write amplification", &["write_amplification", "flash_write_amplification"]),
    ("Endurance", &["endurance_years"]),
    ("Rebuild of a drive", &["rebuild_s"]),
    ("Drives", &["drives"]),
    ("Price", &["cost"]),
    ("Power", &["watts"]),
];

/// A row of properties: figures of that property and that array.
fn property(wrong: &mut dyn FnMut(String), answers: &Answers<'_>, of_name: &[Answer<'_>], cells: &[Value]) {
    let [name, value] = cells else { return wrong("a row of properties has two cells".to_owned()) };
    let Some((_, fields)) = PROPERTIES.iter().find(|one| one.0 == text(name)) else {
        return wrong(format!("“{}” is no property", text(name)));
    };
    let has = |field: &str| of_name.iter().any(|answer| answer.number(field).is_some());
    for path in paths(value, "sizing") {
        let is_own = fields.iter().any(|field| match field.strip_prefix("question/") {
            Some(_) => path == *field,
            None => of_name.iter().any(|answer| path == format!("{}/{field}", answer.number)),
        });
        if !is_own {
            wrong(format!("{path} stands beside “{}”", text(name)));
        }
    }
    let says = text(value);
    let is_century = says.starts_with("over a century");
    let years = of_name.iter().find_map(|answer| answer.number("endurance_years"));
    let is_long = text(name) == "Endurance" && years.is_some_and(|years| years > 100.0);
    if is_century != is_long {
        wrong(format!("“{says}” where the drives last {years:?} years"));
    }
    let stored = answers.question.data["capacity_bytes"].as_f64();
    let is_known = if text(name) == "Full" { stored.is_some() } else { has(fields[0]) };
    if says.starts_with("not known") == is_known {
        wrong(format!("“{says}” beside “{}”", text(name)));
    }
    if text(name) == "Full" && stored.is_some() {
        let year = of_name.iter().find_map(|answer| answer.number("full_in_year"));
        let growth = answers.question.data["growth"]["years"].as_f64();
        let begins = match (year, growth) {
            (Some(1.0), _) => "within the first year of growth (".to_owned(),
            (Some(year), _) => format!("after {} (", answers.created_year + year - 1.0),
            (None, Some(years)) => format!("not until {} (", answers.created_year + years),
            (None, None) => "no growth was given (".to_owned(),
        };
        if !says.starts_with(&begins) {
            wrong(format!("“{says}” does not begin with “{begins}”"));
        }
    }
    if text(name) == "Rebuild of a drive" {
        let simulated =
            of_name.iter().any(|answer| answer.state() == "rebuilding" && !answer.data["at_peak"].is_null());
        if says.ends_with("beside this load, as simulated") != simulated {
            wrong(format!("“{says}”, and the rebuild was simulated: {simulated}"));
        }
    }
    let is_daily = answers.question.data["written_bytes_per_day"].is_u64();
    if text(name) == "Endurance" && is_known && says.ends_with("in a day") != is_daily {
        wrong(format!("“{says}”, and what is written in a day is known: {is_daily}"));
    }
}

/// A row of designs: figures of the state in which it carries least.
fn design(wrong: &mut dyn FnMut(String), answers: &Answers<'_>, cells: &[Value]) {
    let [name, front, cost, headroom, usable, verdict] = cells else {
        return wrong("a row of designs has six cells".to_owned());
    };
    let searched = answers.searched();
    let Some(answer) = searched.iter().find(|answer| answer.name == text(name)) else {
        return wrong(format!("“{}” is no design that was searched", text(name)));
    };
    let path = |field: &str| format!("{}/{field}", answer.number);
    shows(wrong, cost, &[path(answers.cost_field())]);
    shows(wrong, headroom, &of_headroom(answer));
    let has_usable = answer.number("usable_bytes").is_some();
    shows(wrong, usable, if has_usable { vec![path("usable_bytes")] } else { Vec::new() }.as_slice());
    if text(verdict) != of_verdict(answer.verdict()) {
        wrong(format!("“{}” of {}, the answer is {}", text(verdict), text(name), answer.verdict()));
    }
    if (text(front) == "on the front") != answer.is_front() {
        wrong(format!("{} is on the front: {}", text(name), answer.is_front()));
    }
}
