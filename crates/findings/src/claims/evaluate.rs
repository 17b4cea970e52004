//! Judging a claim that is written as an expression.

use super::select::{numbers_at, of_interval, passes};
use super::value::{FINDING, Item, Number, Truth, Values};
use super::view::View;
use crate::finding::Finding;
use crate::observation::{Interval, ObservedCase};
use crate::statistics::{median, noise_sigma, t_quantile};
use plan::claim::{Claim, Expr, Filter, Function, Selector, Source, Unit};
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// The verdict of a claim with its reason.
pub(super) fn judge(claim: &Claim, view: &View<'_>) -> (Truth, String) {
    let mut evaluation = Evaluation { claim, view, values: Vec::new(), notes: RefCell::default() };
    for (_, expr) in &claim.values {
        let value = evaluation.number(expr);
        evaluation.values.push(value);
    }
    if let Some(given) = &claim.given {
        let truth = evaluation.truth(given);
        if truth != Truth::Holds {
            let reason = match truth {
                Truth::Open(why) => {
                    let words = evaluation.reason();
                    if words.is_empty() { why } else { format!("{words}: {why}") }
                }
                _ => {
                    let words = [evaluation.reason(), evaluation.notes.borrow().join("; ")];
                    let words = words.into_iter().find(|words| !words.is_empty());
                    format!("what the check needs is not given: {}", words.unwrap_or_default())
                }
            };
            return (Truth::Open(reason.clone()), reason);
        }
        evaluation.notes.borrow_mut().clear();
    }
    let truth = evaluation.truth(&claim.check);
    let reason = evaluation.reason();
    match truth {
        Truth::Open(why) if reason.is_empty() => (Truth::Open(why.clone()), why),
        Truth::Open(why) => {
            let text = format!("{reason}: {why}");
            (Truth::Open(why), text)
        }
        // A part may be decided though a value of another is missing.
        truth if reason.is_empty() => {
            let notes = evaluation.notes.borrow().join("; ");
            (truth, if notes.is_empty() { "what was measured decides it".into() } else { notes })
        }
        truth => (truth, reason),
    }
}

struct Evaluation<'a> {
    claim: &'a Claim,
    view: &'a View<'a>,
    values: Vec<Result<Values, String>>,
    /// Each comparison that was made, in words.
    notes: RefCell<Vec<String>>,
}

impl Evaluation<'_> {
    /// The reason in words: the claim's own, else its values, else what was compared; none where a value is missing.
    fn reason(&self) -> String {
        let known = |name: &str| {
            let place = self.claim.values.iter().position(|(known, _)| known == name)?;
            self.values.get(place)?.as_ref().ok()
        };
        // `{dips:dip}` counts: `1 dip`, `2 dips`.
        let word = |name: &str| match name.split_once(':') {
            Some((name, noun)) => {
                let number = known(name)?.items.first()?.number.value;
                (number >= 0.0).then(|| crate::text::count(number.round() as usize, noun))
            }
            None => known(name).map(Values::words),
        };
        if let Some(template) = &self.claim.because {
            let mut text = String::new();
            for (number, part) in template.split('{').enumerate() {
                match (number, part.split_once('}')) {
                    (0, _) => text.push_str(part),
                    (_, Some((name, rest))) => {
                        let Some(word) = word(name) else { return String::new() };
                        text.push_str(&word);
                        text.push_str(rest);
                    }
                    (_, None) => text.push_str(part),
                }
            }
            return text;
        }
        if self.claim.values.is_empty() {
            return self.notes.borrow().join("; ");
        }
        let named = self.claim.values.iter().filter_map(|(name, _)| Some(format!("{name} {}", word(name)?)));
        named.collect::<Vec<_>>().join(", ")
    }

    fn truth(&self, expr: &Expr) -> Truth {
        match expr {
            Expr::Not(inner) => self.truth(inner).not(),
            Expr::Call(Function::Any, inner) => self.truths(&inner[0]).map_or_else(Truth::Open, Truth::any),
            Expr::Call(Function::All, inner) => self.truths(&inner[0]).map_or_else(Truth::Open, Truth::all),
            _ => self.truths(expr).map_or_else(Truth::Open, Truth::all),
        }
    }

    /// Of a comparison of many values one for each.
    fn truths(&self, expr: &Expr) -> Result<Vec<Truth>, String> {
        match expr {
            Expr::Compare(comparison) => {
                let (left, right) = (self.number(&comparison.left)?, self.number(&comparison.right)?);
                let pairs = left.pairs(&right)?;
                let [a, b] = &comparison.text;
                let against = if matches!(comparison.right, Expr::Number(..)) {
                    b.clone()
                } else {
                    format!("{b} {}", right.words())
                };
                self.notes.borrow_mut().push(format!("{a} {} against {against}", left.words()));
                let tolerance = self.claim.tolerance;
                let truths = pairs.into_iter();
                Ok(truths
                    .map(|(a, b)| a.number.compare(comparison.comparator, b.number, tolerance))
                    .collect())
            }
            Expr::Within(value, low, high) => {
                let (value, low, high) = (self.number(value)?, self.number(low)?, self.number(high)?);
                let [low, high] = [&low, &high].map(|end| end.items.first().map(|item| item.number));
                let (Some(low), Some(high)) = (low, high) else {
                    return Err("a bound does not exist".into());
                };
                self.notes.borrow_mut().push(value.words());
                Ok(value.items.iter().map(|item| item.number.within(low, high)).collect())
            }
            Expr::And(a, b) => Ok(self.joined(a, b, |a, b| Truth::all([a, b]))),
            Expr::Or(a, b) => Ok(self.joined(a, b, |a, b| Truth::any([a, b]))),
            other => Ok(vec![self.truth(other)]),
        }
    }

    /// Two comparisons, value by value where both have as many, else each as a whole.
    fn joined(&self, a: &Expr, b: &Expr, join: fn(Truth, Truth) -> Truth) -> Vec<Truth> {
        let of = |expr| self.truths(expr).unwrap_or_else(|reason| vec![Truth::Open(reason)]);
        let (a, b) = (of(a), of(b));
        if a.len() == b.len() {
            return a.into_iter().zip(b).map(|(a, b)| join(a, b)).collect();
        }
        vec![join(Truth::all(a), Truth::all(b))]
    }

    fn number(&self, expr: &Expr) -> Result<Values, String> {
        match expr {
            Expr::Number(value, unit) => Ok(Values::one(Number::exact(*value), *unit)),
            Expr::Value(place) => {
                self.values.get(*place).cloned().unwrap_or_else(|| Err("a value does not exist".into()))
            }
            Expr::Negative(inner) => {
                let mut values = self.number(inner)?;
                values.items.iter_mut().for_each(|item| item.number.value = -item.number.value);
                Ok(values)
            }
            Expr::Arithmetic(operator, a, b) => {
                let (a, b) = (self.number(a)?, self.number(b)?);
                let unit = unit_of(*operator, a.unit, b.unit);
                a.with(*operator, &b, unit)
            }
            Expr::Call(Function::Share, inner) => {
                let truths = self.truths(&inner[0])?;
                let count = truths.len() as f64;
                let of = |wanted: fn(&Truth) -> bool| truths.iter().filter(|one| wanted(one)).count() as f64;
                let open = of(|one| matches!(one, Truth::Open(_)));
                let value = (of(|one| *one == Truth::Holds) + open / 2.0) / count;
                Ok(Values::one(Number { value, half: open / 2.0 / count }, Some(Unit::NONE)))
            }
            Expr::Call(function, arguments) => {
                let mut all = self.number(&arguments[0])?;
                for more in &arguments[1..] {
                    let more = self.number(more)?;
                    all.items.extend(more.items);
                    all.named.extend(more.named);
                }
                all.reduce(*function)
            }
            Expr::Steps(inner, setting) => self.number(inner)?.steps(setting),
            Expr::Select(selector) => self.select(selector),
            Expr::Compare(_) | Expr::Within(..) | Expr::Not(_) | Expr::And(..) | Expr::Or(..) => {
                Err("that is no value".into())
            }
        }
    }

    fn select(&self, selector: &Selector) -> Result<Values, String> {
        let named: BTreeSet<String> = selector.filters.iter().map(|filter| filter.name.clone()).collect();
        let (found_unit, items) = match &selector.source {
            Source::Finding { kind, field } => self.of_findings(selector, kind, field)?,
            source => self.of_cases(selector, source)?,
        };
        Ok(Values { unit: selector.unit.or(found_unit), items, named })
    }

    fn of_cases(&self, selector: &Selector, source: &Source) -> Result<(Option<Unit>, Vec<Item>), String> {
        let seen = self.view.all(&selector.stage, &format!("`{}`", selector.text), |case| {
            selector.filters.iter().all(|filter| passes(filter, &case.settings))
        })?;
        let unit = match source {
            Source::Quantity(quantity) => Unit::of_field(quantity.name()).0,
            Source::Setting(name) => Some(Unit::of_setting(name)),
            Source::BeginsS | Source::DurationS => Some(Unit::TIME),
            Source::StalledIntervals | Source::Finding { .. } => Some(Unit::NONE),
        };
        let mut items = Vec::new();
        for one in seen {
            let number = match source {
                Source::Setting(name) => one.number(name).map(Number::exact),
                _ => self.of_case(selector, source, one.case)?.map(|number| Number {
                    half: number.half.max(
                        number.value.abs()
                            * noise(one.level.iops, one.level.iops_confidence_95, one.case, selector),
                    ),
                    ..number
                }),
            };
            items.extend(number.map(|number| Item { number, labels: one.case.settings.clone() }));
        }
        if items.is_empty() {
            return Err(format!("no case has `{}`", selector.text));
        }
        Ok((unit, items))
    }

    fn of_case(
        &self,
        selector: &Selector,
        source: &Source,
        case: &ObservedCase,
    ) -> Result<Option<Number>, String> {
        let intervals: &[Interval] = match &selector.load {
            Some(load) => match case.loads.iter().find(|(name, _)| name == load) {
                Some((_, intervals)) => intervals,
                None => return Err(format!("{} has no load `{load}`", case.name)),
            },
            None => &case.intervals,
        };
        let counted: Vec<&Interval> = intervals.iter().filter(|one| !one.is_ramp).collect();
        let value = match source {
            Source::StalledIntervals => {
                Some(counted.iter().filter(|one| one.all().ios <= 0.0).count() as f64)
            }
            Source::BeginsS => intervals.iter().find(|one| one.all().ios > 0.0).map(|one| one.start_s),
            Source::DurationS => Some(counted.iter().map(|one| one.length_s()).sum()),
            Source::Quantity(quantity) => {
                let name = quantity.name();
                let Some((from, to)) = &selector.window else {
                    let (_, factor) = Unit::of_field(name);
                    return Ok(case.result.quantity(name).map(|value| Number::exact(factor * value)));
                };
                let end = |expr: &Expr| -> Result<f64, String> {
                    let values = self.number(expr)?;
                    values
                        .items
                        .first()
                        .map(|item| item.number.value)
                        .ok_or_else(|| "a time does not exist".into())
                };
                let (from_s, to_s) = (end(from)?, end(to)?);
                let within = counted
                    .iter()
                    .filter(|one| one.start_s >= from_s - 1e-6 && one.end_s <= to_s + 1e-6)
                    .filter_map(|one| of_interval(name, one));
                let within: Vec<f64> = within.collect();
                if within.is_empty() {
                    return Err(format!(
                        "{} has no whole interval from {from_s:.1} to {to_s:.1} s of its load",
                        case.name
                    ));
                }
                // The scatter of neighbours within the span: what the whole case does, and a course, are no noise of it.
                let count = within.len() as f64;
                let half = if within.len() < 2 {
                    0.0
                } else {
                    t_quantile(0.95, count - 1.0) * noise_sigma(&within) / count.sqrt()
                };
                return Ok(Some(Number { value: median(within), half }));
            }
            Source::Setting(_) | Source::Finding { .. } => None,
        };
        Ok(value.map(Number::exact))
    }

    fn of_findings(
        &self,
        selector: &Selector,
        kind: &str,
        field: &str,
    ) -> Result<(Option<Unit>, Vec<Item>), String> {
        let last = field.rsplit('.').next().unwrap_or(field);
        let (unit, factor) = Unit::of_field(last);
        let mut items = Vec::new();
        let mut is_known = false;
        for (finding, json) in self.view.findings(kind, &selector.stage) {
            let mut labels = self.labels(finding, &json);
            let is_chosen = |filter: &Filter| {
                if labels.contains_key(&filter.name) {
                    passes(filter, &labels)
                } else {
                    passes(filter, &json)
                }
            };
            if !selector.filters.iter().all(is_chosen) {
                continue;
            }
            labels.insert(FINDING.to_owned(), Value::from(finding.id.as_str()));
            self.view.cite(finding);
            is_known = true;
            let mut numbers = Vec::new();
            numbers_at(&Value::Object(json), field, &mut numbers);
            if numbers.is_empty() && field == "takes_effect_s" {
                // A limit that was never kept never took effect.
                numbers.push(f64::INFINITY);
            }
            items.extend(
                numbers
                    .into_iter()
                    .map(|value| Item { number: Number::exact(factor * value), labels: labels.clone() }),
            );
        }
        if is_known { Ok((unit, items)) } else { Err(format!("nothing was found of `{}`", selector.text)) }
    }

    /// The settings that a finding is about, with its own words.
    fn labels(&self, finding: &Finding, json: &Map<String, Value>) -> Map<String, Value> {
        let mut labels = match (json.get("of"), finding.case.as_deref()) {
            (Some(Value::Object(of)), _) => of.clone(),
            (_, Some(case)) => self.view.settings_of(&finding.stage, case),
            _ => Map::new(),
        };
        for word in plan::claim::finding_words() {
            if let Some(text @ Value::String(_)) = json.get(*word) {
                labels.insert((*word).to_owned(), text.clone());
            }
        }
        labels
    }
}

fn unit_of(operator: plan::claim::Operator, a: Option<Unit>, b: Option<Unit>) -> Option<Unit> {
    use plan::claim::Operator::{Add, Divide, Multiply, Subtract};
    match (operator, a, b) {
        (Add | Subtract, a, b) => a.or(b),
        (_, None, None) => None,
        (Multiply, a, b) => Some(a.unwrap_or(Unit::NONE).times(b.unwrap_or(Unit::NONE))),
        (Divide, a, b) => Some(a.unwrap_or(Unit::NONE).over(b.unwrap_or(Unit::NONE))),
    }
}

/// Half the 95 % confidence interval as a share: that of the rate, which in a closed loop is that of the mean latency too. What
/// is counted or set has none.
fn noise(iops: f64, confidence_95: Option<[f64; 2]>, case: &ObservedCase, selector: &Selector) -> f64 {
    match &selector.source {
        Source::Quantity(quantity) if !quantity.name().ends_with("errors") => {
            let by_intervals = confidence_95
                .filter(|_| iops > 0.0 && selector.window.is_none())
                .map_or(0.0, |[low, high]| (high - low) / 2.0 / iops);
            by_intervals.max(case.result.extrapolation.map_or(0.0, |one| one.confidence_95))
        }
        _ => 0.0,
    }
}
