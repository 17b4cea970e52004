//! Comparison of a finding's fields with recomputed values.

use serde_json::{Map, Value};

/// Rounding of sums in another order.
pub(super) const EXACT: f64 = 1e-6;

pub(super) type Fields = Map<String, Value>;

pub(super) fn number(fields: &Fields, path: &str) -> Option<f64> {
    let mut steps = path.split('.');
    let mut value = fields.get(steps.next()?)?;
    for step in steps {
        value = match step.parse::<usize>() {
            Ok(place) => value.get(place)?,
            Err(_) => value.get(step)?,
        };
    }
    value.as_f64()
}

pub(super) fn text<'f>(fields: &'f Fields, name: &str) -> &'f str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Collects what does not agree.
pub(super) struct Differences<'f> {
    pub fields: &'f Fields,
    pub found: Vec<String>,
}

impl Differences<'_> {
    pub fn expect(&mut self, path: &str, value: Option<f64>, tolerance: f64) {
        let reported = number(self.fields, path);
        match (reported, value) {
            (None, None) => {}
            (Some(reported), Some(value)) if close(reported, value, tolerance) => {}
            // A field that is absent, or null, says nothing.
            (None, Some(_)) if path.contains("variation") || path.contains('.') => {}
            (reported, value) => self.found.push(format!(
                "{} {path} is {}, recomputed {}",
                text(self.fields, "id"),
                reported.map_or("absent".to_owned(), |reported| reported.to_string()),
                value.map_or("absent".to_owned(), |value| value.to_string())
            )),
        }
    }

    pub fn require(&mut self, is_so: bool, what: &str) {
        if !is_so {
            self.found.push(format!("{}: {what}", text(self.fields, "id")));
        }
    }
}

pub(super) fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs()) + 1e-9
}
