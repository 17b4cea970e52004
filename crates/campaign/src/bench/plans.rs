//! Benchmark of whole shipped plans, each on its own twin.

use super::process::{forget_peak_memory, peak_memory_bytes};
use crate::{CampaignError, Request, Summary, prepare, run_campaign};
use diagnostic::Problem;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Cases simulated at once.
pub const BENCH_THREADS: usize = 2;

/// Benchmark result of one plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanRow {
    /// Its name.
    pub plan: &'static str,
    /// Cases that were done.
    pub cases: usize,
    /// Time on the wall, with [`BENCH_THREADS`] threads.
    pub seconds: f64,
    /// The most memory that the process had meanwhile.
    pub peak_bytes: Option<u64>,
}

/// Runs every shipped plan that has a twin of its name, each in a directory of its own under `directory`, and passes on each
/// row as soon as it is done.
pub fn bench_plans(
    directory: &Path,
    interrupt: &AtomicBool,
    on_row: &mut dyn FnMut(&PlanRow),
) -> Result<(), CampaignError> {
    let arrays = plan::shipped_arrays();
    for shipped in plan::shipped_plans() {
        if arrays.iter().any(|array| array.name == shipped.name) {
            on_row(&bench_plan(shipped.name, directory, interrupt)?);
        }
    }
    Ok(())
}

fn bench_plan(
    name: &'static str,
    directory: &Path,
    interrupt: &AtomicBool,
) -> Result<PlanRow, CampaignError> {
    forget_peak_memory();
    let begun = Instant::now();
    let summary = run_on_twin(name, plan::Selection::default(), directory, interrupt)?;
    Ok(PlanRow {
        plan: name,
        cases: summary.done,
        seconds: begun.elapsed().as_secs_f64(),
        peak_bytes: peak_memory_bytes(),
    })
}

/// Runs a shipped plan, or the part of it that is selected, on the twin of its name, in a directory of that name under `directory`. Refused
/// where a case has no result.
pub(super) fn run_on_twin(
    name: &str,
    selection: plan::Selection,
    directory: &Path,
    interrupt: &AtomicBool,
) -> Result<Summary, CampaignError> {
    let campaign = prepare(&Request {
        plan: name.to_owned(),
        targets: vec![format!("twin:{name}")],
        selection,
        directory: directory.join(name),
        seed: 1,
        threads: Some(BENCH_THREADS),
        command_line: std::env::args().collect(),
        ..Request::default()
    })?;
    let summary = run_campaign(campaign, interrupt, &mut ())?;
    if summary.failed > 0 || summary.pending > 0 {
        return Err(Problem::new(format!(
            "plan `{name}`: {} cases failed and {} are left",
            summary.failed, summary.pending
        ))
        .into());
    }
    Ok(summary)
}
