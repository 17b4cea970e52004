//! Headroom: how many times its workload an array carries before a requirement breaks.
//!
//! The model's error turns into a range of the multiple: the true latency is under the bound for
//! certain where the simulated one is under `bound × (1 − under)`, and may be where it is under `bound × (1 + over)`; the true rate
//! is off by the error of rates. What the links do not carry at their line rate is no array's behind them.

use crate::line_rate::{links_bytes_per_s, most_iops};
use crate::requirement::Requirement;
use crate::simulation::{self, Effort, Level};
use crate::workload::{asked_iops, times};
use crate::{Configuration, ModelError, SizingError, model_error};
use plan::Case;

/// Points of one state, at most.
const POINTS_LIMIT: usize = 15;
/// Factor of the steps while the headroom is on one side of all points.
const FAR: f64 = 4.0;
/// Largest multiple that is tried.
pub(crate) const TIMES_LIMIT: f64 = 64.0;
/// Smallest multiple that is tried.
const TIMES_LEAST: f64 = 1.0 / 64.0;
/// Width of the final bracket, as a share of its middle.
const TOLERANCE: f64 = 0.03;
/// A rate that was asked for is delivered within this share.
const KEPT_UP: f64 = 0.98;

/// Simulated multiple of a workload.
#[derive(Debug, Clone)]
pub(crate) struct HeadroomPoint {
    /// Times the workload.
    pub times: f64,
    /// Requested I/Os a second.
    pub asked_iops: f64,
    pub level: Level,
}

impl HeadroomPoint {
    pub fn kept_up(&self) -> bool {
        self.level.iops() >= KEPT_UP * self.asked_iops
    }

    /// The rate is delivered and every requirement holds.
    pub fn holds(&self, requirements: &[Requirement]) -> bool {
        self.kept_up() && self.tightest(requirements) <= 1.0
    }

    /// Latency by its bound, of the requirement that is closest to it or furthest beyond.
    pub fn tightest(&self, requirements: &[Requirement]) -> f64 {
        let share = |one: &Requirement| one.latency_of(&self.level.latency(one.side)) / one.latency_ns as f64;
        requirements.iter().map(share).fold(0.0, f64::max)
    }
}

/// Headroom of one array in one state.
#[derive(Debug, Clone)]
pub(crate) struct Headroom {
    /// Times the workload that are carried, by the simulation alone.
    pub times: f64,
    /// Range of that: the model's error, and no more than the links carry.
    pub times_95: [f64; 2],
    /// Bytes a second that the links carry each way at their line rate; `None` where that is not known.
    pub links_bytes_per_s: Option<f64>,
    /// Smallest simulated multiple that is not carried; infinite where even [`TIMES_LIMIT`] times are.
    pub fails_at: f64,
    /// Simulated points, by rising multiple.
    pub points: Vec<HeadroomPoint>,
}

/// Searches for the headroom under all requirements: four times or a quarter of the workload until the headroom lies between two
/// points, and then halves the bracket. Latencies beyond saturation tell nothing of where they cross a bound.
pub(crate) fn headroom(
    configuration: &Configuration,
    case: &Case,
    requirements: &[Requirement],
    effort: &Effort,
) -> Result<Headroom, SizingError> {
    let mut points: Vec<HeadroomPoint> = Vec::new();
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut next = 1.0;
    while points.len() < POINTS_LIMIT && high > low * (1.0 + TOLERANCE) {
        let point = point(configuration, case, requirements, effort, next)?;
        let holds = point.holds(requirements);
        points.push(point);
        if holds {
            low = next;
        } else {
            high = next;
        }
        if low >= TIMES_LIMIT || high <= TIMES_LEAST {
            break;
        }
        next = match (low > 0.0, high.is_finite()) {
            (true, true) => (low * high).sqrt(),
            (true, false) => (low * FAR).min(TIMES_LIMIT),
            _ => (high / FAR).max(TIMES_LEAST),
        };
    }
    points.sort_by(|one, other| one.times.total_cmp(&other.times));
    let exact = ModelError { over: 0.0, under: 0.0 };
    let mut found = if high.is_infinite() { TIMES_LIMIT } else { high };
    let mut times_95 = [TIMES_LIMIT, TIMES_LIMIT];
    for requirement in requirements {
        found = found.min(crossings(&points, requirement, exact)[0]);
        let (latencies, _) = model_error(configuration, requirement.metrics());
        let [surely, perhaps] = crossings(&points, requirement, latencies);
        times_95 = [times_95[0].min(surely), times_95[1].min(perhaps)];
    }
    let (rates, _) = model_error(configuration, &["iops"]);
    // What the simulation found lies in its own range.
    times_95 = [times_95[0].min(found) / (1.0 + rates.over), times_95[1].max(found) / (1.0 - rates.under)];
    let links_bytes_per_s = links_bytes_per_s(configuration);
    if let Some(workload) = points.iter().find(|point| point.times == 1.0) {
        let most = most_iops(links_bytes_per_s, &workload.level) / workload.asked_iops;
        times_95[1] = times_95[1].min(most.max(found));
    }
    Ok(Headroom { times: found, times_95, links_bytes_per_s, fails_at: high, points })
}

/// The simulated point of a multiple.
pub(crate) fn point(
    configuration: &Configuration,
    case: &Case,
    requirements: &[Requirement],
    effort: &Effort,
    factor: f64,
) -> Result<HeadroomPoint, SizingError> {
    let case = times(case, factor);
    let level = simulation::simulate_within(configuration, &case, effort, requirements)?;
    let asked_iops = asked_iops(&case).unwrap_or(0.0);
    Ok(HeadroomPoint { times: factor, asked_iops, level })
}

/// Multiples at which the latency crosses what surely holds and what may hold.
fn crossings(points: &[HeadroomPoint], requirement: &Requirement, error: ModelError) -> [f64; 2] {
    let bound = requirement.latency_ns as f64;
    [
        crossing(points, requirement, bound * (1.0 - error.under)),
        crossing(points, requirement, bound * (1.0 + error.over)),
    ]
}

/// Largest multiple under a latency, between points by the logarithms of both; 0 where even the smallest is over it.
fn crossing(points: &[HeadroomPoint], requirement: &Requirement, latency_ns: f64) -> f64 {
    let of = |point: &HeadroomPoint| requirement.latency_of(&point.level.latency(requirement.side));
    let mut below: Option<&HeadroomPoint> = None;
    for point in points {
        if point.kept_up() && of(point) <= latency_ns {
            below = Some(point);
            continue;
        }
        let Some(under) = below else { return 0.0 };
        let (low, high) = (of(under), of(point));
        if !point.kept_up() || high <= low {
            return (under.times * point.times).sqrt();
        }
        let share = libm::log(latency_ns / low) / libm::log(high / low);
        return under.times * libm::pow(point.times / under.times, share.clamp(0.0, 1.0));
    }
    below.map_or(0.0, |point| point.times)
}
