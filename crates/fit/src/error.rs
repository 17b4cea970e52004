//! Fit errors.

use diagnostic::{Diagnostic, Problem};
use std::borrow::Cow;

/// Errors of a fit.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// The plan or the array cannot be read, or does not fit the rows.
    #[error(transparent)]
    Plan(#[from] plan::PlanError),
    /// The rows are no CSV.
    #[error("`{file}` is not CSV")]
    Csv {
        /// The file.
        file: String,
        /// Error in the file, with its line.
        source: csv::Error,
    },
    /// The rows cannot be used.
    #[error("{0}")]
    Rows(String),
    /// The rows have a wrong column.
    #[error(transparent)]
    Column(Problem),
    /// No such parameter, or one that cannot be fitted.
    #[error("{0}")]
    Parameter(String),
    /// The twin cannot be built or run as the rows ask.
    #[error("{point}: {why}")]
    Twin {
        /// The measured point.
        point: String,
        /// Error of the twin, in words.
        why: String,
    },
    /// The fit was interrupted before the array as it is was simulated.
    #[error("interrupted before the array as it is was simulated; nothing was fitted")]
    Interrupted,
    /// The search itself failed.
    #[error("the search failed: {0}")]
    Search(String),
    /// The array's text is not laid out so that a number of it can be changed.
    #[error(
        "`{parameter}` cannot be changed in the array's text; write it as `{key}: {{ value: …, origin: …, from: … }}`"
    )]
    Text {
        /// The parameter's path.
        parameter: String,
        /// Its last part.
        key: String,
    },
}

impl Diagnostic for FitError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            FitError::Plan(error) => error.hint(),
            FitError::Column(problem) => problem.hint(),
            _ => None,
        }
    }
}
