//! Fitting an array's parameters to measured rows: which numbers of the description make its twin measure what was
//! measured, and how well the twin then does on rows that it was not fitted to.

#![doc = include_str!("../README.md")]

mod columns;
mod error;
mod measured;
mod parameters;
mod report;
mod rewrite;
mod search;
mod simulated;

pub use error::FitError;
pub use measured::{MeasuredFigure, MeasuredPoint, Rows, read_rows};
pub use parameters::{Asked, FittedParameter, parameters};
pub use report::{Convergence, FitReport, FoldsReport, Outcome, PointReport, Side};
pub use rewrite::rewrite;
pub use search::{
    EVALUATIONS_LIMIT, Fit, IMPROVEMENT_SHARE, Progress, STALL_EVALUATIONS_PER_PARAMETER, fit, fit_folds,
};
