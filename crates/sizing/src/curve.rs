//! Curve of latency over rate: the load with more and more I/Os under way.

use crate::requirement::Side;
use crate::simulation::{Effort, simulate};
use crate::workload::asked_iops;
use crate::{Answer, Configuration, SizingError};
use plan::Case;
use serde::Serialize;

/// Point of a curve.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CurvePoint {
    /// I/Os under way.
    pub outstanding: u64,
    /// I/Os a second.
    pub iops: f64,
    /// Mean latency, in nanoseconds.
    pub mean_ns: f64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Relative half-width of the rate's 95 % interval, of the sampling alone.
    pub sampling: f64,
    /// The level did not change any more.
    pub is_steady: bool,
}

/// Computes the curve of a load in closed loop, at a number of points from one outstanding I/O to four times those of the load,
/// in equal factors. The load's own number of outstanding I/Os is one of them, at which `own` is the answer of the same effort.
pub fn curve(
    configuration: &Configuration,
    case: &Case,
    points: usize,
    effort: &Effort,
    own: &Answer,
) -> Result<Vec<CurvePoint>, SizingError> {
    if !case.loads.is_empty() {
        return Err(SizingError::question(
            "several loads at once have no one number of I/Os under way",
            "ask about one of them",
        ));
    }
    outstanding(case.load.outstanding(), points)
        .into_iter()
        .map(|outstanding| match outstanding == case.load.outstanding() && asked_iops(case).is_none() {
            true => Ok(of_answer(own, outstanding)),
            false => point(configuration, case, outstanding, effort),
        })
        .collect()
}

/// Point of the load itself.
fn of_answer(own: &Answer, outstanding: u64) -> CurvePoint {
    CurvePoint {
        outstanding,
        iops: own.iops,
        mean_ns: own.latency_ns.mean,
        p99_ns: own.latency_ns.p99,
        sampling: own.sampling,
        is_steady: own.is_steady,
    }
}

fn point(
    configuration: &Configuration,
    case: &Case,
    outstanding: u64,
    effort: &Effort,
) -> Result<CurvePoint, SizingError> {
    let mut case = case.clone();
    // As many jobs as there were, as far as there is an I/O for each.
    let jobs = u64::from(case.load.numjobs).min(outstanding);
    case.load.numjobs = jobs as u32;
    case.load.iodepth = outstanding.div_ceil(jobs).min(u64::from(load::IODEPTH_LIMIT)) as u32;
    case.load.rate_iops = None;
    case.load.shape.arrival = None;
    let level = simulate(configuration, &case, effort)?;
    let both = level.latency(Side::Both);
    Ok(CurvePoint {
        outstanding: case.load.outstanding(),
        iops: level.iops(),
        mean_ns: both.mean_ns(),
        p99_ns: both.percentile_ns(990_000),
        sampling: level.rate_half_width,
        is_steady: level.is_steady,
    })
}

/// Rising numbers of I/Os under way.
fn outstanding(own: u64, points: usize) -> Vec<u64> {
    let most = (4 * own).clamp(2, load::OUTSTANDING_LIMIT) as f64;
    let steps = points.max(2) - 1;
    let mut all: Vec<u64> =
        (0..=steps).map(|step| libm::pow(most, step as f64 / steps as f64).round() as u64).collect();
    // The nearest to the load's own is the load's own.
    if let Some(nearest) = (0..all.len()).min_by_key(|&place| all[place].abs_diff(own)) {
        all[nearest] = own;
    }
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a curve rises from one I/O to four times the load's own, which is among its points.
    #[test]
    fn curves_have_the_loads_own_point() {
        for own in [1, 2, 7, 64, 512, 4096] {
            let all = outstanding(own, 8);
            assert!(all.contains(&own) && all.len() <= 8 && all.len() >= 2, "{all:?}");
            assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
            assert!(own < 4 || (all[0] == 1 && all[all.len() - 1] == 4 * own), "{all:?}");
        }
    }
}
