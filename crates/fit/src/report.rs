//! Result of a fit.

use plan::Quantity;
use serde::{Serialize, Serializer};

use crate::FittedParameter;

/// End of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Its error no longer became smaller: see [`Convergence`]; or nothing better lay around the best.
    Converged,
    /// The search used up its evaluations.
    OutOfEvaluations,
    /// The search used up its time.
    OutOfTime,
    /// The search was interrupted: the best values so far, without the rows held out.
    Interrupted,
}

/// Convergence criterion of a search: its error has become smaller by less than a share over a number of evaluations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Convergence {
    /// The share of the error.
    pub improvement_share: f64,
    /// The evaluations.
    pub evaluations: u32,
}

/// The errors over one side of the rows, as shares of the measured figures.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Side {
    /// Figures.
    pub figures: usize,
    /// Mean of the errors without sign, before the fit.
    pub mean_error_before: f64,
    /// Mean of the errors without sign, after the fit.
    pub mean_error: f64,
    /// Largest error without sign, before the fit.
    pub worst_error_before: f64,
    /// Largest error without sign, after the fit.
    pub worst_error: f64,
}

/// One measured figure beside the twin's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PointReport {
    /// File, stage and case.
    pub case: String,
    /// Quantity that was measured.
    #[serde(serialize_with = "name")]
    pub quantity: Quantity,
    /// The parameters were not fitted to it.
    pub is_held_out: bool,
    /// Measured value.
    pub measured: f64,
    /// Value that the twin gives with the parameters before the fit.
    pub before: f64,
    /// Value that the twin gives with the fitted parameters.
    pub after: f64,
}

impl PointReport {
    /// The error with the fitted values, as a share of the measured figure.
    pub fn error(&self) -> f64 {
        self.after / self.measured - 1.0
    }

    fn error_before(&self) -> f64 {
        self.before / self.measured - 1.0
    }
}

impl FitReport {
    /// Describes the data of the fit, as the array's text names the source of the fitted values. `files` are those that the
    /// rows were read from.
    pub fn fitted_to(&self, files: &[String]) -> String {
        let files = files.join(", ");
        if self.outcome == Outcome::Interrupted {
            return format!(
                "arraylab fit to {files}, interrupted after {} evaluations, not tried on figures held out",
                self.evaluations
            );
        }
        format!(
            "arraylab fit to {files}, {} of {} figures held out with seed {}",
            self.held_out.figures,
            self.points.len(),
            self.seed
        )
    }
}

/// The result of a fit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FitReport {
    /// The parameters with their new values.
    pub parameters: Vec<FittedParameter>,
    /// Outcome of the search.
    pub outcome: Outcome,
    /// Number of simulations of all rows.
    pub evaluations: u32,
    /// Convergence criterion.
    pub convergence: Convergence,
    /// Seed by which the held-out rows were drawn.
    pub seed: u64,
    /// The rows that were fitted to.
    pub fitted: Side,
    /// The rows that were held out.
    pub held_out: Side,
    /// Rows that could not be used.
    pub left_out: usize,
    /// Every figure, in the order of the rows.
    pub points: Vec<PointReport>,
}

impl FitReport {
    /// The errors of the figures that were held out, or of the others.
    pub(crate) fn side(points: &[PointReport], is_held_out: bool) -> Side {
        let mut side = Side::default();
        for point in points.iter().filter(|point| point.is_held_out == is_held_out) {
            side.figures += 1;
            let (before, after) = (point.error_before().abs(), point.error().abs());
            side.mean_error_before += before;
            side.mean_error += after;
            side.worst_error_before = side.worst_error_before.max(before);
            side.worst_error = side.worst_error.max(after);
        }
        let figures = side.figures.max(1) as f64;
        side.mean_error_before /= figures;
        side.mean_error /= figures;
        side
    }
}

/// The result of fitting without one fold of the rows after the other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoldsReport {
    /// Every figure as the values predict it that were fitted without its case, in the order of the rows.
    pub points: Vec<PointReport>,
    /// The errors of these.
    pub unseen: Side,
    /// The errors of the figures that the values were fitted to, over all folds.
    pub fitted: Side,
    /// The parameters of each finished fold: how far apart they are says how well the rows tell them.
    pub parameters: Vec<Vec<FittedParameter>>,
    /// The outcome of each fold's search; those that an interruption left unfinished come last and have no figures.
    pub outcomes: Vec<Outcome>,
}

impl FoldsReport {
    /// Of the finished folds, out of `of`.
    pub(crate) fn new(folds: Vec<FitReport>, of: usize) -> FoldsReport {
        let seen: Vec<PointReport> = folds
            .iter()
            .flat_map(|fold| fold.points.iter().filter(|point| !point.is_held_out).cloned())
            .collect();
        let count = folds.first().map_or(0, |fold| fold.points.len());
        let points: Vec<PointReport> = (0..count)
            .filter_map(|index| folds.iter().map(|fold| &fold.points[index]).find(|point| point.is_held_out))
            .cloned()
            .collect();
        let mut outcomes: Vec<Outcome> = folds.iter().map(|fold| fold.outcome).collect();
        outcomes.resize(of, Outcome::Interrupted);
        FoldsReport {
            unseen: FitReport::side(&points, true),
            fitted: FitReport::side(&seen, false),
            points,
            outcomes,
            parameters: folds.into_iter().map(|fold| fold.parameters).collect(),
        }
    }
}

fn name<S: Serializer>(quantity: &Quantity, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(quantity.name())
}
