//! `compare`: two or more runs of the same cases.

use super::evidence::TemporaryRun;
use super::findings::found;
use crate::cli::CompareArgs;
use crate::failure::{self, Failure};
use crate::output::{print, print_json_lines, print_notice, write_whole};
use crate::table::{Align, render};
use diagnostic::Problem;
use findings::{
    Bounds, CaseComparison, Comparison, InventoryChange, Judgement, Metric, Trend, inventory_changes,
};
use report::{Compared, ComparedRun, RUNS_LIMIT};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use store::Run;
use units::{human_bandwidth, human_count, human_latency, human_rate};

/// Changes of the inventory that are printed between two runs.
const CHANGES_LIMIT: usize = 40;

/// `arraylab compare`
pub fn compare(arguments: &CompareArgs) -> Result<ExitCode, Failure> {
    if !(arguments.regression > 0.0 && arguments.regression.is_finite()) {
        return Err(Failure::refused(
            "`--regression` is a share in percent, above 0; for example `--regression 5`",
        ));
    }
    let bounds = Bounds { regression_percent: arguments.regression, ..Bounds::default() };
    if arguments.report.is_some() && arguments.runs.len() > RUNS_LIMIT {
        return Err(Failure::refused(format!(
            "a report has at most {RUNS_LIMIT} runs side by side; `--trend` takes as many as you like"
        )));
    }
    let (mut all, mut manifests) = (Vec::new(), Vec::new());
    let originals = arguments.runs.iter().map(|path| Run::open_read_only(path));
    let temporary = TemporaryRun::new(arguments.redact)?;
    for run in temporary.all_redacted(originals.collect::<Result<_, _>>()?)? {
        all.push(found(&run)?);
        manifests.push(run.manifest().clone());
    }
    let trends =
        if arguments.trend || arguments.report.is_some() { findings::trends(&all) } else { Vec::new() };
    let changes: Vec<Vec<InventoryChange>> =
        manifests.windows(2).map(|pair| inventory_changes(&pair[0], &pair[1])).collect();
    let mut has_regression = false;
    let mut comparisons = Vec::new();
    for (other, path) in all.iter().zip(&arguments.runs).skip(1) {
        let comparison = findings::compare(&all[0], other, &bounds);
        has_regression |= comparison.has_regression();
        if !arguments.trend {
            if arguments.json {
                print_json_lines(&comparison.cases)?;
            } else {
                print(&in_words(&comparison, &arguments.runs[0], path))?;
            }
        }
        for (names, only) in [(&comparison.only_first, &arguments.runs[0]), (&comparison.only_second, path)] {
            if !names.is_empty() {
                print_notice(&format!("only {} has {}", only.display(), names.join(", ")));
            }
        }
        comparisons.push(comparison);
    }
    if arguments.trend {
        print_trends(arguments, &trends, &changes)?;
    }
    if let Some(path) = &arguments.report {
        // A directory may be named for a host, a customer or a person.
        let names = match arguments.redact {
            true => (1..=all.len()).map(|number| format!("run-{number}")).collect(),
            false => names(&arguments.runs),
        };
        let runs: Vec<ComparedRun<'_>> = names
            .iter()
            .zip(&manifests)
            .zip(&all)
            .map(|((name, manifest), found)| ComparedRun { name, manifest, found })
            .collect();
        let compared =
            Compared { runs: &runs, comparisons: &comparisons, trends: &trends, changes: &changes };
        write_report(path, &report::comparison(&compared))?;
    }
    if let Some(path) = &arguments.junit {
        std::fs::write(path, report::junit(&comparisons)).map_err(|error| {
            Failure::refused(Problem::new(format!("cannot write {}", path.display())).caused_by(error))
        })?;
    }
    Ok(if has_regression { failure::not_met() } else { ExitCode::SUCCESS })
}

/// A name for each run that tells it from the others: its directory, with as much of the path as that takes.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let last = |path: &Path, parts: usize| {
        let all: Vec<String> =
            path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        all[all.len().saturating_sub(parts)..].join("/")
    };
    let most = paths.iter().map(|path| path.components().count()).max().unwrap_or(1);
    for parts in 1..=most {
        let names: Vec<String> = paths.iter().map(|path| last(path, parts)).collect();
        let different: BTreeSet<&String> = names.iter().collect();
        if different.len() == names.len() {
            return names;
        }
    }
    // The same run twice: numbers tell them apart.
    paths.iter().enumerate().map(|(place, path)| format!("{} ({})", last(path, 1), place + 1)).collect()
}

fn write_report(path: &Path, report: &report::Report) -> Result<(), Failure> {
    match path.extension().and_then(std::ffi::OsStr::to_str) {
        Some("md") => write_whole(path, report.markdown()),
        Some("json") => write_whole(path, format!("{}\n", report.json())),
        Some("pdf") => write_whole(path, report::pdf::print(&report.html(), &report::pdf::find_browser()?)?),
        _ => write_whole(path, report.html()),
    }
}

/// The trends, then what changed in the inventory from each run to the next.
fn print_trends(
    arguments: &CompareArgs,
    trends: &[Trend],
    changes: &[Vec<InventoryChange>],
) -> Result<(), Failure> {
    let between = || changes.iter().zip(arguments.runs.windows(2)).enumerate();
    if arguments.json {
        print_json_lines(trends)?;
        for (place, (changes, _)) in between() {
            let line = |change: &InventoryChange| {
                json!({"quantity": "inventory", "run": place + 2, "place": change.place, "before": change.before,
                       "after": change.after})
            };
            print_json_lines(changes.iter().map(line))?;
        }
        return Ok(());
    }
    print(&trends_in_words(trends, &arguments.runs))?;
    for (_, (changes, pair)) in between() {
        let word = |text: &Option<String>| text.as_deref().unwrap_or("–").trim().to_owned();
        let rows: Vec<Vec<String>> = changes
            .iter()
            .take(CHANGES_LIMIT)
            .map(|one| vec![one.place.clone(), word(&one.before), word(&one.after)])
            .collect();
        let mut text = format!("\nfrom {} to {}: ", pair[0].display(), pair[1].display());
        if rows.is_empty() {
            text.push_str("nothing of the inventory changed\n");
        } else {
            text.push_str(&format!("{}\n", human_count(changes.len() as u64, "change")));
            let columns = [("what", Align::Left), ("before", Align::Left), ("after", Align::Left)];
            text.push_str(&render(&columns, &rows));
        }
        if changes.len() > CHANGES_LIMIT {
            text.push_str(&format!("and {} more; --json has all\n", changes.len() - CHANGES_LIMIT));
        }
        print(&text)?;
    }
    Ok(())
}

/// Headlines with their values and noise, then every change of a level.
fn trends_in_words(trends: &[Trend], runs: &[PathBuf]) -> String {
    let value = |trend: &Trend, value: f64| match trend.quantity.as_str() {
        "peak-iops" | "iops" => human_rate(value),
        "peak-bandwidth" => human_bandwidth(value),
        _ => human_latency(value),
    };
    let mut rows = Vec::new();
    for (place, run) in runs.iter().enumerate() {
        let mut row = vec![(place + 1).to_string(), run.display().to_string()];
        row.extend(trends.iter().filter(|trend| trend.case.is_none()).map(|trend| {
            trend.values[place].as_ref().map_or_else(|| "–".into(), |one| value(trend, one.value))
        }));
        rows.push(row);
    }
    let headlines: Vec<&Trend> = trends.iter().filter(|trend| trend.case.is_none()).collect();
    let mut noise = vec![String::new(), "95 % of runs of a level lie within".into()];
    noise.extend(
        headlines.iter().map(|trend| {
            trend.noise_percent.map_or_else(|| "–".into(), |percent| format!("±{percent:.1} %"))
        }),
    );
    rows.push(noise);
    let mut columns = vec![("run", Align::Right), ("", Align::Left)];
    columns.extend(headlines.iter().map(|trend| (trend.quantity.as_str(), Align::Right)));
    let mut text = render(&columns, &rows);
    let mut changes = Vec::new();
    for trend in trends {
        for change in &trend.changes {
            let of = match (&trend.stage, &trend.case) {
                (Some(stage), Some(case)) => format!("{stage} {case}"),
                _ => "headline".to_owned(),
            };
            changes.push(vec![
                change.run.to_string(),
                if change.is_better { "better".to_owned() } else { "worse".to_owned() },
                of,
                trend.quantity.clone(),
                value(trend, change.before),
                value(trend, change.after),
                format!("{:+.1} %", change.change_percent),
            ]);
        }
    }
    if changes.is_empty() {
        text.push_str("no level changed beyond noise\n");
        return text;
    }
    text.push_str("\nlevels that changed beyond noise, with the first run after the change\n");
    let columns = [
        ("run", Align::Right),
        ("", Align::Left),
        ("case", Align::Left),
        ("quantity", Align::Left),
        ("before", Align::Right),
        ("after", Align::Right),
        ("change", Align::Right),
    ];
    text.push_str(&render(&columns, &changes));
    text
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
