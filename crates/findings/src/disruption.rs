//! What events did to the load: dips of the rate, bumps of latency, and what is missing.

use crate::finding::{Basis, Fact, Finding};
use crate::observation::{Interval, ObservedCase};
use crate::statistics::{median, robust_sigma};
use crate::{Disruption, Excursion};

/// An interval leaves the level where it is this many σ away from it…
const SIGMAS: f64 = 4.0;
/// …and at least this share, for rates…
const DIP_LEAST: f64 = 0.05;
/// …and for latency, which is restless by nature.
const BUMP_LEAST: f64 = 0.10;

/// Fewer intervals before the first event give no level to compare with.
const BEFORE_LEAST: usize = 4;

pub(crate) fn of(case: &ObservedCase) -> Vec<Finding> {
    let counted = case.counted();
    let Some(first) = case.moments.first() else { return Vec::new() };
    let before: Vec<&Interval> = counted.iter().filter(|one| one.end_s <= first.at_s + 1e-9).collect();
    if before.len() < BEFORE_LEAST {
        return Vec::new();
    }
    let rates = Level::of(&before.iter().map(|one| one.iops()).collect::<Vec<_>>(), DIP_LEAST);
    let latencies =
        Level::of(&before.iter().filter_map(|one| one.mean_latency_ns()).collect::<Vec<_>>(), BUMP_LEAST);
    let end_s = counted.last().map_or(first.at_s, |last| last.end_s);
    let mut found = Vec::new();
    for (number, moment) in case.moments.iter().enumerate() {
        let until_s = case.moments.get(number + 1).map_or(end_s, |next| next.at_s);
        // The interval in which an event falls is its own from the start.
        let during: Vec<&Interval> = counted
            .iter()
            .filter(|one| one.end_s > moment.at_s + 1e-9 && one.start_s < until_s - 1e-9)
            .collect();
        if during.is_empty() {
            continue;
        }
        let dips = excursions(&during, |one| {
            let rate = one.iops();
            (rate < rates.middle - rates.tolerance).then(|| 100.0 * (rate / rates.middle - 1.0))
        });
        let bumps = excursions(&during, |one| {
            let latency = one.mean_latency_ns()?;
            (latency > latencies.middle + latencies.tolerance)
                .then(|| 100.0 * (latency / latencies.middle - 1.0))
        });
        let missing: f64 = dips.iter().map(|dip| (rates.middle * dip.length_s - dip.ios).max(0.0)).sum();
        let share = |value: f64, level: f64| if level > 0.0 { 100.0 * value / level } else { 0.0 };
        let fact = Disruption {
            event: moment.text.clone(),
            at_s: moment.at_s,
            until_s,
            level_iops: rates.middle,
            level_latency_ns: latencies.middle,
            dips,
            latency_bumps: bumps,
            iops_percent: share(median(during.iter().map(|one| one.iops())), rates.middle),
            latency_percent: share(
                median(during.iter().filter_map(|one| one.mean_latency_ns())),
                latencies.middle,
            ),
            ios_missing: missing,
            errors: during.iter().map(|one| one.all().errors).sum(),
        };
        found.push(Finding {
            id: format!("disruption/{}/{number}", case.path()),
            stage: case.stage.clone(),
            case: Some(case.name.clone()),
            fact: Fact::Disruption(fact),
            rests_on: vec![Basis {
                stage: case.stage.clone(),
                case: case.name.clone(),
                from_s: Some(moment.at_s),
                to_s: Some(until_s),
            }],
        });
    }
    found
}

/// The level before the first event, and how far an interval may be from it.
struct Level {
    middle: f64,
    tolerance: f64,
}

impl Level {
    fn of(values: &[f64], least: f64) -> Level {
        let middle = median(values.iter().copied());
        Level { middle, tolerance: (SIGMAS * robust_sigma(values)).max(least * middle) }
    }
}

/// Runs of intervals that are off by a percentage.
fn excursions(intervals: &[&Interval], off: impl Fn(&Interval) -> Option<f64>) -> Vec<Excursion> {
    let mut found: Vec<Excursion> = Vec::new();
    let mut in_one = false;
    for interval in intervals {
        let Some(percent) = off(interval) else {
            in_one = false;
            continue;
        };
        let (length_s, ios) = (interval.length_s(), interval.all().ios);
        match found.last_mut() {
            Some(last) if in_one => {
                last.mean_percent =
                    (last.mean_percent * last.length_s + percent * length_s) / (last.length_s + length_s);
                last.length_s += length_s;
                last.ios += ios;
                if percent.abs() > last.extreme_percent.abs() {
                    last.extreme_percent = percent;
                }
            }
            _ => found.push(Excursion {
                start_s: interval.start_s,
                length_s,
                extreme_percent: percent,
                mean_percent: percent,
                ios,
            }),
        }
        in_one = true;
    }
    found
}
