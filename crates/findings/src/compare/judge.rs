//! Verdicts of differences beyond noise, by metric and by case.
//!
//! A change for the worse by the bound or more is a regression, with one exception. In a closed loop a change of load or of
//! how an array divides its time can raise the rate and a latency at once. A latency that rises by no more than the rate
//! does (as factors) is then set off by it: it is `worse`, and the case `mixed`. Where as many I/Os are outstanding as before,
//! the mean latency over all I/Os has fallen as the rate has risen (Little's law), and only one direction waits longer. A
//! fall of the rate and more errors are set off by nothing.

use super::{Bounds, CaseComparison, Comparison, FALSE_ALARM, Judgement, Metric, MetricComparison};

/// Holm: of m tests, the smallest p must be below α ÷ m, the next below α ÷ (m − 1), and so on to the first that fails.
pub(super) fn judge(comparison: &mut Comparison, bounds: &Bounds) {
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
        test.judgement = if is_open { beyond_noise(test, bounds) } else { Judgement::Same };
    }
    comparison.cases.iter_mut().for_each(judge_case);
}

/// After ÷ before as a logarithm, which changes its sign alone where the runs change places.
fn log_ratio(one: &MetricComparison) -> f64 {
    if one.before > 0.0 && one.after > 0.0 {
        libm::log(one.after / one.before)
    } else if one.after > one.before {
        f64::INFINITY
    } else if one.after < one.before {
        f64::NEG_INFINITY
    } else {
        0.0
    }
}

fn beyond_noise(one: &MetricComparison, bounds: &Bounds) -> Judgement {
    if log_ratio(one).abs() < libm::log1p(bounds.smallest_percent / 100.0) {
        Judgement::Same
    } else if (one.after > one.before) == one.metric.more_is_better() {
        Judgement::Better
    } else if one.change_percent.abs() >= bounds.regression_percent {
        Judgement::Regression
    } else {
        Judgement::Worse
    }
}

fn judge_case(case: &mut CaseComparison) {
    let gain = case
        .metrics
        .iter()
        .find(|one| one.metric == Metric::Iops && one.judgement == Judgement::Better)
        .map_or(0.0, log_ratio);
    for one in &mut case.metrics {
        let is_latency = matches!(one.metric, Metric::ReadLatencyNs | Metric::WriteLatencyNs);
        if is_latency && one.judgement == Judgement::Regression && log_ratio(one) <= gain {
            one.judgement = Judgement::Worse;
        }
    }
    let any = |wanted| case.metrics.iter().any(|one| one.judgement == wanted);
    case.judgement = if any(Judgement::Regression) {
        Judgement::Regression
    } else if any(Judgement::Better) && any(Judgement::Worse) {
        Judgement::Mixed
    } else if any(Judgement::Better) {
        Judgement::Better
    } else if any(Judgement::Worse) {
        Judgement::Worse
    } else if any(Judgement::Unknown) || case.metrics.is_empty() {
        Judgement::Unknown
    } else {
        Judgement::Same
    };
}
