//! Bottlenecks one after the other: the part that limits, what more of it gains, and what limits then.

use crate::answer::{AnswerPoint, PointKind, STEP, answer_with_elasticity, exponent, scaled};
use crate::part::Part;
use crate::simulation::simulate;
use crate::what_if::{answer_json, case_path, rounded};
use crate::{Answer, Configuration, Effort, SizingError};
use plan::Case;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Steps of the walk, at most.
const STEPS_LIMIT: usize = 16;
/// No part becomes larger than so many times what it is: one that is ten times as fast is another array's, and drives reach what no
/// drive can be.
const TIMES_LIMIT: f64 = 10.0;
/// A step that gains less ends the walk.
const GAINS: f64 = 1.01;
/// Stage of the cases of its answers.
pub(crate) const STAGE: &str = "bottlenecks";
/// Factor whose gain is predicted.
const DOUBLE: f64 = 2.0;

/// Step of the walk: a part that was enlarged by a quarter.
#[derive(Debug, Clone, PartialEq)]
pub struct Bottleneck {
    /// The part that limits.
    pub part: Part,
    /// Elasticity at the step's beginning.
    pub elasticity: f64,
    /// I/Os a second before the step.
    pub iops_before: f64,
    /// Gain of twice this part from before the step on, predicted from two steps: rate after ÷ rate before.
    pub doubled: f64,
    /// The second of those steps, from the array before this one; `None` where the part cannot be larger.
    pub second: Option<AnswerPoint>,
    /// The array before the step, as its cases name it.
    pub before: String,
    /// Times of each part that the array has after the step.
    pub factors: BTreeMap<Part, f64>,
    /// The array after the step.
    pub answer: Answer,
}

impl Bottleneck {
    /// The step as `arraylab what-if --find-bottleneck --json` prints it: the fields of an answer, with `bottleneck` beside them.
    pub fn json(&self) -> Value {
        let change = self.factors.iter().map(|(part, factor)| (part.name().to_owned(), rounded(*factor)));
        let mut line = answer_json(&change.collect(), &self.change_name(), STAGE, &self.answer);
        line["bottleneck"] = json!({
            "part": self.part,
            "elasticity": rounded(self.elasticity),
            "iops_before": self.iops_before,
            "gain_of_doubling": rounded(self.doubled),
            "second": self.second.as_ref().map(|second| json!({
                "iops": second.iops,
                "case": case_path(STAGE, &self.before, second.kind),
            })),
        });
        line
    }

    /// The array after the step, as its cases name it: `links*1.25`.
    pub(crate) fn change_name(&self) -> String {
        factors_name(&self.factors)
    }
}

fn factors_name(factors: &BTreeMap<Part, f64>) -> String {
    if factors.is_empty() {
        return crate::what_if::NO_CHANGE.into();
    }
    let texts = factors.iter().map(|(part, factor)| format!("{}*{}", part.name(), rounded(*factor)));
    texts.collect::<Vec<_>>().join("+")
}

/// Steps of a walk, each simulated when it is asked for.
pub struct Bottlenecks<'a> {
    now: Configuration,
    before: Answer,
    factors: BTreeMap<Part, f64>,
    case: &'a Case,
    effort: &'a Effort,
    steps: usize,
}

impl<'a> Bottlenecks<'a> {
    /// The walk from the array with its answer (by [`answer_with_elasticity`]), until nothing gains, the load asks for no more, or a part is ten
    /// times as large.
    pub fn new(array: &Configuration, answered: &Answer, case: &'a Case, effort: &'a Effort) -> Self {
        let (now, before) = (array.clone(), answered.clone());
        Bottlenecks { now, before, factors: BTreeMap::new(), case, effort, steps: 0 }
    }

    fn step(&mut self) -> Result<Option<Bottleneck>, SizingError> {
        let Some((part, elasticity)) = limiting(&self.before) else { return Ok(None) };
        if self.factors.get(&part).unwrap_or(&1.0) * STEP > TIMES_LIMIT {
            return Ok(None);
        }
        let Some(more) = scaled(&self.now, part, STEP) else { return Ok(None) };
        let after = answer_with_elasticity(&more, self.case, self.effort)?;
        if after.iops < GAINS * self.before.iops {
            return Ok(None);
        }
        let second = match scaled(&self.now, part, STEP * STEP) {
            Some(second) => {
                let level = simulate(&second, self.case, self.effort)?;
                Some(AnswerPoint::of(PointKind::More(part, STEP * STEP), level))
            }
            None => None,
        };
        let doubled = gain_of_doubling(self.before.iops, after.iops, second.as_ref());
        let before = factors_name(&self.factors);
        *self.factors.entry(part).or_insert(1.0) *= STEP;
        let step = Bottleneck {
            part,
            elasticity,
            iops_before: self.before.iops,
            doubled,
            second,
            before,
            factors: self.factors.clone(),
            answer: after.clone(),
        };
        (self.now, self.before) = (more, after);
        self.steps += 1;
        Ok(Some(step))
    }
}

impl Iterator for Bottlenecks<'_> {
    type Item = Result<Bottleneck, SizingError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.steps < STEPS_LIMIT { self.step().transpose() } else { None }
    }
}

/// The part that the answer names as its limit, with its elasticity.
fn limiting(answer: &Answer) -> Option<(Part, f64)> {
    let named = answer.elasticity.iter().find(|one| one.part.name() == answer.limit)?;
    Some((named.part, named.elasticity))
}

/// Rate with twice a part by the rate with one, from steps of a quarter: the rate follows the last step's slope, in logarithms.
fn gain_of_doubling(before: f64, after: f64, second: Option<&AnswerPoint>) -> f64 {
    let Some(second) = second else { return after / before };
    let slope = exponent(second.iops / after).max(0.0);
    second.iops / before * libm::pow(DOUBLE / (STEP * STEP), slope)
}
