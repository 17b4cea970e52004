//! Fast-forward against exact simulation of the same case.

use load::{Direction, Extrapolation, Histogram, LoadSpec, NEVER_STOPPED, Random, Sample};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use super::case::FastForwardCase;
use crate::{ArrayDescription, Twin, TwinError};

/// Percentiles are compared where so many latencies lie beyond them.
const BEYOND_LEAST: u64 = 100;
/// Exact seeds whose scatter bounds a percentile that is not stable itself.
const SCATTER_SEEDS: u64 = 5;
/// So many draws for each case that is wanted: in most of them something is skipped.
const DRAWS_PER_CASE: u64 = 6;
/// Each so many-th draw is of an array with data services.
const SERVICES_EVERY: u64 = 3;

/// Allowed errors, as shares.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Of the rate of the whole run.
    pub iops: f64,
    /// Of the rate of an interval, in the mean of all.
    pub interval_mean: f64,
    /// Of the rate of any interval.
    pub interval_worst: f64,
    /// Of the mean latency of a direction.
    pub mean: f64,
    /// Of the 99th percentile of a direction.
    pub p99: f64,
    /// Of the 99.9th percentile of a direction.
    pub p99_9: f64,
}

impl Bounds {
    /// The bounds that fast-forward is held to.
    pub const HELD: Bounds =
        Bounds { iops: 0.01, interval_mean: 0.02, interval_worst: 0.08, mean: 0.03, p99: 0.08, p99_9: 0.15 };
}

/// One case: errors are shares, fast-forward ÷ exact − 1.
#[derive(Debug, Clone, Serialize)]
pub struct FastForwardRow {
    /// Its number, from 1.
    pub case: u64,
    /// The array.
    pub array: String,
    /// Data services that it has.
    pub services: Vec<&'static str>,
    /// Load, settings and changed parts.
    pub settings: Map<String, Value>,
    /// Events, as `drive-failure at 20 s`.
    pub events: Vec<String>,
    /// Share of the time that was not simulated.
    pub skipped_share: f64,
    /// Of the rate of the whole run.
    pub iops_error: f64,
    /// Mean absolute error of the rates of intervals.
    pub interval_error_mean: f64,
    /// The largest of these.
    pub interval_error_worst: f64,
    /// Of the mean latency, of the direction in which it is larger.
    pub mean_error: f64,
    /// Of the 99th percentile, likewise; `None` where too few latencies lie beyond it.
    pub p99_error: Option<f64>,
    /// Of the 99.9th percentile, likewise.
    #[serde(rename = "p99.9_error")]
    pub p99_9_error: Option<f64>,
    /// Claimed values whose 95 % interval covers the exact one: rates of intervals, and of the whole run rate, means and 99th
    /// percentiles.
    pub covered: u64,
    /// Claimed values.
    pub intervals: u64,
    /// Median half-width of these 95 % intervals, as a share.
    pub half_width_median: f64,
    /// Processor time of the exact run ÷ that of fast-forward.
    pub speedup: f64,
    /// Excesses over a bound, in words; empty where all holds.
    pub beyond: Vec<String>,
    #[serde(skip)]
    half_widths: Vec<f64>,
}

/// Over all cases.
#[derive(Debug, Clone, Serialize)]
pub struct FastForwardSummary {
    /// Always true: tells the line from those of cases.
    pub summary: bool,
    /// Cases in which something was skipped.
    pub cases: u64,
    /// Claimed values.
    pub values: u64,
    /// Share of the claimed values whose interval covers the exact one.
    pub coverage: f64,
    /// Median half-width of the claimed intervals, as a share.
    pub half_width_median: f64,
    /// Median time saved.
    pub speedup_median: f64,
    /// Cases with an error beyond its bound.
    pub beyond: u64,
    /// By data service: cases in which something was skipped, and draws that were simulated whole.
    pub services: BTreeMap<&'static str, ServiceCases>,
}

/// Cases of arrays with a data service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ServiceCases {
    /// Compared cases.
    pub cases: u64,
    /// Draws in which nothing was skipped, so that there is nothing to compare.
    pub simulated_whole: u64,
}

/// Compares `cases` random cases in which something is skipped, a third of the draws of arrays with data services where there are
/// some; `on_row` is handed each as soon as it is done. `cpu_time` is the processor time of this thread.
pub fn bench_fast_forward(
    (arrays, with_services): (&[ArrayDescription], &[ArrayDescription]),
    seed: u64,
    cases: u64,
    cpu_time: &dyn Fn() -> Duration,
    on_row: &mut dyn FnMut(&FastForwardRow) -> ControlFlow<()>,
) -> Result<FastForwardSummary, TwinError> {
    let mut rows: Vec<FastForwardRow> = Vec::new();
    let mut services: BTreeMap<&'static str, ServiceCases> = BTreeMap::new();
    for number in 0..cases.saturating_mul(DRAWS_PER_CASE) {
        if rows.len() as u64 == cases {
            break;
        }
        // Each case has a stream of its own, so that one can be run again alone.
        let mut random = Random::from_seed_and_stream(seed, number);
        let is_with_services = number % SERVICES_EVERY == SERVICES_EVERY - 1 && !with_services.is_empty();
        let drawn_from = if is_with_services { with_services } else { arrays };
        let Some(case) = FastForwardCase::draw(drawn_from, &mut random) else { continue };
        let row = compare_fast_forward(number, &case, cpu_time)?;
        for service in case.services() {
            let counted = services.entry(service).or_default();
            *(if row.is_some() { &mut counted.cases } else { &mut counted.simulated_whole }) += 1;
        }
        let Some(row) = row else { continue };
        rows.push(row);
        if let Some(row) = rows.last()
            && on_row(row).is_break()
        {
            break;
        }
    }
    Ok(summary(&rows, services))
}

/// Compares fast-forward with exact simulation of a case; `None` where nothing is skipped.
pub fn compare_fast_forward(
    number: u64,
    case: &FastForwardCase,
    cpu_time: &dyn Fn() -> Duration,
) -> Result<Option<FastForwardRow>, TwinError> {
    let (fast, fast_time) = timed(case, false, cpu_time)?;
    if fast.extrapolation.carried_ns == 0 {
        return Ok(None);
    }
    let (exact, exact_time) = timed(case, true, cpu_time)?;
    let speedup = exact_time.as_secs_f64() / fast_time.as_secs_f64().max(1e-6);
    compare(number, case, &fast, &exact, speedup).map(Some)
}

fn summary(rows: &[FastForwardRow], services: BTreeMap<&'static str, ServiceCases>) -> FastForwardSummary {
    let values: u64 = rows.iter().map(|row| row.intervals).sum();
    let covered: u64 = rows.iter().map(|row| row.covered).sum();
    FastForwardSummary {
        summary: true,
        cases: rows.len() as u64,
        values,
        coverage: covered as f64 / (values.max(1)) as f64,
        half_width_median: median(rows.iter().flat_map(|row| row.half_widths.iter().copied()).collect()),
        speedup_median: median(rows.iter().map(|row| row.speedup).collect()),
        beyond: rows.iter().filter(|row| !row.beyond.is_empty()).count() as u64,
        services,
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Result of a run.
struct Ran {
    extrapolation: Extrapolation,
    samples: Vec<Sample>,
}

impl Ran {
    fn counted(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(|sample| !sample.is_ramp)
    }

    fn ios(&self) -> u64 {
        self.counted().map(ios).sum()
    }

    fn latency(&self, direction: Direction) -> Histogram {
        let mut all = Histogram::new();
        self.counted().for_each(|sample| all.merge(&sample.direction(direction).latency));
        all
    }
}

fn ios(sample: &Sample) -> u64 {
    sample.read.ios + sample.write.ios
}

fn timed(
    case: &FastForwardCase,
    exact: bool,
    cpu_time: &dyn Fn() -> Duration,
) -> Result<(Ran, Duration), TwinError> {
    let mut twin = case.build(exact)?;
    let begun = cpu_time();
    let mut samples = Vec::new();
    let extrapolation = run(&mut twin, &case.load, &mut samples)?;
    Ok((Ran { extrapolation, samples }, cpu_time().saturating_sub(begun)))
}

fn run(twin: &mut Twin, load: &LoadSpec, samples: &mut Vec<Sample>) -> Result<Extrapolation, TwinError> {
    Ok(twin.run(load, &NEVER_STOPPED, &mut |_, sample| {
        samples.push(sample);
        ControlFlow::Continue(())
    })?)
}

const DIRECTIONS: [Direction; 2] = [Direction::Read, Direction::Write];
const P99: u32 = 990_000;
const P99_9: u32 = 999_000;

/// Latencies beyond a percentile.
fn beyond(histogram: &Histogram, millionths: u32) -> u64 {
    histogram.count() / 1000 * u64::from(1_000_000 - millionths) / 1000
}

fn percentile(histogram: &Histogram, millionths: u32) -> f64 {
    histogram.percentile_by_rank_ns(millionths)
}

fn compare(
    number: u64,
    case: &FastForwardCase,
    fast: &Ran,
    exact: &Ran,
    speedup: f64,
) -> Result<FastForwardRow, TwinError> {
    let error = |fast: f64, exact: f64| {
        if exact == 0.0 { f64::from(u8::from(fast != 0.0)) } else { fast / exact - 1.0 }
    };
    let larger = |a: f64, b: f64| if b.abs() > a.abs() { b } else { a };
    let pairs: Vec<(&Sample, &Sample)> = fast.counted().zip(exact.counted()).collect();
    let errors: Vec<f64> =
        pairs.iter().map(|(fast, exact)| error(ios(fast) as f64, ios(exact) as f64).abs()).collect();
    let iops_error = error(fast.ios() as f64, exact.ios() as f64);
    let ext = &fast.extrapolation;
    // (half-width, error) of all that is claimed.
    let mut claims: Vec<(f64, f64)> = vec![(ext.confidence_95, iops_error)];
    for (fast, exact) in pairs.iter().filter(|(fast, _)| fast.is_extrapolated) {
        claims.push((fast.rate_confidence_95, error(ios(exact) as f64, ios(fast) as f64)));
    }
    let (mut mean_error, mut p99_error, mut p99_9_error) = (0.0, None, None);
    for (index, direction) in DIRECTIONS.into_iter().enumerate() {
        let (fast, exact) = (fast.latency(direction), exact.latency(direction));
        if exact.count() < BEYOND_LEAST {
            continue;
        }
        let mean = error(fast.mean_ns(), exact.mean_ns());
        mean_error = larger(mean_error, mean);
        claims.push((ext.latency_mean_confidence_95[index], mean));
        let at = |millionths| {
            (beyond(&exact, millionths) >= BEYOND_LEAST)
                .then(|| error(percentile(&fast, millionths), percentile(&exact, millionths)))
        };
        if let Some(found) = at(P99) {
            p99_error = Some(larger(p99_error.unwrap_or(0.0), found));
            claims.push((ext.latency_p99_confidence_95[index], found));
        }
        if let Some(found) = at(P99_9) {
            p99_9_error = Some(larger(p99_9_error.unwrap_or(0.0), found));
        }
    }
    let mut row = FastForwardRow {
        case: number + 1,
        array: case.description.name.clone(),
        services: case.services(),
        settings: case.settings_json(),
        events: case.events.iter().map(|(at_s, action, _)| format!("{action} at {at_s} s")).collect(),
        skipped_share: ext.carried_ns as f64 / (ext.carried_ns + ext.simulated_ns) as f64,
        iops_error,
        interval_error_mean: errors.iter().sum::<f64>() / errors.len().max(1) as f64,
        interval_error_worst: errors.iter().copied().fold(0.0, f64::max),
        mean_error,
        p99_error,
        p99_9_error,
        covered: claims.iter().filter(|(half, error)| error.abs() <= *half).count() as u64,
        intervals: claims.len() as u64,
        half_width_median: median(claims.iter().map(|claim| claim.0).collect()),
        speedup,
        beyond: Vec::new(),
        half_widths: claims.iter().map(|claim| claim.0).collect(),
    };
    row.beyond = what_exceeds(&row, case)?;
    Ok(row)
}

/// Returns what exceeds its bound. Intervals and latencies that exact seeds do not agree on are held to twice their
/// scatter.
fn what_exceeds(row: &FastForwardRow, case: &FastForwardCase) -> Result<Vec<String>, TwinError> {
    let bounds = Bounds::HELD;
    let mut exceeds = Vec::new();
    let mut hold = |name: &str, value: f64, bound: f64| {
        if value.abs() > bound {
            exceeds.push(format!("{name} {:+.2} % of {:.2} %", value * 100.0, bound * 100.0));
        }
    };
    hold("rate", row.iops_error, bounds.iops);
    if row.interval_error_mean > bounds.interval_mean || row.interval_error_worst > bounds.interval_worst {
        let [mean, worst] = interval_scatter(&exact_seeds(case)?);
        hold("intervals, mean", row.interval_error_mean, bounds.interval_mean.max(2.0 * mean));
        hold("intervals, worst", row.interval_error_worst, bounds.interval_worst.max(2.0 * worst));
    }
    let latencies = [
        ("mean", Some(row.mean_error), bounds.mean, None),
        ("p99", row.p99_error, bounds.p99, Some(P99)),
        ("p99.9", row.p99_9_error, bounds.p99_9, Some(P99_9)),
    ];
    let is_beyond = |(_, value, bound, _): &(&str, Option<f64>, f64, Option<u32>)| {
        value.is_some_and(|value: f64| value.abs() > *bound)
    };
    if latencies.iter().any(is_beyond) {
        let seeds = exact_seeds(case)?;
        for (name, value, bound, millionths) in latencies {
            let scatter = DIRECTIONS.into_iter().map(|direction| scatter(&seeds, direction, millionths));
            let allowed = bound.max(2.0 * scatter.fold(0.0, f64::max));
            hold(name, value.unwrap_or(0.0), allowed);
        }
    }
    Ok(exceeds)
}

/// Exact runs of other seeds.
fn exact_seeds(case: &FastForwardCase) -> Result<Vec<Ran>, TwinError> {
    (0..SCATTER_SEEDS)
        .map(|step| {
            let mut other = case.clone();
            other.load.seed += step;
            let mut twin = other.build(true)?;
            let mut samples = Vec::new();
            let extrapolation = run(&mut twin, &other.load, &mut samples)?;
            Ok(Ran { extrapolation, samples })
        })
        .collect()
}

/// Largest difference between two seeds' rates of an interval, as a share: the mean over all intervals, and the largest.
fn interval_scatter(seeds: &[Ran]) -> [f64; 2] {
    let rates: Vec<Vec<f64>> =
        seeds.iter().map(|ran| ran.counted().map(|sample| ios(sample) as f64).collect()).collect();
    let intervals = rates.iter().map(Vec::len).min().unwrap_or(0);
    let (mut sum, mut worst) = (0.0, 0.0_f64);
    for place in 0..intervals {
        let mean = rates.iter().map(|of_seed| of_seed[place]).sum::<f64>() / rates.len() as f64;
        let highest = rates.iter().map(|of_seed| of_seed[place]).fold(0.0, f64::max);
        let lowest = rates.iter().map(|of_seed| of_seed[place]).fold(f64::INFINITY, f64::min);
        let difference = if mean > 0.0 { (highest - lowest) / mean } else { 0.0 };
        (sum, worst) = (sum + difference, worst.max(difference));
    }
    [sum / f64::max(intervals as f64, 1.0), worst]
}

/// Largest deviation of a seed's mean or percentile from the mean of all seeds, as a share.
fn scatter(seeds: &[Ran], direction: Direction, millionths: Option<u32>) -> f64 {
    let value = |ran: &Ran| {
        let latency = ran.latency(direction);
        if latency.count() < BEYOND_LEAST {
            return 0.0;
        }
        millionths.map_or(latency.mean_ns(), |millionths| percentile(&latency, millionths))
    };
    let values: Vec<f64> = seeds.iter().map(value).collect();
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    if mean == 0.0 { 0.0 } else { values.iter().map(|value| (value / mean - 1.0).abs()).fold(0.0, f64::max) }
}
