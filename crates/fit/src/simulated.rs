//! Simulated counterpart of a measured point.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use load::{Direction, DirectionSample, LoadSpec, Sample};
use plan::{Case, FigureOf, SettingScope};
use twin::{ArrayDescription, Twin};

use crate::{FitError, MeasuredPoint};

/// The setting of a twin that says in which state it begins.
const CONDITION: &str = "condition";
/// The setting of a twin that simulates all of a load: short ones are no place for windows.
const EXACT: &str = "exact";
/// The prefix of quantities that are levels after a write cliff.
const SUSTAINED: &str = "sustained.";

/// Simulates one case of a point and returns its figures, in the point's order. `simulated_ns` bounds the load's runtime;
/// sustained quantities after a write cliff take all of it. `switches` are settings of the twin in every case. Once `stop` is
/// raised it returns [`FitError::Interrupted`].
pub(crate) fn figures(
    array: &ArrayDescription,
    point: &MeasuredPoint,
    case: &Case,
    simulated_ns: u64,
    switches: &[(String, String)],
    stop: &AtomicBool,
) -> Result<Vec<f64>, FitError> {
    if stop.load(Ordering::Relaxed) {
        return Err(FitError::Interrupted);
    }
    let failed = |why: String| FitError::Twin { point: point.label.clone(), why };
    if !case.loads.is_empty() {
        return Err(failed("several loads at once cannot be fitted to".into()));
    }
    let mut settings = case.settings_of(SettingScope::Array);
    settings.extend(switches.iter().map(|(name, value)| (name.clone(), value.as_str().into())));
    let has_condition = Twin::settings(array).iter().any(|setting| setting.name == CONDITION);
    if let Some(written) = case.conditioned_by.as_ref().filter(|_| has_condition) {
        settings.entry(CONDITION).or_insert_with(|| campaign::condition_after(written).into());
    }
    let lasts = point.figures.iter().any(|figure| figure.quantity.name().starts_with(SUSTAINED));
    if !lasts {
        settings.entry(EXACT).or_insert_with(|| "on".into());
    }
    let mut twin =
        Twin::build(array, &settings, case.load.seed).map_err(|error| failed(error.to_string()))?;
    let own = &case.load;
    let load = if lasts {
        own.clone()
    } else {
        LoadSpec {
            ramp_ns: own.ramp_ns.min(simulated_ns / 4),
            runtime_ns: own.runtime_ns.min(simulated_ns),
            ..own.clone()
        }
    };
    let mut samples: Vec<Sample> = Vec::new();
    twin.run(&load, stop, &mut |_, sample| {
        if !sample.is_ramp {
            samples.push(sample);
        }
        ControlFlow::Continue(())
    })
    .map_err(|error| failed(diagnostic::text_with_causes(&error)))?;
    // What was broken off has figures too, of less than it was to simulate.
    if stop.load(Ordering::Relaxed) {
        return Err(FitError::Interrupted);
    }
    let second_half = &samples[samples.len() / 2..];
    point
        .figures
        .iter()
        .map(|measured| {
            let quantity = measured.quantity;
            match quantity.name().strip_prefix(SUSTAINED) {
                Some(name) => figure(name, second_half),
                None => figure(quantity.name(), &samples),
            }
            .ok_or_else(|| failed(format!("`{}` cannot be fitted to", quantity.name())))
        })
        .collect()
}

/// Returns a point's figures from those of its cases: their maximum or minimum, or another figure of the case that has it.
pub(crate) fn extremes(point: &MeasuredPoint, of_cases: &[Vec<f64>]) -> Vec<f64> {
    let best = |figure: usize, is_better: fn(f64, f64) -> bool| {
        let mut best = 0;
        for (index, figures) in of_cases.iter().enumerate() {
            if is_better(figures[figure], of_cases[best][figure]) {
                best = index;
            }
        }
        best
    };
    let case_of = |figure: usize| match point.figures[figure].of {
        FigureOf::Maximum => Some(best(figure, |one, other| one > other)),
        FigureOf::Minimum => Some(best(figure, |one, other| one < other)),
        FigureOf::Each | FigureOf::AtExtreme => None,
    };
    let extreme = (0..point.figures.len()).find_map(case_of).unwrap_or(0);
    (0..point.figures.len()).map(|figure| of_cases[case_of(figure).unwrap_or(extreme)][figure]).collect()
}

/// A quantity of some samples together.
fn figure(name: &str, samples: &[Sample]) -> Option<f64> {
    let sum = |direction: Direction| {
        let mut sum = DirectionSample::default();
        samples.iter().for_each(|sample| sum.merge(sample.direction(direction)));
        sum
    };
    let (read, write) = (sum(Direction::Read), sum(Direction::Write));
    let seconds =
        samples.iter().map(Sample::duration_ns).sum::<u64>() as f64 / units::NANOS_PER_SECOND as f64;
    let per_second = |count: u64| count as f64 / seconds;
    Some(match name {
        "iops" => per_second(read.ios + write.ios),
        "bw_bytes_per_s" => per_second(read.bytes + write.bytes),
        _ => {
            let (side, rest) = name.split_once('.')?;
            let side = match side {
                "read" => read,
                "write" => write,
                _ => return None,
            };
            match rest {
                "iops" => per_second(side.ios),
                "bw_bytes_per_s" => per_second(side.bytes),
                "latency_ns.mean" => side.latency.mean_ns(),
                "latency_ns.p50" => side.latency.percentile_ns(500_000) as f64,
                "latency_ns.p95" => side.latency.percentile_ns(950_000) as f64,
                "latency_ns.p99" => side.latency.percentile_ns(990_000) as f64,
                _ => return None,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MeasuredFigure;

    /// Proves that the most and the least are taken over all cases, and what goes with them from the case that has them.
    #[test]
    fn extremes_are_those_of_one_case() {
        let point = |of: [FigureOf; 2]| MeasuredPoint {
            cases: Vec::new(),
            figures: of
                .map(|of| MeasuredFigure {
                    quantity: plan::Quantity::named("iops").unwrap(),
                    value: 1.0,
                    half_digit: 0.0,
                    of,
                })
                .to_vec(),
            label: String::new(),
            row: 0,
        };
        let cases = [vec![3.0, 30.0], vec![9.0, 10.0], vec![1.0, 20.0]];
        assert_eq!(extremes(&point([FigureOf::Maximum, FigureOf::AtExtreme]), &cases), [9.0, 10.0]);
        assert_eq!(extremes(&point([FigureOf::AtExtreme, FigureOf::Minimum]), &cases), [9.0, 10.0]);
        assert_eq!(extremes(&point([FigureOf::Minimum, FigureOf::Maximum]), &cases), [1.0, 30.0]);
        assert_eq!(extremes(&point([FigureOf::Each, FigureOf::Each]), &cases[..1]), [3.0, 30.0]);
    }
}
