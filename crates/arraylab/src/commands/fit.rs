//! `fit`: parameters of an array from measured rows.

use crate::cli::FitArgs;
use crate::commands::run::catch_signals;
use crate::failure::{self, Failure};
use crate::output::{print, print_json_lines, say, write_whole};
use crate::table::{Align, render};
use fit::{Asked, Fit, FitError, FitReport, Outcome, Progress, Side};
use indicatif::{ProgressBar, ProgressStyle};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

/// `arraylab fit`
pub fn fit(arguments: &FitArgs) -> Result<ExitCode, Failure> {
    let loaded = plan::load_array(&arguments.array)?;
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}-fitted.yaml", loaded.name)));
    if out.exists() && !arguments.overwrite {
        return Err(Failure::refused(format!(
            "{} exists; name another file with --out, or write over it with --overwrite",
            out.display()
        )));
    }
    let plan = match &arguments.plan {
        Some(name) => Some(plan::load_plan(name)?),
        // An array of one's own may have no plan of its name; results need none.
        None => plan::load_plan(&loaded.description.name).ok(),
    };
    let rows = fit::read_rows(&arguments.to, plan.as_ref())?;
    let asked = arguments.parameters.iter().map(|text| Asked::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let parameters = fit::parameters(&loaded.description, &asked)?;
    let names: Vec<&str> = parameters.iter().map(|one| one.path.as_str()).collect();
    say(&format!("fitting {} to {} measured cases", names.join(", "), rows.points.len()));
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let task = Fit {
        array: &loaded.description,
        rows: &rows,
        parameters,
        hold_out: arguments.hold_out,
        seed: arguments.seed,
        evaluations: arguments.evaluations,
        simulated_ns: arguments.simulate,
        threads: arguments.threads.unwrap_or_else(processors),
    };
    let interrupt = catch_signals()?;
    let bar = bar(arguments.evaluations);
    let fitted = fit::fit(&task, &mut |progress: Progress| {
        bar.set_position(u64::from(progress.done));
        bar.set_message(format!("error {:.2} %", progress.error * 100.0));
        if interrupt.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish_and_clear();
    let report = fitted?;
    let fitted_to = format!(
        "arraylab fit to {}, {} of {} figures held out with seed {}",
        arguments.to.join(", "),
        report.held_out.figures,
        report.points.len(),
        report.seed
    );
    let text = fit::rewrite(&loaded.text, &loaded.description, &report.parameters, &fitted_to)?;
    write_whole(&out, &text)?;
    if arguments.json {
        print_json_lines(&report.points)?;
        print_json_lines([&serde_json::json!({
            "parameters": report.parameters,
            "outcome": report.outcome,
            "evaluations": report.evaluations,
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

fn in_words(report: &FitReport) -> String {
    let percent = |share: f64| format!("{:+.1} %", share * 100.0);
    let points: Vec<Vec<String>> = report
        .points
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
    let mut text = render(&columns, &points);
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
    let how = match report.outcome {
        Outcome::Converged => "converged",
        Outcome::OutOfEvaluations => "ended with its evaluations; give more with --evaluations",
        Outcome::Interrupted => "was interrupted; these are the best values so far",
    };
    text.push_str(&format!("the search {how} ({} evaluations)\n", report.evaluations));
    if report.left_out > 0 {
        text.push_str(&format!("{} rows belong to no single case and were left out\n", report.left_out));
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
            FitError::Search(_) => Failure::Failed(Box::new(error)),
            other => Failure::Refused(Box::new(other)),
        }
    }
}
