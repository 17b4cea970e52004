//! What a twin measures for a measured point.

use std::ops::ControlFlow;

use load::{Direction, DirectionSample, LoadSpec, Sample};
use plan::{Quantity, SettingScope};
use twin::{ArrayDescription, Twin};

use crate::{FitError, MeasuredPoint};

/// The setting of a twin that says in which state it begins.
const CONDITION: &str = "condition";
/// The setting of a twin that simulates all of a load: short ones are no place for windows.
const EXACT: &str = "exact";
/// The prefix of quantities that are levels after a write cliff.
const SUSTAINED: &str = "sustained.";

/// The twin's figures for a point, in the point's order. `simulated_ns` bounds the load's runtime; what lasts after a
/// cliff takes all of it.
pub(crate) fn figures(
    array: &ArrayDescription,
    point: &MeasuredPoint,
    simulated_ns: u64,
) -> Result<Vec<f64>, FitError> {
    let failed = |why: String| FitError::Twin { point: point.label.clone(), why };
    if !point.case.loads.is_empty() {
        return Err(failed("several loads at once cannot be fitted to".into()));
    }
    let mut settings = point.case.settings_of(SettingScope::Array);
    let has_condition = Twin::settings(array).iter().any(|setting| setting.name == CONDITION);
    if let Some(written) = point.case.conditioned_by.as_ref().filter(|_| has_condition) {
        settings.entry(CONDITION).or_insert_with(|| campaign::condition_after(written).into());
    }
    let lasts = point.figures.iter().any(|(quantity, _)| quantity.name().starts_with(SUSTAINED));
    if !lasts {
        settings.entry(EXACT).or_insert_with(|| "on".into());
    }
    let mut twin =
        Twin::build(array, &settings, point.case.load.seed).map_err(|error| failed(error.to_string()))?;
    let own = &point.case.load;
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
    twin.run(&load, &mut |_, sample| {
        if !sample.is_ramp {
            samples.push(sample);
        }
        ControlFlow::Continue(())
    })
    .map_err(|error| failed(error.to_string()))?;
    let second_half = &samples[samples.len() / 2..];
    point
        .figures
        .iter()
        .map(|&(quantity, _)| {
            match quantity.name().strip_prefix(SUSTAINED) {
                Some(name) => figure(name, second_half),
                None => figure(quantity.name(), &samples),
            }
            .ok_or_else(|| failed(format!("`{}` cannot be fitted to", quantity.name())))
        })
        .collect()
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

/// What a point's quantities are called.
pub(crate) fn names(point: &MeasuredPoint) -> impl Iterator<Item = Quantity> {
    point.figures.iter().map(|(quantity, _)| *quantity)
}
