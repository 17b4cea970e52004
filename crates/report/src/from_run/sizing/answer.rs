//! Question and answers of a sizing run, as its events hold them.

use findings::{Cited, Quantity, Source, Unit};
use serde_json::Value;
use store::Event;

/// Looks up a field by its path: `headroom_95.0`.
fn field<'a>(data: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(data, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    })
}

/// Question of the run.
pub struct Question<'a> {
    /// Its event.
    pub event: &'a Event,
    /// Year in which the run was made.
    pub created_year: u32,
}

impl Question<'_> {
    /// A field of the event.
    pub fn field(&self, path: &str) -> Option<&Value> {
        field(self.event.data.as_ref()?, path).filter(|value| !value.is_null())
    }

    /// A number of the event.
    pub fn number(&self, path: &str, unit: Unit) -> Option<Quantity> {
        let value = self.field(path)?.as_f64()?;
        Some(Quantity::new(value, unit, Source::other("sizing", &format!("question/{path}"))))
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
    /// Its place among the answers, from 1.
    pub number: usize,
    /// The array with the values of its design.
    pub name: &'a str,
    data: &'a Value,
}

impl<'a> Answer<'a> {
    /// Reads the answer of an event.
    pub fn of(number: usize, event: &'a Event) -> Option<Answer<'a>> {
        let data = event.data.as_ref()?;
        let (state, verdict) = (data.get("state")?.as_str()?, data.get("verdict")?.as_str()?);
        let name = event.text.strip_suffix(&format!(", {state}: {verdict}"))?;
        Some(Answer { number, name, data })
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

    /// A field that is not null.
    pub fn field(&self, path: &str) -> Option<&'a Value> {
        field(self.data, path).filter(|value| !value.is_null())
    }

    /// A text.
    pub fn text(&self, path: &str) -> Option<&'a str> {
        self.field(path)?.as_str()
    }

    /// A text with its source.
    pub fn quote(&self, path: &str) -> Option<Cited> {
        let source = Source::quote(&format!("sizing/{}/{path}", self.number));
        Some(Cited::quote(self.text(path)?, source))
    }

    /// A number.
    pub fn number(&self, path: &str, unit: Unit) -> Option<Quantity> {
        let source = Source::other("sizing", &format!("{}/{path}", self.number));
        Some(Quantity::new(self.field(path)?.as_f64()?, unit, source))
    }

    /// Place, among the requirements of the question, of the one that is closest to its bound at the workload.
    pub fn tightest(&self, question: &Question<'_>) -> Option<usize> {
        let own = self.text("at_peak.requirement")?;
        let all = question.field("requirements")?.as_array()?;
        all.iter().position(|one| one.get("text").and_then(Value::as_str) == Some(own))
    }
}

/// A value with both ends of its range: `1.80 (1.50 to 2.00)`.
pub fn with_range(value: Cited, range: Option<[Cited; 2]>) -> Cited {
    match range {
        Some([low, high]) => findings::cited!("{} ({} to {})", value, low, high),
        None => value,
    }
}
