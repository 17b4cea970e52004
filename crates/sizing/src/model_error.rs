//! Error of a model where published rows validated it, as a range.
//!
//! A published value lies between `simulated ÷ (1 + error)` and `simulated ÷ (1 − error)` where the error's size, as
//! `make validate` counts it (simulated ÷ published − 1), is no larger than that of the worst row.

use crate::Configuration;
use serde::Serialize;

/// Error of an array of assumed parts: half to twice of what is simulated. A convention; nothing was measured.
const ASSUMED: ModelError = ModelError { over: 1.0, under: 0.5 };
/// Times the worst row's error, for an array that differs from the one that the rows are of, or a state of which none is. A
/// convention likewise.
const CHANGED: f64 = 2.0;
/// Largest error of a simulated value that is too low.
const UNDER_LIMIT: f64 = 0.95;

/// Basis of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Validated {
    /// Published rows that no fit has seen.
    Unseen,
    /// Rows that the parameters were fitted to, or rows of the array before it was changed.
    Fitted,
    /// No published row.
    Assumed,
}

/// Error of simulated values, as shares of the true one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ModelError {
    /// Largest overestimate of a simulated value.
    pub over: f64,
    /// Largest underestimate of a simulated value.
    pub under: f64,
}

impl ModelError {
    /// Range of the true value around a simulated one whose sampling has this relative half-width.
    pub fn range(&self, simulated: f64, sampling: f64) -> [f64; 2] {
        let over = hypotenuse(self.over, sampling);
        let under = hypotenuse(self.under, sampling).min(UNDER_LIMIT);
        [simulated / (1.0 + over), simulated / (1.0 - under)]
    }
}

fn hypotenuse(one: f64, other: f64) -> f64 {
    (one * one + other * other).sqrt()
}

/// Error of a configuration's model in one of these quantities: the worst of all published rows of the array, more where the
/// array was changed or is in a state of which no row is.
pub fn model_error(configuration: &Configuration, metrics: &[&str]) -> (ModelError, Validated) {
    if !configuration.is_shipped {
        return (ASSUMED, Validated::Assumed);
    }
    let rows = findings::validation_rows();
    let of_array =
        rows.iter().filter(|row| row.array == configuration.name && metrics.contains(&row.metric.as_str()));
    let worst = of_array
        .clone()
        .map(|row| row.worst_error)
        .fold(None, |worst: Option<f64>, error| Some(worst.map_or(error, |worst| worst.max(error))));
    let Some(worst) = worst else { return (ASSUMED, Validated::Assumed) };
    if configuration.has_no_rows || !configuration.changed.is_empty() {
        let error = CHANGED * worst;
        return (ModelError { over: error, under: error.min(UNDER_LIMIT) }, Validated::Fitted);
    }
    let validated =
        if of_array.clone().any(|row| row.set == "unseen") { Validated::Unseen } else { Validated::Fitted };
    (ModelError { over: worst, under: worst.min(UNDER_LIMIT) }, validated)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that the range of every array, quantity and set of published rows holds the published value of its worst row, whichever
    /// way that row is off.
    #[test]
    fn ranges_hold_the_published_values() {
        for row in findings::validation_rows() {
            let configuration = Configuration::load(&row.array).unwrap();
            let (error, _) = model_error(&configuration, &[&row.metric]);
            let published = 1000.0;
            for off in [row.worst_error, -row.worst_error] {
                let [low, high] = error.range(published * (1.0 + off), 0.0);
                assert!(
                    low <= published * 1.000_001 && high >= published * 0.999_999,
                    "{row:?} {low} {high}"
                );
            }
        }
    }

    /// Proves that a file of somebody's own is not taken for the validated array of its name, and that a change widens the range.
    #[test]
    fn only_the_validated_array_is_validated() {
        let shipped = Configuration::load("flashsystem-840").unwrap();
        let (error, validated) = model_error(&shipped, &["iops"]);
        assert_eq!(validated, Validated::Unseen);
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("flashsystem-840.yaml");
        std::fs::write(&file, format!("{}\n# mine\n", shipped.text)).unwrap();
        let own = Configuration::load(file.to_str().unwrap()).unwrap();
        assert_eq!(model_error(&own, &["iops"]).1, Validated::Assumed);
        let changed = own.with("links.count", &16.into()).unwrap();
        assert_eq!(model_error(&changed, &["iops"]).1, Validated::Assumed);
        let (wider, validated) = model_error(&shipped.with("links.count", &16.into()).unwrap(), &["iops"]);
        assert!(validated == Validated::Fitted && wider.over > error.over);
        assert_eq!(model_error(&shipped, &["iops.p99"]).1, Validated::Assumed);
    }
}
