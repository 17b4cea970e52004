//! The search: Nelder and Mead's simplex (argmin's), over parameters scaled to their bounds.
//!
//! What is made small is the mean square of ln(twin ÷ measured), so that rows of 50 and of 500,000 IOPS weigh the same and
//! half and double are equally wrong. A twin with the same seed is a function of its parameters without chance, but not a smooth one; a
//! simplex asks for no slopes.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use argmin::core::{CostFunction, Executor};
use argmin::solver::neldermead::NelderMead;
use load::Random;
use plan::Case;
use twin::ArrayDescription;

use crate::parameters::with_values;
use crate::{
    Convergence, FitError, FitReport, FittedParameter, FoldsReport, MeasuredFigure, MeasuredPoint, Outcome,
    PointReport, Rows, simulated,
};

/// Largest number of evaluations that may be requested.
pub const EVALUATIONS_LIMIT: u32 = 100_000;
/// Size of the first simplex, as a share of the range of each parameter.
const FIRST_STEP: f64 = 0.15;
/// After a round the search begins anew around the best with half the step, until that finds nothing better: a simplex that
/// has shrunk over a rough spot stays there.
const ROUNDS: u32 = 5;
/// A round ends when all corners of the simplex are as good as this: a hundredth of a percent in the error.
const COST_TOLERANCE: f64 = 1e-8;
/// A search has converged when its error has become smaller by less than this share ...
pub const IMPROVEMENT_SHARE: f64 = 0.01;
/// ... over so many evaluations for each parameter and one more: enough for a simplex to turn around once and begin anew.
pub const STALL_EVALUATIONS_PER_PARAMETER: u32 = 15;
/// Cost of values that no array can have.
const IMPOSSIBLE: f64 = 1e6;

/// Fit problem: array, parameters and measured rows.
#[derive(Debug, Clone)]
pub struct Fit<'a> {
    /// The array.
    pub array: &'a ArrayDescription,
    /// The measured rows.
    pub rows: &'a Rows,
    /// The parameters to change.
    pub parameters: Vec<FittedParameter>,
    /// The share of the measured cases that the parameters are not fitted to.
    pub hold_out: f64,
    /// Decides which these are.
    pub seed: u64,
    /// Limit on the number of simulations of all rows.
    pub evaluations: u32,
    /// Simulated time of each case, in nanoseconds.
    pub simulated_ns: u64,
    /// Settings of the twin in every case, as in `twin:NAME,KEY=VALUE`.
    pub switches: Vec<(String, String)>,
    /// Cases simulated at once; the result does not depend on it.
    pub threads: usize,
}

/// Progress of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress<'a> {
    /// Evaluations done.
    pub done: u32,
    /// Evaluations at most.
    pub of: u32,
    /// The root of the mean square error so far, as a share.
    pub error: f64,
    /// The values that have it.
    pub best: &'a [FittedParameter],
}

/// Fits. `on_progress` hears of every evaluation and breaks where the search's time is over; the best so far is then simulated
/// for the rows held out. `stop`, raised by another thread, breaks off what is being simulated: the best so far is returned without
/// these rows ([`Outcome::Interrupted`]), and before there is one [`FitError::Interrupted`].
pub fn fit(
    task: &Fit<'_>,
    stop: &AtomicBool,
    on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<FitReport, FitError> {
    let held_out = held_out(task)?;
    fit_to(task, &held_out, stop, on_progress)
}

/// Fits as often as there are folds, each time without one fold of the measured cases, and tells how the twin then does on
/// that one: every figure is predicted once by values that never saw its case. `on_progress` counts over all folds; where it breaks,
/// this fold and those after it have the best values so far. Folds that `stop` leaves unfinished are not reported; where that is all,
/// it returns [`FitError::Interrupted`].
pub fn fit_folds(
    task: &Fit<'_>,
    folds: u32,
    stop: &AtomicBool,
    on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<FoldsReport, FitError> {
    let count = task.rows.count();
    let wanted = folds as usize;
    if wanted < 2 || wanted > count || count - count.div_ceil(wanted.max(1)) < task.parameters.len() {
        return Err(FitError::Rows(format!(
            "{count} measured rows in {folds} folds leave too few to fit {} parameters to; use 2 to {count} folds and \
             fewer parameters, or give more rows",
            task.parameters.len()
        )));
    }
    let mut fold_of = vec![0; count];
    shuffled(count, task.seed).into_iter().enumerate().for_each(|(at, index)| fold_of[index] = at % wanted);
    let mut reports = Vec::new();
    for fold in 0..wanted {
        let held_out: Vec<bool> = task.rows.points.iter().map(|point| fold_of[point.row] == fold).collect();
        let of = task.evaluations * folds;
        let before = task.evaluations * fold as u32;
        let mut on_fold =
            |progress: Progress<'_>| on_progress(Progress { done: before + progress.done, of, ..progress });
        match fit_to(task, &held_out, stop, &mut on_fold) {
            Ok(report) if report.outcome == Outcome::Interrupted => break,
            Err(FitError::Interrupted) => break,
            report => reports.push(report?),
        }
    }
    if reports.is_empty() { Err(FitError::Interrupted) } else { Ok(FoldsReport::new(reports, wanted)) }
}

fn fit_to(
    task: &Fit<'_>,
    held_out: &[bool],
    stop: &AtomicBool,
    on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<FitReport, FitError> {
    let (training, kept): (Vec<_>, Vec<_>) =
        task.rows.points.iter().zip(held_out).partition(|(_, is_held_out)| !**is_held_out);
    let training: Vec<&MeasuredPoint> = training.into_iter().map(|(point, _)| point).collect();
    let kept: Vec<&MeasuredPoint> = kept.into_iter().map(|(point, _)| point).collect();
    // What fails with the present values would fail with all: said before the search.
    let before_training = all_figures(task.array, &training, task, stop)?;
    let before_kept = all_figures(task.array, &kept, task, stop)?;
    let first_cost = cost(&training, &before_training);
    let problem = Problem {
        task,
        training: &training,
        stop,
        state: RefCell::new(State {
            done: 1,
            best: Best {
                values: task.parameters.clone(),
                cost: first_cost,
                figures: before_training.clone(),
            },
            milestone: Milestone { done: 1, error: first_cost.sqrt() },
            on_progress,
            ended: None,
        }),
    };
    let mut step = FIRST_STEP;
    for _ in 0..ROUNDS {
        let from = problem.state.borrow().best.values.clone();
        let solver = NelderMead::new(simplex(&from, step))
            .with_sd_tolerance(COST_TOLERANCE)
            .map_err(|error| FitError::Search(error.to_string()))?;
        Executor::new(&problem, solver)
            .configure(|state| state.max_iters(u64::from(task.evaluations)))
            .run()
            .map_err(|error| FitError::Search(error.to_string()))?;
        let state = problem.state.borrow();
        if state.ended.is_some() || state.best.values == from {
            break;
        }
        step /= 2.0;
    }
    let state = problem.state.into_inner();
    let mut outcome = state.ended.unwrap_or(Outcome::Converged);
    let best = with_values(task.array, &state.best.values)
        .ok_or_else(|| FitError::Search("the best values make no array".into()))?;
    let after_kept = match all_figures(&best, &kept, task, stop) {
        Err(FitError::Interrupted) => {
            outcome = Outcome::Interrupted;
            None
        }
        figures => Some(figures?),
    };
    let mut of_training = before_training.into_iter().zip(state.best.figures);
    let mut of_kept = before_kept.into_iter().zip(after_kept.into_iter().flatten());
    let mut points = Vec::new();
    for (point, &is_held_out) in task.rows.points.iter().zip(held_out) {
        let simulated = if is_held_out { of_kept.next() } else { of_training.next() };
        let (before, after) = simulated.unwrap_or_default();
        for (figure, (before, after)) in point.figures.iter().zip(before.into_iter().zip(after)) {
            let (quantity, measured) = (figure.quantity, figure.value);
            let case = point.label.clone();
            points.push(PointReport { case, quantity, is_held_out, measured, before, after });
        }
    }
    Ok(FitReport {
        parameters: state.best.values,
        outcome,
        evaluations: state.done,
        convergence: Convergence {
            improvement_share: IMPROVEMENT_SHARE,
            evaluations: stall_evaluations(task.parameters.len()),
        },
        seed: task.seed,
        fitted: FitReport::side(&points, false),
        held_out: FitReport::side(&points, true),
        left_out: task.rows.left_out,
        points,
    })
}

/// Draws the held-out points by the seed: those of as many rows as the share gives.
fn held_out(task: &Fit<'_>) -> Result<Vec<bool>, FitError> {
    let count = task.rows.count();
    let wanted = (count as f64 * task.hold_out).round() as usize;
    if count - wanted < task.parameters.len() {
        return Err(FitError::Rows(format!(
            "{} measured rows are left to fit {} parameters to; hold out less, fit fewer, or give more rows",
            count - wanted,
            task.parameters.len()
        )));
    }
    let mut is_kept = vec![false; count];
    shuffled(count, task.seed)[..wanted].iter().for_each(|&row| is_kept[row] = true);
    Ok(task.rows.points.iter().map(|point| is_kept[point.row]).collect())
}

/// The first `count` numbers in an order that the seed decides.
fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut random = Random::from_seed(seed);
    for index in (1..count).rev() {
        order.swap(index, random.below(index as u64 + 1) as usize);
    }
    order
}

/// The present values, and beside them one step along each parameter, scaled to their ranges.
fn simplex(parameters: &[FittedParameter], step: f64) -> Vec<Vec<f64>> {
    let present: Vec<f64> = parameters
        .iter()
        .map(|one| ((one.value - one.least) / (one.most - one.least)).clamp(0.0, 1.0))
        .collect();
    let mut simplex = vec![present.clone()];
    for index in 0..parameters.len() {
        let mut corner = present.clone();
        // A whole number must change by one at least.
        let range = parameters[index].most - parameters[index].least;
        let step = if parameters[index].is_whole { step.max(1.0 / range) } else { step };
        corner[index] += if corner[index] + step <= 1.0 { step } else { -step };
        simplex.push(corner);
    }
    simplex
}

/// Evaluations without an improvement after which a search of so many parameters has converged.
fn stall_evaluations(parameters: usize) -> u32 {
    STALL_EVALUATIONS_PER_PARAMETER * (parameters as u32 + 1)
}

struct Best {
    values: Vec<FittedParameter>,
    cost: f64,
    /// Of the rows that are fitted to, as [`all_figures`] gives them.
    figures: Vec<Vec<f64>>,
}

/// The last improvement that counted.
struct Milestone {
    done: u32,
    error: f64,
}

struct State<'a> {
    done: u32,
    best: Best,
    milestone: Milestone,
    on_progress: &'a mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ended: Option<Outcome>,
}

struct Problem<'a> {
    task: &'a Fit<'a>,
    training: &'a [&'a MeasuredPoint],
    stop: &'a AtomicBool,
    state: RefCell<State<'a>>,
}

impl CostFunction for &Problem<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, scaled: &Vec<f64>) -> Result<f64, argmin::core::Error> {
        let mut state = self.state.borrow_mut();
        if state.done >= self.task.evaluations && state.ended.is_none() {
            state.ended = Some(Outcome::OutOfEvaluations);
        }
        // Nothing can be told from a solver that all is over but that everything is equally good, which ends it.
        if state.ended.is_some() {
            return Ok(state.best.cost);
        }
        // Beyond its bounds a parameter has the value at the bound, and pays for the way.
        let mut values = self.task.parameters.clone();
        let mut beyond = 0.0;
        for (parameter, &scaled) in values.iter_mut().zip(scaled) {
            let within = scaled.clamp(0.0, 1.0);
            beyond += (scaled - within) * (scaled - within);
            let value = parameter.least + within * (parameter.most - parameter.least);
            parameter.value = if parameter.is_whole { value.round() } else { readable(value) };
        }
        let figures = with_values(self.task.array, &values)
            .map(|array| all_figures(&array, self.training, self.task, self.stop));
        let (cost, figures) = match figures {
            Some(Ok(figures)) => (cost(self.training, &figures) + beyond, figures),
            Some(Err(FitError::Interrupted)) => {
                state.ended = Some(Outcome::Interrupted);
                return Ok(state.best.cost);
            }
            Some(Err(_)) | None => (IMPOSSIBLE, Vec::new()),
        };
        state.done += 1;
        if cost < state.best.cost {
            state.best = Best { values, cost, figures };
        }
        let error = state.best.cost.sqrt();
        if error < state.milestone.error * (1.0 - IMPROVEMENT_SHARE) {
            state.milestone = Milestone { done: state.done, error };
        } else if state.done - state.milestone.done >= stall_evaluations(self.task.parameters.len()) {
            state.ended = Some(Outcome::Converged);
        }
        let State { done, best, on_progress, .. } = &mut *state;
        let progress = Progress { done: *done, of: self.task.evaluations, error, best: &best.values };
        if on_progress(progress).is_break() {
            state.ended = Some(Outcome::OutOfTime);
        }
        Ok(cost)
    }
}

/// Four digits are more than measured rows can tell.
fn readable(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// The mean square of ln(twin ÷ measured), beyond what the printed digits leave open: a search that could see into these
/// would bend values, and with them other rows, to a rounding.
fn cost(points: &[&MeasuredPoint], simulated: &[Vec<f64>]) -> f64 {
    let (mut sum, mut figures) = (0.0, 0.0);
    for (point, simulated) in points.iter().zip(simulated) {
        for (measured, &simulated) in point.figures.iter().zip(simulated) {
            let error = if simulated > 0.0 { beyond_digits(measured, simulated) } else { IMPOSSIBLE };
            sum += error * error;
            figures += 1.0;
        }
    }
    sum / f64::max(figures, 1.0)
}

/// ln of the ratio to the nearest figure that would be printed alike.
fn beyond_digits(measured: &MeasuredFigure, simulated: f64) -> f64 {
    let least = measured.value - measured.half_digit;
    let nearest = simulated.clamp(least, measured.value + measured.half_digit);
    libm::log(simulated / nearest)
}

/// The figures of all points, in their order, whichever thread simulates which case; [`FitError::Interrupted`] once `stop` is raised.
fn all_figures(
    array: &ArrayDescription,
    points: &[&MeasuredPoint],
    task: &Fit<'_>,
    stop: &AtomicBool,
) -> Result<Vec<Vec<f64>>, FitError> {
    let cases = points.iter().flat_map(|point| point.cases.iter().map(move |case| (*point, case)));
    let cases: Vec<(&MeasuredPoint, &Case)> = cases.collect();
    let next = Mutex::new(cases.iter().enumerate());
    let done = Mutex::new(Vec::with_capacity(cases.len()));
    std::thread::scope(|scope| {
        for _ in 0..task.threads.clamp(1, cases.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let taken = next.lock().ok().and_then(|mut next| next.next());
                    let Some((index, (point, case))) = taken else { break };
                    let figures =
                        simulated::figures(array, point, case, task.simulated_ns, &task.switches, stop);
                    if let Ok(mut done) = done.lock() {
                        done.push((index, figures));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(index, _)| *index);
    let figures: Vec<Vec<f64>> = done.into_iter().map(|(_, figures)| figures).collect::<Result<_, _>>()?;
    let mut figures = figures.into_iter();
    Ok(points
        .iter()
        .map(|point| {
            simulated::extremes(point, &figures.by_ref().take(point.cases.len()).collect::<Vec<_>>())
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a twin which prints alike costs nothing, and that beyond the printed digits the way from their edge counts.
    #[test]
    fn digits_that_were_not_printed_cost_nothing() {
        let quantity = plan::Quantity::named("iops").unwrap();
        let measured = MeasuredFigure { quantity, value: 0.6, half_digit: 0.05, of: plan::FigureOf::Each };
        assert_eq!(beyond_digits(&measured, 0.56), 0.0);
        assert_eq!(beyond_digits(&measured, 0.64), 0.0);
        assert!((beyond_digits(&measured, 0.715) - libm::log(1.1)).abs() < 1e-9);
        assert!((beyond_digits(&measured, 0.5) - libm::log(0.5 / 0.55)).abs() < 1e-9);
    }
}
