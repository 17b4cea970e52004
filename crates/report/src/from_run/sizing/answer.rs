//! Question and answers of a sizing run, as its events hold them.

use crate::from_run::event_fields::EventFields;
use findings::{Cited, Quantity, Source, Unit};
use serde_json::Value;
use std::ops::Deref;
use store::Event;

/// Kind of source of the run's question and answers.
const KIND: &str = "sizing";

/// Question of the run.
pub struct Question<'a> {
    fields: EventFields<'a>,
    /// Year in which the run was made.
    created_year: u32,
}

impl<'a> Deref for Question<'a> {
    type Target = EventFields<'a>;

    fn deref(&self) -> &EventFields<'a> {
        &self.fields
    }
}

impl<'a> Question<'a> {
    /// Reads the question of an event.
    pub fn of(event: &'a Event, created_year: u32) -> Option<Question<'a>> {
        Some(Question {
            fields: EventFields::new(KIND, "question".to_owned(), event.data.as_ref()?),
            created_year,
        })
    }

    /// Last calendar year before which so many years of growth are over.
    pub fn after_years(&self, years: Quantity) -> Cited {
        let created = Source::other("manifest", "created_year");
        let created = Quantity::new(f64::from(self.created_year), Unit::Count, created);
        calendar(Quantity::sum(&[created, years]))
    }

    /// Calendar year to whose end a year of growth reaches, less one: the workload still holds until then.
    pub fn before_year(&self, year: &Quantity) -> Cited {
        let created = Source::other("manifest", "created_year");
        let created = Quantity::new(f64::from(self.created_year), Unit::Count, created);
        let whole = Quantity::constant("whole", 1.0);
        calendar(Quantity::sum(&[created, year.clone()]).map(|year| year.minus(&whole)))
    }
}

fn calendar(year: Option<Quantity>) -> Cited {
    let Some(year) = year else { return Cited::default() };
    let text = format!("{:.0}", year.value());
    year.printed(text)
}

/// Answer about one design in one state.
pub struct Answer<'a> {
    /// The array with the values of its design.
    pub name: &'a str,
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
        let (state, verdict) = (data.get("state")?.as_str()?, data.get("verdict")?.as_str()?);
        let name = event.text.strip_suffix(&format!(", {state}: {verdict}"))?;
        Some(Answer { name, fields: EventFields::new(KIND, number.to_string(), data) })
    }

    /// The name, quoted from its event.
    pub fn cited_name(&self) -> Cited {
        Cited::quote(self.name, Source::quote("event"))
    }

    /// Its state.
    pub fn state(&self) -> &'a str {
        self.text("state").unwrap_or_default()
    }

    /// Its verdict.
    pub fn verdict(&self) -> &'a str {
        self.text("verdict").unwrap_or_default()
    }

    /// Returns true if values of the array were changed.
    pub fn has_design(&self) -> bool {
        self.field("design").and_then(Value::as_object).is_some_and(|design| !design.is_empty())
    }

    /// Returns true if a search of a space did not determine its headroom.
    pub fn is_left_out(&self) -> bool {
        self.field("left_out").is_some()
    }

    /// Place, among the requirements of the question, of the one that is closest to its bound at the workload.
    pub fn tightest(&self, question: &Question<'_>) -> Option<usize> {
        let own = self.text("at_peak.requirement")?;
        let all = question.field("requirements")?.as_array()?;
        all.iter().position(|one| one.get("text").and_then(Value::as_str) == Some(own))
    }
}
