//! Aggregation functions of claims: many values to one, or one per group.

use super::value::{Item, Number, Values};
use crate::cited::{Cited, Source};
use plan::claim::{Function, Operator};
use serde_json::Map;
use std::collections::BTreeMap;

impl Values {
    /// One number of all, or of each group of items that agree in some settings.
    pub fn reduce(&self, function: Function, by: &[String]) -> Result<Values, Cited> {
        if function == Function::Absolute {
            let items = self.items.iter().map(|item| Item {
                number: Number { value: item.number.value.abs(), ..item.number },
                from: Source::call("abs", [&item.from]),
                ..item.clone()
            });
            return Ok(Values { items: items.collect(), ..self.clone() });
        }
        let unit = self.unit_after(function);
        if by.is_empty() {
            let (number, from) = reduced(function, &self.items)?;
            return Ok(Values::one(number, unit, from));
        }
        let mut items = Vec::new();
        for group in groups(&self.items, by) {
            let members: Vec<Item> = group.iter().map(|item| (*item).clone()).collect();
            let (number, from) = reduced(function, &members)?;
            items.push(of_group(group[0], by, number, from));
        }
        Ok(Values { unit, items, by: by.iter().cloned().collect(), ..Values::default() })
    }

    /// Of items that belong together those of `take` where this is largest or smallest, over all or in each group.
    pub fn at_extreme(&self, function: Function, take: &Values, by: &[String]) -> Result<Values, Cited> {
        let pairs = self.pairs(take)?;
        let mut items = Vec::new();
        for group in groups_of(&pairs, by, |pair| pair.0) {
            let mut best = group[0];
            for pair in group {
                // Of equals the first, in the order of the plan.
                let is_better = match function {
                    Function::AtMax => pair.0.number.value > best.0.number.value,
                    _ => pair.0.number.value < best.0.number.value,
                };
                if is_better {
                    best = pair;
                }
            }
            items.push(of_group(best.0, by, best.1.number, best.1.from.clone()));
        }
        Ok(Values { unit: take.unit, items, by: by.iter().cloned().collect(), ..Values::default() })
    }

    /// Counts pairs of items that stand one way round here and the other there, both by more than a tolerance: Kendall's discordant
    /// pairs, over all or in each group.
    pub fn discordant(&self, other: &Values, tolerance: f64, by: &[String]) -> Result<Values, Cited> {
        let pairs = self.pairs(other)?;
        let mut items = Vec::new();
        for group in groups_of(&pairs, by, |pair| pair.0) {
            let mut count = 0.0;
            for (place, (a, b)) in group.iter().enumerate() {
                for (first_a, first_b) in &group[..place] {
                    let here = a.number.value / first_a.number.value - 1.0;
                    let there = b.number.value / first_b.number.value - 1.0;
                    let changes = here > tolerance && there < -tolerance;
                    let changes_back = here < -tolerance && there > tolerance;
                    count += f64::from(u8::from(changes || changes_back));
                }
            }
            let literal = Source::other("literal", &tolerance.to_string());
            let members = group.iter().flat_map(|(a, b)| [&a.from, &b.from]);
            let from = Source::call("discordant", std::iter::once(&literal).chain(members));
            items.push(of_group(group[0].0, by, Number::exact(count), from));
        }
        let unit = self.unit_after(Function::Discordant);
        Ok(Values { unit, items, by: by.iter().cloned().collect(), ..Values::default() })
    }
}

/// The number of a group, told apart by the settings of the group alone.
fn of_group(member: &Item, by: &[String], number: Number, from: Source) -> Item {
    let labels = member.labels.iter().filter(|(name, _)| by.contains(name));
    let labels = labels.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>();
    let about = if by.is_empty() { None } else { member.about.clone() };
    Item { number, labels: labels.into(), about, from }
}

fn groups<'a>(items: &'a [Item], by: &[String]) -> Vec<Vec<&'a Item>> {
    let all: Vec<&Item> = items.iter().collect();
    groups_of(&all, by, |item| item)
}

/// Groups items that agree in some settings, in the order of the plan.
fn groups_of<T: Copy>(all: &[T], by: &[String], item: impl Fn(&T) -> &Item) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    let mut places: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    for one in all {
        let key: Vec<String> = by.iter().map(|name| item(one).label(name)).collect();
        let place = *places.entry(key).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[place].push(*one);
    }
    groups
}

/// One number of several, with its source.
fn reduced(function: Function, items: &[Item]) -> Result<(Number, Source), Cited> {
    let numbers: Vec<Number> = items.iter().map(|item| item.number).collect();
    let of = |name: &str| Source::call(name, items.iter().map(|item| &item.from));
    let count = numbers.len() as f64;
    let sum = || Number {
        value: numbers.iter().fold(0.0, |sum, one| sum + one.value),
        half: numbers.iter().map(|one| one.half * one.half).sum::<f64>().sqrt(),
    };
    match function {
        Function::Count => return Ok((Number::exact(count), of("count"))),
        Function::Sum => return Ok((sum(), of("sum"))),
        _ => {}
    }
    let by_value = |a: &&Number, b: &&Number| a.value.total_cmp(&b.value);
    let (Some(least), Some(most)) = (numbers.iter().min_by(by_value), numbers.iter().max_by(by_value)) else {
        return Err("there is nothing to take the extreme or the mean of".into());
    };
    Ok(match function {
        Function::Min => (*least, of("min")),
        Function::Max => (*most, of("max")),
        Function::First => (numbers[0], items[0].from.clone()),
        Function::Last => (numbers[numbers.len() - 1], items[items.len() - 1].from.clone()),
        Function::Spread => {
            (most.with(Operator::Divide, *least), Source::call("ratio", [&of("max"), &of("min")]))
        }
        Function::Mean => (Number { value: sum().value / count, half: sum().half / count }, of("mean")),
        Function::Median => (
            Number {
                value: crate::statistics::median(numbers.iter().map(|one| one.value)),
                half: crate::statistics::median(numbers.iter().map(|one| one.half)),
            },
            of("median"),
        ),
        Function::GeometricMean => {
            let logs: Vec<f64> = numbers.iter().map(|one| libm::log(one.value)).collect();
            let value = libm::exp(crate::statistics::mean(&logs));
            let noise = numbers.iter().map(|one| one.relative().powi(2)).sum::<f64>().sqrt() / count;
            (Number { value, half: value * noise }, of("geomean"))
        }
        _ => return Err("that is a function of comparisons".into()),
    })
}
