//! `fit`: parameters of an array from measured rows.

use crate::cli::FitArgs;
use crate::commands::run::catch_signals;
use crate::commands::selection::{key_and_value, selection};
use crate::failure::{self, Failure};
use crate::output::{print, print_json_lines, print_notice, write_whole};
use crate::table::{Align, render};
use fit::{
    Asked, Convergence, Fit, FitError, FitReport, FoldsReport, Outcome, PointReport, Progress, Rows, Side,
};
use indicatif::{ProgressBar, ProgressStyle};
use plan::LoadedArray;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Interval of progress lines where no progress bar is shown.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// `arraylab fit`
pub fn fit(arguments: &FitArgs) -> Result<ExitCode, Failure> {
    let loaded = plan::load_array(&arguments.array)?;
    if let Some(folds) = arguments.folds {
        return fit_folds(arguments, &loaded, folds);
    }
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}-fitted.yaml", loaded.name)));
    if out.exists() && !arguments.overwrite {
        return Err(Failure::refused(format!(
            "{} exists; name another file with --out, or write over it with --overwrite",
            out.display()
        )));
    }
    let rows = rows(arguments, &loaded)?;
    let task = task(arguments, &loaded, &rows)?;
    let budget = Budget::new(arguments, 1);
    let report = with_progress(&task, &budget, |stop, on_progress| fit::fit(&task, stop, on_progress))?;
    let text = fit::rewrite(
        &loaded.text,
        &loaded.description,
        &report.parameters,
        &report.fitted_to(&arguments.to),
    )?;
    write_whole(&out, &text)?;
    if arguments.json {
        print_json_lines(&report.points)?;
        print_json_lines([&serde_json::json!({
            "parameters": report.parameters,
            "outcome": report.outcome,
            "evaluations": report.evaluations,
            "convergence": report.convergence,
            "seed": report.seed,
            "fitted": report.fitted,
            "held_out": report.held_out,
            "left_out": report.left_out,
            "array": out.display().to_string(),
        })])?;
    } else {
        print(&in_words(&report))?;
        print(&format!("{}\n", out.display()))?;
    }
    Ok(if report.outcome == Outcome::Interrupted { failure::interrupted() } else { ExitCode::SUCCESS })
}

fn rows(arguments: &FitArgs, loaded: &LoadedArray) -> Result<Rows, Failure> {
    let plan = match &arguments.plan {
        Some(name) => Some(plan::load_plan(name)?),
        // An array of one's own may have no plan of its name; results need none.
        None => plan::load_plan(&loaded.description.name).ok(),
    };
    Ok(fit::read_rows(&arguments.to, plan.as_ref(), &selection(&arguments.selection)?)?)
}

fn task<'a>(arguments: &FitArgs, loaded: &'a LoadedArray, rows: &'a Rows) -> Result<Fit<'a>, Failure> {
    let requested =
        arguments.parameters.iter().map(|text| Asked::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let parameters = fit::parameters(&loaded.description, &requested)?;
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Fit {
        array: &loaded.description,
        rows,
        parameters,
        hold_out: arguments.hold_out,
        seed: arguments.seed,
        evaluations: arguments.evaluations,
        simulated_ns: arguments.simulate,
        switches: arguments
            .switches
            .iter()
            .map(|text| key_and_value("--twin", text))
            .collect::<Result<_, _>>()?,
        threads: arguments.threads.unwrap_or_else(processors),
    })
}

/// Limits of a search.
struct Budget {
    evaluations: u32,
    /// Limit of wall-clock time.
    time: Option<Duration>,
}

impl Budget {
    fn new(arguments: &FitArgs, folds: u32) -> Budget {
        Budget {
            evaluations: arguments.evaluations.saturating_mul(folds),
            time: arguments.time_budget.map(Duration::from_nanos),
        }
    }
}

/// Runs a search under a bar, or with a line now and then where stderr is no terminal; a signal stops it at once, the end of its
/// time after the present evaluation.
fn with_progress<R>(
    task: &Fit<'_>,
    budget: &Budget,
    search: impl FnOnce(&AtomicBool, &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>) -> Result<R, FitError>,
) -> Result<R, Failure> {
    let interrupt = catch_signals()?;
    let names: Vec<&str> = task.parameters.iter().map(|one| one.path.as_str()).collect();
    print_notice(&format!("fitting {} to {} measured cases", names.join(", "), task.rows.points.len()));
    let bar = bar(budget.evaluations);
    let (began, mut printed_text) = (Instant::now(), Instant::now());
    let found = search(&interrupt, &mut |progress: Progress<'_>| {
        bar.set_position(u64::from(progress.done));
        bar.set_message(format!("error {:.2} %", progress.error * 100.0));
        if bar.is_hidden() && printed_text.elapsed() >= LINE_EVERY {
            printed_text = Instant::now();
            print_notice(&best_so_far(progress));
        }
        match budget.time {
            Some(time) if began.elapsed() >= time => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    bar.finish_and_clear();
    Ok(found?)
}

fn best_so_far(progress: Progress<'_>) -> String {
    let within_kind = |path: &str| path.split_once('.').map_or(path, |(_, rest)| rest).to_owned();
    let values: Vec<String> =
        progress.best.iter().map(|one| format!("{} {}", within_kind(&one.path), one.value)).collect();
    format!(
        "evaluation {} of {} at most, error {:.2} % with {}",
        progress.done,
        progress.of,
        progress.error * 100.0,
        values.join(", ")
    )
}

/// Prints the prediction error of each measured case by values that were fitted without it.
fn fit_folds(arguments: &FitArgs, loaded: &LoadedArray, folds: u32) -> Result<ExitCode, Failure> {
    let rows = rows(arguments, loaded)?;
    let task = task(arguments, loaded, &rows)?;
    let budget = Budget::new(arguments, folds);
    let report =
        with_progress(&task, &budget, |stop, on_progress| fit::fit_folds(&task, folds, stop, on_progress))?;
    if arguments.json {
        print_json_lines(&report.points)?;
        print_json_lines([&serde_json::json!({
            "unseen": report.unseen,
            "fitted": report.fitted,
            "parameters": report.parameters,
            "outcomes": report.outcomes,
            "left_out": rows.left_out,
        })])?;
    } else {
        print(&folds_in_words(&report))?;
    }
    let interrupted = report.outcomes.contains(&Outcome::Interrupted);
    Ok(if interrupted { failure::interrupted() } else { ExitCode::SUCCESS })
}

fn folds_in_words(report: &FoldsReport) -> String {
    let mut text = points_in_words(&report.points);
    let Some(first) = report.parameters.first() else { return text };
    let parameters: Vec<Vec<String>> = first
        .iter()
        .enumerate()
        .map(|(index, one)| {
            let values = report.parameters.iter().map(|fold| fold[index].value);
            let (least, most) =
                values.fold((f64::MAX, f64::MIN), |(a, b), value| (a.min(value), b.max(value)));
            vec![one.path.clone(), one.before.to_string(), least.to_string(), most.to_string()]
        })
        .collect();
    let columns = [
        ("parameter", Align::Left),
        ("before", Align::Right),
        ("least", Align::Right),
        ("most", Align::Right),
    ];
    text.push('\n');
    text.push_str(&render(&columns, &parameters));
    text.push('\n');
    text.push_str(&side_in_words("fitted, over all folds", report.fitted));
    text.push_str(&side_in_words("unseen, each by the fold without it", report.unseen));
    let (finished, folds) = (report.parameters.len(), report.outcomes.len());
    if finished < folds {
        text.push_str(&format!("interrupted: these are {finished} of {folds} folds\n"));
    }
    text
}

/// A bar with the time left, where stderr is a terminal: a search may end before its last evaluation.
fn bar(evaluations: u32) -> ProgressBar {
    let bar = ProgressBar::new(u64::from(evaluations));
    if let Ok(style) =
        ProgressStyle::with_template("{bar:24} {pos}/{len} evaluations  {msg}  {eta} left at most")
    {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// Every figure, its twin's and the error.
fn points_in_words(points: &[PointReport]) -> String {
    let percent = |share: f64| format!("{:+.1} %", share * 100.0);
    let points: Vec<Vec<String>> = points
        .iter()
        .map(|point| {
            vec![
                point.case.clone(),
                point.quantity.name().to_owned(),
                if point.is_held_out { "held out" } else { "fitted" }.to_owned(),
                format!("{:.1}", point.measured),
                format!("{:.1}", point.after),
                percent(point.error()),
            ]
        })
        .collect();
    let columns = [
        ("row", Align::Left),
        ("quantity", Align::Left),
        ("", Align::Left),
        ("measured", Align::Right),
        ("twin", Align::Right),
        ("error", Align::Right),
    ];
    render(&columns, &points)
}

fn in_words(report: &FitReport) -> String {
    let mut text = points_in_words(&report.points);
    let parameters: Vec<Vec<String>> = report
        .parameters
        .iter()
        .map(|one| vec![one.path.clone(), one.before.to_string(), one.value.to_string()])
        .collect();
    let columns = [("parameter", Align::Left), ("before", Align::Right), ("fitted", Align::Right)];
    text.push('\n');
    text.push_str(&render(&columns, &parameters));
    text.push('\n');
    for (name, side) in [("fitted", report.fitted), ("held out", report.held_out)] {
        text.push_str(&side_in_words(name, side));
    }
    let Convergence { improvement_share, evaluations } = report.convergence;
    let converged = format!(
        "converged: its error became smaller by less than {:.0} % over {evaluations} evaluations, or nothing better lay around the best",
        improvement_share * 100.0
    );
    let how = match report.outcome {
        Outcome::Converged => converged.as_str(),
        Outcome::OutOfEvaluations => "ended with its evaluations; give more with --evaluations",
        Outcome::OutOfTime => "ended with its time; give more with --time-budget",
        Outcome::Interrupted => {
            "was interrupted; these are the best values so far, not tried on rows held out"
        }
    };
    text.push_str(&format!("the search {how} ({} evaluations)\n", report.evaluations));
    if report.left_out > 0 {
        text.push_str(&format!("{} rows belong to no selected case and were left out\n", report.left_out));
    }
    text
}

fn side_in_words(name: &str, side: Side) -> String {
    if side.figures == 0 {
        return format!("{name}: no figures\n");
    }
    format!(
        "{name}: {} figures, mean error {:.1} % (before {:.1} %), largest {:.1} % (before {:.1} %)\n",
        side.figures,
        side.mean_error * 100.0,
        side.mean_error_before * 100.0,
        side.worst_error * 100.0,
        side.worst_error_before * 100.0
    )
}

impl From<FitError> for Failure {
    fn from(error: FitError) -> Failure {
        match error {
            FitError::Interrupted => Failure::Interrupted(Box::new(error)),
            FitError::Search(_) => Failure::Failed(Box::new(error)),
            other => Failure::Refused(Box::new(other)),
        }
    }
}
