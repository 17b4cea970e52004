//! Two runs of the same cases: what got better or worse beyond noise.
//!
//! Cases are matched by stage and name. Where both have the same intervals, the test is on the differences of paired
//! intervals, so that a shape that both share (a cliff, an event) is no noise; else on two means by Welch. Standard
//! errors are adjusted for autocorrelation. All tests of a comparison together raise a false alarm in at most 1 % of
//! comparisons (Holm's method), so that two runs that differ by noise alone stay silent.

mod junit;

use crate::Findings;
use crate::observation::{Interval, ObservedCase};
use crate::statistics::{Estimate, t_quantile, t_two_sided_p};
use serde::Serialize;

/// All tests of one comparison together give a false alarm with at most this probability.
const FALSE_ALARM: f64 = 0.01;

/// What a comparison calls a change, and what a regression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// A change for the worse of at least this many percent, beyond noise, is a regression.
    pub regression_percent: f64,
    /// A change smaller than this is none, however sure: two simulated runs have no noise at all.
    pub smallest_percent: f64,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { regression_percent: 3.0, smallest_percent: 0.5 }
    }
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Operations a second; more is better.
    Iops,
    /// Mean read latency; less is better.
    ReadLatencyNs,
    /// Mean write latency; less is better.
    WriteLatencyNs,
}

impl Metric {
    const ALL: [Metric; 3] = [Metric::Iops, Metric::ReadLatencyNs, Metric::WriteLatencyNs];

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Iops => "iops",
            Metric::ReadLatencyNs => "read_latency_ns",
            Metric::WriteLatencyNs => "write_latency_ns",
        }
    }

    fn more_is_better(self) -> bool {
        self == Metric::Iops
    }

    fn of(self, interval: &Interval) -> Option<f64> {
        let mean = |flow: &crate::Flow| (flow.ios > 0.0).then(|| flow.latency_sum_ns / flow.ios);
        match self {
            Metric::Iops => Some(interval.iops()),
            Metric::ReadLatencyNs => mean(&interval.read),
            Metric::WriteLatencyNs => mean(&interval.write),
        }
    }

    fn total(self, case: &ObservedCase) -> Option<f64> {
        let latency = |part: &Option<store::DirectionResult>| {
            part.as_ref().filter(|part| part.ios > 0).map(|part| part.latency_ns.mean)
        };
        match self {
            Metric::Iops => Some(case.result.iops),
            Metric::ReadLatencyNs => latency(&case.result.read),
            Metric::WriteLatencyNs => latency(&case.result.write),
        }
    }
}

/// What the difference of a metric means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// Better beyond noise.
    Better,
    /// Worse beyond noise, but by less than the bound.
    Worse,
    /// Worse beyond noise, by the bound or more.
    Regression,
    /// No difference beyond noise.
    Same,
    /// Too few intervals to tell noise from difference.
    Unknown,
}

/// One metric of one case in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricComparison {
    /// What is compared.
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
    /// Whether intervals were compared in pairs.
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
    let twin = |of: &ObservedCase, among: &[ObservedCase]| -> Option<usize> {
        among.iter().position(|case| case.stage == of.stage && case.name == of.name)
    };
    let mut comparison = Comparison { cases: Vec::new(), only_first: Vec::new(), only_second: Vec::new() };
    for case in first {
        let Some(index) = twin(case, second) else {
            comparison.only_first.push(case.path());
            continue;
        };
        let metrics = Metric::ALL.iter().filter_map(|metric| difference(*metric, case, &second[index]));
        comparison.cases.push(CaseComparison {
            stage: case.stage.clone(),
            case: case.name.clone(),
            metrics: metrics.collect(),
        });
    }
    let missing = second.iter().filter(|case| twin(case, first).is_none());
    comparison.only_second = missing.map(ObservedCase::path).collect();
    judge(&mut comparison, bounds);
    comparison
}

fn difference(metric: Metric, first: &ObservedCase, second: &ObservedCase) -> Option<MetricComparison> {
    let (before, after) = (metric.total(first)?, metric.total(second)?);
    let (a, b) = (first.counted(), second.counted());
    let same_intervals = a.len() == b.len()
        && a.iter().zip(&b).all(|(a, b)| (a.length_s() - b.length_s()).abs() < 0.1 * a.length_s());
    let test = if same_intervals { paired(metric, &a, &b) } else { welch(metric, &a, &b) };
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
        p: test.map(|test| {
            if test.standard_error > 0.0 {
                t_two_sided_p(test.difference / test.standard_error, test.freedom)
            } else if test.difference == 0.0 {
                1.0
            } else {
                0.0
            }
        }),
        paired: same_intervals,
        judgement: Judgement::Unknown,
    })
}

#[derive(Clone, Copy)]
struct Test {
    difference: f64,
    standard_error: f64,
    freedom: f64,
}

fn paired(metric: Metric, first: &[Interval], second: &[Interval]) -> Option<Test> {
    let pairs = first.iter().zip(second);
    let differences: Vec<f64> = pairs.filter_map(|(a, b)| Some(metric.of(b)? - metric.of(a)?)).collect();
    let estimate = Estimate::of(&differences)?;
    Some(Test {
        difference: estimate.mean,
        standard_error: estimate.standard_error,
        freedom: estimate.freedom,
    })
}

fn welch(metric: Metric, first: &[Interval], second: &[Interval]) -> Option<Test> {
    let of = |intervals: &[Interval]| -> Option<Estimate> {
        let values: Vec<f64> = intervals.iter().filter_map(|interval| metric.of(interval)).collect();
        Estimate::of(&values)
    };
    let (a, b) = (of(first)?, of(second)?);
    let (va, vb) = (a.standard_error.powi(2), b.standard_error.powi(2));
    let freedom = if va + vb > 0.0 {
        (va + vb).powi(2) / (va * va / a.freedom + vb * vb / b.freedom)
    } else {
        a.freedom + b.freedom
    };
    Some(Test { difference: b.mean - a.mean, standard_error: (va + vb).sqrt(), freedom })
}

/// Holm: of m tests, the smallest p must be below α ÷ m, the next below α ÷ (m − 1), and so on to the first that fails.
fn judge(comparison: &mut Comparison, bounds: &Bounds) {
    let mut tests: Vec<&mut MetricComparison> = comparison
        .cases
        .iter_mut()
        .flat_map(|case| &mut case.metrics)
        .filter(|one| one.p.is_some())
        .collect();
    tests.sort_by(|a, b| a.p.unwrap_or(1.0).total_cmp(&b.p.unwrap_or(1.0)));
    let count = tests.len();
    let mut is_open = true;
    for (rank, test) in tests.into_iter().enumerate() {
        is_open &= test.p.unwrap_or(1.0) < FALSE_ALARM / (count - rank) as f64;
        let change = test.change_percent;
        test.judgement = if !is_open || change.abs() < bounds.smallest_percent {
            Judgement::Same
        } else if (change > 0.0) == test.metric.more_is_better() {
            Judgement::Better
        } else if change.abs() >= bounds.regression_percent {
            Judgement::Regression
        } else {
            Judgement::Worse
        };
    }
}
