//! Table of an array's states: latency at the peak beside its limit, headroom, the part that is full first, the verdict.

use super::answer::{Answer, Question};
use super::sentence::{all_states, state_words};
use crate::from_run::event_fields::with_range;
use crate::from_run::percentile_words;
use crate::model::{Column, Table};
use findings::{Cited, Quantity, Unit, cited};
use serde_json::Value;

/// Largest multiple that `sizing` tries.
const TIMES_LIMIT: f64 = 64.0;
/// Word for a figure that does not exist.
const NONE: &str = "–";

/// A row for each state, in their order.
pub fn table(id: &str, question: &Question<'_>, answers: &[&Answer<'_>]) -> Table {
    let name = answers.first().map(|answer| answer.cited_name()).unwrap_or_default();
    let in_order =
        all_states().filter_map(|(state, _)| answers.iter().find(|answer| answer.state() == state));
    Table {
        id: format!("{id}-states"),
        caption: cited!(
            "States of {} at your peak; in brackets the range, {} of model and sampling together",
            name,
            Quantity::constant("confidence", 0.95).percent()
        ),
        columns: vec![
            Column::words("State"),
            Column::words("Verdict"),
            Column::numbers("At your peak"),
            Column::numbers("Limit"),
            Column::numbers("Headroom (times your load)"),
            Column::words("First part full"),
        ],
        rows: in_order.map(|answer| row(question, answer)).collect(),
    }
}

fn row(question: &Question<'_>, answer: &Answer<'_>) -> Vec<Cited> {
    vec![
        state_words(answer.state()).into(),
        verdict_words(answer.verdict()).into(),
        at_peak(question, answer).unwrap_or_else(|| NONE.into()),
        limit(question, answer).unwrap_or_else(|| NONE.into()),
        headroom(answer).unwrap_or_else(|| NONE.into()),
        first_full(answer).unwrap_or_else(|| NONE.into()),
    ]
}

/// Words of a verdict, with a sign that is read without colour.
pub fn verdict_words(verdict: &str) -> &'static str {
    match verdict {
        "meets" => "✓ meets",
        "too-close-to-call" => "≈ too close to call",
        "fails" => "✗ fails",
        "not-modelled" => "– not modelled",
        _ => "– not shown",
    }
}

/// The latency that is closest to its bound; where the rate is not delivered, the rate instead.
fn at_peak(question: &Question<'_>, answer: &Answer<'_>) -> Option<Cited> {
    let rate = answer.number("at_peak.iops", Unit::Iops)?;
    let requested = question.number("iops", Unit::Iops)?;
    let points = answer.field("points").and_then(Value::as_array).into_iter().flatten();
    let is_peak = |point: &&Value| point["times"].as_f64() == Some(1.0);
    if points.filter(is_peak).any(|point| point["kept_up"] == false) {
        return Some(cited!("{} of {} delivered", rate.iops(), requested.iops()));
    }
    let latency = |path: &str| answer.number(path, Unit::Ns).map(Quantity::latency);
    let range = latency("at_peak.latency_ns_95.0").zip(latency("at_peak.latency_ns_95.1"));
    Some(with_range(latency("at_peak.latency_ns")?, range.map(|(low, high)| [low, high])))
}

/// `read p99 < 2 ms`.
fn limit(question: &Question<'_>, answer: &Answer<'_>) -> Option<Cited> {
    let place = answer.tightest(question)?;
    let measure = question.field(&format!("requirements.{place}.measure"))?.as_str()?;
    let limit = answer.number("at_peak.limit_ns", Unit::Ns)?;
    Some(cited!("{} < {}", measure_words(measure), limit.latency()))
}

/// A measure in words: `read.p99.9` is `read p99.9`.
pub fn measure_words(measure: &str) -> Cited {
    let words = ["read", "write"].into_iter().find_map(|side| {
        let rest = measure.strip_prefix(side)?.strip_prefix('.')?;
        Some(format!("{side} {rest}"))
    });
    percentile_words(words.as_deref().unwrap_or(measure))
}

/// Times the workload, with the range; where all that were tried were carried, nothing is known of its upper end.
pub fn headroom(answer: &Answer<'_>) -> Option<Cited> {
    let times = |path: &str| answer.number(path, Unit::Count).map(|times| times.plain(2));
    let (found, worst) = (times("headroom")?, times("headroom_95.0"));
    if carries_all(answer) {
        return Some(match worst {
            Some(worst) => cited!("at least {} ({} at worst)", found, worst),
            None => cited!("at least {}", found),
        });
    }
    Some(with_range(found, worst.zip(times("headroom_95.1")).map(|(low, high)| [low, high])))
}

/// Returns true if all multiples that were tried were carried.
fn carries_all(answer: &Answer<'_>) -> bool {
    answer.number("headroom", Unit::Count).is_some_and(|times| times.value() >= TIMES_LIMIT)
}

fn first_full(answer: &Answer<'_>) -> Option<Cited> {
    let part = answer.text("first_full.part")?.to_owned();
    let share = answer.number("first_full.share", Unit::Ratio)?;
    let none = if carries_all(answer) { "none; most: " } else { "" };
    Some(cited!("{}{} ({} busy)", Cited::from(none), Cited::words(part), share.percent()))
}

/// Reasons of verdicts that the figures of the table do not give.
pub fn reasons(answers: &[&Answer<'_>]) -> Vec<Cited> {
    let needs_reason = |answer: &&&Answer<'_>| {
        let has_headroom = answer.number("headroom", Unit::Count).is_some_and(|times| times.value() > 0.0);
        !has_headroom || matches!(answer.verdict(), "not-shown" | "too-close-to-call")
    };
    let lines = answers.iter().filter(needs_reason).filter(|answer| answer.text("because") != Some(""));
    lines
        .filter_map(|answer| {
            Some(cited!("{}: {}.", state_words(answer.state()), answer.quote("because")?).capitalised())
        })
        .collect()
}
