//! Fits from Python, as `arraylab fit` makes them.

use crate::errors::{REFUSED, raise_text, refused, refused_plain};
use fit::{Asked, Fit};
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Interval at which the interpreter is checked for a keyboard interrupt.
const SIGNAL_LOOK: Duration = Duration::from_millis(50);

/// Fits parameters of an array to measured rows. Returns the array's text with the fitted values and the report as JSON.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the keywords of a Python function")]
pub fn fit_array(
    py: Python<'_>,
    name: &str,
    text: &str,
    to: Vec<String>,
    plan: Option<&str>,
    parameters: Vec<String>,
    hold_out: f64,
    seed: u64,
    evaluations: u32,
    simulate_s: f64,
    switches: Vec<(String, String)>,
    threads: usize,
) -> PyResult<(String, String)> {
    let description = plan::parse_array(name, text).map_err(refused)?;
    let plan = match plan {
        Some(plan) => Some(plan::load_plan(plan).map_err(refused)?),
        // An array of one's own may have no plan of its name; results need none.
        None => plan::load_plan(&description.name).ok(),
    };
    let rows = fit::read_rows(&to, plan.as_ref(), &plan::Selection::default()).map_err(refused)?;
    let requested = parameters.iter().map(|text| Asked::parse(text)).collect::<Result<Vec<_>, _>>();
    let parameters = fit::parameters(&description, &requested.map_err(refused)?).map_err(refused)?;
    if !(simulate_s > 0.0 && simulate_s.is_finite()) {
        return Err(raise_text("simulate_s is a time above 0 in seconds", REFUSED));
    }
    let task = Fit {
        array: &description,
        rows: &rows,
        parameters,
        hold_out,
        seed,
        evaluations,
        simulated_ns: (simulate_s * 1e9) as u64,
        switches,
        threads: threads.max(1),
    };
    let interrupt = AtomicBool::new(false);
    let (fitted, stopped) = std::thread::scope(|scope| {
        let (task, interrupt) = (&task, &interrupt);
        let worker = scope.spawn(move || fit::fit(task, interrupt, &mut |_| ControlFlow::Continue(())));
        let mut stopped = Ok(());
        while !worker.is_finished() {
            py.detach(|| std::thread::sleep(SIGNAL_LOOK));
            stopped = stopped.and_then(|()| py.check_signals());
            if stopped.is_err() {
                interrupt.store(true, Ordering::Relaxed);
            }
        }
        (worker.join(), stopped)
    });
    stopped?;
    let report =
        fitted.map_err(|_| raise_text("the fit ended by an error of arraylab", 3))?.map_err(refused)?;
    let text =
        fit::rewrite(text, &description, &report.parameters, &report.fitted_to(&to)).map_err(refused)?;
    Ok((text, serde_json::to_string(&report).map_err(refused_plain)?))
}
