//! Values with their sources, and how they are printed.

use super::{Cited, Source, Unit};
use crate::finding::Finding;
use crate::text;
use serde_json::Value;

/// Decimals that a share gets at most, to be told from all.
const MOST_DECIMALS: usize = 3;

/// Value with its unit and its source.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    value: f64,
    unit: Unit,
    source: Source,
}

impl Finding {
    /// A field as a quantity, by its path in `findings --json` (`before.iops`, `uses.0.mean_percent`); percentages become
    /// shares of one. `None` where the finding has no such number.
    pub fn quantity(&self, field: &str) -> Option<Quantity> {
        let fields = self.to_json().ok()?;
        let (first, rest) = field.split_once('.').unwrap_or((field, ""));
        let mut value = fields.get(first)?;
        for step in rest.split('.').filter(|step| !step.is_empty()) {
            value = match value {
                Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
                other => other.get(step)?,
            };
        }
        let quantity = Quantity::new(value.as_f64()?, unit_of(field), Source::finding(&self.id, field));
        Some(if field.ends_with("_percent") { quantity.of_percent() } else { quantity })
    }

    /// As [`Finding::quantity`], where the field is one that every finding of its kind has; not a number where it is missing,
    /// which no check of a report lets pass.
    pub fn number(&self, field: &str) -> Quantity {
        self.quantity(field)
            .unwrap_or_else(|| Quantity::new(f64::NAN, unit_of(field), Source::finding(&self.id, field)))
    }
}

/// The unit that the end of a field's name says.
fn unit_of(field: &str) -> Unit {
    let name = field.rsplit('.').find(|part| part.parse::<usize>().is_err()).unwrap_or(field);
    match name.trim_end_matches("_confidence_95") {
        name if name.ends_with("bytes_per_s") => Unit::BytesPerS,
        name if name.ends_with("iops") || name == "allowed" || name == "delivered" => Unit::Iops,
        name if name.ends_with("_ns") => Unit::Ns,
        name if name.ends_with("_s") => Unit::S,
        name if name.contains("bytes") || name.ends_with("_bs") || name.contains("_bs_") => Unit::Bytes,
        name if name.ends_with("percent") || name.contains("ratio") || name == "rule_of_thumb" => Unit::Ratio,
        _ => Unit::Count,
    }
}

impl Quantity {
    /// The unit that a finding's field has by its name.
    pub(crate) fn unit_of(field: &str) -> Unit {
        unit_of(field)
    }

    /// A value from a source.
    pub fn new(value: f64, unit: Unit, source: Source) -> Quantity {
        Quantity { value, unit, source }
    }

    /// A share of one that a definition fixes.
    pub fn constant(name: &str, value: f64) -> Quantity {
        Quantity::new(value, Unit::Ratio, Source::constant(name))
    }

    /// Counts what the sources name, each once.
    pub fn count_of<'a>(sources: impl IntoIterator<Item = &'a Source>) -> Quantity {
        let sources: Vec<&Source> = sources.into_iter().collect();
        Quantity::new(sources.len() as f64, Unit::Count, Source::call("count", sources))
    }

    /// Number of cases in a state, or of a kind, that the name says.
    pub fn cases(count: usize, which: &str) -> Quantity {
        Quantity::new(count as f64, Unit::Count, Source::other("cases", which))
    }

    /// The value.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Its source.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The same value in another unit of the same size.
    pub fn with_unit(self, unit: Unit) -> Quantity {
        Quantity { unit, ..self }
    }

    /// A percentage as a share of one.
    pub fn of_percent(self) -> Quantity {
        let source = Source::call("percent", [&self.source]);
        Quantity { value: self.value / 100.0, unit: Unit::Ratio, source }
    }

    /// This ÷ another.
    pub fn over(self, other: &Quantity) -> Quantity {
        let source = Source::call("ratio", [&self.source, &other.source]);
        Quantity { value: self.value / other.value, unit: Unit::Ratio, source }
    }

    /// This − another.
    pub fn minus(self, other: &Quantity) -> Quantity {
        let source = Source::call("difference", [&self.source, &other.source]);
        Quantity { value: self.value - other.value, unit: self.unit, source }
    }

    /// This × another, in this one's unit.
    pub fn times(self, other: &Quantity) -> Quantity {
        let source = Source::call("product", [&self.source, &other.source]);
        Quantity { value: self.value * other.value, unit: self.unit, source }
    }

    /// Without its sign.
    pub fn abs(self) -> Quantity {
        let source = Source::call("abs", [&self.source]);
        Quantity { value: self.value.abs(), source, ..self }
    }

    fn fold(
        function: &str,
        all: &[Quantity],
        value: impl Fn(&mut dyn Iterator<Item = f64>) -> f64,
    ) -> Option<Quantity> {
        let unit = all.first()?.unit;
        let value = value(&mut all.iter().map(|one| one.value));
        let source = Source::call(function, all.iter().map(|one| &one.source));
        Some(Quantity { value, unit, source })
    }

    /// The largest of several; `None` of none.
    pub fn largest(all: &[Quantity]) -> Option<Quantity> {
        Quantity::fold("max", all, |values| values.fold(f64::NEG_INFINITY, f64::max))
    }

    /// The smallest of several; `None` of none.
    pub fn smallest(all: &[Quantity]) -> Option<Quantity> {
        Quantity::fold("min", all, |values| values.fold(f64::INFINITY, f64::min))
    }

    /// The sum of several; `None` of none.
    pub fn sum(all: &[Quantity]) -> Option<Quantity> {
        Quantity::fold("sum", all, |values| values.sum())
    }

    /// The arithmetic mean of several; `None` of none.
    pub fn mean(all: &[Quantity]) -> Option<Quantity> {
        let count = all.len() as f64;
        Quantity::fold("mean", all, |values| values.sum::<f64>() / count)
    }

    /// The median of several; `None` of none.
    pub fn median(all: &[Quantity]) -> Option<Quantity> {
        Quantity::fold("median", all, |values| crate::statistics::median(values))
    }

    /// The first and third quartile of several; `None` of fewer than it takes.
    pub fn middle_half(all: &[Quantity]) -> Option<[Quantity; 2]> {
        let [low, high] = crate::statistics::middle_half(all.iter().map(|one| one.value))?;
        Some([Quantity::fold("quartile1", all, |_| low)?, Quantity::fold("quartile3", all, |_| high)?])
    }

    /// The value in words of the caller's choice, which a check reads as a number with its unit.
    pub fn printed(self, text: impl Into<String>) -> Cited {
        Cited::number(text, Some(self.value), self.unit, self.source)
    }

    /// `507,724 IOPS`.
    pub fn iops(self) -> Cited {
        let text = text::iops(self.value);
        self.printed(text)
    }

    /// `2.08 GB/s`.
    pub fn bandwidth(self) -> Cited {
        let text = text::bandwidth(self.value);
        self.printed(text)
    }

    /// `106 µs`, `1.21 ms`.
    pub fn latency(self) -> Cited {
        let text = text::latency(self.value);
        self.printed(text)
    }

    /// `4K`, `512 B`.
    pub fn block(self) -> Cited {
        let text = text::block(self.value.round() as u64);
        self.printed(text)
    }

    /// `45 s`, `3.4 min`, `2.5 h`.
    pub fn duration(self) -> Cited {
        let text = text::duration(self.value);
        self.printed(text)
    }

    /// `12.5 GB`.
    pub fn gigabytes(self) -> Cited {
        let text = text::gigabytes(self.value);
        self.printed(text)
    }

    /// A share of one in whole percent: `43 %`.
    pub fn percent(self) -> Cited {
        let text = format!("{:.0} %", 100.0 * self.value);
        self.printed(text)
    }

    /// A share of what there was in percent, with as many decimals as it takes to tell it from all: `43 %`, `99.5 %`, `100 %`.
    pub fn percent_of_all(self) -> Cited {
        let looks_whole = |decimals: usize| format!("{:.decimals$}", 100.0 * self.value).starts_with("100");
        let is_told = |decimals: &usize| self.value >= 1.0 || !looks_whole(*decimals);
        let decimals = (0..=MOST_DECIMALS).find(is_told).unwrap_or(0);
        self.percent_with(decimals)
    }

    /// A share of one in percent with so many decimals.
    pub fn percent_with(self, decimals: usize) -> Cited {
        let text = format!("{:.decimals$} %", 100.0 * self.value);
        self.printed(text)
    }

    /// `1 case`, `1,010 cases`.
    pub fn count(self, singular: &str) -> Cited {
        let text = text::count(self.value.round() as usize, singular);
        self.printed(text)
    }

    /// A count in the mean, with two digits where it is small: `0.81 I/Os`, `3.2 I/Os`, `16 I/Os`.
    pub fn mean_count(self, singular: &str) -> Cited {
        let (scale, decimals) = match self.value {
            value if value < 0.995 => (100.0, 2),
            value if value < 9.95 => (10.0, 1),
            _ => return self.count(singular),
        };
        let is_whole = (scale * self.value).round() % scale == 0.0;
        if is_whole {
            return self.count(singular);
        }
        let text = format!("{:.decimals$} {singular}s", self.value);
        self.printed(text)
    }

    /// A bare number with so many decimals.
    pub fn plain(self, decimals: usize) -> Cited {
        let text = match decimals {
            0 if self.value >= 0.0 => units::with_thousands(self.value.round() as u64),
            _ => format!("{:.decimals$}", self.value),
        };
        self.printed(text)
    }
}

impl From<Quantity> for f64 {
    fn from(quantity: Quantity) -> f64 {
        quantity.value
    }
}
