//! Sustained level of one case by its own samples, kept at the case's end, and results of a run that rest on it.

use crate::observation::{Names, ObservedCase, limits_of_case, needs_counters, rounds, visit_cases_of};
use crate::sustained::{LONG_LOADS, level};
use crate::{LimitChange, add_sustained, find, kept_plan, steady_state, write_cliff};
use plan::{Case, Plan, PlanError};
use std::collections::{BTreeMap, BTreeSet};
use store::{CaseResult, CaseStatus, Event, RunReader, Selection, StoreError, Sustained};

/// Version of the method that finds sustained levels. It goes up with every change of what [`crate::add_sustained`] finds, so
/// that levels kept by an older one are found in the samples again.
pub const SUSTAINED_METHOD: u32 = 1;

/// Sustained level of a case, as far as it is known from the case alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KnownLevel {
    /// The level; `None` where the case has none.
    Known(Option<Sustained>),
    /// It rests on other cases.
    NeedsRun,
}

/// Parts of the plan that sustained levels depend on.
#[derive(Debug, Clone, Default)]
pub struct SustainedLevels {
    /// Stages whose cases are rounds.
    rounds: BTreeSet<String>,
    /// Limits by stage and case, where the plan sets any.
    limits: BTreeMap<(String, String), Vec<LimitChange>>,
}

impl SustainedLevels {
    /// Takes what is needed from a plan and the cases that it was expanded to.
    pub fn new(plan: &Plan, cases: &[Case]) -> SustainedLevels {
        let mut levels = SustainedLevels::without_limits(plan);
        cases.iter().for_each(|case| levels.add_limits(case));
        levels
    }

    /// Takes what is needed from the plan that a run kept.
    fn of_kept(plan: &Plan, selection: &Selection) -> SustainedLevels {
        let mut levels = SustainedLevels::without_limits(plan);
        visit_cases_of(plan, selection, |case| levels.add_limits(&case));
        levels
    }

    fn without_limits(plan: &Plan) -> SustainedLevels {
        let rounds = rounds(plan).map(|(stage, _)| stage.to_owned()).collect();
        SustainedLevels { rounds, limits: BTreeMap::new() }
    }

    fn add_limits(&mut self, case: &Case) {
        if !case.events.is_empty() {
            self.limits.insert((case.stage.clone(), case.name.clone()), limits_of_case(case));
        }
    }

    /// Finds the sustained level of a case that has come to an outcome, in the case's own samples.
    pub fn of(
        &self,
        run: &RunReader,
        case_index: u32,
        result: &CaseResult,
    ) -> Result<KnownLevel, StoreError> {
        let events = run.events_of_case(case_index)?;
        self.with_events(run, case_index, result, &events.iter().collect::<Vec<_>>())
    }

    fn with_events(
        &self,
        run: &RunReader,
        case_index: u32,
        result: &CaseResult,
        events: &[&Event],
    ) -> Result<KnownLevel, StoreError> {
        if result.status != CaseStatus::Done {
            return Ok(KnownLevel::Known(None));
        }
        let is_round = self.rounds.contains(&result.stage);
        if is_round && result.case == result.stage {
            // The findings of the whole stage have the name of this case.
            return Ok(KnownLevel::NeedsRun);
        }
        if is_round && result.stage != LONG_LOADS {
            return Ok(KnownLevel::Known(None));
        }
        let counters = match needs_counters(events) {
            true => run.counters(case_index)?,
            false => Vec::new(),
        };
        let path = (result.stage.clone(), result.case.clone());
        let limits = self.limits.get(&path).cloned().unwrap_or_default();
        let case = ObservedCase::read(
            run,
            case_index,
            result.clone(),
            events,
            limits,
            &counters,
            &mut Names::default(),
        )?;
        let (cliff, steady) = match is_round {
            true => (None, None),
            false => (write_cliff::of(&case), steady_state::of(&case)),
        };
        let rate = level(&case, cliff.as_ref(), steady.as_ref());
        let level = rate.map(|rate| Sustained { iops: rate.iops, bw_bytes_per_s: rate.bw_bytes_per_s });
        Ok(KnownLevel::Known(level))
    }
}

/// Results of a run with sustained levels.
#[derive(Debug)]
pub struct RunResults {
    /// The results, in the order of the plan.
    pub cases: Vec<CaseResult>,
    /// Reason why sustained levels that were not kept are left out.
    pub left_out: Option<LevelError>,
}

/// Failure to find sustained levels.
#[derive(Debug, thiserror::Error)]
pub enum LevelError {
    /// The run's plan can no longer be read: its published table is gone.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The run cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reads the results of a run with the sustained level of each case: as it was kept at the case's end, else found in its
/// samples. Results stand without levels that cannot be found.
pub fn results(run: &RunReader) -> Result<RunResults, StoreError> {
    let _snapshot = run.snapshot()?;
    let mut indexed = run.indexed_results()?;
    let kept = run.kept_sustained(SUSTAINED_METHOD)?;
    let mut unknown = Vec::new();
    for (place, (index, result)) in indexed.iter_mut().enumerate() {
        match kept.get(index) {
            Some(level) => result.sustained = *level,
            None if result.status == CaseStatus::Done => unknown.push(place),
            None => {}
        }
    }
    let mut left_out = None;
    if !unknown.is_empty() {
        left_out = add_unknown(run, &mut indexed, &unknown).err();
    }
    Ok(RunResults { cases: indexed.into_iter().map(|(_, result)| result).collect(), left_out })
}

/// Finds the levels of some of the results in samples.
fn add_unknown(
    run: &RunReader,
    indexed: &mut [(u32, CaseResult)],
    unknown: &[usize],
) -> Result<(), LevelError> {
    let plan = kept_plan(run.manifest(), &run.cases()?)?;
    let levels = SustainedLevels::of_kept(&plan, &run.manifest().selection);
    let events = run.events()?;
    let mut events_of_case: BTreeMap<u32, Vec<&Event>> = BTreeMap::new();
    for event in &events {
        if let Some(case_index) = event.case_index {
            events_of_case.entry(case_index).or_default().push(event);
        }
    }
    let mut rest_on_others = Vec::new();
    for &place in unknown {
        let (index, result) = &mut indexed[place];
        let events = events_of_case.get(index).map_or(&[][..], Vec::as_slice);
        match levels.with_events(run, *index, result, events)? {
            KnownLevel::Known(level) => result.sustained = level,
            KnownLevel::NeedsRun => rest_on_others.push(place),
        }
    }
    if !rest_on_others.is_empty() {
        let found = find(run, &plan)?;
        for place in rest_on_others {
            add_sustained([&mut indexed[place].1], &found);
        }
    }
    Ok(())
}
