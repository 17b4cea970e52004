//! Cases whose rate is a share of another case's measured maximum.

use load::{Arrival, ArrivalProcess, LoadSpec};
use plan::{Case, RateShare};
use store::{CaseState, CaseStatus, RunReader, StoreError};
use units::human_rate;

/// The case at full rate that a case rests on.
pub(crate) fn rests_on<'a>(cases: &'a [Case], case: &Case) -> Option<&'a Case> {
    let share = case.rate_share.as_ref()?;
    // It comes before the case in the same stage, and mostly just before it.
    let mut before = cases.get(..case.index)?.iter().rev().take_while(|other| other.stage == case.stage);
    before.find(|other| other.name == share.of_case)
}

/// Returns the rate of each load of a case, in I/Os a second: its share of the rate that the same load delivered.
/// `None` where that case has no result.
pub(crate) fn rates(run: &RunReader, cases: &[Case], case: &Case) -> Result<Option<Vec<f64>>, StoreError> {
    let (Some(share), Some(full)) = (&case.rate_share, rests_on(cases, case)) else { return Ok(None) };
    let index = full.index as u32;
    if run.case(index)?.state != CaseState::Ended(CaseStatus::Done) {
        return Ok(None);
    }
    let Some(result) = run.result(index)? else { return Ok(None) };
    let delivered: Vec<f64> = match &result.loads {
        Some(loads) => loads.iter().map(|load| load.iops).collect(),
        None => vec![result.iops],
    };
    let is_known = delivered.len() == case.loads.len().max(1) && delivered.iter().all(|iops| *iops > 0.0);
    Ok(is_known.then(|| delivered.iter().map(|iops| iops * f64::from(share.percent) / 100.0).collect()))
}

/// The case with these rates, one for each of its loads.
pub(crate) fn with_rates(case: &Case, rates: &[f64]) -> Case {
    let mut case = case.clone();
    let process = case.rate_share.as_ref().and_then(|share| share.process);
    match case.loads.as_mut_slice() {
        [] => set(&mut case.load, process, rates[0]),
        loads => {
            for (one, rate) in loads.iter_mut().zip(rates) {
                set(&mut one.load, process, *rate);
            }
        }
    }
    case
}

/// Describes the rate of a case for people.
pub(crate) fn in_words(share: &RateShare, rates: &[f64]) -> String {
    let total: f64 = rates.iter().sum();
    format!("{} % of the rate of `{}`: {} IOPS", share.percent, share.of_case, human_rate(total))
}

/// Returns the reason why a case cannot be run: the rate that it is a share of is unknown.
pub(crate) fn unknown(share: &RateShare) -> String {
    format!("its rate is a share of what `{}` delivers, and that case has no result", share.of_case)
}

fn set(load: &mut LoadSpec, process: Option<ArrivalProcess>, iops: f64) {
    match process {
        Some(ArrivalProcess::Poisson) => load.shape.arrival = Some(Arrival::poisson(iops)),
        Some(ArrivalProcess::Regular) => load.shape.arrival = Some(Arrival::regular(iops)),
        None => load.rate_iops = Some(iops),
    }
}
