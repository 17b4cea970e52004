//! Question and answers of a run about changes, as its events hold them.

use crate::answer_data::{self, at};
use crate::run::{Event, Run};
use serde_json::{Map, Value};

/// Answer about the array, a change of it, or a step of the walk from limit to limit.
#[derive(Clone, Copy)]
pub struct Answer<'a> {
    /// Its place among the answers, from 1.
    pub number: usize,
    /// The change, as the event's text has it.
    pub name: &'a str,
    /// Fields of the answer.
    pub data: &'a Value,
}

/// All of them.
pub struct Answers<'a> {
    /// Data of the question.
    pub question: &'a Value,
    /// Those about the array and its changes.
    pub rows: Vec<Answer<'a>>,
    /// Steps of the walk.
    pub steps: Vec<Answer<'a>>,
}

impl<'a> Answer<'a> {
    /// A number; `None` where the answer has none.
    pub fn value(&self, path: &str) -> Option<f64> {
        answer_data::number(self.data, path)
    }

    /// A text, empty where there is none.
    pub fn text(&self, path: &str) -> &'a str {
        answer_data::text(self.data, path)
    }

    /// An object's fields.
    pub fn fields(&self, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.data[name].as_object().into_iter().flatten()
    }

    /// Returns true if it is a step of the walk.
    pub fn is_step(&self) -> bool {
        self.data["bottleneck"].is_object()
    }

    /// The changed array, as cases name it: `links.count=4+raid=10`, of a step `links*1.25`.
    pub fn case_change(&self) -> String {
        let empty = Map::new();
        let change = self.data["change"].as_object().unwrap_or(&empty);
        if self.is_step() {
            return factors_name(change);
        }
        if change.is_empty() {
            return "none".to_owned();
        }
        change_texts(change).join("+").replace([' ', '/', ','], "_")
    }

    /// Its change in words, as its event has it.
    pub fn own_name(&self) -> String {
        let empty = Map::new();
        let change = self.data["change"].as_object().unwrap_or(&empty);
        match (self.is_step(), change.is_empty()) {
            (true, _) => factors_name(change),
            (false, true) => "as it is".to_owned(),
            (false, false) => change_texts(change).join(", "),
        }
    }

    /// Stage of its own case.
    pub fn stage(&self) -> &'static str {
        if self.is_step() { "bottlenecks" } else { "changes" }
    }
}

fn change_texts(change: &Map<String, Value>) -> Vec<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    change.iter().map(|(key, value)| format!("{key}={}", text(value))).collect()
}

/// Multiples of parts, from the host to the drives, as cases name them.
pub fn factors_name(factors: &Map<String, Value>) -> String {
    if factors.is_empty() {
        return "none".to_owned();
    }
    // The order of parts; that of the fields may be the alphabet's.
    const PARTS: [&str; 11] = [
        "hosts",
        "links",
        "controllers",
        "parity",
        "cache",
        "window",
        "network",
        "mirror",
        "backend",
        "drives",
        "limits",
    ];
    let texts = PARTS.iter().filter_map(|part| Some(format!("{part}*{}", factors.get(*part)?)));
    texts.collect::<Vec<_>>().join("+")
}

impl<'a> Answers<'a> {
    /// Those of a run; `None` of a run that has no such question.
    pub fn of(run: &'a Run) -> Option<Answers<'a>> {
        let question = run.events.iter().find(|event| event.kind == "what-if-question")?;
        let events = run.events.iter().filter(|event| event.kind == "what-if");
        let answer = |(index, event): (usize, &'a Event)| {
            let ending = format!(": limit {}", event.data["limit"].as_str().unwrap_or_default());
            let name = event.text.strip_suffix(&ending).unwrap_or_default();
            Answer { number: index + 1, name, data: &event.data }
        };
        let (steps, rows) = events.enumerate().map(answer).partition(Answer::is_step);
        Some(Answers { question: &question.data, rows, steps })
    }

    /// Those about the array and its changes, then the steps of the walk.
    pub fn all(&self) -> impl Iterator<Item = &Answer<'a>> {
        self.rows.iter().chain(&self.steps)
    }

    /// Name of the array.
    pub fn array(&self) -> &'a str {
        self.question["array"].as_str().unwrap_or_default()
    }

    /// Value at `N/FIELD` or `question/FIELD`.
    pub fn field(&self, path: &str) -> Option<&'a Value> {
        let (place, field) = path.split_once('/')?;
        if place == "question" {
            return Some(at(self.question, field));
        }
        let number: usize = place.parse().ok()?;
        let answer = self.all().find(|answer| answer.number == number)?;
        Some(at(answer.data, field))
    }
}
