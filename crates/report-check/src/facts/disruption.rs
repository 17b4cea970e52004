//! Effects of events: excursions and open changes of rate and latency.

use super::differences::{Differences, EXACT, number, text};
use crate::expression::median;
use crate::run::{Case, Interval};
use serde_json::Value;

/// A median absolute deviation as a standard deviation of normal noise.
const MAD_TO_SIGMA: f64 = 1.482_602_218_505_602;

/// The factor by which a median of normal values scatters more than their mean, √(π/2).
const MEDIAN_SPREAD: f64 = 1.253_314_137_315_500_3;

/// Checks the effect of an event against the level before it: that before the first event, or that to which an earlier one
/// changed.
pub(super) fn disruption(differences: &mut Differences<'_>, case: &Case) {
    let fields = differences.fields;
    let (Some(at_s), Some(until_s)) = (number(fields, "at_s"), number(fields, "until_s")) else {
        return differences.require(false, "without a time");
    };
    let event = text(fields, "event");
    let moments: Vec<(f64, &str)> = case
        .moments
        .iter()
        .filter(|moment| !is_record(&moment.kind))
        .filter_map(|moment| Some((moment.at_s?, moment.text.as_str())))
        .collect();
    let Some(first) = moments.first() else { return differences.require(false, "a case without events") };
    let counted = case.counted();
    let before: Vec<&Interval> = counted.iter().filter(|one| one.end_s <= first.0 + 1e-9).collect();
    let iops: Vec<f64> = before.iter().map(|one| one.iops()).collect();
    let latencies: Vec<f64> = before.iter().filter_map(|one| one.latency_ns()).collect();
    let (mut rate, mut latency) = (Level::of(&iops, 0.05), Level::of(&latencies, 0.10));
    let end_s = counted.last().map_or(first.0, |last| last.end_s);
    let (mut dips, mut bumps) = (Excursions::default(), Excursions::default());
    let mut reported = None;
    for (place, (moment_s, name)) in moments.iter().enumerate() {
        let next_s = moments.get(place + 1).map_or(end_s, |next| next.0);
        let from_here: Vec<&Interval> = counted.iter().filter(|one| one.end_s > moment_s + 1e-9).collect();
        let here = from_here.iter().take_while(|one| one.start_s < next_s - 1e-9).count();
        if here == 0 {
            continue;
        }
        let during = &from_here[..here];
        let of_rate = changed(&from_here, here, rate, |one| Some(one.iops()));
        let of_latency = changed(&from_here, here, latency, Interval::latency_ns);
        dips.add(during, of_rate, rate, |one, level| {
            Some(one.iops()).filter(|rate| *rate < level.middle - level.tolerance)
        });
        bumps.add(during, of_latency, latency, |one, level| {
            one.latency_ns().filter(|latency| *latency > level.middle + level.tolerance)
        });
        if (moment_s - at_s).abs() < 1e-6 && (next_s - until_s).abs() < 1e-6 && *name == event {
            one_event(differences, during, [rate, latency], [of_rate, of_latency]);
            reported = Some((dips.of_events.len() - 1, of_rate.is_some() || of_latency.is_some()));
        }
        rate.middle = of_rate.map_or(rate.middle, |change| change.1);
        latency.middle = of_latency.map_or(latency.middle, |change| change.1);
    }
    // An excursion may go on after the next event, so that those of all are known at the end.
    let Some((event, has_changed)) = reported else {
        return differences.require(false, "the run has no such event at that time");
    };
    let (dips, bumps) = (&dips.of_events[event], &bumps.of_events[event]);
    compare(differences, "dips", dips);
    compare(differences, "latency_bumps", bumps);
    let failed = number(fields, "errors").is_some_and(|errors| errors > 0.0);
    let has_effect = !dips.is_empty() || !bumps.is_empty() || has_changed || failed;
    let reported = fields.get("has_effect").and_then(Value::as_bool);
    differences.require(reported == Some(has_effect), "its effect is said otherwise than recomputed");
}

fn one_event(
    differences: &mut Differences<'_>,
    during: &[&Interval],
    [rate, latency]: [Level; 2],
    [of_rate, of_latency]: [Option<(usize, f64)>; 2],
) {
    differences.expect("level_iops", Some(rate.middle), EXACT);
    differences.expect("level_latency_ns", Some(latency.middle), EXACT);
    for (name, unit, level, change) in
        [("rate_change", "iops", rate, of_rate), ("latency_change", "ns", latency, of_latency)]
    {
        let is_said = differences.fields.get(name).is_some_and(Value::is_object);
        differences
            .require(is_said == change.is_some(), &format!("{name} is said otherwise than recomputed"));
        let Some((from, after)) = change else { continue };
        differences.expect(&format!("{name}.from_s"), Some(during[from].start_s), EXACT);
        let held_s = number(differences.fields, "at_s").map(|at_s| (during[from].start_s - at_s).max(0.0));
        differences.expect(&format!("{name}.held_s"), held_s, EXACT);
        differences.expect(&format!("{name}.before_{unit}"), Some(level.middle), EXACT);
        differences.expect(&format!("{name}.after_{unit}"), Some(after), EXACT);
        let percent = 100.0 * (after / level.middle - 1.0);
        differences.expect(&format!("{name}.change_percent"), Some(percent), EXACT);
    }
    let share = |mut values: Vec<f64>, level: f64| {
        values.sort_by(f64::total_cmp);
        (level > 0.0).then(|| 100.0 * median(&values) / level)
    };
    let of_iops = share(during.iter().map(|one| one.iops()).collect(), rate.middle);
    differences.expect("iops_percent", of_iops, EXACT);
    let medians = share(during.iter().filter_map(|one| one.latency_ns()).collect(), latency.middle);
    differences.expect("latency_percent", medians, EXACT);
    let (sum_ns, ios, errors) = during.iter().fold((0.0, 0.0, 0.0), |(sum_ns, ios, errors), one| {
        let all = one.all();
        (sum_ns + all.latency_sum_ns, ios + all.ios, errors + all.errors)
    });
    let mean = 100.0 * sum_ns / f64::max(ios, 1.0) / latency.middle;
    differences.expect("mean_latency_percent", Some(mean), EXACT);
    differences.expect("errors", Some(errors), EXACT);
}

/// Events that record what came of a case and did nothing to its load.
pub(super) fn is_record(kind: &str) -> bool {
    matches!(
        kind,
        "max-under-latency"
            | "missed-event"
            | "unwritten-reads"
            | "content"
            | "verified"
            | "handover"
            | "rate"
            | "array"
    )
}

/// A run of intervals off their level: start, length, extreme, and the sum of percentages over time.
struct Excursion {
    start_s: f64,
    length_s: f64,
    extreme: f64,
    sum: f64,
}

/// Excursions of a quantity by the event during which each began. A later event begins another where it takes it farther than the
/// median of the last minute of intervals, beyond the tolerance of the level.
#[derive(Default)]
struct Excursions {
    of_events: Vec<Vec<Excursion>>,
    /// The event of the one that lasts to the end of the intervals so far, and its percentages.
    open: Option<(usize, Vec<f64>)>,
}

impl Excursions {
    fn add(
        &mut self,
        during: &[&Interval],
        change: Option<(usize, f64)>,
        level: Level,
        off_level: impl Fn(&Interval, Level) -> Option<f64>,
    ) {
        let event = self.of_events.len();
        self.of_events.push(Vec::new());
        let mut open = self.open.take();
        let bound = open.as_ref().map(|(_, percents)| {
            let mut last: Vec<f64> = percents[percents.len().saturating_sub(60)..].to_vec();
            last.sort_by(f64::total_cmp);
            median(&last).abs() + 100.0 * level.tolerance / level.middle
        });
        for (place, one) in during[..change.map_or(during.len(), |change| change.0)].iter().enumerate() {
            let Some(value) = off_level(one, level) else {
                open = None;
                continue;
            };
            let percent = 100.0 * (value / level.middle - 1.0);
            let is_earlier = open.as_ref().is_some_and(|(of, _)| *of != event);
            if is_earlier && bound.is_some_and(|bound| percent.abs() > bound) {
                open = None;
            }
            let (of, percents) = open.get_or_insert_with(|| {
                let begun = Excursion { start_s: one.start_s, length_s: 0.0, extreme: 0.0, sum: 0.0 };
                self.of_events[event].push(begun);
                (event, Vec::new())
            });
            // The first interval may be the last of the event before.
            let is_counted = |last: &Excursion| last.start_s + last.length_s > one.start_s + 1e-9;
            if place == 0 && self.of_events[*of].last().is_some_and(is_counted) {
                continue;
            }
            percents.push(percent);
            if let Some(last) = self.of_events[*of].last_mut() {
                last.length_s += one.length_s();
                last.sum += percent * one.length_s();
                last.extreme = if percent.abs() > last.extreme.abs() { percent } else { last.extreme };
            }
        }
        self.open = open.filter(|_| change.is_none());
    }
}

fn compare(differences: &mut Differences<'_>, field: &str, found: &[Excursion]) {
    let reported = differences.fields.get(field).and_then(Value::as_array).map_or(0, Vec::len);
    differences.require(reported == found.len(), &format!("{reported} {field}, recomputed {}", found.len()));
    for (place, one) in found.iter().enumerate().take(reported) {
        differences.expect(&format!("{field}.{place}.start_s"), Some(one.start_s), EXACT);
        differences.expect(&format!("{field}.{place}.length_s"), Some(one.length_s), EXACT);
        differences.expect(&format!("{field}.{place}.extreme_percent"), Some(one.extreme), EXACT);
        differences.expect(&format!("{field}.{place}.mean_percent"), Some(one.sum / one.length_s), EXACT);
    }
}

/// The place from which on a quantity stays on another side of its level to the end of the case, with the median from there to the
/// next event.
fn changed(intervals: &[&Interval], here: usize, level: Level, value: ValueOf) -> Option<(usize, f64)> {
    let middle_of = |part: &[&Interval]| {
        let mut values: Vec<f64> = part.iter().filter_map(|one| value(one)).collect();
        values.sort_by(f64::total_cmp);
        (!values.is_empty()).then(|| median(&values))
    };
    let last = intervals.len().saturating_sub(level.window);
    let of_window = |from: usize| match level.window {
        1 => value(intervals[from]),
        window => {
            let from = from.min(last);
            middle_of(&intervals[from..intervals.len().min(from + window)])
        }
    };
    let sides: Vec<i8> =
        (0..intervals.len()).map(|from| of_window(from).map_or(0, |value| level.side(value))).collect();
    let side = sides.last().copied().filter(|side| *side != 0)?;
    let from = (0..sides.len()).find(|from| {
        let rest = &sides[*from..];
        let others = rest.iter().filter(|one| **one != side).count();
        rest[0] == side && others as f64 <= 0.1 * rest.len() as f64
    })?;
    if from >= here || sides.len() - from < 4 {
        return None;
    }
    let mut from = from;
    if level.window > 1 {
        // The first interval that is nearer to the level after the change than to that before it.
        let half_way = (level.middle + middle_of(&intervals[from..here])?) / 2.0;
        let is_past =
            |one: &&Interval| value(one).is_some_and(|value| (value - half_way) * f64::from(side) > 0.0);
        from += intervals[from..here].iter().position(is_past)?;
    }
    let after = middle_of(&intervals[from..here])?;
    (level.side(after) == side).then_some((from, after))
}

/// The level of an interval's rate or latency.
type ValueOf = fn(&Interval) -> Option<f64>;

/// A level before an event: its middle, how far a value may be from it, and how far the median of how many values.
#[derive(Clone, Copy)]
struct Level {
    middle: f64,
    tolerance: f64,
    window: usize,
    window_tolerance: f64,
}

impl Level {
    fn of(values: &[f64], least: f64) -> Level {
        let (middle, scatter) = middle(values);
        let least = least * middle;
        let (window, spread) = if scatter <= least || least <= 0.0 {
            (1, scatter)
        } else {
            // So many that their median is known to what counts as a change; at most a minute of seconds, or what is before.
            let wanted = (MEDIAN_SPREAD * scatter / least).powi(2).ceil() as usize;
            let window = wanted.min(60).min(values.len()).max(1);
            let spread = if window > 1 { MEDIAN_SPREAD * scatter / (window as f64).sqrt() } else { scatter };
            (window, spread)
        };
        Level { middle, tolerance: scatter.max(least), window, window_tolerance: spread.max(least) }
    }

    fn side(&self, value: f64) -> i8 {
        if value < self.middle - self.window_tolerance {
            -1
        } else {
            i8::from(value > self.middle + self.window_tolerance)
        }
    }
}

/// The median, and four standard deviations of a value about it.
fn middle(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = median(&sorted);
    let mut away: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    away.sort_by(f64::total_cmp);
    (middle, 4.0 * MAD_TO_SIGMA * median(&away))
}
