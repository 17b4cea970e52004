//! Values of a claim's expression: numbers with their noise, each with its source and with what tells it apart.

use crate::cited::{Cited, Source};
use plan::claim::{Comparator, Function, Operator, Unit};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use store::Settings;

/// Result of comparing two values.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Truth {
    Holds,
    Refuted,
    /// It cannot be told, with the reason.
    Open(Cited),
}

impl Truth {
    /// Conjunction in Kleene's logic: one that is refuted decides, then one that is open.
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

    /// Disjunction in Kleene's logic: one that holds decides.
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

/// Subject of a measured number.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct About {
    pub stage: String,
    pub case: Option<String>,
    /// The finding that it is a field of.
    pub finding: Option<String>,
    /// True if the finding is about several cases and says itself what they have in common.
    pub is_group: bool,
}

/// A number with the settings by which it is told apart, and its source.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    pub number: Number,
    pub labels: Settings,
    pub about: Option<About>,
    pub from: Source,
}

/// Numbers of one unit.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Values {
    pub unit: Option<Unit>,
    pub items: Vec<Item>,
    /// Settings that the selectors name, with what they ask for; nothing where two ask for different things. These do not tell
    /// items of two values apart, unless both ask for the same.
    pub named: BTreeMap<String, Option<String>>,
    /// The settings by which the items are groups; nothing else tells them apart.
    pub by: BTreeSet<String>,
}

impl Number {
    pub fn exact(value: f64) -> Number {
        Number { value, half: 0.0 }
    }

    pub fn relative(self) -> f64 {
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
    /// which side of it they are, so is the comparison, with this reason.
    pub fn compare(
        self,
        comparator: Comparator,
        other: Number,
        tolerance: f64,
        is_equal: &dyn Fn() -> Cited,
    ) -> Truth {
        let margin = tolerance * other.value.abs();
        // A value beside itself has no noise of its own.
        let noise = if self == other { 0.0 } else { libm::hypot(self.half, other.half) };
        let above = self.value - other.value;
        if above.is_nan() {
            return Truth::Open("a value does not exist".into());
        }
        let of = |holds: bool, refuted: bool| match (holds, refuted) {
            (true, _) => Truth::Holds,
            (false, true) => Truth::Refuted,
            (false, false) => Truth::Open(is_equal()),
        };
        match comparator {
            Comparator::Greater => of(above - noise > margin, above + noise < -margin),
            Comparator::Less => of(above + noise < -margin, above - noise > margin),
            Comparator::AtLeast => of(above - noise >= -margin, above + noise < -margin),
            Comparator::AtMost => of(above + noise <= margin, above - noise > margin),
            Comparator::Near | Comparator::Equal | Comparator::Any => {
                of(above.abs() + noise <= margin, above.abs() - noise > margin)
            }
            Comparator::Unequal => of(above.abs() - noise > margin, above.abs() + noise <= margin),
        }
    }

    /// Tests whether it lies within bounds, which are the tolerance.
    pub fn within(self, low: Number, high: Number) -> Truth {
        if self.value - self.half >= low.value && self.value + self.half <= high.value {
            Truth::Holds
        } else if self.value + self.half < low.value || self.value - self.half > high.value {
            Truth::Refuted
        } else if self.value.is_nan() {
            Truth::Open("a value does not exist".into())
        } else {
            Truth::Open("noise leaves open on which side of a bound it is".into())
        }
    }
}

impl Values {
    pub fn one(number: Number, unit: Option<Unit>, from: Source) -> Values {
        let item = Item { number, labels: Settings::default(), about: None, from };
        Values { unit, items: vec![item], ..Values::default() }
    }

    /// Adds the settings that another value names: `None` where they ask for different things of a setting.
    pub fn also_names(&mut self, other: &BTreeMap<String, Option<String>>) {
        for (name, wanted) in other {
            let is_same = self.named.get(name).is_some_and(|own| own == wanted);
            self.named.insert(name.clone(), if is_same { wanted.clone() } else { None });
        }
        for (name, wanted) in &mut self.named {
            if !other.contains_key(name) {
                *wanted = None;
            }
        }
    }

    /// Returns true if it is one value without anything that would tell it apart.
    fn is_alone(&self) -> bool {
        self.items.len() == 1 && self.by.is_empty()
    }

    /// Items of two values that belong together: a lone one belongs to all of the other, numbers of the same findings to each
    /// other, groups to what has their settings, and else those that agree in every setting of which the selectors do not ask
    /// different things.
    pub fn pairs<'a>(&'a self, other: &'a Values) -> Result<Vec<(&'a Item, &'a Item)>, Cited> {
        if other.is_alone() {
            return Ok(self.items.iter().map(|item| (item, &other.items[0])).collect());
        }
        if self.is_alone() {
            return Ok(other.items.iter().map(|item| (&self.items[0], item)).collect());
        }
        fn id(item: &Item) -> Option<&str> {
            item.about.as_ref()?.finding.as_deref()
        }
        let is_grouped = !self.by.is_empty() || !other.by.is_empty();
        let others: BTreeSet<&str> = other.items.iter().filter_map(id).collect();
        if !is_grouped && self.items.iter().any(|item| id(item).is_some_and(|id| others.contains(id))) {
            // Numbers of the same findings.
            let of = |item: &'a Item| {
                Some((item, other.items.iter().find(|one| id(one).is_some() && id(one) == id(item))?))
            };
            return Ok(self.items.iter().filter_map(of).collect());
        }
        let key = |item: &Item| self.key(other, item);
        let mut keyed: BTreeMap<String, Vec<&Item>> = BTreeMap::new();
        for item in &other.items {
            keyed.entry(key(item)).or_default().push(item);
        }
        let mut pairs = Vec::new();
        for item in &self.items {
            let partners = keyed.get(&key(item)).into_iter().flatten();
            pairs.extend(partners.map(|partner| (item, *partner)));
        }
        if pairs.is_empty() {
            return Err("no two cases agree in all but what is compared".into());
        }
        Ok(pairs)
    }

    /// The settings of an item, of this value or another, in which both have to agree.
    fn key(&self, other: &Values, item: &Item) -> String {
        if self.by.is_empty() && other.by.is_empty() {
            let differs = |name: &&String| match (self.named.get(*name), other.named.get(*name)) {
                (Some(Some(own)), Some(Some(wanted))) => own != wanted,
                _ => true,
            };
            let names = self.named.keys().chain(other.named.keys()).filter(differs).map(String::as_str);
            let words = plan::claim::finding_words().iter().copied();
            let without: Vec<&str> = names.chain(words).collect();
            return crate::groups::key(&item.labels, &without);
        }
        let is_common = |name: &&String| {
            (self.by.is_empty() || self.by.contains(*name))
                && (other.by.is_empty() || other.by.contains(*name))
        };
        let names: BTreeSet<&String> = self.by.iter().chain(&other.by).filter(is_common).collect();
        names.into_iter().map(|name| format!("{name}={},", item.label(name))).collect()
    }

    pub fn with(&self, operator: Operator, other: &Values, unit: Option<Unit>) -> Result<Values, Cited> {
        let function = match operator {
            Operator::Add => "sum",
            Operator::Subtract => "difference",
            Operator::Multiply => "product",
            Operator::Divide => "ratio",
        };
        // One value for all of the other is told apart by the other, and names nothing in its place.
        let is_of_other = self.is_alone() && !other.is_alone();
        let is_own = other.is_alone() && !is_of_other;
        let items = self
            .pairs(other)?
            .into_iter()
            .map(|(a, b)| {
                let told_apart = if is_of_other || a.labels.is_empty() && a.about.is_none() { b } else { a };
                Item {
                    number: a.number.with(operator, b.number),
                    labels: told_apart.labels.clone(),
                    about: told_apart.about.clone(),
                    from: Source::call(function, [&a.from, &b.from]),
                }
            })
            .collect();
        let kept = if is_of_other { other } else { self };
        let mut joined = Values { unit, items, named: kept.named.clone(), by: kept.by.clone() };
        if !is_of_other && !is_own {
            joined.also_names(&other.named);
        }
        Ok(joined)
    }

    /// Each number ÷ the one before it along a setting, of items that agree in all others.
    pub fn steps(&self, setting: &str) -> Result<Values, Cited> {
        let at = |item: &Item| item.labels.get(setting).and_then(Value::as_f64);
        let mut sorted: Vec<(f64, &Item)> =
            self.items.iter().filter_map(|item| Some((at(item)?, item))).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let key = |item: &Item| crate::groups::key(&item.labels, &[setting]);
        let mut items = Vec::new();
        for (place, (_, item)) in sorted.iter().enumerate() {
            let own = key(item);
            if let Some((_, before)) = sorted[..place].iter().rev().find(|(_, other)| key(other) == own) {
                items.push(Item {
                    number: item.number.with(Operator::Divide, before.number),
                    from: Source::call("ratio", [&item.from, &before.from]),
                    ..(*item).clone()
                });
            }
        }
        if items.is_empty() {
            return Err(format!("the run has no two values of `{setting}` to step between").into());
        }
        Ok(Values { unit: Some(Unit::NONE), items, named: self.named.clone(), by: self.by.clone() })
    }

    /// The unit of what a function gives.
    pub fn unit_after(&self, function: Function) -> Option<Unit> {
        let is_number = matches!(function, Function::Count | Function::Spread | Function::Discordant);
        if is_number { Some(Unit::NONE) } else { self.unit }
    }
}

impl Item {
    /// A setting, or the stage, as text; nothing where it has none.
    pub fn label(&self, name: &str) -> String {
        match (name, &self.about) {
            ("stage", Some(about)) => about.stage.clone(),
            _ => self.labels.get(name).map(crate::groups::word).unwrap_or_default(),
        }
    }
}
