//! Benchmarks of simulation: I/Os a second of one core's time, seconds of a whole shipped plan, and the memory that
//! either takes; and the cost of watching a host.

mod fast_forward;
mod plans;
mod probe;
mod process;
mod scenario;
mod validation;

pub use fast_forward::bench_fast_forward;
pub use plans::{BENCH_THREADS, PlanRow, bench_plans};
pub use probe::{ProbeCost, bench_probe};
pub use process::wait_for_peak_memory;
pub use scenario::{BENCH_ROUNDS, ScenarioRow, bench_memory, bench_scenarios};
pub use validation::{ValidationPoint, bench_validation, sum_validation};
