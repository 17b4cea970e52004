//! Runs for Python.

use crate::errors::{FAILED, of_store, raise_plain, refused};
use crate::histogram::Histogram;
use crate::table::Table;
use diagnostic::Problem;
use findings::Findings;
use frame::{FileError, Frame};
use load::Direction;
use pyo3::prelude::*;
use serde_json::json;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::{CaseRecord, CaseState, PRECONDITIONING_LOAD, RunReader, StoreError};

/// A run directory, open for reading.
#[pyclass(module = "arraylab._native", frozen)]
pub struct Run {
    reader: Mutex<RunReader>,
}

impl Run {
    /// The reader. Its SQLite connection is used by one thread at a time.
    pub fn reader(&self) -> MutexGuard<'_, RunReader> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn table(
        &self,
        py: Python<'_>,
        make: impl FnOnce(&RunReader) -> Result<Frame, StoreError> + Send,
    ) -> PyResult<Table> {
        let frame = py.detach(|| make(&self.reader())).map_err(of_store)?;
        py.detach(|| Table::new(frame))
    }

    /// Findings; refused where the plan that is kept with the run can no longer be read.
    pub fn found(&self, py: Python<'_>) -> PyResult<Findings> {
        py.detach(|| {
            let reader = self.reader();
            let cases = reader.cases().map_err(of_store)?;
            let plan = findings::kept_plan(reader.manifest(), &cases).map_err(refused)?;
            findings::find(&reader, &plan).map_err(of_store)
        })
    }
}

#[pymethods]
impl Run {
    #[new]
    fn open(py: Python<'_>, directory: PathBuf) -> PyResult<Run> {
        let reader = py.detach(|| RunReader::open(&directory)).map_err(of_store)?;
        Ok(Run { reader: Mutex::new(reader) })
    }

    /// Returns the manifest and the progress of the run as a JSON object.
    fn facts_json(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            let reader = self.reader();
            let manifest = reader.manifest();
            let status = reader.status().map_err(of_store)?;
            let targets: Vec<&str> = manifest.targets.iter().map(|target| target.spec.as_str()).collect();
            Ok(json!({
                "plan": manifest.plan.name,
                "version": manifest.arraylab_version,
                "seed": manifest.seed,
                "targets": targets,
                "state": serde_json::to_value(&status).unwrap_or_default(),
            })
            .to_string())
        })
    }

    /// Number, stage, name and state of each case.
    fn cases(&self, py: Python<'_>) -> PyResult<Vec<(u32, String, String, String)>> {
        let cases = py.detach(|| self.reader().cases()).map_err(of_store)?;
        let state = |case: &CaseRecord| match case.state {
            CaseState::Pending => "pending".to_owned(),
            CaseState::Begun => "begun".to_owned(),
            CaseState::Ended(status) => status.name().to_owned(),
        };
        Ok(cases
            .into_iter()
            .map(|case| (case.index, case.stage.clone(), case.name.clone(), state(&case)))
            .collect())
    }

    /// Returns the reason why a case did not end as done.
    fn error_of(&self, py: Python<'_>, index: u32) -> PyResult<Option<String>> {
        Ok(py.detach(|| self.reader().case(index)).map_err(of_store)?.error)
    }

    /// Results as `arraylab results --csv` prints them.
    #[pyo3(signature = (sustained=true))]
    fn results(&self, py: Python<'_>, sustained: bool) -> PyResult<Table> {
        self.table(py, |reader| {
            let results = if sustained { findings::results(reader)?.cases } else { reader.results()? };
            Ok(frame::results(&results))
        })
    }

    /// Samples of the cases of these numbers.
    fn samples(&self, py: Python<'_>, indexes: Vec<u32>) -> PyResult<Table> {
        self.table(py, |reader| frame::samples(reader, &indexes))
    }

    /// Counters of the cases of these numbers.
    fn counters(&self, py: Python<'_>, indexes: Vec<u32>) -> PyResult<Table> {
        self.table(py, |reader| frame::counters(reader, &indexes))
    }

    /// Writes the tables as CSV files into a directory that is there, and gives their paths.
    fn write_csv(&self, py: Python<'_>, directory: PathBuf) -> PyResult<Vec<PathBuf>> {
        py.detach(|| {
            let reader = self.reader();
            let results = findings::results(&reader).map_err(of_store)?.cases;
            frame::write_csv_files(&reader, &results, &directory).map_err(|error| match error {
                FileError::Store(error) => of_store(error),
                other => raise_plain(&other, FAILED),
            })
        })
    }

    /// The event log.
    fn events(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, frame::events)
    }

    /// Findings as `arraylab findings --json` has them.
    fn findings(&self, py: Python<'_>) -> PyResult<Table> {
        let found = self.found(py)?;
        Table::new(frame::findings(&found))
    }

    /// Claims as `arraylab claims --json` has them.
    fn claims(&self, py: Python<'_>) -> PyResult<Table> {
        let found = self.found(py)?;
        Table::new(frame::claims(&found))
    }

    /// The merged latencies of a direction over the intervals of these cases and loads that lie between two times of a case's load,
    /// those of the ramp left out.
    fn histogram_between(
        &self,
        py: Python<'_>,
        indexes: Vec<u32>,
        direction: &str,
        loads: Vec<String>,
        from_ns: u64,
        to_ns: u64,
    ) -> PyResult<Histogram> {
        let direction = direction_of(direction)?;
        py.detach(|| {
            let reader = self.reader();
            let mut merged = load::Histogram::new();
            for index in indexes {
                reader
                    .for_each_sample(index, &mut |load, sample| {
                        let is_chosen = loads.is_empty() || loads.iter().any(|chosen| chosen == load);
                        let is_within =
                            sample.start_ns >= from_ns && sample.end_ns <= to_ns && !sample.is_ramp;
                        if is_chosen && is_within && load != PRECONDITIONING_LOAD {
                            merged.merge(&sample.direction(direction).latency);
                        }
                        ControlFlow::Continue(())
                    })
                    .map_err(of_store)?;
            }
            Ok(Histogram::new(merged))
        })
    }

    /// The merged latencies of a direction over these cases and loads (all loads where `loads` is empty).
    fn histogram(
        &self,
        py: Python<'_>,
        indexes: Vec<u32>,
        direction: &str,
        loads: Vec<String>,
    ) -> PyResult<Histogram> {
        let direction = direction_of(direction)?;
        py.detach(|| {
            let reader = self.reader();
            let mut merged = load::Histogram::new();
            for index in indexes {
                for outcome in reader.totals(index).map_err(of_store)? {
                    if !loads.is_empty() && !loads.contains(&outcome.name) {
                        continue;
                    }
                    if let Some(totals) = outcome.direction(direction) {
                        merged.merge(&totals.latency);
                    }
                }
            }
            Ok(Histogram::new(merged))
        })
    }
}

/// A direction by its name.
fn direction_of(name: &str) -> PyResult<Direction> {
    Direction::from_name(name).ok_or_else(|| {
        refused(Problem::new(format!("`{name}` is no direction")).with_hint("read, write or trim"))
    })
}
