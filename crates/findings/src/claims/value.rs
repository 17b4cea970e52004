//! Values of a claim's expression: numbers with their noise, each with what tells it apart.

use plan::claim::{Comparator, Function, Operator, Unit};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The label with the identifier of the finding that a number is of.
pub(super) const FINDING: &str = "finding";

/// What a comparison of two values gives.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Truth {
    Holds,
    Refuted,
    /// It cannot be told, with the reason.
    Open(String),
}

impl Truth {
    /// Whether all hold: one that is refuted decides, then one that is open (Kleene's logic).
    pub fn all(truths: impl IntoIterator<Item = Truth>) -> Truth {
        let mut open = None;
        for truth in truths {
            match truth {
                Truth::Refuted => return Truth::Refuted,
                Truth::Open(_) => open = open.or(Some(truth)),
                Truth::Holds => {}
            }
        }
        open.unwrap_or(Truth::Holds)
    }

    /// Whether one holds at least.
    pub fn any(truths: impl IntoIterator<Item = Truth>) -> Truth {
        Truth::all(truths.into_iter().map(Truth::not)).not()
    }

    pub fn not(self) -> Truth {
        match self {
            Truth::Holds => Truth::Refuted,
            Truth::Refuted => Truth::Holds,
            Truth::Open(reason) => Truth::Open(reason),
        }
    }
}

/// A number with half its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Number {
    pub value: f64,
    pub half: f64,
}

/// A number with the settings by which it is told apart.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    pub number: Number,
    pub labels: Map<String, Value>,
}

/// Numbers of one unit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Values {
    pub unit: Option<Unit>,
    pub items: Vec<Item>,
    /// Settings that the selectors name: they do not tell items of two values apart.
    pub named: BTreeSet<String>,
}

impl Number {
    pub fn exact(value: f64) -> Number {
        Number { value, half: 0.0 }
    }

    fn relative(self) -> f64 {
        if self.value == 0.0 { 0.0 } else { self.half / self.value.abs() }
    }

    pub fn with(self, operator: Operator, other: Number) -> Number {
        let value = match operator {
            Operator::Add => self.value + other.value,
            Operator::Subtract => self.value - other.value,
            Operator::Multiply => self.value * other.value,
            Operator::Divide => self.value / other.value,
        };
        let half = match operator {
            Operator::Add | Operator::Subtract => libm::hypot(self.half, other.half),
            Operator::Multiply | Operator::Divide => {
                value.abs() * libm::hypot(self.relative(), other.relative())
            }
        };
        Number { value, half: if half.is_finite() { half } else { 0.0 } }
    }

    /// Two values are equal where they differ by no more than the tolerance, a share of the second. Where noise leaves open on
    /// which side of it they are, so is the comparison.
    pub fn compare(self, comparator: Comparator, other: Number, tolerance: f64) -> Truth {
        let margin = tolerance * other.value.abs();
        // A value beside itself has no noise of its own.
        let noise = if self == other { 0.0 } else { libm::hypot(self.half, other.half) };
        let above = self.value - other.value;
        if above.is_nan() {
            return Truth::Open("a value does not exist".into());
        }
        let open = || {
            Truth::Open(format!(
                "they are equal within the tolerance of {} % and noise of ± {:.2} %",
                100.0 * tolerance,
                if other.value == 0.0 { 0.0 } else { 100.0 * noise / other.value.abs() }
            ))
        };
        let of = |holds: bool, refuted: bool| match (holds, refuted) {
            (true, _) => Truth::Holds,
            (false, true) => Truth::Refuted,
            (false, false) => open(),
        };
        match comparator {
            Comparator::Greater => of(above - noise > margin, above + noise < -margin),
            Comparator::Less => of(above + noise < -margin, above - noise > margin),
            Comparator::AtLeast => of(above - noise >= -margin, above + noise < -margin),
            Comparator::AtMost => of(above + noise <= margin, above - noise > margin),
            Comparator::Near | Comparator::Equal => {
                of(above.abs() + noise <= margin, above.abs() - noise > margin)
            }
            Comparator::Unequal => of(above.abs() - noise > margin, above.abs() + noise <= margin),
        }
    }

    /// Whether it lies within bounds, which are the tolerance.
    pub fn within(self, low: Number, high: Number) -> Truth {
        if self.value - self.half >= low.value && self.value + self.half <= high.value {
            Truth::Holds
        } else if self.value + self.half < low.value || self.value - self.half > high.value {
            Truth::Refuted
        } else if self.value.is_nan() {
            Truth::Open("a value does not exist".into())
        } else {
            Truth::Open(format!(
                "noise of ± {:.2} % leaves open on which side of a bound it is",
                100.0 * self.relative()
            ))
        }
    }
}

impl Values {
    pub fn one(number: Number, unit: Option<Unit>) -> Values {
        let item = Item { number, labels: Map::new() };
        Values { unit, items: vec![item], named: BTreeSet::new() }
    }

    /// Items of two values that belong together: a lone one belongs to all of the other, else those do that agree in every
    /// setting which neither selector names.
    pub fn pairs<'a>(&'a self, other: &'a Values) -> Result<Vec<(&'a Item, &'a Item)>, String> {
        if let [alone] = other.items.as_slice() {
            return Ok(self.items.iter().map(|item| (item, alone)).collect());
        }
        if let [alone] = self.items.as_slice() {
            return Ok(other.items.iter().map(|item| (alone, item)).collect());
        }
        let id = |item: &Item| item.labels.get(FINDING).cloned();
        if self
            .items
            .iter()
            .any(|item| other.items.iter().any(|one| id(one).is_some() && id(one) == id(item)))
        {
            // Numbers of the same findings.
            let of = |item: &'a Item| Some((item, other.items.iter().find(|one| id(one) == id(item))?));
            return Ok(self.items.iter().filter_map(of).collect());
        }
        let words = plan::claim::finding_words().iter().copied().chain([FINDING]);
        let named: Vec<&str> = self.named.union(&other.named).map(String::as_str).chain(words).collect();
        let key = |item: &Item| crate::groups::key(&item.labels, &named);
        let keyed: Vec<(String, &Item)> = other.items.iter().map(|item| (key(item), item)).collect();
        let of = |item: &'a Item| {
            let own = key(item);
            keyed.iter().find(|(other, _)| *other == own).map(|(_, other)| (item, *other))
        };
        let pairs: Vec<(&Item, &Item)> = self.items.iter().filter_map(of).collect();
        if pairs.is_empty() {
            return Err("no two cases agree in all but what is compared".into());
        }
        Ok(pairs)
    }

    pub fn with(&self, operator: Operator, other: &Values, unit: Option<Unit>) -> Result<Values, String> {
        let items = self
            .pairs(other)?
            .into_iter()
            .map(|(a, b)| Item {
                number: a.number.with(operator, b.number),
                labels: if a.labels.is_empty() { b.labels.clone() } else { a.labels.clone() },
            })
            .collect();
        Ok(Values { unit, items, named: self.named.union(&other.named).cloned().collect() })
    }

    /// One number of all.
    pub fn reduce(&self, function: Function) -> Result<Values, String> {
        let numbers: Vec<Number> = self.items.iter().map(|item| item.number).collect();
        let count = numbers.len() as f64;
        let unit =
            if matches!(function, Function::Count | Function::Spread) { Some(Unit::NONE) } else { self.unit };
        let one = |number: Number| Ok(Values::one(number, unit));
        let sum = || Number {
            value: numbers.iter().map(|one| one.value).sum(),
            half: numbers.iter().map(|one| one.half * one.half).sum::<f64>().sqrt(),
        };
        match function {
            Function::Count => return one(Number::exact(count)),
            Function::Sum => return one(sum()),
            Function::Absolute => {
                let items = self.items.iter().map(|item| {
                    let number = Number { value: item.number.value.abs(), ..item.number };
                    Item { number, labels: item.labels.clone() }
                });
                return Ok(Values { unit, items: items.collect(), named: self.named.clone() });
            }
            _ => {}
        }
        let by_value = |a: &&Number, b: &&Number| a.value.total_cmp(&b.value);
        let (Some(least), Some(most)) = (numbers.iter().min_by(by_value), numbers.iter().max_by(by_value))
        else {
            return Err("there is nothing to take the extreme or the mean of".into());
        };
        match function {
            Function::Min => one(*least),
            Function::Max => one(*most),
            Function::First => one(numbers[0]),
            Function::Last => one(numbers[numbers.len() - 1]),
            Function::Spread => one(most.with(Operator::Divide, *least)),
            Function::Mean => one(Number { value: sum().value / count, half: sum().half / count }),
            Function::Median => one(Number {
                value: crate::statistics::median(numbers.iter().map(|one| one.value)),
                half: crate::statistics::median(numbers.iter().map(|one| one.half)),
            }),
            Function::GeometricMean => {
                let logs: Vec<f64> = numbers.iter().map(|one| libm::log(one.value)).collect();
                let value = libm::exp(crate::statistics::mean(&logs));
                let noise = numbers.iter().map(|one| one.relative().powi(2)).sum::<f64>().sqrt() / count;
                one(Number { value, half: value * noise })
            }
            _ => Err("that is a function of comparisons".into()),
        }
    }

    /// Each number ÷ the one before it along a setting, of items that agree in all others.
    pub fn steps(&self, setting: &str) -> Result<Values, String> {
        let at = |item: &Item| item.labels.get(setting).and_then(Value::as_f64);
        let mut sorted: Vec<(f64, &Item)> =
            self.items.iter().filter_map(|item| Some((at(item)?, item))).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let key = |item: &Item| crate::groups::key(&item.labels, &[setting]);
        let mut items = Vec::new();
        for (place, (_, item)) in sorted.iter().enumerate() {
            let own = key(item);
            if let Some((_, before)) = sorted[..place].iter().rev().find(|(_, other)| key(other) == own) {
                let number = item.number.with(Operator::Divide, before.number);
                items.push(Item { number, labels: item.labels.clone() });
            }
        }
        if items.is_empty() {
            return Err(format!("the run has no two values of `{setting}` to step between"));
        }
        Ok(Values { unit: Some(Unit::NONE), items, named: self.named.clone() })
    }

    /// In words: the numbers, each with the settings in which they differ.
    pub fn words(&self) -> String {
        const SHOWN: usize = 8;
        let word = |number: &Number| number_words(number.value, self.unit);
        match self.items.as_slice() {
            [] => "none".into(),
            [one] => word(&one.number),
            many if many.len() > SHOWN => {
                let by_value = |a: &&Item, b: &&Item| a.number.value.total_cmp(&b.number.value);
                let (least, most) = (many.iter().min_by(by_value), many.iter().max_by(by_value));
                match (least, most) {
                    (Some(least), Some(most)) => {
                        format!("{} to {} over {}", word(&least.number), word(&most.number), many.len())
                    }
                    _ => "none".into(),
                }
            }
            many => {
                let differs =
                    |name: &str| many.iter().any(|item| item.labels.get(name) != many[0].labels.get(name));
                let names: Vec<&String> =
                    many[0].labels.keys().filter(|name| *name != FINDING && differs(name)).collect();
                let one = |item: &Item| {
                    let settings: Vec<String> = names
                        .iter()
                        .filter_map(|name| {
                            Some(format!("{name}={}", crate::groups::word(item.labels.get(*name)?)))
                        })
                        .collect();
                    if settings.is_empty() {
                        word(&item.number)
                    } else {
                        format!("{} {}", settings.join(" "), word(&item.number))
                    }
                };
                many.iter().map(one).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// A number with its unit, as people read it.
fn number_words(value: f64, unit: Option<Unit>) -> String {
    match unit {
        _ if value.is_infinite() => "without end".into(),
        Some(Unit::TIME) if value.abs() < 0.1 => crate::text::latency(1e9 * value),
        Some(Unit::TIME) => crate::text::duration(value),
        Some(Unit::RATE) => crate::text::iops(value),
        Some(Unit::BANDWIDTH) => crate::text::bandwidth(value),
        Some(Unit::BYTES) if value >= 0.0 => units::human_bytes(value as u64),
        _ if value.abs() >= 1_000.0 => units::human_rate(value),
        _ if value == value.trunc() => format!("{value}"),
        _ => format!("{value:.3}"),
    }
}
