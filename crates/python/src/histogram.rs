//! Latency histograms for Python.

use crate::errors::refused;
use crate::table::Table;
use diagnostic::Problem;
use pyo3::prelude::*;

/// A histogram of latencies with fio's bins (64 a power of two; a value is known to 1/128). Histograms add up, percentiles
/// do not: merge first, then ask.
#[pyclass(module = "arraylab._native", frozen)]
pub struct Histogram {
    histogram: load::Histogram,
}

impl Histogram {
    pub fn new(histogram: load::Histogram) -> Histogram {
        Histogram { histogram }
    }
}

#[pymethods]
impl Histogram {
    /// A histogram with nothing in it.
    #[new]
    fn empty() -> Histogram {
        Histogram::new(load::Histogram::new())
    }

    /// Number of I/Os.
    fn __len__(&self) -> usize {
        self.histogram.count() as usize
    }

    /// Number of I/Os.
    #[getter]
    fn ios(&self) -> u64 {
        self.histogram.count()
    }

    /// Mean latency in nanoseconds; None of no I/Os.
    #[getter]
    fn mean_ns(&self) -> Option<f64> {
        (self.histogram.count() > 0).then(|| self.histogram.mean_ns())
    }

    /// Lowest latency in nanoseconds; None where it is not known.
    #[getter]
    fn min_ns(&self) -> Option<u64> {
        self.histogram.known_min_ns().filter(|_| self.histogram.count() > 0)
    }

    /// Largest latency in nanoseconds; None where it is not known.
    #[getter]
    fn max_ns(&self) -> Option<u64> {
        self.histogram.known_max_ns().filter(|_| self.histogram.count() > 0)
    }

    /// A percentile in nanoseconds, 0 < percent <= 100: `percentile_ns(99.9)`. None of no I/Os, and of those whose source
    /// gave means alone.
    fn percentile_ns(&self, percent: f64) -> PyResult<Option<u64>> {
        if !(percent > 0.0 && percent <= 100.0) {
            let problem = Problem::new(format!("`{percent}` is no percentile"));
            return Err(refused(problem.with_hint("above 0 and at most 100, such as 99.9")));
        }
        let known = self.histogram.known_percentile_ns((percent * 10_000.0).round() as u32);
        Ok(known.filter(|_| self.histogram.count() > 0))
    }

    /// Both together.
    fn __add__(&self, other: &Histogram) -> Histogram {
        let mut both = self.histogram.clone();
        both.merge(&other.histogram);
        Histogram::new(both)
    }

    /// The filled bins: `low_ns` (in it), `high_ns` (above it), `ios`.
    fn bins(&self) -> PyResult<Table> {
        Table::new(frame::histogram_bins(&self.histogram))
    }

    fn __repr__(&self) -> String {
        format!(
            "<Histogram of {}, mean {}>",
            units::human_count(self.histogram.count(), "I/O"),
            units::human_latency(self.histogram.mean_ns())
        )
    }
}
