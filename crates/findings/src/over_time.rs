//! Utilisation of parts and distribution of latencies over the time of a case.

use crate::observation::{PartUtilisation, UsePoint, counters_over_time, is_counter_read};
use load::{Histogram, bin_low_ns, bin_width_ns};
use std::ops::ControlFlow;
use store::{PRECONDITIONING_LOAD, RunReader, StoreError};

/// Steps of latency for each doubling.
const STEPS_AN_OCTAVE: usize = 4;

/// Percentiles of each column.
const PERCENTILES_MILLIONTHS: [u32; 5] = [50_000, 500_000, 950_000, 990_000, 999_000];

/// A part that is busy for this share of an interval bounds the rate in it.
const FULL: f64 = 0.90;

/// Span of time with the busiest part.
#[derive(Debug, Clone, PartialEq)]
pub struct BusiestSpan {
    /// The kind of part, and what of it is busy.
    pub part: String,
    /// Beginning of the span, since the start of the case's load.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
    /// True if it was busy all the time, as a part that bounds the rate is.
    pub is_full: bool,
}

/// Distribution of the latencies of all I/Os of a case over time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LatencyOverTime {
    /// Columns, in order of time.
    pub columns: Vec<LatencyColumn>,
    /// Lower edge of each step of latency, growing; four steps double it.
    pub edges_ns: Vec<f64>,
}

/// One or several intervals that follow one another.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyColumn {
    /// Beginning, since the start of the case's load.
    pub from_s: f64,
    /// End.
    pub to_s: f64,
    /// Share of the I/Os in each step.
    pub shares: Vec<f64>,
    /// The percentiles 5, 50, 95, 99 and 99.9; `None` where nothing completed.
    pub percentiles_ns: Option<[u64; 5]>,
}

/// Utilisation of each kind of part of a case over time, the busiest kind first, in at most so many points: each is then the
/// mean of several intervals, with the extremes of all. Empty where the target shows nothing of its parts.
pub fn utilisation(
    run: &RunReader,
    case_index: u32,
    points: usize,
) -> Result<Vec<PartUtilisation>, StoreError> {
    let mut kinds = counters_over_time(&run.counters_of(case_index, &is_counter_read)?);
    for kind in &mut kinds {
        let per_point = kind.points.len().div_ceil(points.max(1)).max(1);
        if per_point > 1 {
            kind.points = kind.points.chunks(per_point).map(one_of).collect();
        }
    }
    Ok(kinds)
}

/// Several intervals as one.
fn one_of(points: &[UsePoint]) -> UsePoint {
    let last = points[points.len() - 1];
    UsePoint {
        mean_share: points.iter().map(|point| point.mean_share).sum::<f64>() / points.len() as f64,
        smallest_share: points.iter().map(|point| point.smallest_share).fold(1.0, f64::min),
        largest_share: points.iter().map(|point| point.largest_share).fold(0.0, f64::max),
        ..last
    }
}

/// Finds the busiest kind of part over time; neighbours with the same answer are one span.
pub fn busiest(kinds: &[PartUtilisation]) -> Vec<BusiestSpan> {
    let mut ends: Vec<f64> =
        kinds.iter().flat_map(|kind| kind.points.iter().map(|point| point.at_s)).collect();
    ends.sort_by(f64::total_cmp);
    ends.dedup();
    let mut spans: Vec<BusiestSpan> = Vec::new();
    let mut from_s = 0.0;
    for to_s in ends {
        let share = |kind: &PartUtilisation| {
            kind.points.iter().find(|point| point.at_s == to_s).map(|point| point.mean_share)
        };
        // Of equals the first, which is the busiest over all.
        let best = kinds
            .iter()
            .filter(|kind| kind.part != "cpu" && kind.part != "disk")
            .filter_map(|kind| Some((kind, share(kind)?)))
            .reduce(|best, one| if one.1 > best.1 { one } else { best });
        if let Some((kind, share)) = best {
            let (part, is_full) = (format!("{} {}", kind.part, kind.resource), share >= FULL);
            match spans.last_mut().filter(|last| last.part == part && last.is_full == is_full) {
                Some(last) => last.to_s = to_s,
                None => spans.push(BusiestSpan { part, from_s, to_s, is_full }),
            }
        }
        from_s = to_s;
    }
    spans
}

/// Latencies of all I/Os of a case over time, in at most so many columns; `None` where there is nothing to show.
pub fn latency_over_time(
    run: &RunReader,
    case_index: u32,
    columns: usize,
) -> Result<Option<LatencyOverTime>, StoreError> {
    let points = run.series(case_index)?;
    let mut ends: Vec<u64> = points
        .iter()
        .filter(|point| point.load != PRECONDITIONING_LOAD && point.end_ns > point.start_ns)
        .map(|point| point.end_ns)
        .collect();
    ends.sort_unstable();
    ends.dedup();
    let per_point = ends.len().div_ceil(columns.max(1)).max(1);
    let mut latencies: Vec<Histogram> = vec![Histogram::new(); ends.len().div_ceil(per_point)];
    run.for_each_sample(case_index, &mut |load, sample| {
        if load != PRECONDITIONING_LOAD
            && let Ok(place) = ends.binary_search(&sample.end_ns)
        {
            latencies[place / per_point].merge(&sample.read.latency);
            latencies[place / per_point].merge(&sample.write.latency);
        }
        ControlFlow::Continue(())
    })?;
    let steps = || latencies.iter().flat_map(Histogram::filled_bins).map(|(bin, _)| step_of(bin));
    let (Some(lowest), Some(highest)) = (steps().min(), steps().max()) else { return Ok(None) };
    let mut from_s = points.iter().map(|point| point.start_ns).min().unwrap_or(0) as f64 / 1e9;
    let mut found = Vec::new();
    for (latencies, ends) in latencies.iter().zip(ends.chunks(per_point)) {
        let to_s = ends[ends.len() - 1] as f64 / 1e9;
        let mut shares = vec![0.0; highest + 1 - lowest];
        let all = latencies.count().max(1) as f64;
        latencies.filled_bins().for_each(|(bin, count)| shares[step_of(bin) - lowest] += count as f64 / all);
        let percentiles_ns = latencies
            .known_percentile_ns(500_000)
            .map(|_| PERCENTILES_MILLIONTHS.map(|millionths| latencies.percentile_ns(millionths)));
        found.push(LatencyColumn { from_s, to_s, shares, percentiles_ns });
        from_s = to_s;
    }
    Ok(Some(LatencyOverTime { columns: found, edges_ns: (lowest..=highest + 1).map(edge_ns).collect() }))
}

/// The step of latency in which the middle of a histogram's bin lies.
fn step_of(bin: usize) -> usize {
    let middle_ns = bin_low_ns(bin) as f64 + bin_width_ns(bin) as f64 / 2.0;
    (libm::log2(middle_ns.max(1.0)) * STEPS_AN_OCTAVE as f64).floor() as usize
}

fn edge_ns(step: usize) -> f64 {
    libm::exp2(step as f64 / STEPS_AN_OCTAVE as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(part: &str, shares: &[f64]) -> PartUtilisation {
        let point = |(place, share): (usize, &f64)| UsePoint {
            at_s: 5.0 * (place + 1) as f64,
            mean_share: *share,
            smallest_share: *share,
            largest_share: *share,
            parts: 1,
        };
        PartUtilisation {
            part: part.into(),
            resource: "busy".into(),
            points: shares.iter().enumerate().map(point).collect(),
        }
    }

    /// Proves that the busiest part is told span by span, that a span ends where it is no longer full, and that the host's
    /// processors and disks are not taken for parts of the array.
    #[test]
    fn the_busiest_part_is_told_by_spans() {
        let kinds = [
            kind("module", &[0.95, 0.99, 0.5, 0.5]),
            kind("link", &[0.1, 0.2, 0.3, 0.6]),
            kind("cpu", &[1.0; 4]),
        ];
        let spans = busiest(&kinds);
        let found_spans: Vec<(&str, f64, f64, bool)> =
            spans.iter().map(|one| (one.part.as_str(), one.from_s, one.to_s, one.is_full)).collect();
        assert_eq!(
            found_spans,
            [
                ("module busy", 0.0, 10.0, true),
                ("module busy", 10.0, 15.0, false),
                ("link busy", 15.0, 20.0, false)
            ]
        );
    }

    /// Proves that four steps double a latency, and that a bin lies between the edges of its step.
    #[test]
    fn steps_are_quarters_of_octaves() {
        for latency_ns in [100_u64, 1_000, 123_456, 10_000_000] {
            let step = step_of(load::bin_index(latency_ns));
            assert!(
                edge_ns(step) <= latency_ns as f64 * 1.02 && latency_ns as f64 <= edge_ns(step + 1) * 1.02
            );
            assert!((edge_ns(step + 4) / edge_ns(step) - 2.0).abs() < 1e-12);
        }
    }
}
