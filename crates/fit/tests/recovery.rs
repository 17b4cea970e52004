//! A fit against rows whose parameters are known, because a twin made them.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use fit::{Asked, Fit, FitError, FitReport, Outcome, Rows, fit, parameters, read_rows};
use load::NEVER_STOPPED;
use plan::{LoadedPlan, Selection};

const ARRAY: &str = "raid-levels";

fn plan() -> LoadedPlan {
    plan::load_plan(ARRAY).unwrap()
}

fn rows() -> Rows {
    read_rows(&["raid-levels/read-512.csv".to_owned()], Some(&plan()), &Selection::default()).unwrap()
}

fn run(rows: &Rows, requested: &str, array: &twin::ArrayDescription, threads: usize) -> FitReport {
    let parameters = parameters(array, &[Asked::parse(requested).unwrap()]).unwrap();
    let task = Fit {
        array,
        rows,
        parameters,
        hold_out: 0.3,
        seed: 7,
        evaluations: 60,
        simulated_ns: 5_000_000_000,
        switches: Vec::new(),
        threads,
    };
    fit(&task, &NEVER_STOPPED, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// Proves that a fit finds the value that rows were made with, from another one, that it does as well on rows held out,
/// and that the number of threads changes nothing.
#[test]
fn a_known_value_is_found_again() {
    let array = plan::load_array(ARRAY).unwrap();
    let mut rows = rows();
    // Rows of the twin as shipped, in place of those published.
    let shipped = run(&rows, "rpm=4000..15000", &array.description, 1);
    for (point, report) in rows.points.iter_mut().zip(&shipped.points) {
        point.figures[0].value = report.before;
    }
    let other = array.text.replace("rpm: { value: 7200", "rpm: { value: 12000");
    assert_ne!(other, array.text);
    let other = plan::parse_array("other", &other).unwrap();
    let found = run(&rows, "rpm=4000..15000", &other, 2);
    let value = found.parameters[0].value;
    println!("7200 found as {value}, {} evaluations, {:?}", found.evaluations, found.outcome);
    assert!((value / 7200.0 - 1.0).abs() < 0.03, "{value}");
    assert!(found.fitted.mean_error < 0.02 && found.held_out.mean_error < 0.02, "{found:?}");
    assert!(found.held_out.mean_error_before > 0.05 && found.held_out.figures >= 5, "{found:?}");
    assert_eq!(found, run(&rows, "rpm=4000..15000", &other, 1));
}

/// Proves that a search whose time is over reports the best so far, also for the rows held out; that one that is interrupted leaves these
/// out and says so, in the array's text too; that nothing comes of one interrupted before its first figures; and that too few rows are
/// refused.
#[test]
fn a_search_can_be_stopped() {
    let array = plan::load_array(ARRAY).unwrap().description;
    let rows = rows();
    let parameters = parameters(&array, &[]).unwrap();
    let task = Fit {
        array: &array,
        rows: &rows,
        parameters,
        hold_out: 0.2,
        seed: 1,
        evaluations: 50,
        simulated_ns: 100_000_000,
        switches: Vec::new(),
        threads: 1,
    };
    let out_of_time = fit(&task, &NEVER_STOPPED, &mut |progress| {
        if progress.done < 4 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
    .unwrap();
    assert_eq!((out_of_time.outcome, out_of_time.evaluations), (Outcome::OutOfTime, 4));
    assert_eq!((out_of_time.fitted.figures, out_of_time.held_out.figures), (17, 4));

    let stop = AtomicBool::new(false);
    let stopping = |after: u32| {
        let stop = &stop;
        stop.store(after == 0, Ordering::Relaxed);
        move |progress: fit::Progress<'_>| {
            stop.store(progress.done >= after, Ordering::Relaxed);
            ControlFlow::Continue(())
        }
    };
    let interrupted = fit(&task, &stop, &mut stopping(4)).unwrap();
    assert_eq!((interrupted.outcome, interrupted.evaluations), (Outcome::Interrupted, 4));
    assert_eq!(interrupted.parameters, out_of_time.parameters);
    assert_eq!((interrupted.fitted, interrupted.held_out.figures), (out_of_time.fitted, 0));
    let source = interrupted.fitted_to(&["rows.csv".to_owned()]);
    assert!(source.ends_with("interrupted after 4 evaluations, not tried on figures held out"), "{source}");
    assert!(matches!(fit(&task, &stop, &mut stopping(0)), Err(FitError::Interrupted)));

    let starved = Fit { hold_out: 0.95, ..task };
    let error = diagnostic::full_text(
        &fit(&starved, &NEVER_STOPPED, &mut |_| ControlFlow::Continue(())).unwrap_err(),
    );
    assert!(error.contains("hold out less"), "{error}");
}

/// Proves that a search ends as converged once its error has not become smaller by the named share over the named number of
/// evaluations, however many it may still make.
#[test]
fn a_search_ends_once_it_has_converged() {
    let array = plan::load_array(ARRAY).unwrap().description;
    let rows = rows();
    let requested = [
        "rpm=4000..15000",
        "seek_min=100000..3000000",
        "seek_average=4000000..40000000",
        "drives.queue=1..32",
    ];
    let requested: Vec<Asked> = requested.iter().map(|text| Asked::parse(text).unwrap()).collect();
    let parameters = parameters(&array, &requested).unwrap();
    let task = Fit {
        array: &array,
        rows: &rows,
        parameters,
        hold_out: 0.0,
        seed: 1,
        evaluations: 100_000,
        simulated_ns: 20_000_000,
        switches: Vec::new(),
        threads: 1,
    };
    let mut errors = Vec::new();
    let report = fit(&task, &NEVER_STOPPED, &mut |progress| {
        errors.push(progress.error);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(report.outcome, Outcome::Converged);
    assert_eq!((report.convergence.improvement_share, report.convergence.evaluations), (0.01, 75));
    let window = report.convergence.evaluations as usize;
    let before_it = errors[errors.len().saturating_sub(window + 1)];
    println!("{} evaluations, from {:?} to {:?}", report.evaluations, errors.first(), errors.last());
    assert!(errors.len() > window && errors.len() < 1_000, "{}", errors.len());
    // It went on no longer than that since the last improvement that counted.
    let last = (1..errors.len()).rev().find(|&at| errors[at] < errors[at - 1] * 0.99).unwrap_or(0);
    assert!(errors.len() - last <= 2 * window, "{last} of {}", errors.len());
    assert!(before_it * 0.9 < *errors.last().unwrap(), "{before_it} {:?}", errors.last());
}

/// Proves that results of a run are rows too, that rows of other states are left out, and that a file that is neither is
/// refused with what to give.
#[test]
fn results_are_rows() {
    let directory = std::env::temp_dir().join(format!("arraylab-fit-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let results = file(
        "results.csv",
        "plan,stage,case,settings.bs,settings.rw,settings.numjobs,settings.iodepth,settings.raid,settings.disks,status,iops,read.latency_ns.mean\n\
         p,s,a,4096,randread,1,8,5,6,done,600,13000000\n\
         p,s,b,4096,randread,1,4,5,6,failed,,\n",
    );
    let read = read_rows(&[results], None, &Selection::default()).unwrap();
    assert_eq!((read.points.len(), read.left_out), (1, 1));
    let point = &read.points[0];
    assert_eq!((point.cases[0].load.bs_bytes, point.cases[0].load.iodepth), (4096, 8));
    assert_eq!(
        point.figures.iter().map(|figure| figure.quantity.name()).collect::<Vec<_>>(),
        ["iops", "read.latency_ns.mean"]
    );
    for (name, text, part) in [
        ("other.csv", "a,b\n1,2\n", "no columns"),
        ("bad.csv", "settings.bs,iops\n4096,many\n", "line 2"),
        ("wrong.csv", "settings.bs,iops\n-3,5\n", "bs"),
        ("torn.csv", "settings.bs,iops\n4096\n", "not CSV"),
        ("empty.csv", "settings.bs,iops\n", "nothing to fit to"),
        (
            "mean.csv",
            "settings.bs,iops,read_mean_us\n4096,5,7\n",
            "line 1, column 3: `read_mean_us` is no column",
        ),
        ("depth.csv", "settings.bs,settings.queue_depth,iops\n4096,8,5\n", "did you mean `iodepth`?"),
    ] {
        let error =
            diagnostic::full_text(&read_rows(&[file(name, text)], None, &Selection::default()).unwrap_err());
        assert!(error.contains(part), "{name}: {error}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Proves that folds predict every row by values that never saw it, and that all cases of one published row (here one row of the
/// Dorado that three scenarios are compared with) are held out together.
#[test]
fn folds_predict_every_row_unseen() {
    let array = plan::load_array(ARRAY).unwrap().description;
    let mut rows = rows();
    rows.points.truncate(6);
    let parameters = parameters(&array, &[Asked::parse("seek_average=3000000..20000000").unwrap()]).unwrap();
    let task = Fit {
        array: &array,
        rows: &rows,
        parameters,
        hold_out: 0.0,
        seed: 3,
        evaluations: 24,
        simulated_ns: 2_000_000_000,
        switches: Vec::new(),
        threads: 2,
    };
    let folds = fit::fit_folds(&task, 3, &NEVER_STOPPED, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((folds.points.len(), folds.unseen.figures, folds.fitted.figures), (6, 6, 12));
    assert!(
        folds
            .points
            .iter()
            .zip(&rows.points)
            .all(|(point, row)| point.is_held_out && point.case == row.label)
    );
    assert_eq!(folds.parameters.len(), 3);
    let values: Vec<f64> = folds.parameters.iter().map(|fold| fold[0].value).collect();
    println!("{values:?}");
    assert!(values.iter().any(|value| *value != values[0]), "{values:?}");
    // Interrupted in the second of them, only the first has figures.
    let stop = AtomicBool::new(false);
    let first = fit::fit_folds(&task, 3, &stop, &mut |progress| {
        stop.store(progress.done > task.evaluations + 1, Ordering::Relaxed);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!((first.points.len(), first.parameters.len()), (2, 1));
    assert_eq!(first.outcomes, [folds.outcomes[0], Outcome::Interrupted, Outcome::Interrupted]);
    assert!(first.points.iter().all(|point| folds.points.contains(point)));
    assert!(fit::fit_folds(&task, 7, &NEVER_STOPPED, &mut |_| ControlFlow::Continue(())).is_err());
    let dorado = plan::load_plan("dorado-2100-g2").unwrap();
    let rows = read_rows(&["dorado-2100-g2/sustained.csv".to_owned()], Some(&dorado), &Selection::default())
        .unwrap();
    assert_eq!(rows.count(), 7);
    let of_64k: Vec<usize> =
        rows.points.iter().filter(|point| point.label.contains("bs=65536")).map(|point| point.row).collect();
    assert!(of_64k.len() > 1 && of_64k.iter().all(|row| *row == of_64k[0]), "{of_64k:?}");
}

/// Proves that a row about the most of several cases is one row with these cases, those nearest to its population where Little's
/// law tells it, that printed digits are kept, and that a file which a plan reads twice has as many rows as lines.
#[test]
fn rows_may_be_of_several_cases() {
    let plan = plan::load_plan("dorado-2100-g2").unwrap();
    let only = vec![("ioengine".to_owned(), vec!["libaio".to_owned()])];
    let selection = Selection { only, ..Selection::default() };
    let rows = read_rows(&["dorado-2100-g2/maxima.csv".to_owned()], Some(&plan), &selection).unwrap();
    assert_eq!((rows.points.len(), rows.count(), rows.left_out), (13, 13, 7));
    let most = &rows.points[0];
    let figures: Vec<_> = most.figures.iter().map(|one| (one.value, one.half_digit, one.of)).collect();
    assert_eq!(
        figures,
        [(110_000.0, 0.5, plan::FigureOf::Maximum), (4.7e6, 50_000.0, plan::FigureOf::AtExtreme)]
    );
    // 110,000 × 4.7 ms are 517.
    assert!(most.cases.iter().all(|case| case.load.numjobs * case.load.iodepth == 512), "{most:?}");
    let widest = rows.points.iter().map(|point| point.cases.len()).max();
    assert_eq!(widest, Some(3 * 2 * 9), "three block sizes, two depths, nine numbers of jobs");
    let plan = plan::load_plan("storpool").unwrap();
    let rows = read_rows(&["storpool/latency.csv".to_owned()], Some(&plan), &Selection::default()).unwrap();
    assert_eq!((rows.points.len(), rows.count(), rows.left_out), (8, 5, 0));
}
