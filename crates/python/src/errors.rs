//! Errors as `arraylab.ArraylabError`: the text of the command, its hint and its exit status.

use diagnostic::{Diagnostic, full_text, text_with_causes};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::error::Error;

/// Exit status of the command where nothing was written.
pub const REFUSED: u8 = 2;
/// Exit status of the command where something that had begun failed.
pub const FAILED: u8 = 3;

/// An error as Python raises it, with the exit status that the command would have.
pub fn raise(error: &dyn Diagnostic, exit_status: u8) -> PyErr {
    raise_text(&full_text(error), exit_status)
}

/// The same of an error that knows no remedy.
pub fn raise_plain(error: &(dyn Error + 'static), exit_status: u8) -> PyErr {
    raise_text(&text_with_causes(error), exit_status)
}

/// The same in words.
pub fn raise_text(text: &str, exit_status: u8) -> PyErr {
    Python::attach(|py| {
        let made = py
            .import("arraylab._error")
            .and_then(|module| module.getattr("ArraylabError"))
            .and_then(|class| class.call1((text, exit_status)));
        match made {
            Ok(exception) => PyErr::from_value(exception),
            // The native module without its package.
            Err(_) => PyRuntimeError::new_err(text.to_owned()),
        }
    })
}

/// Refused: nothing was written.
pub fn refused(error: impl Diagnostic) -> PyErr {
    raise(&error, REFUSED)
}

/// The same of an error that knows no remedy.
pub fn refused_plain(error: impl Error + 'static) -> PyErr {
    raise_plain(&error, REFUSED)
}

/// Converts an error of the run store: a directory that is no run is a refusal, a broken disk a failure.
pub fn of_store(error: store::StoreError) -> PyErr {
    let status = if error.is_failure() { FAILED } else { REFUSED };
    raise_plain(&error, status)
}
