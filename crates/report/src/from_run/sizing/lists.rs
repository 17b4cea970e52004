//! Basis of an answer, its gaps, and questions to the vendor.

use super::answer::{Answer, Question};
use super::sentence::{all_states, state_words};
use super::states::measure_words;
use crate::from_run::event_fields::{ASSUMED, LINE_RATE};
use crate::from_run::{Source, model_lines};
use findings::{Cited, Unit, cited};
use serde_json::Value;

/// Names of the arrays that no published row validates.
pub fn assumed<'a>(first_answers: impl Iterator<Item = &'a Answer<'a>>) -> Vec<Cited> {
    first_answers
        .filter(|answer| answer.text("model_error.iops.validated") == Some("assumed"))
        .map(Answer::cited_name)
        .collect()
}

/// Basis of the ranges, of rates and of each latency that is bounded.
pub fn basis(question: &Question<'_>, answers: &[&Answer<'_>]) -> Vec<Cited> {
    let healthy = answers.iter().find(|answer| !is_degraded(answer));
    let Some(answer) = healthy.or(answers.first()) else { return Vec::new() };
    let mut lines = Vec::new();
    let is_assumed = answer.text("model_error.iops.validated") == Some("assumed");
    if is_assumed {
        lines.push(ASSUMED.into());
    }
    let is_other = answer.has_design() || is_degraded(answer);
    lines.extend(answer.model_error("model_error.iops", "Rates".into(), is_other));
    let measures = question.field("requirements").and_then(Value::as_array).into_iter().flatten().enumerate();
    for (place, one) in measures {
        let measure = one.get("measure").and_then(Value::as_str).unwrap_or_default();
        let name = cited!("Latency, {}", measure_words(measure));
        lines.extend(answer.model_error(&format!("model_error.required.{place}"), name, is_other));
    }
    if answers.iter().any(|answer| answer.field("links_bytes_per_s").is_some()) {
        lines.push(LINE_RATE.into());
    }
    if !is_assumed && healthy.is_some() && answers.iter().any(|answer| is_degraded(answer)) {
        lines.push("With a part lost or the cache off, errors of published rows count twice: none is of these states.".into());
    }
    lines
}

/// Returns true if no published row is of an answer's state.
fn is_degraded(answer: &Answer<'_>) -> bool {
    !matches!(answer.state(), "healthy" | "full")
}

/// States that nobody has looked at, what the workload's source does not tell, and gaps of the model.
pub fn not_tested(source: &Source<'_>, question: &Question<'_>, answers: &[&Answer<'_>]) -> Vec<Cited> {
    let mut lines = Vec::new();
    let unseen: Vec<&str> = all_states()
        .filter(|(state, _)| !answers.iter().any(|answer| answer.state() == *state))
        .map(|(_, words)| words)
        .collect();
    if !unseen.is_empty() {
        lines.push(cited!("Not looked at: {}.", Cited::words(unseen.join(", "))));
    }
    let not_modelled: Vec<&str> = answers
        .iter()
        .filter(|answer| answer.verdict() == "not-modelled")
        .map(|answer| state_words(answer.state()))
        .collect();
    if !not_modelled.is_empty() {
        lines.push(cited!("Not modelled: {}.", Cited::words(not_modelled.join(", "))));
    }
    let not_known = question.field("not_known").and_then(Value::as_array).into_iter().flatten();
    for text in not_known.filter_map(Value::as_str) {
        let text = Cited::quote(text, findings::Source::quote("sizing/question/not_known"));
        lines.push(cited!("Of the workload: {}.", text));
    }
    let array = answers.first().and_then(|answer| answer.text("array"));
    if let Some(array) = source.manifest.arrays.iter().find(|one| Some(one.name.as_str()) == array) {
        lines.extend(model_lines::lacking(&array.text));
    }
    lines.push("Other loads, a neighbour's load, firmware updates: `arraylab run purchase` tests those on the array itself.".into());
    lines
}

/// Figures that the answer lacks and a vendor has.
pub fn ask(question: &Question<'_>, answers: &[&Answer<'_>]) -> Vec<Cited> {
    let mut lines = Vec::new();
    let measures = question.field("requirements").and_then(Value::as_array).into_iter().flatten();
    let measures = measures
        .filter_map(|one| one.get("measure").and_then(Value::as_str))
        .map(|measure| cited!("{} latency", measure_words(measure)));
    if let Some(rate) = question.number("iops", Unit::Iops) {
        lines.push(cited!(
            "What {} do you promise for this configuration at {} of this load, with used drives?",
            Cited::join(measures, " and "),
            rate.iops()
        ));
    }
    let open: Vec<&str> = answers
        .iter()
        .filter(|answer| answer.state() != "healthy")
        .filter(|answer| matches!(answer.verdict(), "not-modelled" | "not-shown" | "too-close-to-call"))
        .map(|answer| state_words(answer.state()))
        .collect();
    if !open.is_empty() {
        lines.push(cited!("And in these states: {}?", Cited::words(open.join(", "))));
    }
    let lacks = |path: &str| answers.iter().all(|answer| answer.field(path).is_none());
    if lacks("endurance_years") {
        lines.push("For how many drive writes a day are the drives rated, and for how many years?".into());
    }
    if lacks("cost") {
        lines.push("What does each part cost?".into());
    }
    if lacks("watts") {
        lines.push("How many watts does it take at this load?".into());
    }
    if answers.iter().any(|answer| answer.text("model_error.iops.validated") == Some("assumed")) {
        lines.push("Can we have one for two hours? `arraylab run calibrate` and `arraylab fit` make a validated twin of it.".into());
    }
    lines
}
