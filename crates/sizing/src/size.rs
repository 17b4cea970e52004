//! Size for a workload: which arrays, in which states, meet its requirements, and for how long.

use crate::PartBusy;
use crate::headroom::{Headroom, HeadroomPoint, headroom};
use crate::requirement::{Requirement, Side};
use crate::simulation::Effort;
use crate::state::{InState, State};
use crate::wear::wear;
use crate::{Configuration, SizingError, Validated, model_error};
use array::{Array, Bill};
use campaign::CampaignError;
use load::Sample;
use plan::Case;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Most years of growth.
const YEARS_LIMIT: u32 = 50;

/// Growth of a workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// Share that comes on top each year.
    pub per_year: f64,
    /// Number of years to plan for.
    pub years: u32,
}

impl Growth {
    /// Reads `30%/y:3y`.
    pub fn parse(text: &str) -> Result<Growth, SizingError> {
        let wrong = || SizingError::question(format!("`{text}` is no growth"), "as `30%/y:3y`");
        let (rate, years) = text.split_once("/y:").ok_or_else(wrong)?;
        let percent: f64 = rate.strip_suffix('%').and_then(|rate| rate.parse().ok()).ok_or_else(wrong)?;
        let years: u32 = years.strip_suffix('y').and_then(|years| years.parse().ok()).ok_or_else(wrong)?;
        if !(percent > 0.0 && percent <= 1000.0) || years == 0 || years > YEARS_LIMIT {
            return Err(wrong());
        }
        Ok(Growth { per_year: percent / 100.0, years })
    }

    /// Returns the multiple of the workload after a number of years.
    pub fn times(&self, years: u32) -> f64 {
        (0..years).fold(1.0, |times, _| times * (1.0 + self.per_year))
    }

    /// First year whose workload is over a headroom, counted from 1; `None` where none is.
    fn breaks(&self, headroom: f64) -> Option<u32> {
        (1..=self.years).find(|&year| self.times(year) > headroom)
    }
}

/// Verdict about an array in a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SizeVerdict {
    /// The whole range of the headroom is at least 1.
    Meets,
    /// The range has 1 inside.
    TooCloseToCall,
    /// The whole range is below 1, or data is lost or out of reach.
    Fails,
    /// The simulation did not settle.
    NotShown,
    /// The model does not have the state.
    NotModelled,
}

impl SizeVerdict {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            SizeVerdict::Meets => "meets",
            SizeVerdict::TooCloseToCall => "too-close-to-call",
            SizeVerdict::Fails => "fails",
            SizeVerdict::NotShown => "not-shown",
            SizeVerdict::NotModelled => "not-modelled",
        }
    }
}

/// Grounds on which a design cannot be better than one that costs no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LeftOut {
    /// Its ceilings.
    Arithmetic,
    /// One simulated multiple of the workload, which it does not carry.
    Simulation,
    /// Each of its I/Os demands at least as much of every part, and it was no faster in a short simulation.
    Comparison,
}

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

/// Simulated multiple of the workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SizePoint {
    /// Times the workload.
    pub times: f64,
    /// I/Os a second that were delivered.
    pub iops: f64,
    /// Mean latency, in nanoseconds.
    pub mean_ns: f64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// The rate was delivered.
    pub kept_up: bool,
    /// The part that is busy for the largest share of the time, and that share.
    #[serde(skip)]
    pub busiest: Option<PartBusy>,
    /// Its intervals, those of the warm-up as a ramp.
    #[serde(skip)]
    pub samples: Vec<Sample>,
}

/// Workload itself, simulated once, beside the requirement that is closest to its bound or furthest beyond.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AtPeak {
    /// The requirement.
    pub requirement: String,
    /// Its bound, in nanoseconds.
    pub limit_ns: u64,
    /// The latency that it bounds.
    pub latency_ns: f64,
    /// Range of that: 95 %, model and sampling together.
    pub latency_ns_95: [f64; 2],
    /// I/Os a second that were delivered.
    pub iops: f64,
}

/// Answer about one design in one state.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeRow {
    /// The array.
    pub array: String,
    /// Keys of the space with their values.
    pub design: Map<String, Value>,
    /// The state.
    pub state: State,
    /// The verdict.
    pub verdict: SizeVerdict,
    /// Its reason where no headroom is.
    pub because: String,
    /// Times the workload that are carried.
    pub headroom: Option<f64>,
    /// Range of that.
    pub headroom_95: Option<[f64; 2]>,
    /// First year, from 1, in which growth exceeds the headroom.
    pub breaks_in_year: Option<u32>,
    /// Usable bytes; `None` where a kind of array does not say.
    pub usable_bytes: Option<u64>,
    /// First year in which what is stored exceeds the usable bytes.
    pub full_in_year: Option<u32>,
    /// Drives of all groups.
    pub drives: Option<u64>,
    /// Price and power of all parts; `None` where a kind of array does not say.
    pub bill: Option<Bill>,
    /// Bytes that drives are given for a byte that the workload writes.
    pub write_amplification: Option<f64>,
    /// Flash units that are programmed for one that a drive is given.
    pub flash_write_amplification: Option<f64>,
    /// Years until the drives have taken their rated writes.
    pub endurance_years: Option<f64>,
    /// Seconds of the rebuild of a lost drive: simulated in the state `rebuilding`, otherwise at the described rate.
    pub rebuild_s: Option<f64>,
    /// No other design has at most its cost and at least its headroom, and more of either. The cost is the price where all designs
    /// have one, otherwise the number of drives.
    pub pareto: bool,
    /// Reason why a search of a space did not determine its headroom; `None` where it did.
    pub left_out: Option<LeftOut>,
    /// Times the workload that it does not carry, where its headroom was not looked for.
    pub headroom_below: Option<f64>,
    /// Basis of the range.
    pub validated: Validated,
    /// The workload itself; `None` where it was not simulated.
    pub at_peak: Option<AtPeak>,
    /// Simulated points, by rising multiple.
    pub points: Vec<SizePoint>,
}

impl SizeRow {
    /// The array with the values of its design.
    pub fn name(&self) -> String {
        let texts = crate::change_texts(&self.design);
        std::iter::once(self.array.clone()).chain(texts).collect::<Vec<_>>().join(" ")
    }

    /// Name of the case of a point within its state.
    pub fn case_name(&self, point: &SizePoint) -> String {
        format!("array={},times={:.4}", self.name().replace([' ', '/'], "_"), point.times)
    }

    /// The busiest part of the smallest multiple that is not carried; of the largest, where all are.
    fn first_full(&self) -> Option<Value> {
        let over = |point: &&SizePoint| self.headroom.is_some_and(|headroom| point.times > headroom);
        let point = self.points.iter().find(over).or(self.points.last())?;
        let busiest = point.busiest?;
        let case = format!("{}/{}", self.state.name(), self.case_name(point));
        Some(json!({ "part": busiest.part, "share": busiest.share, "case": case }))
    }

    /// Price of all parts in US dollars; `None` where a part has none.
    pub fn cost_usd(&self) -> Option<f64> {
        self.bill.as_ref().and_then(|bill| bill.price_usd)
    }

    /// The line as `arraylab size --json` prints it.
    pub fn json(&self) -> Value {
        let cases: Vec<String> = self
            .points
            .iter()
            .map(|point| format!("{}/{}", self.state.name(), self.case_name(point)))
            .collect();
        json!({
            "array": self.array,
            "design": self.design,
            "state": self.state,
            "verdict": self.verdict,
            "because": self.because,
            "headroom": self.headroom,
            "headroom_95": self.headroom_95,
            "breaks_in_year": self.breaks_in_year,
            "usable_bytes": self.usable_bytes,
            "full_in_year": self.full_in_year,
            "drives": self.drives,
            "cost": self.cost_usd(),
            "without_price": self.bill.as_ref().map(|bill| &bill.without_price),
            "watts": self.bill.as_ref().and_then(|bill| bill.watts),
            "without_watts": self.bill.as_ref().map(|bill| &bill.without_watts),
            "write_amplification": self.write_amplification,
            "flash_write_amplification": self.flash_write_amplification,
            "endurance_years": self.endurance_years,
            "rebuild_s": self.rebuild_s,
            "pareto": self.pareto,
            "left_out": self.left_out,
            "headroom_below": self.headroom_below,
            "validated": self.validated,
            "cases": cases,
            "points": self.points,
            "at_peak": self.at_peak,
            "first_full": self.first_full(),
        })
    }
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

/// Simulates a design in a state: `simulate` is given the array as it then is, and the case.
pub(crate) fn in_state<T>(
    design: &Configuration,
    state: State,
    question: &SizeQuestion,
    simulate: impl FnOnce(&Configuration, &Case) -> Result<T, SizingError>,
) -> Result<Outcome<T>, SizingError> {
    let (array, events) = match state.of(design)? {
        InState::Serves(array, events) => (array, events),
        InState::Down(because) => return Ok(Outcome::Fails(because)),
        InState::NotModelled(because) => return Ok(Outcome::NotModelled(because)),
    };
    let mut case = question.case.clone();
    case.events = events;
    if state == State::Full {
        for load in case.loads.iter_mut().map(|load| &mut load.load).chain([&mut case.load]) {
            (load.offset_bytes, load.size_bytes) = (0, None);
        }
    }
    match simulate(&array, &case) {
        Ok(simulated) => Ok(Outcome::Simulated(simulated)),
        // A working set that does not fit is an answer about the array; anything else is a wrong question.
        Err(SizingError::Campaign(refused @ CampaignError::Load { .. })) => {
            Ok(Outcome::Fails(first_line(&refused.to_string())))
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
    match in_state(design, state, question, search)? {
        Outcome::Simulated(found) => {
            judge(&mut row, &found, question);
            row.at_peak = at_peak(design, &found, question);
            if let Some(parts) = design.description.composed.as_deref() {
                lasts(&mut row, parts, &found, question);
            }
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
    let parts = design.description.composed.as_deref();
    let capacities = parts.map(|parts| array::capacity(parts, &array::sets(parts).0));
    let usable_bytes = capacities.as_ref().map(|all| all.iter().map(|one| one.usable_bytes).sum());
    let rebuild_ns = capacities.and_then(|all| all.iter().filter_map(|one| one.rebuild_ns).max());
    let drives = parts.map(|parts| parts.groups.iter().map(|group| u64::from(parts.drives_of(group))).sum());
    let full_in_year = match (question.growth, question.capacity_bytes, usable_bytes) {
        (Some(growth), Some(stored), Some(usable)) => growth.breaks(usable as f64 / stored.max(1) as f64),
        _ => None,
    };
    SizeRow {
        array: design.name.clone(),
        design: design.changed.clone(),
        state,
        verdict: SizeVerdict::NotModelled,
        because: String::new(),
        headroom: None,
        headroom_95: None,
        breaks_in_year: None,
        usable_bytes,
        full_in_year,
        drives,
        bill: parts.map(array::bill),
        write_amplification: None,
        flash_write_amplification: None,
        endurance_years: None,
        rebuild_s: rebuild_ns.map(|nanos| nanos as f64 / 1e9),
        pareto: false,
        left_out: None,
        headroom_below: None,
        validated: model_error(design, &["iops"]).1,
        at_peak: None,
        points: Vec::new(),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Figures of a simulated multiple.
pub(crate) fn size_point(point: &HeadroomPoint) -> SizePoint {
    let both = point.level.latency(Side::Both);
    let busiest = point.level.busy.iter().max_by(|one, other| one.1.total_cmp(other.1));
    SizePoint {
        times: point.times,
        iops: point.level.iops(),
        mean_ns: both.mean_ns(),
        p99_ns: both.percentile_ns(990_000),
        kept_up: point.kept_up(),
        busiest: busiest.map(|(part, share)| PartBusy { part: *part, share: *share }),
        samples: point.level.samples.clone(),
    }
}

/// The workload itself beside its tightest requirement.
fn at_peak(design: &Configuration, found: &Headroom, question: &SizeQuestion) -> Option<AtPeak> {
    let point = found.points.iter().find(|point| point.times == 1.0)?;
    let latency_of = |one: &Requirement| one.latency_of(&point.level.latency(one.side));
    let share = |one: &Requirement| latency_of(one) / one.latency_ns as f64;
    let tightest = question.requirements.iter().max_by(|one, other| share(one).total_cmp(&share(other)))?;
    let (error, _) = model_error(design, tightest.metrics());
    let half_width = match tightest.measure {
        load::BoundMeasure::Mean => point.level.mean_half_width,
        load::BoundMeasure::Percentile(_) => point.level.p99_half_width,
    };
    Some(AtPeak {
        requirement: tightest.to_string(),
        limit_ns: tightest.latency_ns,
        latency_ns: latency_of(tightest),
        latency_ns_95: error.range(latency_of(tightest), half_width),
        iops: point.level.iops(),
    })
}

fn judge(row: &mut SizeRow, found: &Headroom, question: &SizeQuestion) {
    let [low, high] = found.times_95;
    row.headroom = Some(found.times);
    row.headroom_95 = Some(found.times_95);
    row.points = found.points.iter().map(size_point).collect();
    // Points beyond the headroom need not settle: their queues grow.
    let carried = || found.points.iter().filter(|point| point.times <= found.times && point.kept_up());
    let unsettled = carried().next_back().filter(|last| !last.level.is_steady);
    let is_settled =
        unsettled.is_none() || carried().any(|point| point.times >= 1.0 && point.level.is_steady);
    let now = question.growth.filter(|_| found.fails_at.is_finite());
    row.breaks_in_year = now.and_then(|growth| growth.breaks(found.times));
    (row.verdict, row.because) = if low >= 1.0 && is_settled {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that growth is read, and breaks a headroom in the first year that it exceeds.
    #[test]
    fn growth_breaks_a_headroom() {
        let growth = Growth::parse("30%/y:3y").unwrap();
        assert_eq!(growth, Growth { per_year: 0.3, years: 3 });
        assert_eq!(growth.breaks(1.2), Some(1));
        assert_eq!(growth.breaks(1.5), Some(2));
        assert_eq!(growth.breaks(2.2), None, "2.197 after three years");
        for wrong in ["30/y:3y", "30%:3y", "30%/y:3", "-3%/y:3y", "30%/y:0y", "30%/y:99y", ""] {
            assert!(Growth::parse(wrong).is_err(), "{wrong}");
        }
    }
}
