//! Concurrent loads on a twin, each with its own jobs for its volume and host.

use super::timed_events::{BytesMoved, CaseRun, OnSample, TimedEvents};
use super::twin_error;
use crate::CampaignError;
use diagnostic::Problem;
use load::{Extrapolation, Generator, LoadControl, LoadSpec, SharedLoad, first_jobs, run_concurrent};
use plan::{Case, NamedLoad, SettingValues};
use std::sync::atomic::AtomicBool;
use twin::{Twin, TwinError};

/// The settings in which loads of one twin may differ.
const PLACES: [&str; 2] = ["volume", "host"];

/// Returns the volume and the host of a load.
fn place(load: &NamedLoad) -> SettingValues {
    let of_load = |name: &&str| Some(((*name).to_owned(), load.settings.get(*name)?.clone()));
    PLACES.iter().filter_map(of_load).collect()
}

/// The twin as a target of one load.
pub(super) fn target_text(twin: &str, load: &NamedLoad) -> String {
    let places = place(load);
    let named = places.iter().map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!(",{name}={value}")
    });
    std::iter::once(twin.to_owned()).chain(named).collect()
}

fn specs(case: &Case) -> impl Iterator<Item = &LoadSpec> {
    case.loads.iter().map(|load| &load.load)
}

/// Gives each load its jobs on the twin.
fn attach(twin: &mut Twin, case: &Case) -> Result<(), TwinError> {
    for (load, first_job) in case.loads.iter().zip(first_jobs(specs(case))) {
        let place = place(load);
        if !place.is_empty() {
            twin.attach(first_job, &place)?;
        }
    }
    Ok(())
}

/// Refuses a load that has no place in the volume of its first job.
fn check_load(twin: &Twin, case: &Case, load: &LoadSpec, first_job: u32) -> Result<(), CampaignError> {
    let capacity_bytes = twin.capacity_of_job_bytes(first_job);
    Generator::new(load, capacity_bytes).map(drop).map_err(|source| CampaignError::of_load(case, source))
}

/// Refuses the load of a case with a single one where it does not fit the twin.
pub(super) fn check_single(twin: &Twin, case: &Case) -> Result<(), CampaignError> {
    if !case.loads.is_empty() {
        return Ok(());
    }
    check_load(twin, case, &case.load, 0)
}

/// Refuses loads that the twin has no place for.
pub(super) fn check(twin: &mut Twin, case: &Case) -> Result<(), CampaignError> {
    attach(twin, case).map_err(|source| twin_error(case, source))?;
    for (load, first_job) in case.loads.iter().zip(first_jobs(specs(case))) {
        check_load(twin, case, &load.load, first_job)?;
    }
    Ok(())
}

/// Runs the loads of a case, all of them simulated from end to end. Conditions of events are about the first load.
pub(super) fn run(
    twin: &mut Twin,
    case: &Case,
    stop: &AtomicBool,
    on_sample: &mut OnSample<'_>,
) -> Result<CaseRun, Problem> {
    attach(twin, case).map_err(|error| Problem::from(error.to_string()))?;
    let capacities = first_jobs(specs(case)).into_iter().map(|job| twin.capacity_of_job_bytes(job));
    let shared: Vec<SharedLoad<'_>> = case
        .loads
        .iter()
        .zip(capacities)
        .map(|(load, capacity_bytes)| SharedLoad {
            spec: &load.load,
            start_ns: load.start_ns,
            capacity_bytes,
        })
        .collect();
    let ranges: Vec<u64> = shared.iter().map(|load| load.spec.range_bytes(load.capacity_bytes)).collect();
    let mut timed_events = TimedEvents::begin(twin, case, ranges.first().copied().unwrap_or(0))?;
    let mut moved: Vec<BytesMoved> = case
        .loads
        .iter()
        .zip(&ranges)
        .map(|(load, &range)| BytesMoved::new(load.ends_after, range))
        .collect();
    let ran = run_concurrent(twin, &shared, stop, &mut |twin: &mut Twin, number, sample| {
        let goes_on = number > 0 || timed_events.look(twin, &sample);
        let is_over = moved[number].is_over_after(&sample);
        match on_sample(twin, number, sample) || !goes_on {
            true => LoadControl::EndAll,
            false if is_over => LoadControl::EndLoad,
            false => LoadControl::Continue,
        }
    });
    let missed = timed_events.end()?;
    ran.map_err(|error| Problem::from(error.to_string()))?;
    let simulated_ns = case.load.ramp_ns.saturating_add(case.load.runtime_ns);
    let extrapolation = Extrapolation { simulated_ns, ..Extrapolation::default() };
    Ok(CaseRun { extrapolation, missed })
}
