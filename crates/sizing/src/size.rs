//! Size for a workload: which arrays, in which states, meet its requirements, and for how long.

use crate::answer::in_parallel;
use crate::headroom::{Headroom, headroom};
use crate::requirement::{Requirement, Side};
use crate::simulation::Effort;
use crate::state::{InState, State};
use crate::{Configuration, SizingError, Validated, model_error};
use campaign::CampaignError;
use plan::Case;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Most designs of a space.
const DESIGNS_LIMIT: usize = 4096;
/// Most years of growth.
const YEARS_LIMIT: u32 = 50;

/// Growth of a workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// Share that comes on top each year.
    pub per_year: f64,
    /// Years that are looked at.
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

    /// Times the workload after so many years.
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

/// Key of a design space with its values: `drives.count=12..48/6` or `groups[0].layout=raid5,raid6`.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Path in the description, or a setting of the twin.
    pub key: String,
    /// Its values.
    pub values: Vec<Value>,
}

impl Axis {
    /// Reads `KEY=FIRST..LAST/STEP` or `KEY=VALUE,VALUE`.
    pub fn parse(text: &str) -> Result<Axis, SizingError> {
        let wrong = || {
            SizingError::question(
                format!("`{text}` is no axis of a space"),
                "KEY=FIRST..LAST/STEP or KEY=VALUE,VALUE, as `drives.count=12..48/6`",
            )
        };
        let (key, values) = text.split_once('=').ok_or_else(wrong)?;
        let Some((first, rest)) = values.split_once("..") else {
            let change = crate::Change::parse(text)?;
            return Ok(Axis { key: change.key, values: change.values });
        };
        let (last, step) = rest.split_once('/').unwrap_or((rest, "1"));
        let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
        let (first, last, step) = (number(first)?, number(last)?, number(step)?);
        if step == 0 || first > last || (last - first) / step >= DESIGNS_LIMIT as u64 || key.trim().is_empty()
        {
            return Err(wrong());
        }
        let values = (0..=(last - first) / step).map(|index| json!(first + index * step)).collect();
        Ok(Axis { key: key.trim().to_owned(), values })
    }
}

/// Question about arrays for a workload.
#[derive(Debug, Clone)]
pub struct SizeQuestion {
    /// The workload as a case with its rates.
    pub case: Case,
    /// Bytes that it stores, where that is known.
    pub capacity_bytes: Option<u64>,
    /// Latencies that must hold.
    pub requirements: Vec<Requirement>,
    /// Its growth.
    pub growth: Option<Growth>,
    /// States that are looked at.
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
    /// No other design has at most as many drives and at least its headroom, and more of either.
    pub pareto: bool,
    /// Basis of the range.
    pub validated: Validated,
    /// Simulated points, by rising multiple.
    pub points: Vec<SizePoint>,
}

impl SizeRow {
    /// The line as `arraylab size --json` prints it.
    pub fn json(&self) -> Value {
        let cases: Vec<String> = self
            .points
            .iter()
            .map(|point| format!("{}/times={:.4}", self.state.name(), point.times))
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
            // No part has a price yet.
            "cost": null,
            "pareto": self.pareto,
            "validated": self.validated,
            "cases": cases,
            "points": self.points,
        })
    }
}

/// Designs of a space, the last axis fastest, and the reasons of those that no array can have; the array as it is where there is no
/// axis. Refused where no design is left.
pub fn designs(
    array: &Configuration,
    space: &[Axis],
) -> Result<(Vec<Configuration>, Vec<String>), SizingError> {
    let count = space.iter().fold(1_usize, |count, axis| count.saturating_mul(axis.values.len()));
    if count > DESIGNS_LIMIT {
        return Err(SizingError::question(
            format!("the space has {count} designs, at most {DESIGNS_LIMIT} are looked at"),
            "give fewer values, or larger steps",
        ));
    }
    let mut designs = Vec::with_capacity(count);
    let mut refused: Vec<(String, SizingError)> = Vec::new();
    for number in 0..count {
        let mut left = number;
        let mut chosen: Vec<(&str, &Value)> = Vec::new();
        for axis in space.iter().rev() {
            chosen.push((&axis.key, &axis.values[left % axis.values.len()]));
            left /= axis.values.len();
        }
        chosen.reverse();
        match array.with_all(&chosen) {
            Ok(design) => designs.push(design),
            Err(error) => {
                let pairs: Vec<String> = chosen.iter().map(|(key, value)| format!("{key}={value}")).collect();
                refused.push((pairs.join(" "), error));
            }
        }
    }
    if designs.is_empty()
        && let Some((_, error)) = refused.pop()
    {
        return Err(error);
    }
    let reasons =
        refused.iter().map(|(design, error)| format!("{design}: {}", first_line(&error.to_string())));
    Ok((designs, reasons.collect()))
}

/// Answers about every design in every state, in their order. `on_answer` is called after each.
pub fn size(
    designs: &[Configuration],
    question: &SizeQuestion,
    on_answer: &(dyn Fn() + Sync),
) -> Result<Vec<SizeRow>, SizingError> {
    let questions: Vec<(&Configuration, State)> =
        designs.iter().flat_map(|design| question.states.iter().map(move |&state| (design, state))).collect();
    let answers = in_parallel(&questions, question.effort.threads, &|&(design, state)| {
        let row = row(design, state, question);
        on_answer();
        row
    });
    let mut rows: Vec<SizeRow> = answers.into_iter().collect::<Result<_, _>>()?;
    mark_pareto(&mut rows);
    Ok(rows)
}

fn row(design: &Configuration, state: State, question: &SizeQuestion) -> Result<SizeRow, SizingError> {
    let (usable_bytes, drives) = match &design.description.composed {
        Some(parts) => {
            let (sets, _) = array::sets(parts);
            let usable = array::capacity(parts, &sets).iter().map(|one| one.usable_bytes).sum();
            (Some(usable), Some(parts.groups.iter().map(|group| u64::from(parts.drives_of(group))).sum()))
        }
        None => (None, None),
    };
    let full_in_year = match (question.growth, question.capacity_bytes, usable_bytes) {
        (Some(growth), Some(stored), Some(usable)) => growth.breaks(usable as f64 / stored.max(1) as f64),
        _ => None,
    };
    let mut row = SizeRow {
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
        pareto: false,
        validated: model_error(design, &["iops"]).1,
        points: Vec::new(),
    };
    let (array, events) = match state.of(design)? {
        InState::Serves(array, events) => (array, events),
        InState::Down(because) => {
            (row.verdict, row.because, row.headroom) = (SizeVerdict::Fails, because, Some(0.0));
            row.headroom_95 = Some([0.0, 0.0]);
            return Ok(row);
        }
        InState::NotModelled(because) => {
            row.because = because;
            return Ok(row);
        }
    };
    let mut case = question.case.clone();
    case.events = events;
    if state == State::Full {
        for load in case.loads.iter_mut().map(|load| &mut load.load).chain([&mut case.load]) {
            (load.offset_bytes, load.size_bytes) = (0, None);
        }
    }
    match headroom(&array, &case, &question.requirements, &question.effort) {
        Ok(found) => judge(&mut row, &found, question),
        // A working set that does not fit is an answer about the array; anything else is a wrong question.
        Err(SizingError::Campaign(refused @ CampaignError::Load { .. })) => {
            (row.verdict, row.because) = (SizeVerdict::Fails, first_line(&refused.to_string()));
            row.headroom = Some(0.0);
            row.headroom_95 = Some([0.0, 0.0]);
        }
        Err(refused) if state == State::Healthy => return Err(refused),
        // A state that the twin refuses is one that the model does not have.
        Err(refused) => row.because = first_line(&refused.to_string()),
    }
    Ok(row)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

fn judge(row: &mut SizeRow, found: &Headroom, question: &SizeQuestion) {
    let [low, high] = found.times_95;
    row.headroom = Some(found.times);
    row.headroom_95 = Some(found.times_95);
    row.points = found
        .points
        .iter()
        .map(|point| {
            let both = point.level.latency(Side::Both);
            SizePoint {
                times: point.times,
                iops: point.level.iops(),
                mean_ns: both.mean_ns(),
                p99_ns: both.percentile_ns(990_000),
                kept_up: point.kept_up(),
            }
        })
        .collect();
    // Points beyond the headroom need not settle: their queues grow.
    let carried = || found.points.iter().filter(|point| point.times <= found.times && point.kept_up());
    let unsettled = carried().next_back().filter(|last| !last.level.is_steady);
    let is_settled =
        unsettled.is_none() || carried().any(|point| point.times >= 1.0 && point.level.is_steady);
    let now = question.growth.filter(|_| !found.is_open);
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

/// Marks designs that no other is at least as good as, by drives and the least headroom over the states that have one.
fn mark_pareto(rows: &mut [SizeRow]) {
    let mut designs: Vec<(String, Map<String, Value>, u64, f64)> = Vec::new();
    for row in rows.iter() {
        let (Some(drives), Some(headroom)) = (row.drives, row.headroom) else { continue };
        match designs.iter_mut().find(|one| one.0 == row.array && one.1 == row.design) {
            Some(known) => known.3 = known.3.min(headroom),
            None => designs.push((row.array.clone(), row.design.clone(), drives, headroom)),
        }
    }
    let is_beaten = |(_, _, drives, headroom): &(String, Map<String, Value>, u64, f64)| {
        designs.iter().any(|other| {
            other.2 <= *drives && other.3 >= *headroom && (other.2 < *drives || other.3 > *headroom)
        })
    };
    for row in rows {
        let own = designs.iter().find(|one| one.0 == row.array && one.1 == row.design);
        row.pareto = own.is_some_and(|own| !is_beaten(own));
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

    /// Proves that an axis has the values that it says, and that an endless one is refused.
    #[test]
    fn axes_have_their_values() {
        assert_eq!(Axis::parse("drives.count=12..24/6").unwrap().values, [json!(12), json!(18), json!(24)]);
        assert_eq!(Axis::parse("layout=raid5,raid6").unwrap().values, [json!("raid5"), json!("raid6")]);
        for wrong in ["a=3..1/1", "a=1..9/0", "=1..2", "a=1..99999999/1", "a", "a=x..y"] {
            assert!(Axis::parse(wrong).is_err(), "{wrong}");
        }
    }
}
