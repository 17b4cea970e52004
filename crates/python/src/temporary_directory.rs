//! Directories that go with a Python object.

use pyo3::prelude::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Directories whose objects still live: Python does not destroy every object when it ends.
static KEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A directory that is removed with its object, at the latest when Python ends.
///
/// `tempfile.TemporaryDirectory` removes its own in Python code that a destructor calls: Python reports a Ctrl-C there as ignored and
/// goes on. Signals are looked for between Python's instructions alone, so one that comes while Rust removes the directory is raised by
/// what the user runs.
#[pyclass(module = "arraylab._native", frozen)]
pub struct TemporaryDirectory {
    path: PathBuf,
}

#[pymethods]
impl TemporaryDirectory {
    /// Takes a directory that was made.
    #[new]
    fn new(path: PathBuf) -> TemporaryDirectory {
        KEPT.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone());
        TemporaryDirectory { path }
    }

    /// Its path.
    #[getter]
    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        KEPT.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.path);
        remove(&self.path);
    }
}

/// Removes the directories whose objects still live; for `atexit`.
#[pyfunction]
pub fn remove_temporary_directories() {
    let kept = std::mem::take(&mut *KEPT.lock().unwrap_or_else(PoisonError::into_inner));
    kept.iter().for_each(|path| remove(path));
}

/// Removes a directory, where it is: somebody may have moved or removed it, and a destructor has nobody to tell.
fn remove(path: &Path) {
    let _ = std::fs::remove_dir_all(path);
}
