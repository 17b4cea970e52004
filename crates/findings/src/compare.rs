//! Comparison of runs with the same cases: regressions and improvements beyond noise.
//!
//! Cases are matched by stage and name. What noise is, and what a difference beyond it means, is said in `noise` and `judge`
//! and in `docs/findings.md`. All tests of a comparison together raise a false alarm in at most 1 % of comparisons (Holm's
//! method), so that two runs that differ by noise alone stay silent.

mod judge;
mod noise;

pub(crate) use noise::{Within, within};

use crate::Findings;
use crate::observation::{Interval, ObservedCase};
use crate::statistics::{t_quantile, t_two_sided_p};
use serde::Serialize;
use std::collections::BTreeMap;

/// All tests of one comparison, or of one family of trends, together give a false alarm with at most this probability.
pub const FALSE_ALARM: f64 = 0.01;

/// A change smaller than this share is none, however sure, unless a comparison says otherwise: two simulated runs have no noise at
/// all.
pub const SMALLEST_CHANGE: f64 = 0.005;

/// Thresholds of change and regression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// A change for the worse of at least this many percent, beyond noise, is a regression.
    pub regression_percent: f64,
    /// A change smaller than this is none, however sure: two simulated runs have no noise at all.
    pub smallest_percent: f64,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { regression_percent: 3.0, smallest_percent: 100.0 * SMALLEST_CHANGE }
    }
}

/// Compared metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Operations a second; more is better.
    Iops,
    /// Mean read latency; less is better.
    ReadLatencyNs,
    /// Mean write latency; less is better.
    WriteLatencyNs,
    /// I/Os that failed; fewer is better.
    Errors,
}

impl Metric {
    pub(crate) const ALL: [Metric; 4] =
        [Metric::Iops, Metric::ReadLatencyNs, Metric::WriteLatencyNs, Metric::Errors];

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Iops => "iops",
            Metric::ReadLatencyNs => "read_latency_ns",
            Metric::WriteLatencyNs => "write_latency_ns",
            Metric::Errors => "errors",
        }
    }

    pub(crate) fn more_is_better(self) -> bool {
        self == Metric::Iops
    }

    fn of(self, interval: &Interval) -> Option<f64> {
        let mean = |flow: &crate::Flow| (flow.ios > 0.0).then(|| flow.latency_sum_ns / flow.ios);
        match self {
            Metric::Iops => Some(interval.iops()),
            Metric::ReadLatencyNs => mean(&interval.read),
            Metric::WriteLatencyNs => mean(&interval.write),
            Metric::Errors => Some(interval.all().errors as f64),
        }
    }

    pub(crate) fn total(self, case: &ObservedCase) -> Option<f64> {
        let latency = |part: &Option<store::DirectionResult>| {
            part.as_ref().filter(|part| part.ios > 0).map(|part| part.latency_ns.mean)
        };
        match self {
            Metric::Iops => Some(case.result.iops),
            Metric::ReadLatencyNs => latency(&case.result.read),
            Metric::WriteLatencyNs => latency(&case.result.write),
            Metric::Errors => Some(
                [&case.result.read, &case.result.write]
                    .into_iter()
                    .flatten()
                    .map(|one| one.errors as f64)
                    .sum(),
            ),
        }
    }
}

/// Verdict on the difference of a metric or a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// Better beyond noise.
    Better,
    /// Worse beyond noise, but by less than the bound, or set off by a gain of the rate that is at least as large.
    Worse,
    /// Worse beyond noise, by the bound or more.
    Regression,
    /// Of a case: some of its metrics better and some worse beyond noise, without a regression.
    Mixed,
    /// No difference beyond noise.
    Same,
    /// Too few intervals to tell noise from difference.
    Unknown,
}

/// One metric of one case in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricComparison {
    /// Metric that is compared.
    pub metric: Metric,
    /// In the first run.
    pub before: f64,
    /// In the second run.
    pub after: f64,
    /// Second less first, in percent of the first.
    pub change_percent: f64,
    /// 95 % confidence interval of the change, for this test alone.
    pub change_confidence_95: Option<[f64; 2]>,
    /// Probability of a difference this large by noise alone, for this test alone.
    pub p: Option<f64>,
    /// True if intervals were compared in pairs.
    pub paired: bool,
    /// The verdict, with all tests of the comparison taken into account.
    pub judgement: Judgement,
}

/// One case in both runs; serialises as a line of `arraylab compare --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseComparison {
    /// The stage.
    pub stage: String,
    /// The case.
    pub case: String,
    /// Judgement of its metrics together.
    pub judgement: Judgement,
    /// I/Os outstanding in the mean, before and after (Little's law): in a closed loop that holds as many, rate and mean
    /// latency over all I/Os say the same.
    pub outstanding: [f64; 2],
    /// Its metrics that both runs have.
    pub metrics: Vec<MetricComparison>,
}

/// Two runs, case by case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Cases that both runs measured.
    pub cases: Vec<CaseComparison>,
    /// `stage/case` that only the first measured.
    pub only_first: Vec<String>,
    /// `stage/case` that only the second measured.
    pub only_second: Vec<String>,
}

impl Comparison {
    /// True where anything got worse by the bound or more: `arraylab compare` then exits with 1.
    pub fn has_regression(&self) -> bool {
        self.of(Judgement::Regression).next().is_some()
    }

    /// The cases and metrics with a judgement.
    pub fn of(&self, judgement: Judgement) -> impl Iterator<Item = (&CaseComparison, &MetricComparison)> {
        self.cases.iter().flat_map(move |case| {
            case.metrics.iter().filter(move |one| one.judgement == judgement).map(move |one| (case, one))
        })
    }
}

/// Compares a second run with a first.
pub fn compare(first: &Findings, second: &Findings, bounds: &Bounds) -> Comparison {
    let (first, second) = (&first.observation.cases, &second.observation.cases);
    let (first_places, second_places) = (places(first), places(second));
    let mut comparison = Comparison { cases: Vec::new(), only_first: Vec::new(), only_second: Vec::new() };
    for case in first {
        let Some(&index) = second_places.get(&(case.stage.as_str(), case.name.as_str())) else {
            comparison.only_first.push(case.path());
            continue;
        };
        let other = &second[index];
        let metrics = Metric::ALL.iter().filter_map(|metric| difference(*metric, case, other));
        comparison.cases.push(CaseComparison {
            stage: case.stage.clone(),
            case: case.name.clone(),
            judgement: Judgement::Unknown,
            outstanding: [case, other].map(|one| crate::level::total(one).outstanding),
            metrics: metrics.collect(),
        });
    }
    let is_missing =
        |case: &&ObservedCase| !first_places.contains_key(&(case.stage.as_str(), case.name.as_str()));
    let missing = second.iter().filter(is_missing);
    comparison.only_second = missing.map(ObservedCase::path).collect();
    judge::judge(&mut comparison, bounds);
    comparison
}

/// The place of each case by its stage and name, the first of equals.
pub(crate) fn places(cases: &[ObservedCase]) -> BTreeMap<(&str, &str), usize> {
    let mut places = BTreeMap::new();
    for (place, case) in cases.iter().enumerate() {
        places.entry((case.stage.as_str(), case.name.as_str())).or_insert(place);
    }
    places
}

fn difference(metric: Metric, first: &ObservedCase, second: &ObservedCase) -> Option<MetricComparison> {
    let (before, after) = (metric.total(first)?, metric.total(second)?);
    if metric == Metric::Errors {
        return errors(before, after);
    }
    let (test, paired) = noise::test(metric, first, second);
    let scale = before.max(f64::MIN_POSITIVE);
    Some(MetricComparison {
        metric,
        before,
        after,
        change_percent: 100.0 * (after - before) / scale,
        change_confidence_95: test.map(|test| {
            let half = t_quantile(0.95, test.freedom) * test.standard_error;
            [100.0 * (test.difference - half) / scale, 100.0 * (test.difference + half) / scale]
        }),
        p: test.map(|test| test.p()),
        paired,
        judgement: Judgement::Unknown,
    })
}

/// Failed I/Os are counts: from none to any is no noise, else their difference is held against that of Poisson counts.
fn errors(before: f64, after: f64) -> Option<MetricComparison> {
    const MANY: f64 = 1e3;
    if before + after == 0.0 {
        return None;
    }
    let p = if before == 0.0 || after == 0.0 {
        0.0
    } else {
        t_two_sided_p((after - before) / (after + before).sqrt(), MANY)
    };
    Some(MetricComparison {
        metric: Metric::Errors,
        before,
        after,
        change_percent: 100.0 * (after - before) / before.max(1.0),
        change_confidence_95: None,
        p: Some(p),
        paired: false,
        judgement: Judgement::Unknown,
    })
}
