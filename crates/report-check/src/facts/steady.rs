//! Steady states, of intervals and of rounds.

use super::Facts;
use super::differences::{Differences, EXACT, close, number, text};
use crate::run::Case;
use serde_json::Value;

impl Facts<'_> {
    pub(super) fn rounds(&self, differences: &mut Differences<'_>) {
        let fields = differences.fields;
        let variables = fields.get("variables").and_then(Value::as_array).map_or(0, Vec::len);
        for place in 0..variables {
            let window: Vec<f64> =
                (0..).map_while(|at| number(fields, &format!("variables.{place}.window.{at}"))).collect();
            if window.is_empty() {
                continue;
            }
            let mean = window.iter().sum::<f64>() / window.len() as f64;
            let (low, high) = ends(&window);
            differences.expect(&format!("variables.{place}.average"), Some(mean), EXACT);
            let range = 100.0 * (high - low) / mean;
            differences.expect(&format!("variables.{place}.range_percent"), Some(range), EXACT);
            differences.expect(&format!("variables.{place}.slope_percent"), Some(excursion(&window)), 1e-4);
            let path = fields["variables"][place]["quantity"].as_str().unwrap_or_default();
            let rounds: Vec<f64> =
                (0..).map_while(|at| number(fields, &format!("window_rounds.{at}"))).collect();
            for (round, value) in rounds.iter().zip(&window) {
                let has = self.run.done().any(|case| {
                    case.stage == text(fields, "stage")
                        && case.number("repeat") == Some(*round)
                        && case.quantity(path).is_some_and(|own| close(own, *value, EXACT))
                });
                differences.require(has, &format!("round {round} has no case with {path} of {value}"));
            }
        }
    }
}

pub(super) fn steady(differences: &mut Differences<'_>, case: &Case) {
    let fields = differences.fields;
    let counted = case.counted();
    let (Some(first), Some(last)) = (counted.first(), counted.last()) else { return };
    let wanted_s = if last.end_s - first.start_s >= 300.0 { 60.0 } else { 0.0 };
    let (mut rounds, mut from_s, mut ios): (Vec<f64>, f64, f64) = (Vec::new(), first.start_s, 0.0);
    for one in &counted {
        ios += one.all().ios;
        if one.end_s - from_s >= wanted_s - 1e-6 {
            rounds.push(ios / (one.end_s - from_s));
            (from_s, ios) = (one.end_s, 0.0);
        }
    }
    let is_steady = |window: &[f64]| {
        let mean = window.iter().sum::<f64>() / window.len() as f64;
        let (low, high) = ends(window);
        (high - low) <= 0.2 * mean * (1.0 + 1e-9) && excursion(window) <= 10.0 + 1e-9
    };
    let reached = (5..=rounds.len().min(25)).find(|end| is_steady(&rounds[end - 5..*end]));
    differences.expect("round", reached.map(|round| round as f64), EXACT);
    differences.expect("rounds", Some(reached.unwrap_or(rounds.len().min(25)) as f64), EXACT);
    let reported = fields.get("reached").and_then(Value::as_bool).unwrap_or(false);
    differences.require(reported == reached.is_some(), "steady state is said otherwise than recomputed");
}

fn ends(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    (low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

/// The excursion of the fitted line over a window, in percent of the mean.
fn excursion(window: &[f64]) -> f64 {
    let count = window.len() as f64;
    let mean = window.iter().sum::<f64>() / count;
    let middle = (count - 1.0) / 2.0;
    let (mut over, mut under) = (0.0, 0.0);
    for (place, value) in window.iter().enumerate() {
        let x = place as f64 - middle;
        over += x * (value - mean);
        under += x * x;
    }
    100.0 * (over / under * (count - 1.0)).abs() / mean
}
