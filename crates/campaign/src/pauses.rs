//! Pauses after a case: a fixed time, or its written bytes divided by a measured rate.

use plan::{Case, PauseRate, Plan};
use std::collections::BTreeMap;
use store::{CaseState, CaseStatus, RunReader, StoreError};

/// The longest pause that a rate makes: a rate near nothing must not stop a campaign for good.
const PAUSE_LIMIT_NS: u64 = 24 * 3600 * units::NANOS_PER_SECOND;

/// Works out pauses; each rate is looked for once.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    rates: BTreeMap<(String, String, &'static str), Option<f64>>,
}

impl Pauses {
    /// The pause after a case that has ended.
    pub fn after(
        &mut self,
        case: &Case,
        cases: &[Case],
        run: &RunReader,
        plan: &Plan,
    ) -> Result<u64, StoreError> {
        let Some(wanted) = &case.pause_over else { return Ok(case.pause_ns) };
        let Some(result) = run.result(case.index as u32)? else { return Ok(case.pause_ns) };
        let Some(rate) = self.rate(wanted, cases, run, plan)? else { return Ok(case.pause_ns) };
        let written_bytes = result.write.as_ref().map_or(0, |write| write.bytes);
        // A float beyond the integers becomes the largest of them.
        let pause_ns = (written_bytes as f64 / rate * units::NANOS_PER_SECOND as f64) as u64;
        Ok(pause_ns.min(PAUSE_LIMIT_NS))
    }

    fn rate(
        &mut self,
        wanted: &PauseRate,
        cases: &[Case],
        run: &RunReader,
        plan: &Plan,
    ) -> Result<Option<f64>, StoreError> {
        let key = (wanted.stage.clone(), wanted.case.clone(), wanted.quantity.name());
        if let Some(&rate) = self.rates.get(&key) {
            return Ok(rate);
        }
        let Some(case) = cases.iter().find(|case| is_of(wanted, case)) else { return Ok(None) };
        if run.case(case.index as u32)?.state != CaseState::Ended(CaseStatus::Done) {
            // It may still be measured, after a resume.
            return Ok(None);
        }
        let mut results = run.results()?;
        results.retain(|result| result.stage == wanted.stage && result.case == wanted.case);
        if wanted.quantity.name().starts_with("sustained.") {
            findings::add_sustained(&mut results, &findings::find(run, plan)?);
        }
        let rate = results.first().and_then(|result| result.quantity(wanted.quantity.name()));
        let rate = rate.filter(|rate| *rate > 0.0);
        self.rates.insert(key, rate);
        Ok(rate)
    }
}

/// True for the case whose rate a pause is about.
pub(crate) fn is_of(wanted: &PauseRate, case: &Case) -> bool {
    case.stage == wanted.stage && case.name == wanted.case
}
