//! Size for a workload: which arrays, in which states, meet its requirements, and for how long.

use crate::growth::Growth;
use crate::headroom::{Headroom, HeadroomPoint, headroom};
use crate::requirement::{Requirement, Side};
use crate::simulation::Effort;
use crate::size_row::{AtPeak, QuantityError, RequiredLatency, SizeErrors, SizePoint, SizeRow, SizeVerdict};
use crate::state::{InState, State};
use crate::wear::wear;
use crate::{Configuration, PartBusy, SizingError};
use array::Array;
use campaign::CampaignError;
use plan::{Case, CaseEvent};

/// Question about arrays for a workload.
#[derive(Debug, Clone)]
pub struct SizeQuestion {
    /// The workload as a case with its rates.
    pub case: Case,
    /// Bytes that it stores, where that is known.
    pub capacity_bytes: Option<u64>,
    /// Bytes written in a day; without it, the rate of the workload holds all day.
    pub written_bytes_per_day: Option<u64>,
    /// Latencies that must hold.
    pub requirements: Vec<Requirement>,
    /// Its growth.
    pub growth: Option<Growth>,
    /// States to examine.
    pub states: Vec<State>,
    /// Work of each point.
    pub effort: Effort,
}

/// Answer of a simulation about a design in a state.
#[derive(Debug, Clone)]
pub(crate) enum Outcome<T> {
    /// Result of the simulation; the array serves in this state.
    Simulated(T),
    /// Data is lost or out of reach, or does not fit.
    Fails(String),
    /// The model does not have the state.
    NotModelled(String),
}

/// Simulates a design in a state: `simulate` is given the array as it then is, and the case. Where it can be in it in several ways, the
/// outcome is that of the worst.
pub(crate) fn in_state<T>(
    design: &Configuration,
    state: State,
    question: &SizeQuestion,
    simulate: impl Fn(&Configuration, &Case) -> Result<T, SizingError>,
    is_worse: impl Fn(&T, &T) -> bool,
) -> Result<Outcome<T>, SizingError> {
    let mut worst: Option<T> = None;
    for way in state.of(design)? {
        let outcome = match way {
            InState::Serves(array, events) => serving(&array, events, state, question, &simulate)?,
            InState::Down(because) => Outcome::Fails(because),
            InState::NotModelled(because) => Outcome::NotModelled(because),
        };
        match outcome {
            Outcome::Simulated(simulated)
                if worst.as_ref().is_none_or(|worst| is_worse(&simulated, worst)) =>
            {
                worst = Some(simulated);
            }
            Outcome::Simulated(_) => {}
            failed => return Ok(failed),
        }
    }
    let none = || Outcome::NotModelled("the array cannot be in this state".into());
    Ok(worst.map_or_else(none, Outcome::Simulated))
}

/// Simulates an array that serves in a state after its events.
fn serving<T>(
    array: &Configuration,
    events: Vec<CaseEvent>,
    state: State,
    question: &SizeQuestion,
    simulate: impl Fn(&Configuration, &Case) -> Result<T, SizingError>,
) -> Result<Outcome<T>, SizingError> {
    let mut case = question.case.clone();
    case.events = events;
    if state == State::Full {
        for load in case.loads.iter_mut().map(|load| &mut load.load).chain([&mut case.load]) {
            (load.offset_bytes, load.size_bytes) = (0, None);
        }
    }
    match simulate(array, &case) {
        Ok(simulated) => Ok(Outcome::Simulated(simulated)),
        // A working set that does not fit is an answer about the array; anything else is a wrong question.
        Err(SizingError::Campaign(CampaignError::Load { source, .. })) => {
            Ok(Outcome::Fails(first_line(&source.to_string())))
        }
        Err(refused) if state == State::Healthy => Err(refused),
        // A state that the twin refuses is one that the model does not have.
        Err(refused) => Ok(Outcome::NotModelled(first_line(&refused.to_string()))),
    }
}

/// Row of a design in a state, searched for its headroom, and the smallest simulated multiple that it does not carry; `None` where the
/// model does not have the state.
pub(crate) fn searched_row(
    design: &Configuration,
    state: State,
    question: &SizeQuestion,
) -> Result<(SizeRow, Option<f64>), SizingError> {
    let mut row = blank_row(design, state, question);
    let search =
        |array: &Configuration, case: &Case| headroom(array, case, &question.requirements, &question.effort);
    match in_state(design, state, question, search, |own, worst| own.times < worst.times)? {
        Outcome::Simulated(found) => {
            judge(&mut row, &found, question);
            lasts(&mut row, &design.description.parts, &found, question);
            Ok((row, Some(found.fails_at)))
        }
        Outcome::Fails(because) => {
            (row.verdict, row.because, row.headroom) = (SizeVerdict::Fails, because, Some(0.0));
            row.headroom_95 = Some([0.0, 0.0]);
            Ok((row, Some(0.0)))
        }
        Outcome::NotModelled(because) => {
            row.because = because;
            Ok((row, None))
        }
    }
}

/// Row with what follows from the parts alone.
pub(crate) fn blank_row(design: &Configuration, state: State, question: &SizeQuestion) -> SizeRow {
    let parts = &*design.description.parts;
    let capacities = array::capacity(parts, &array::sets(parts).0);
    let usable_bytes = Some(array::totals(parts, &capacities).1);
    let rebuild_ns = capacities.iter().filter_map(|one| one.rebuild_ns).max();
    let drives = Some(u64::from(parts.drive_count()));
    let full_in_year = match (question.growth, question.capacity_bytes, usable_bytes) {
        (Some(growth), Some(stored), Some(usable)) => growth.breaks(usable as f64 / stored.max(1) as f64),
        _ => None,
    };
    let model_error = SizeErrors::of(design, state, &question.requirements);
    SizeRow {
        array: design.name.clone(),
        design: design.changed.clone(),
        state,
        verdict: SizeVerdict::NotModelled,
        because: String::new(),
        headroom: None,
        headroom_95: None,
        links_bytes_per_s: None,
        breaks_in_year: None,
        breaks_in_year_95: None,
        usable_bytes,
        full_in_year,
        drives,
        bill: Some(array::bill(parts)),
        write_amplification: None,
        flash_write_amplification: None,
        endurance_years: None,
        rebuild_s: rebuild_ns.map(|nanos| nanos as f64 / 1e9),
        pareto: false,
        left_out: None,
        headroom_below: None,
        validated: model_error.iops.validated,
        model_error,
        at_peak: None,
        points: Vec::new(),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Figures of a simulated multiple.
pub(crate) fn size_point(point: &HeadroomPoint, errors: &SizeErrors, question: &SizeQuestion) -> SizePoint {
    let both = point.level.latency(Side::Both);
    let busiest = point.level.busy.iter().max_by(|one, other| one.1.total_cmp(other.1));
    let required = |(one, of): (&Requirement, &QuantityError)| {
        let latency_ns = one.latency_of(&point.level.latency(one.side));
        let sampling_95 = match one.measure {
            load::BoundMeasure::Mean => point.level.mean_half_width,
            load::BoundMeasure::Percentile(_) => point.level.p99_half_width,
        };
        RequiredLatency { latency_ns, latency_ns_95: of.error.range(latency_ns, sampling_95), sampling_95 }
    };
    SizePoint {
        times: point.times,
        iops: point.level.iops(),
        mean_ns: both.mean_ns(),
        p99_ns: both.percentile_ns(990_000),
        kept_up: point.kept_up(),
        is_steady: point.level.is_steady,
        required: question.requirements.iter().zip(&errors.required).map(required).collect(),
        busiest: busiest.map(|(part, share)| PartBusy { part: *part, share: *share }),
        samples: point.level.samples.clone(),
    }
}

/// The workload itself beside the requirement whose range reaches furthest, by its bound.
fn at_peak(points: &[SizePoint], question: &SizeQuestion) -> Option<AtPeak> {
    let point = points.iter().find(|point| point.times == 1.0)?;
    let share =
        |(one, latency): &(&Requirement, &RequiredLatency)| latency.latency_ns_95[1] / one.latency_ns as f64;
    let required = question.requirements.iter().zip(&point.required);
    let (tightest, latency) = required.max_by(|one, other| share(one).total_cmp(&share(other)))?;
    Some(AtPeak {
        requirement: tightest.to_string(),
        limit_ns: tightest.latency_ns,
        latency_ns: latency.latency_ns,
        latency_ns_95: latency.latency_ns_95,
        iops: point.iops,
    })
}

fn judge(row: &mut SizeRow, found: &Headroom, question: &SizeQuestion) {
    let [low, high] = found.times_95;
    row.headroom = Some(found.times);
    row.headroom_95 = Some(found.times_95);
    row.links_bytes_per_s = found.links_bytes_per_s;
    row.points = found.points.iter().map(|point| size_point(point, &row.model_error, question)).collect();
    row.at_peak = at_peak(&row.points, question);
    // Points beyond the headroom need not settle: their queues grow.
    let carried = || found.points.iter().filter(|point| point.times <= found.times && point.kept_up());
    let unsettled = carried().next_back().filter(|last| !last.level.is_steady);
    let is_settled =
        unsettled.is_none() || carried().any(|point| point.times >= 1.0 && point.level.is_steady);
    let now = question.growth.filter(|_| found.fails_at.is_finite());
    row.breaks_in_year = now.and_then(|growth| growth.breaks(found.times));
    row.breaks_in_year_95 = now.map(|growth| found.times_95.map(|times| growth.breaks(times)));
    // The headroom's range has the model's error, the latency's range the sampling as well.
    let is_within = row.at_peak.as_ref().is_none_or(|peak| peak.latency_ns_95[1] <= peak.limit_ns as f64);
    (row.verdict, row.because) = if low >= 1.0 && is_within && is_settled {
        (SizeVerdict::Meets, String::new())
    } else if high < 1.0 {
        (SizeVerdict::Fails, "the workload breaks a requirement".into())
    } else if !is_settled {
        let seconds = unsettled.map_or(0, |point| point.level.counted_ns);
        let because = format!(
            "the level still changed, or caches still filled, after {} of the load",
            units::human_duration(seconds / 2 * 3)
        );
        (SizeVerdict::NotShown, because)
    } else if low >= 1.0 {
        (
            SizeVerdict::TooCloseToCall,
            "the range of the latency at the workload reaches beyond its bound".into(),
        )
    } else {
        (SizeVerdict::TooCloseToCall, "the range of the headroom has 1 inside".into())
    };
}

/// Fills in the endurance of drives and the duration of a rebuild, at the carried point nearest to the workload.
fn lasts(row: &mut SizeRow, parts: &Array, found: &Headroom, question: &SizeQuestion) {
    let off = |point: &&HeadroomPoint| libm::fabs(libm::log(point.times));
    let carried = found.points.iter().filter(|point| point.kept_up());
    let Some(point) = carried.min_by(|one, other| off(one).total_cmp(&off(other))) else { return };
    let wear = wear(parts, &point.level, point.times, question.written_bytes_per_day);
    row.write_amplification = wear.write_amplification;
    row.flash_write_amplification = wear.flash_write_amplification;
    row.endurance_years = wear.endurance_years;
    if row.state == State::Rebuilding
        && let Some(nanos) = point.level.rebuild_ns
    {
        // The state begins when the rebuild does.
        row.rebuild_s = Some((nanos + parts.rebuild.delay.get() as f64) / 1e9);
    }
}
