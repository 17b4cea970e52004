//! Observation reader for run directories.

use super::counters::Counted;
use super::{
    Flow, Interval, LimitChange, Missing, Moment, Names, Observation, ObservedCase, counters, limits,
};
use crate::unwritten_reads;
use crate::{FOUND_LOAD_EVENT, MISSED_EVENT, UNWRITTEN_READS_EVENT};
use plan::Plan;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{
    CaseResult, CaseState, CaseStatus, CounterSeries, DirectionPoint, Event, IntervalPoint,
    PRECONDITIONING_LOAD, RunReader, StoreError,
};

const NS: f64 = 1e9;
/// Events that record what came of a case, or what an array was set to before it, and did nothing to its load.
const RECORDS: [&str; 8] = [
    FOUND_LOAD_EVENT,
    MISSED_EVENT,
    UNWRITTEN_READS_EVENT,
    "content",
    "verified",
    "handover",
    "rate",
    "array",
];

impl Observation {
    /// Reads everything that findings need of a run; also of one that is still under way.
    pub fn read(run: &RunReader, plan: &Plan) -> Result<Observation, StoreError> {
        let _snapshot = run.snapshot()?;
        let events = run.events()?;
        let mut events_of_case: BTreeMap<u32, Vec<&Event>> = BTreeMap::new();
        for event in &events {
            if let Some(case_index) = event.case_index {
                events_of_case.entry(case_index).or_default().push(event);
            }
        }
        // In the order of the plan, as the cases are.
        let mut results = run.indexed_results()?.into_iter().peekable();
        let limits = limits::of_plan(plan, &run.manifest().selection);
        let rounds = rounds(plan).map(|(stage, rounds)| (stage.to_owned(), rounds.clone())).collect();
        let mut observation = Observation { plan: plan.name.clone(), rounds, ..Observation::default() };
        let mut names = Names::default();
        observation.cases.reserve_exact(results.len());
        run.for_each_case(&mut |record| {
            let is_done = record.state == CaseState::Ended(CaseStatus::Done);
            let result = results.next_if(|(index, _)| *index == record.index).filter(|_| is_done);
            let Some((_, result)) = result else {
                let reason = record.error.clone().unwrap_or_else(|| match record.state {
                    CaseState::Ended(status) => status.name().to_owned(),
                    CaseState::Pending | CaseState::Begun => "not measured yet".to_owned(),
                });
                observation.missing.push(Missing { stage: record.stage, case: record.name, reason });
                return Ok(());
            };
            let events = events_of_case.remove(&record.index).unwrap_or_default();
            let limits =
                limits.get(&(record.stage.clone(), record.name.clone())).cloned().unwrap_or_default();
            // Where an event's time within the case is not known, any counter may tell it.
            let counters = match needs_counters(&events) {
                true => run.counters(record.index)?,
                false => run.counters_of(record.index, &counters::is_read)?,
            };
            observation.cases.push(ObservedCase::read(
                run,
                record.index,
                result,
                &events,
                limits,
                &counters,
                &mut names,
            )?);
            Ok(())
        })?;
        Ok(observation)
    }
}

impl ObservedCase {
    /// Reads a case that is done. Without its counters, how busy parts were and what paths carried is not known, nor when
    /// events happened that have no time of the case.
    pub(crate) fn read(
        run: &RunReader,
        case_index: u32,
        result: CaseResult,
        events: &[&Event],
        limits: Vec<LimitChange>,
        counters: &[CounterSeries],
        names: &mut Names,
    ) -> Result<ObservedCase, StoreError> {
        let (intervals, loads) = intervals(&run.series(case_index)?);
        let ramp_s = intervals.iter().filter(|i| i.is_ramp).map(|i| i.end_s).fold(0.0, f64::max);
        let clock_offset_ns = counters::case_start_ns(counters);
        let moments = events
            .iter()
            .filter(|event| is_moment(event))
            .filter_map(|event| {
                let at_ns = event.case_at_ns.or_else(|| event.at_ns.checked_sub(clock_offset_ns?))?;
                Some(Moment { at_s: at_ns as f64 / NS, text: event.text.clone() })
            })
            .collect();
        let mut changes = limits;
        changes.extend(limits::of_events(events.iter().copied()));
        // A case that was begun anew has the answers of earlier attempts too.
        let answers = events.iter().filter(|event| event.kind == FOUND_LOAD_EVENT);
        let answer = answers
            .filter_map(|event| Some((serde_json::from_value(event.data.clone()?).ok()?, event.case_at_ns)))
            .next_back();
        let (found_load, result_at_ns) = answer.unzip();
        let own_ramp_s = result.settings.get("ramp_time").and_then(Value::as_f64).unwrap_or(0.0);
        let twin_began_s = result_at_ns.flatten().map_or(0.0, |at_ns| at_ns as f64 / NS - own_ramp_s);
        let counted = Counted { ramp_s, twin_began_s };
        let mut busy = counters::busy(counters, counted, names);
        let mut carried = counters::carried(counters, counted);
        let mut services = counters::of_services(counters, counted, names);
        // Kept for as long as the findings: without room for more.
        busy.shrink_to_fit();
        carried.shrink_to_fit();
        services.shrink_to_fit();
        let unwritten = events.iter().rev().find_map(|event| unwritten_reads::share(event));
        Ok(ObservedCase {
            waiting_commands: counters::waiting_commands(counters, counted),
            unwritten_share: unwritten.unwrap_or(0.0),
            found_load,
            stage: result.stage.clone(),
            name: result.case.clone(),
            settings: result.settings.clone(),
            result: Arc::new(result),
            busy,
            carried,
            services,
            intervals,
            loads,
            moments,
            limits: changes,
        })
    }
}

/// Stages whose cases are rounds that go on from one another.
pub(crate) fn rounds(plan: &Plan) -> impl Iterator<Item = (&str, &plan::Rounds)> {
    let continuing = plan.stages.iter().filter(|stage| stage.continues != plan::Continues::No);
    continuing.filter_map(|stage| Some((stage.name.as_str(), stage.repeats.as_ref()?)))
}

/// Returns true if an event may have done something to the load.
fn is_moment(event: &Event) -> bool {
    !RECORDS.contains(&event.kind.as_str())
}

/// Returns true if the time of one of these events within its case is known from the case's counters alone.
pub(crate) fn needs_counters(events: &[&Event]) -> bool {
    events.iter().any(|event| is_moment(event) && event.case_at_ns.is_none())
}

/// All loads together, and each of several.
fn intervals(points: &[IntervalPoint]) -> (Vec<Interval>, Vec<(String, Vec<Interval>)>) {
    let mut loads: Vec<(String, Vec<Interval>)> = Vec::new();
    for point in points.iter().filter(|point| point.load != PRECONDITIONING_LOAD) {
        if loads.last().is_none_or(|(name, _)| *name != point.load) {
            loads.push((point.load.clone(), Vec::new()));
        }
        if let Some((_, series)) = loads.last_mut() {
            series.push(interval(point));
        }
    }
    match loads.len() {
        0 => (Vec::new(), loads),
        1 => {
            let mut only = loads.remove(0).1;
            only.shrink_to_fit();
            (only, Vec::new())
        }
        _ => (sum(&loads), loads),
    }
}

/// Loads of a case have the same intervals; one that began late or ended early is added where it has any.
fn sum(loads: &[(String, Vec<Interval>)]) -> Vec<Interval> {
    let mut all: Vec<Interval> = Vec::new();
    for interval in loads.iter().flat_map(|(_, series)| series) {
        match all.iter_mut().find(|known| known.start_s == interval.start_s && known.end_s == interval.end_s)
        {
            Some(known) => {
                known.read.add(&interval.read);
                known.write.add(&interval.write);
            }
            None => all.push(*interval),
        }
    }
    all.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
    all
}

fn interval(point: &IntervalPoint) -> Interval {
    let flow = |part: &Option<DirectionPoint>| {
        part.as_ref().map_or_else(Flow::default, |part| Flow {
            ios: part.ios as f64,
            bytes: part.bytes as f64,
            errors: part.errors,
            latency_sum_ns: part.latency.mean_ns * part.ios as f64,
        })
    };
    Interval {
        start_s: point.start_ns as f64 / NS,
        end_s: point.end_ns as f64 / NS,
        is_ramp: point.is_ramp,
        read: flow(&point.read),
        write: flow(&point.write),
    }
}
