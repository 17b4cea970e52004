//! Answer about a changed array, as its event holds it.

use crate::from_run::event_fields::EventFields;
use findings::{Cited, Quantity, Source, Unit, cited};
use serde_json::Value;
use std::ops::Deref;
use store::Event;

/// Kind of source of the run's question and answers.
pub const KIND: &str = "what-if";

/// Answer about the array, about a change of it, or of a step of the walk from limit to limit.
pub struct Answer<'a> {
    /// The change, as the event's text has it.
    name: &'a str,
    fields: EventFields<'a>,
}

impl<'a> Deref for Answer<'a> {
    type Target = EventFields<'a>;

    fn deref(&self) -> &EventFields<'a> {
        &self.fields
    }
}

impl<'a> Answer<'a> {
    /// Reads the answer of an event.
    pub fn of(number: usize, event: &'a Event) -> Option<Answer<'a>> {
        let data = event.data.as_ref()?;
        let limit = data.get("limit")?.as_str()?;
        let name = event.text.strip_suffix(&format!(": limit {limit}"))?;
        Some(Answer { name, fields: EventFields::new(KIND, number.to_string(), data) })
    }

    /// Returns true if it is a step of the walk.
    pub fn is_step(&self) -> bool {
        self.field("bottleneck").is_some()
    }

    /// Returns true if a field is true.
    pub fn is(&self, path: &str) -> bool {
        self.field(path).and_then(Value::as_bool) == Some(true)
    }

    /// The change in words: `as it is`, `links.count=16`, of a step `1.25 × links`.
    pub fn change(&self) -> Cited {
        if self.is_step() {
            let factors = self.field("change").and_then(Value::as_object).into_iter().flatten();
            let texts = factors.filter_map(|(part, _)| {
                let factor = self.number(&format!("change.{part}"), Unit::Count)?;
                Some(cited!("{} × {}", factor.plain(2), Cited::words(part.clone())))
            });
            return Cited::join(texts, ", ");
        }
        Cited::quote(self.name, Source::quote("event"))
    }

    /// The parts whose enlargement was simulated, from the host to the drives, with the gain from a quarter more of each.
    pub fn gains(&self) -> Vec<(&'a str, Quantity)> {
        let parts = self.field("more").and_then(Value::as_object).into_iter().flatten();
        parts
            .filter_map(|(part, _)| {
                Some((part.as_str(), self.number(&format!("more.{part}.gain"), Unit::Ratio)?))
            })
            .collect()
    }

    /// Rate.
    pub fn iops(&self) -> Option<Quantity> {
        self.number("iops", Unit::Iops)
    }

    /// Gain in rate over another answer, as a share of that.
    pub fn gain_over(&self, first: &Answer<'_>) -> Option<Quantity> {
        let before = first.iops().filter(|rate| rate.value() > 0.0)?;
        Some(self.iops()?.over(&before).minus(&Quantity::constant("whole", 1.0)))
    }

    /// Returns true if the rates of both differ by no more than their sampling, of which both intervals are combined as independent.
    pub fn is_within_sampling_of(&self, first: &Answer<'_>) -> bool {
        let half = |answer: &Answer<'_>| {
            let share = answer.number("sampling_95", Unit::Ratio)?.value();
            answer.iops().map(|rate| (rate.value(), share * rate.value()))
        };
        half(self).zip(half(first)).is_some_and(|((own, own_half), (other, other_half))| {
            (own - other).abs() <= own_half.hypot(other_half)
        })
    }
}

/// `+12 %`, `−3 %`, `0 %`.
pub fn signed(share: Quantity) -> Cited {
    let percent = (100.0 * share.value()).round();
    let sign = match percent {
        0.0 => "",
        loss if loss < 0.0 => "−",
        _ => "+",
    };
    let text = format!("{sign}{:.0} %", percent.abs());
    share.printed(text)
}
