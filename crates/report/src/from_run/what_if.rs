//! First page of a run about changes of an array, whose cases are the simulations that its answers rest on.

mod answer;
mod charts;
mod sentences;
mod tables;

use super::event_fields::{ASSUMED, EventFields, LINE_RATE, caution};
use crate::model::{WalkOfLimits, WhatIfPage};
use answer::{Answer, KIND};
use findings::{Cited, Source, Unit, WHAT_IF_EVENT, WHAT_IF_QUESTION_EVENT, cited};
use serde_json::Value;
use store::Event;

/// The page; `None` of any other run.
pub fn page(events: &[Event]) -> Option<WhatIfPage> {
    let question = events.iter().find(|event| event.kind == WHAT_IF_QUESTION_EVENT)?;
    let question = EventFields::new(KIND, "question".to_owned(), question.data.as_ref()?);
    let answers: Vec<Answer<'_>> = events
        .iter()
        .filter(|event| event.kind == WHAT_IF_EVENT)
        .enumerate()
        .filter_map(|(index, event)| Answer::of(index + 1, event))
        .collect();
    let (steps, rows): (Vec<Answer<'_>>, Vec<Answer<'_>>) = answers.into_iter().partition(Answer::is_step);
    let first = rows.first()?;
    let is_assumed = first.text("model_error.iops.validated") == Some("assumed");
    let is_walk = question.field("find_bottleneck").and_then(Value::as_bool) == Some(true);
    Some(WhatIfPage {
        question: question_lines(&question),
        caution: caution(if is_assumed { question.quote("array").into_iter().collect() } else { Vec::new() }),
        answers: sentences::of_rows(&question, &rows),
        effects: tables::effects(&rows),
        charts: charts::effects(&rows),
        gains: tables::gains(&rows),
        walk: is_walk.then(|| WalkOfLimits {
            sentences: sentences::of_steps(first, &steps),
            chart: charts::gains(first, &steps),
            table: (!steps.is_empty()).then(|| tables::walk(&steps)),
        }),
        basis: basis(&question, &rows, &steps),
    })
}

fn question_lines(question: &EventFields<'_>) -> Vec<Cited> {
    let quote = |path: &str| question.quote(path).unwrap_or_default();
    let mut lines = vec![cited!("Array: {}. Load: {}.", quote("array"), quote("load"))];
    if let Some(iops) = question.number("iops", Unit::Iops) {
        lines.push(cited!("The load asks for {} and no more.", iops.iops()));
    }
    lines
}

/// Basis of the ranges, and reservations.
fn basis(question: &EventFields<'_>, rows: &[Answer<'_>], steps: &[Answer<'_>]) -> Vec<Cited> {
    let mut lines = Vec::new();
    let Some(first) = rows.first() else { return lines };
    if first.text("model_error.iops.validated") == Some("assumed") {
        lines.push(ASSUMED.into());
    }
    let errors = |answer: &Answer<'_>, is_changed: bool| {
        let quantities = [("iops", "Rates"), ("mean", "Mean latency"), ("p99", "Percentiles")];
        let line = |(path, name): (&str, &'static str)| {
            let name = if is_changed { cited!("{}, changed", Cited::from(name)) } else { name.into() };
            answer.model_error(&format!("model_error.{path}"), name, is_changed)
        };
        quantities.into_iter().filter_map(line).collect::<Vec<Cited>>()
    };
    lines.extend(errors(first, false));
    // Of an array of assumed parts a change is assumed as well.
    let changed = rows.get(1).or(steps.first());
    if let Some(changed) = changed.filter(|one| one.text("validated") == Some("fitted")) {
        lines.extend(errors(changed, true));
    }
    if rows.iter().chain(steps).any(|row| row.field("links_bytes_per_s").is_some()) {
        lines.push(LINE_RATE.into());
    }
    if rows.len() > 1 {
        lines.push(
            "Each range is of one answer alone. Answers about one array share most of the model's error: their difference is known better than \
             their ranges suggest."
                .into(),
        );
    }
    for (by_load, text) in [
        (false, "Drives begin as after hours of random writes; --change condition=fresh shows new ones."),
        (
            true,
            "Drives begin as after many passes of these writes; --change condition=steady shows them after random writes all over.",
        ),
    ] {
        let began = |row: &Answer| {
            row.is("drives_began_steady") && row.is("drives_preconditioned_by_load") == by_load
        };
        if rows.iter().any(began) {
            lines.push(text.into());
        }
    }
    let began_warm = |key: &str| rows.iter().chain(steps).any(|row| row.is(key));
    let caches = match (began_warm("read_caches_began_warm"), began_warm("write_caches_began_warm")) {
        (true, true) => "Read and write caches",
        (true, false) => "Read caches",
        (false, true) => "Write caches",
        (false, false) => "",
    };
    if !caches.is_empty() {
        lines.push(
            format!("{caches} begin as after hours of the load; `arraylab run` shows how they fill.").into(),
        );
    }
    let unsettled = rows.iter().chain(steps).filter(|answer| !answer.is("is_steady"));
    lines.extend(unsettled.filter_map(|answer| {
        let counted = answer.number("counted_s", Unit::S)?;
        let name = answer.change();
        Some(cited!(
            "{}: the level still changed, or a cache still filled, when the simulation ended ({} counted).",
            name,
            counted.duration()
        ))
    }));
    let not_known = question.field("not_known").and_then(Value::as_array).into_iter().flatten();
    lines.extend(not_known.filter_map(Value::as_str).map(|text| {
        cited!("Of the load: {}.", Cited::quote(text, Source::quote("what-if/question/not_known")))
    }));
    lines
}

/// Warning that stands before all others.
pub fn warning() -> Cited {
    "The cases of this run are the simulations that the answers of arraylab what-if rest on, also those with one I/O at a time and with more of a \
     part. The first page gives the answers."
        .into()
}
