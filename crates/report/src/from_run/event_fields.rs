//! Fields of a question or an answer, as its event holds them, with their sources.

use findings::{Cited, Quantity, Source, Unit, cited};
use serde_json::Value;

/// Looks up a field by its path: `headroom_95.0`.
fn field<'a>(data: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(data, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    })
}

/// Data of an event. A number of it cites `KIND:PLACE/PATH`.
#[derive(Clone)]
pub struct EventFields<'a> {
    kind: &'static str,
    place: String,
    data: &'a Value,
}

impl<'a> EventFields<'a> {
    /// Names the data of an event: its kind of source, and `question` or the number of the answer.
    pub fn new(kind: &'static str, place: String, data: &'a Value) -> EventFields<'a> {
        EventFields { kind, place, data }
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
        let source = Source::quote(&format!("{}/{}/{path}", self.kind, self.place));
        Some(Cited::quote(self.text(path)?, source))
    }

    /// A number.
    pub fn number(&self, path: &str, unit: Unit) -> Option<Quantity> {
        let source = Source::other(self.kind, &format!("{}/{path}", self.place));
        Some(Quantity::new(self.field(path)?.as_f64()?, unit, source))
    }

    /// Both ends of a range.
    pub fn range(&self, path: &str, unit: Unit) -> Option<[Quantity; 2]> {
        Some([self.number(&format!("{path}.0"), unit)?, self.number(&format!("{path}.1"), unit)?])
    }

    /// Error of the model in a quantity, as a share of the true value, and what it is drawn from. `is_other` where the array is not
    /// the one that published rows are of.
    pub fn model_error(&self, path: &str, name: Cited, is_other: bool) -> Option<Cited> {
        let share = |field: &str| {
            self.number(&format!("{path}.{field}"), Unit::Ratio).map(|share| share.percent_with(1))
        };
        let (over, under) = (share("over")?, share("under")?);
        let from = match self.text(&format!("{path}.validated"))? {
            "unseen" => "by the worst published row of this array, with rows that no fit has seen",
            "fitted" if is_other => "by twice the worst published row of the healthy array as it ships",
            "fitted" => "by the worst published row that this array was fitted to",
            _ => "by convention, as no published row has it",
        };
        Some(cited!(
            "{}: simulated up to {} too high or {} too low, {}.",
            name,
            over,
            under,
            Cited::from(from)
        ))
    }
}

/// A value with both ends of its range: `1.80 (1.50 to 2.00)`.
pub fn with_range(value: Cited, range: Option<[Cited; 2]>) -> Cited {
    match range {
        Some([low, high]) => cited!("{} ({} to {})", value, low, high),
        None => value,
    }
}

/// Warning about arrays that no published row validates.
pub fn caution(names: Vec<Cited>) -> Option<Cited> {
    let is_any = !names.is_empty();
    is_any.then(|| cited!("Assumed parts only, do not sign on this: {}.", Cited::join(names, ", ")))
}

/// First line of the basis of an array that no published row validates.
pub const ASSUMED: &str = "Assumed parts only: no published row validates this array. Do not sign on this.";

/// Line of the basis of answers whose links' rate is known.
pub const LINE_RATE: &str = "Ranges of rates end at the line rate of the links.";
