//! Question and answers of a sizing run, as its events hold them.

use crate::answer_data::{self, at};
use crate::run::{Event, Run};
use serde_json::Value;

/// Answer about a design in a state.
#[derive(Clone, Copy)]
pub struct Answer<'a> {
    /// Its place among the answers, from 1.
    pub number: usize,
    /// Name of the design.
    pub name: &'a str,
    /// Fields of the answer.
    pub data: &'a Value,
}

/// All of them.
pub struct Answers<'a> {
    /// Event of the question.
    pub question: &'a Event,
    /// The answers, in their order.
    pub all: Vec<Answer<'a>>,
    /// Year in which the run was made.
    pub created_year: f64,
}

impl<'a> Answer<'a> {
    /// A number; `None` where the answer has none.
    pub fn number(&self, path: &str) -> Option<f64> {
        answer_data::number(self.data, path)
    }

    /// A text, empty where there is none.
    pub fn text(&self, path: &str) -> &'a str {
        answer_data::text(self.data, path)
    }

    pub fn state(&self) -> &'a str {
        self.text("state")
    }

    pub fn verdict(&self) -> &'a str {
        self.text("verdict")
    }

    pub fn is_left_out(&self) -> bool {
        !self.data["left_out"].is_null()
    }

    pub fn is_front(&self) -> bool {
        self.data["pareto"] == true
    }

    /// Returns true if no published row is of its state.
    pub fn is_degraded(&self) -> bool {
        !matches!(self.state(), "healthy" | "full")
    }

    pub fn has_design(&self) -> bool {
        self.data["design"].as_object().is_some_and(|design| !design.is_empty())
    }
}

impl<'a> Answers<'a> {
    /// Those of a run; `None` of a run that has no question.
    pub fn of(run: &'a Run) -> Option<Answers<'a>> {
        let question = run.events.iter().find(|event| event.kind == "size-question")?;
        let events = run.events.iter().filter(|event| event.kind == "size");
        let all = events.enumerate().map(|(index, event)| {
            let ending = format!(
                ", {}: {}",
                event.data["state"].as_str().unwrap_or_default(),
                event.data["verdict"].as_str().unwrap_or_default()
            );
            let name = event.text.strip_suffix(&ending).unwrap_or_default();
            Answer { number: index + 1, name, data: &event.data }
        });
        let created = run.manifest["created_utc"].as_str().unwrap_or_default();
        let created_year = created.split('-').next().and_then(|year| year.parse().ok()).unwrap_or(0.0);
        Some(Answers { question, all: all.collect(), created_year })
    }

    /// Names of designs, in their order.
    pub fn names(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        for answer in &self.all {
            if !names.contains(&answer.name) {
                names.push(answer.name);
            }
        }
        names
    }

    /// Answers about one design.
    pub fn of_name(&self, name: &str) -> impl Iterator<Item = &Answer<'a>> {
        self.all.iter().filter(move |answer| answer.name == name)
    }

    /// Returns true if designs of a space were looked at.
    pub fn is_space(&self) -> bool {
        self.names().len() > 8 || self.all.iter().any(Answer::has_design)
    }

    /// The cost of designs: the price where all have one.
    pub fn cost_field(&self) -> &'static str {
        if self.all.iter().all(|answer| answer.number("cost").is_some()) { "cost" } else { "drives" }
    }

    /// Of each design that was searched the state with the least headroom.
    pub fn searched(&self) -> Vec<Answer<'a>> {
        let field = self.cost_field();
        let mut least: Vec<Answer<'a>> = Vec::new();
        for answer in self.all.iter().filter(|answer| !answer.is_left_out()) {
            let (Some(times), Some(_)) = (answer.number("headroom"), answer.number(field)) else { continue };
            match least.iter_mut().find(|known| known.name == answer.name) {
                Some(known) => {
                    if known.number("headroom").is_some_and(|known| times < known) {
                        *known = *answer;
                    }
                }
                None => least.push(*answer),
            }
        }
        least
    }

    /// Value at `N/FIELD` or `question/FIELD`.
    pub fn field(&self, path: &str) -> Option<&'a Value> {
        let (place, field) = path.split_once('/')?;
        if place == "question" {
            return Some(at(&self.question.data, field));
        }
        let number: usize = place.parse().ok()?;
        let answer = self.all.iter().find(|answer| answer.number == number)?;
        Some(at(answer.data, field))
    }
}
