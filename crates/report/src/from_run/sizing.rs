//! First page of a sizing run, whose cases are multiples of a workload and no test of an array.

mod answer;
mod curve;
mod designs;
mod lists;
mod properties;
mod sentence;
mod states;

use super::Source;
use super::event_fields::caution;
use crate::model::{Offer, SizingPage};
use answer::{Answer, Question};
use findings::{Cited, SIZE_EVENT, SIZE_QUESTION_EVENT, cited};
use store::Event;

/// Most arrays that have a block of their own; of a larger space only designs of the front have one.
const OFFERS_LIMIT: usize = 8;

/// The page; `None` of any other run.
pub fn page(source: &Source<'_>, events: &[Event]) -> Option<SizingPage> {
    let question = events.iter().find(|event| event.kind == SIZE_QUESTION_EVENT)?;
    let question = Question::of(question, year(&source.manifest.created_utc)?)?;
    let answers: Vec<Answer<'_>> = events
        .iter()
        .filter(|event| event.kind == SIZE_EVENT)
        .enumerate()
        .filter_map(|(index, event)| Answer::of(index + 1, event))
        .collect();
    let all = names(&answers);
    let is_space = all.len() > OFFERS_LIMIT || answers.iter().any(Answer::has_design);
    let shown: Vec<&str> = match is_space {
        true => designs::front(&answers),
        false => all.clone(),
    };
    let shown = &shown[..shown.len().min(OFFERS_LIMIT)];
    let of_name =
        |name: &str| -> Vec<&Answer<'_>> { answers.iter().filter(|answer| answer.name == name).collect() };
    let offers =
        shown.iter().enumerate().map(|(index, name)| offer(source, &question, index + 1, &of_name(name)));
    Some(SizingPage {
        question: question_lines(&question),
        caution: caution(lists::assumed(shown.iter().filter_map(|name| of_name(name).first().copied()))),
        ranking: match is_space {
            true => Vec::new(),
            false => sentence::ranking(&answers),
        },
        designs: if is_space { designs::of(&answers) } else { None },
        offers: offers.collect(),
    })
}

fn names<'a>(answers: &'a [Answer<'_>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for answer in answers {
        if !names.contains(&answer.name) {
            names.push(answer.name);
        }
    }
    names
}

fn year(utc: &str) -> Option<u32> {
    utc.split('-').next()?.parse().ok()
}

fn offer(source: &Source<'_>, question: &Question<'_>, number: usize, answers: &[&Answer<'_>]) -> Offer {
    let id = format!("size-{number}");
    let healthy = answers.iter().find(|answer| answer.state() == "healthy");
    Offer {
        name: answers.first().map(|answer| answer.cited_name()).unwrap_or_default(),
        verdict: healthy.map_or("not-shown", |answer| answer.verdict()).to_owned(),
        sentence: sentence::of(question, answers),
        states: states::table(&id, question, answers),
        reasons: states::reasons(answers),
        properties: properties::table(&id, question, answers),
        chart: curve::chart(&id, question, answers),
        basis: lists::basis(question, answers),
        not_tested: lists::not_tested(source, question, answers),
        ask: lists::ask(question, answers),
        id,
    }
}

fn question_lines(question: &Question<'_>) -> Vec<Cited> {
    let quote = |path: &str| question.quote(path);
    let count = question.field("requirements").and_then(|all| all.as_array()).map_or(0, Vec::len);
    let required = (0..count).filter_map(|place| quote(&format!("requirements.{place}.text")));
    let mut lines = vec![cited!(
        "Your load: {}, {} at its peak. Required: {}.",
        quote("workload").unwrap_or_default(),
        question.number("iops", findings::Unit::Iops).map_or_else(Cited::default, findings::Quantity::iops),
        Cited::join(required, ", ")
    )];
    let growth = question.number("growth.per_year", findings::Unit::Ratio);
    let years = question.number("growth.years", findings::Unit::Count);
    if let (Some(growth), Some(years)) = (growth, years) {
        lines.push(cited!(
            "Growth: {} a year, for {}; the first year begins on the day of this run.",
            growth.percent(),
            years.count("year")
        ));
    }
    lines
}

/// Warning that stands before all others.
pub fn warning() -> Cited {
    "The cases of this run are multiples of a workload that `arraylab size` simulated. The first page gives its answers. Rates in tables and charts \
     of the stages may lie beyond what an array holds within the requirements."
        .into()
}
