//! Native part of the Python package `arraylab`: runs, arrays, twins, plans and charts for `python/arraylab`.
//!
//! What has no Python type of its own goes through JSON or Arrow; the package in `python/` gives it its shape. The
//! interpreter is released while anything is simulated or read.

#![expect(
    clippy::needless_pass_by_value,
    reason = "Python's values come by value; errors are mapped by value"
)]

mod array_file;
mod campaigns;
mod charts;
mod errors;
mod fits;
mod histogram;
mod plans;
mod runs;
mod table;
mod temporary_directory;
mod trace;

#[pyo3::pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use crate::array_file::{array_check, array_load, array_names, array_parse, array_replace};
    #[pymodule_export]
    use crate::campaigns::{Stop, carry_out};
    #[pymodule_export]
    use crate::charts::{chart_svg, compare_json, report_charts, report_text};
    #[pymodule_export]
    use crate::fits::fit_array;
    #[pymodule_export]
    use crate::histogram::Histogram;
    #[pymodule_export]
    use crate::plans::{new_run_id, plan_cases, plan_load, plan_names, plan_parse, plan_shards};
    #[pymodule_export]
    use crate::runs::Run;
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::temporary_directory::{TemporaryDirectory, remove_temporary_directories};
    #[pymodule_export]
    use crate::trace::Twin;

    /// Version of the package and of the command, which are one.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
