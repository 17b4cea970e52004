//! Walk from limit to limit: each step begins where the one before ended, and enlarges the part that limited there.

use super::answers::{Answer, Answers, factors_name};
use super::recompute::{case_at, exponent, is_rounded};
use crate::Findings;
use crate::run::Run;
use serde_json::{Map, Value};

/// Factor of a step.
const STEP: f64 = 1.25;
/// Gain of a step at least.
const GAINS: f64 = 1.01;

/// Every step.
pub fn check(found: &mut Findings, run: &Run, answers: &Answers<'_>) {
    if !answers.steps.is_empty() && answers.question["find_bottleneck"] != true {
        found.add("walk", "steps of a walk that nobody asked for");
    }
    let mut before = answers.rows.first();
    for step in &answers.steps {
        let place = format!("answer {} ({})", step.number, step.name);
        let mut wrong = |what: String| found.add(&place, what);
        if let Some(before) = before {
            one(&mut wrong, run, before, step);
        }
        before = Some(step);
    }
}

fn one(wrong: &mut dyn FnMut(String), run: &Run, before: &Answer<'_>, step: &Answer<'_>) {
    let part = step.text("bottleneck.part");
    if part != before.text("limit") {
        wrong(format!("more of {part} where {} limits", before.text("limit")));
    }
    let of = |answer: &Answer<'_>, path: &str| answer.value(path).unwrap_or(f64::NAN);
    let (rate_before, rate) = (of(before, "iops"), of(step, "iops"));
    if of(step, "bottleneck.iops_before") != rate_before || rate < GAINS * rate_before {
        wrong(format!(
            "from {} to {rate} where {rate_before} was before",
            of(step, "bottleneck.iops_before")
        ));
    }
    if step.value("bottleneck.elasticity") != before.value(&format!("elasticity.{part}")) {
        wrong(format!("its elasticity is not that of {part} before"));
    }
    let known: Map<String, Value> = match before.is_step() {
        true => before.fields("change").map(|(part, factor)| (part.clone(), factor.clone())).collect(),
        false => Map::new(),
    };
    let factor =
        |factors: &Map<String, Value>, part: &str| factors.get(part).and_then(Value::as_f64).unwrap_or(1.0);
    for (own, now) in step.fields("change") {
        let expected = factor(&known, own) * if own == part { STEP } else { 1.0 };
        // Rounded to three digits at each step.
        if !now.as_f64().is_some_and(|now| (now - expected).abs() <= 0.001 * expected) {
            wrong(format!("it has {now} times {own}, {expected} follow from the step before"));
        }
    }
    if step.fields("change").count() != known.len() + usize::from(!known.contains_key(part)) {
        wrong("it has not the parts of the step before and its own".to_owned());
    }
    let second = step.text("bottleneck.second.case");
    let doubled = match second {
        "" => rate / rate_before,
        path => {
            let Some(case) = case_at(wrong, run, path, "more-of-a-part", &factors_name(&known)) else {
                return;
            };
            if case.settings.get("part") != Some(&part.into()) || case.number("times") != Some(STEP * STEP) {
                wrong(format!("{path} is not of the second quarter of {part}"));
            }
            if step.value("bottleneck.second.iops").is_none_or(|own| !crate::close(own, case.iops())) {
                wrong(format!("the second quarter gives {} IOPS", case.iops()));
            }
            let slope = exponent(case.iops() / rate).max(0.0);
            case.iops() / rate_before * (2.0 / (STEP * STEP)).powf(slope)
        }
    };
    if !is_rounded(step.value("bottleneck.gain_of_doubling"), doubled) {
        wrong(format!("twice of {part} is predicted to give {doubled} times the rate"));
    }
}
