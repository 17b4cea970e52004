//! `compare`: two or more runs of the same cases.

use super::findings::found;
use crate::cli::CompareArgs;
use crate::failure::{self, Failure};
use crate::output::{print, print_json_lines, print_notice};
use crate::table::{Align, render};
use findings::{Bounds, CaseComparison, Comparison, Judgement, Metric, junit};
use std::path::Path;
use std::process::ExitCode;
use store::Run;
use units::{human_latency, human_rate};

/// `arraylab compare`
pub fn compare(arguments: &CompareArgs) -> Result<ExitCode, Failure> {
    if !(arguments.regression > 0.0 && arguments.regression.is_finite()) {
        return Err(Failure::refused(
            "`--regression` is a share in percent, above 0; for example `--regression 5`",
        ));
    }
    let bounds = Bounds { regression_percent: arguments.regression, ..Bounds::default() };
    let all = arguments
        .runs
        .iter()
        .map(|run| found(&Run::open_read_only(run)?))
        .collect::<Result<Vec<_>, Failure>>()?;
    let mut has_regression = false;
    let mut comparisons = Vec::new();
    for (other, path) in all.iter().zip(&arguments.runs).skip(1) {
        let comparison = findings::compare(&all[0], other, &bounds);
        has_regression |= comparison.has_regression();
        if arguments.json {
            print_json_lines(&comparison.cases)?;
        } else {
            print(&in_words(&comparison, &arguments.runs[0], path))?;
        }
        for (names, only) in [(&comparison.only_first, &arguments.runs[0]), (&comparison.only_second, path)] {
            if !names.is_empty() {
                print_notice(&format!("only {} has {}", only.display(), names.join(", ")));
            }
        }
        comparisons.push(comparison);
    }
    if let Some(path) = &arguments.junit {
        std::fs::write(path, junit(&comparisons))
            .map_err(|error| Failure::refused(format!("cannot write {}: {error}", path.display())))?;
    }
    Ok(if has_regression { failure::not_met() } else { ExitCode::SUCCESS })
}

fn in_words(comparison: &Comparison, first: &Path, second: &Path) -> String {
    let value = |metric: Metric, value: f64| match metric {
        Metric::Iops => human_rate(value),
        Metric::ReadLatencyNs | Metric::WriteLatencyNs => human_latency(value),
        Metric::Errors => value.to_string(),
    };
    let mut rows = Vec::new();
    for (judgement, word) in
        [(Judgement::Regression, "regression"), (Judgement::Worse, "worse"), (Judgement::Better, "better")]
    {
        for (case, one) in comparison.of(judgement) {
            rows.push(vec![
                word.to_owned(),
                format!("{} {}", case.stage, case.case),
                one.metric.name().into(),
                value(one.metric, one.before),
                value(one.metric, one.after),
                format!("{:+.1} %", one.change_percent),
            ]);
        }
    }
    let unknown = comparison.of(Judgement::Unknown).count();
    let same = comparison.of(Judgement::Same).count();
    let mut text = format!("{} against {}\n", second.display(), first.display());
    if !rows.is_empty() {
        let columns = [
            ("", Align::Left),
            ("case", Align::Left),
            ("metric", Align::Left),
            ("before", Align::Right),
            ("after", Align::Right),
            ("change", Align::Right),
        ];
        text.push_str(&render(&columns, &rows));
    }
    for case in comparison.cases.iter().filter(|case| is_mixed(case)) {
        text.push_str(&format!("mixed: {} {}: {}\n", case.stage, case.case, trade(case)));
    }
    text.push_str(&format!(
        "{} changed beyond noise, {same} did not, {unknown} have too few intervals to tell\n",
        rows.len()
    ));
    text
}

fn is_mixed(case: &CaseComparison) -> bool {
    let any = |wanted: &[Judgement]| case.metrics.iter().any(|one| wanted.contains(&one.judgement));
    any(&[Judgement::Better]) && any(&[Judgement::Worse, Judgement::Regression])
}

/// Describes the metrics that became better and worse, with the outstanding I/Os before and after.
fn trade(case: &CaseComparison) -> String {
    let names = |judgements: &[Judgement]| {
        let of = case.metrics.iter().filter(|one| judgements.contains(&one.judgement));
        of.map(|one| format!("{} {:+.1} %", one.metric.name(), one.change_percent))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let [before, after] = case.outstanding;
    format!(
        "better {}; worse {}; {before:.0} I/Os outstanding before, {after:.0} after",
        names(&[Judgement::Better]),
        names(&[Judgement::Worse, Judgement::Regression])
    )
}
