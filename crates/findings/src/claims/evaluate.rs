//! Claim evaluation.

use super::number::{Span, select};
use super::print::{counted, of_plan, of_template};
use super::value::{Number, Truth, Values};
use super::view::View;
use crate::cited;
use crate::cited::{Cited, Quantity, Source};
use plan::claim::{Call, Claim, Comparison, Expr, Function, Operator, Selector, Unit};
use std::cell::RefCell;

/// The verdict of a claim with its reason.
pub(super) fn judge(claim: &Claim, view: &View<'_>) -> (Truth, Cited) {
    let mut evaluation = Evaluation { claim, view, values: Vec::new(), notes: RefCell::default() };
    for (_, expr) in &claim.values {
        let value = evaluation.number(expr);
        evaluation.values.push(value);
    }
    if let Some(given) = &claim.given {
        let truth = evaluation.truth(given);
        if truth != Truth::Holds {
            let words = evaluation.reason();
            let reason = match truth {
                Truth::Open(why) => with_reason(words, why),
                _ => {
                    let words = if words.is_empty() { evaluation.notes() } else { words };
                    cited!("what the check needs is not given: {}", words)
                }
            };
            return (Truth::Open(reason.clone()), reason);
        }
        evaluation.notes.borrow_mut().clear();
    }
    let truth = evaluation.truth(&claim.check);
    let reason = evaluation.reason();
    match truth {
        Truth::Open(why) => {
            let text = with_reason(reason, why.clone());
            (Truth::Open(why), text)
        }
        // A part may be decided though a value of another is missing.
        truth if reason.is_empty() => {
            let notes = evaluation.notes();
            (truth, if notes.is_empty() { "what was measured decides it".into() } else { notes })
        }
        truth => (truth, reason),
    }
}

fn with_reason(words: Cited, why: Cited) -> Cited {
    if words.is_empty() { why } else { cited!("{}: {}", words, why) }
}

struct Evaluation<'a> {
    claim: &'a Claim,
    view: &'a View<'a>,
    values: Vec<Result<Values, Cited>>,
    /// Each comparison that was made, in words.
    notes: RefCell<Vec<Cited>>,
}

impl Evaluation<'_> {
    fn notes(&self) -> Cited {
        Cited::join(self.notes.borrow().iter().cloned(), "; ")
    }

    /// The reason in words: the claim's own, else its values, else what was compared; nothing where most values are not known.
    fn reason(&self) -> Cited {
        let known = |name: &str| {
            let place = self.claim.values.iter().position(|(known, _)| known == name)?;
            self.values.get(place)?.as_ref().ok()
        };
        // `{dips:dip}` counts: `1 dip`, `2 dips`.
        let word = |name: &str| match name.split_once(':') {
            Some((name, noun)) => counted(known(name)?.items.first()?, noun),
            None => known(name).map(Values::words),
        };
        if let Some(template) = &self.claim.because {
            let mut text = Cited::default();
            let (mut known, mut missing) = (0, 0);
            for (number, part) in template.split('{').enumerate() {
                match (number, part.split_once('}')) {
                    (1.., Some((name, rest))) => {
                        let word = word(name);
                        *if word.is_some() { &mut known } else { &mut missing } += 1;
                        text.push(word.unwrap_or_else(|| "not measured".into()));
                        text.push(of_template(rest));
                    }
                    _ => text.push(of_template(part)),
                }
            }
            return if known >= missing { text } else { Cited::default() };
        }
        if self.claim.values.is_empty() {
            return self.notes();
        }
        let named = self.claim.values.iter();
        let named = named.filter_map(|(name, _)| Some(cited!("{} {}", of_plan(name), word(name)?)));
        Cited::join(named, ", ")
    }

    fn truth(&self, expr: &Expr) -> Truth {
        match expr {
            Expr::Not(inner) => self.truth(inner).not(),
            Expr::Call(Call { function, arguments, .. }) => match function {
                Function::Any => self.truths(&arguments[0]).map_or_else(Truth::Open, Truth::any),
                Function::Measured => {
                    let is_measured = self.number(&arguments[0]).is_ok_and(|found| !found.items.is_empty());
                    if is_measured { Truth::Holds } else { Truth::Refuted }
                }
                _ => self.truths(&arguments[0]).map_or_else(Truth::Open, Truth::all),
            },
            _ => self.truths(expr).map_or_else(Truth::Open, Truth::all),
        }
    }

    /// Of a comparison of many values one for each.
    fn truths(&self, expr: &Expr) -> Result<Vec<Truth>, Cited> {
        match expr {
            Expr::Compare(comparison) => self.compared(comparison),
            Expr::Within(value, low, high) => {
                let (value, low, high) = (self.number(value)?, self.number(low)?, self.number(high)?);
                let [low, high] = [&low, &high].map(|end| end.items.first().map(|item| item.number));
                let (Some(low), Some(high)) = (low, high) else {
                    return Err("a bound does not exist".into());
                };
                self.notes.borrow_mut().push(value.words());
                not_empty(value.items.iter().map(|item| item.number.within(low, high)).collect())
            }
            Expr::And(a, b) => Ok(self.joined(a, b, |a, b| Truth::all([a, b]))),
            Expr::Or(a, b) => Ok(self.joined(a, b, |a, b| Truth::any([a, b]))),
            other => Ok(vec![self.truth(other)]),
        }
    }

    fn compared(&self, comparison: &Comparison) -> Result<Vec<Truth>, Cited> {
        let (left, right) = (self.number(&comparison.left)?, self.number(&comparison.right)?);
        let pairs = left.pairs(&right)?;
        let [a, b] = &comparison.text;
        let against = if matches!(comparison.right, Expr::Number(..)) {
            of_plan(b)
        } else {
            cited!("{} {}", of_plan(b), right.words())
        };
        self.notes.borrow_mut().push(cited!("{} {} against {}", of_plan(a), left.words(), against));
        let tolerance = self.claim.tolerance;
        let is_equal = || {
            let percent = format!("{} %", (10_000.0 * tolerance).round() / 100.0);
            let from = Source::other("tolerance", &self.claim.id);
            let share = Quantity::new(tolerance, cited::Unit::Ratio, from).printed(percent);
            cited!("they are equal within the tolerance of {} and noise", share)
        };
        let truths = pairs.into_iter();
        not_empty(
            truths
                .map(|(a, b)| a.number.compare(comparison.comparator, b.number, tolerance, &is_equal))
                .collect(),
        )
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

    fn number(&self, expr: &Expr) -> Result<Values, Cited> {
        match expr {
            Expr::Number(value, unit) => {
                let from = Source::other("literal", &value.to_string());
                Ok(Values::one(Number::exact(*value), *unit, from))
            }
            Expr::Value(place) => {
                self.values.get(*place).cloned().unwrap_or_else(|| Err("a value does not exist".into()))
            }
            Expr::Negative(inner) => {
                let mut values = self.number(inner)?;
                for item in &mut values.items {
                    item.number.value = -item.number.value;
                    item.from = Source::call("negate", [&item.from]);
                }
                Ok(values)
            }
            Expr::Arithmetic(operator, a, b) => {
                let (a, b) = (self.number(a)?, self.number(b)?);
                let unit = unit_of(*operator, a.unit, b.unit);
                a.with(*operator, &b, unit)
            }
            Expr::Call(call) => self.call(call),
            Expr::Steps(inner, setting) => self.number(inner)?.steps(setting),
            Expr::Select(selector) => select(self.view, selector, self.span(selector)?.as_ref()),
            Expr::Compare(_) | Expr::Within(..) | Expr::Not(_) | Expr::And(..) | Expr::Or(..) => {
                Err("that is no value".into())
            }
        }
    }

    fn call(&self, Call { function, arguments, by }: &Call) -> Result<Values, Cited> {
        if *function == Function::Share {
            return self.share(&arguments[0]);
        }
        let mut all = self.number(&arguments[0])?;
        if matches!(function, Function::AtMax | Function::AtMin | Function::Discordant) {
            let second = self.number(&arguments[1])?;
            return match function {
                Function::Discordant => all.discordant(&second, self.claim.tolerance, by),
                _ => all.at_extreme(*function, &second, by),
            };
        }
        for more in &arguments[1..] {
            let more = self.number(more)?;
            all.also_names(&more.named);
            all.items.extend(more.items);
            all.unit = all.unit.or(more.unit);
        }
        all.reduce(*function, by)
    }

    /// For which share of the values a comparison holds; half of what cannot be told counts, and is its noise.
    fn share(&self, inner: &Expr) -> Result<Values, Cited> {
        let truths = self.truths(inner)?;
        let count = truths.len() as f64;
        let of = |wanted: fn(&Truth) -> bool| truths.iter().filter(|one| wanted(one)).count() as f64;
        let open = of(|one| matches!(one, Truth::Open(_)));
        let value = (of(|one| *one == Truth::Holds) + open / 2.0) / count;
        let from = Source::other("share", &self.claim.id);
        Ok(Values::one(Number { value, half: open / 2.0 / count }, Some(Unit::NONE), from))
    }

    fn span(&self, selector: &Selector) -> Result<Option<Span>, Cited> {
        let Some((from, to)) = &selector.window else { return Ok(None) };
        let end = |expr: &Expr| -> Result<(f64, Source), Cited> {
            let values = self.number(expr)?;
            let first = values.items.first().ok_or_else(|| Cited::from("a time does not exist"))?;
            Ok((first.number.value, first.from.clone()))
        };
        Ok(Some([end(from)?, end(to)?]))
    }
}

/// Refuses an empty comparison: what is compared has to be there.
fn not_empty(truths: Vec<Truth>) -> Result<Vec<Truth>, Cited> {
    if truths.is_empty() { Err("there is nothing to compare".into()) } else { Ok(truths) }
}

fn unit_of(operator: Operator, a: Option<Unit>, b: Option<Unit>) -> Option<Unit> {
    use Operator::{Add, Divide, Multiply, Subtract};
    match (operator, a, b) {
        (Add | Subtract, a, b) => a.or(b),
        (_, None, None) => None,
        (Multiply, a, b) => Some(a.unwrap_or(Unit::NONE).times(b.unwrap_or(Unit::NONE))),
        (Divide, a, b) => Some(a.unwrap_or(Unit::NONE).over(b.unwrap_or(Unit::NONE))),
    }
}
