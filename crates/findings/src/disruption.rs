//! Event impact: level changes, rate dips, latency peaks, and lost work.

use crate::finding::{Basis, Finding};
use crate::observation::{Interval, ObservedCase};
use crate::statistics::{median, robust_sigma};
use crate::{Disruption, Excursion, LatencyChange, RateChange};

/// An interval leaves the level where it is this many σ away from it…
const SIGMAS: f64 = 4.0;
/// …and at least this share, for rates…
const DIP_LEAST: f64 = 0.05;
/// …and for latency, which is restless by nature.
const BUMP_LEAST: f64 = 0.10;

/// Fewer intervals before the first event give no level to compare with.
const BEFORE_LEAST: usize = 4;

/// A level that is left for this many intervals at the end of a case has changed…
const CHANGE_LEAST: usize = 4;
/// …where no more than this share of them came back to it.
const BACK_MOST: f64 = 0.10;
/// The median of so many values scatters by this factor over the square root of their number, in standard deviations of one (asymptotic
/// efficiency of the median of normal values, √(π/2)).
const MEDIAN_SPREAD: f64 = 1.253_314_137_315_500_3;
/// The most intervals that stand together for a level: a minute at one a second.
const WINDOW_MOST: usize = 60;

pub(crate) fn of(case: &ObservedCase) -> Vec<Finding> {
    let counted = case.counted();
    let Some(first) = case.moments.first() else { return Vec::new() };
    let before: Vec<&Interval> = counted.iter().filter(|one| one.end_s <= first.at_s + 1e-9).collect();
    if before.len() < BEFORE_LEAST {
        return Vec::new();
    }
    let mut rates = Level::of(&before.iter().map(|one| one.iops()).collect::<Vec<_>>(), DIP_LEAST);
    let mut latencies =
        Level::of(&before.iter().filter_map(|one| one.mean_latency_ns()).collect::<Vec<_>>(), BUMP_LEAST);
    let end_s = counted.last().map_or(first.at_s, |last| last.end_s);
    let (mut dips, mut bumps) = (Excursions::default(), Excursions::default());
    let mut events: Vec<(usize, Disruption)> = Vec::new();
    for (number, moment) in case.moments.iter().enumerate() {
        let until_s = case.moments.get(number + 1).map_or(end_s, |next| next.at_s);
        // The interval in which an event falls is its own from the start.
        let from_here: Vec<&Interval> = counted.iter().filter(|one| one.end_s > moment.at_s + 1e-9).collect();
        let here = from_here.iter().take_while(|one| one.start_s < until_s - 1e-9).count();
        let during = &from_here[..here];
        if during.is_empty() {
            continue;
        }
        let rate_change = change(&from_here, here, &rates, |one| Some(one.iops()));
        let latency_change = change(&from_here, here, &latencies, Interval::mean_latency_ns);
        let upto = |change: &Option<Change>| change.map_or(here, |change| change.from);
        dips.add(&during[..upto(&rate_change)], rate_change.is_none(), &rates, end_s, |one| {
            let rate = one.iops();
            (rate < rates.middle - rates.tolerance).then(|| rates.percent(rate))
        });
        bumps.add(&during[..upto(&latency_change)], latency_change.is_none(), &latencies, end_s, |one| {
            let latency = one.mean_latency_ns()?;
            (latency > latencies.middle + latencies.tolerance).then(|| latencies.percent(latency))
        });
        let share = |value: f64, level: f64| if level > 0.0 { 100.0 * value / level } else { 0.0 };
        let all = during.iter().fold(crate::Flow::default(), |mut all, one| {
            all.add(&one.all());
            all
        });
        let fact = Disruption {
            event: moment.text.clone(),
            at_s: moment.at_s,
            until_s,
            has_effect: rate_change.is_some() || latency_change.is_some() || all.errors > 0,
            level_iops: rates.middle,
            level_latency_ns: latencies.middle,
            dips: Vec::new(),
            latency_bumps: Vec::new(),
            rate_change: rate_change.map(|change| RateChange {
                from_s: during[change.from].start_s,
                held_s: (during[change.from].start_s - moment.at_s).max(0.0),
                before_iops: rates.middle,
                after_iops: change.after,
                change_percent: share(change.after, rates.middle) - 100.0,
            }),
            latency_change: latency_change.map(|change| LatencyChange {
                from_s: during[change.from].start_s,
                held_s: (during[change.from].start_s - moment.at_s).max(0.0),
                before_ns: latencies.middle,
                after_ns: change.after,
                change_percent: share(change.after, latencies.middle) - 100.0,
            }),
            iops_percent: share(median(during.iter().map(|one| one.iops())), rates.middle),
            latency_percent: share(
                median(during.iter().filter_map(|one| one.mean_latency_ns())),
                latencies.middle,
            ),
            mean_latency_percent: share(all.latency_sum_ns / all.ios.max(1.0), latencies.middle),
            ios_missing: 0.0,
            errors: all.errors,
        };
        // What comes after a change of level is held against the new one.
        if let Some(change) = rate_change {
            rates.middle = change.after;
        }
        if let Some(change) = latency_change {
            latencies.middle = change.after;
        }
        events.push((number, fact));
    }
    let excursions = dips.of_events.into_iter().zip(bumps.of_events);
    let found = events.into_iter().zip(excursions).map(|((number, mut fact), (dips, bumps))| {
        // A sum of nothing would be -0.
        fact.ios_missing =
            dips.iter().fold(0.0, |sum, dip| sum + (fact.level_iops * dip.length_s - dip.ios).max(0.0));
        fact.has_effect |= !dips.is_empty() || !bumps.is_empty();
        let last_s = dips.iter().chain(&bumps).map(Excursion::end_s).fold(fact.until_s, f64::max);
        let rests_on = [Basis::span(case, fact.at_s, last_s)].into();
        (fact.dips, fact.latency_bumps) = (dips, bumps);
        Finding {
            id: format!("disruption/{}/{number}", case.path()),
            stage: case.stage.clone(),
            case: Some(case.name.clone()),
            fact: fact.into(),
            rests_on,
        }
    });
    found.collect()
}

/// The level before an event, and how far an interval may be from it.
struct Level {
    middle: f64,
    tolerance: f64,
    /// Intervals whose median shows a change of level: one where they hardly scatter. A change that is smaller than the scatter of
    /// single intervals would else be many dips, or begin wherever the last few of them happen to lie together.
    window: usize,
    /// Distance from it within which that median is at it.
    window_tolerance: f64,
}

impl Level {
    fn of(values: &[f64], least: f64) -> Level {
        let middle = median(values.iter().copied());
        let (scatter, least) = (SIGMAS * robust_sigma(values), least * middle);
        let wanted = if least > 0.0 { (MEDIAN_SPREAD * scatter / least).powi(2).ceil() } else { 1.0 };
        // No more than there are before the event, or its own level would be known worse than that after it.
        let most = values.len().clamp(1, WINDOW_MOST);
        let window = if scatter <= least { 1 } else { (wanted as usize).clamp(1, most) };
        let spread = if window > 1 { MEDIAN_SPREAD * scatter / (window as f64).sqrt() } else { scatter };
        Level { middle, tolerance: scatter.max(least), window, window_tolerance: spread.max(least) }
    }

    /// Distance of a value from the level, in percent of it.
    fn percent(&self, value: f64) -> f64 {
        100.0 * (value / self.middle - 1.0)
    }

    /// On which side of the level the median of a window is: 0 where it is at it.
    fn side(&self, value: f64) -> i8 {
        let off = value - self.middle;
        if off < -self.window_tolerance { -1 } else { i8::from(off > self.window_tolerance) }
    }

    /// The values of the windows that begin with each interval; those at the end have the last whole window's.
    fn windows(&self, intervals: &[&Interval], value: impl Fn(&Interval) -> Option<f64>) -> Vec<Option<f64>> {
        let values: Vec<Option<f64>> = intervals.iter().map(|one| value(one)).collect();
        if self.window == 1 {
            return values;
        }
        let last = values.len().saturating_sub(self.window);
        let of = |from: usize| {
            let known: Vec<f64> =
                values[from.min(last)..].iter().take(self.window).flatten().copied().collect();
            (!known.is_empty()).then(|| median(known))
        };
        (0..values.len()).map(of).collect()
    }
}

/// A change of level: the interval after the event with which it begins, and the level after it.
#[derive(Debug, Clone, Copy)]
struct Change {
    from: usize,
    after: f64,
}

/// The change of level that begins within the first `here` intervals, if the rest of the case stays on its side.
fn change(
    intervals: &[&Interval],
    here: usize,
    level: &Level,
    value: impl Fn(&Interval) -> Option<f64>,
) -> Option<Change> {
    let windows = level.windows(intervals, &value);
    let sides: Vec<i8> = windows.iter().map(|one| one.map_or(0, |value| level.side(value))).collect();
    let side = *sides.last()?;
    if side == 0 {
        return None;
    }
    // The earliest interval from which on hardly any is on another side.
    let mut others = 0;
    let mut from = sides.len();
    for (index, one) in sides.iter().enumerate().rev() {
        others += usize::from(*one != side);
        let length = sides.len() - index;
        if *one == side && others as f64 <= BACK_MOST * length as f64 {
            from = index;
        }
    }
    // What begins with an earlier event was taken to its account already, and what begins later is not this event's.
    if from >= here || sides.len() - from < CHANGE_LEAST {
        return None;
    }
    let median_from = |from: usize| median(intervals[from..here].iter().filter_map(|one| value(one)));
    // A window shows a change before its middle does: it begins with the first interval that is nearer to the level after it.
    let half_way = f64::midpoint(level.middle, median_from(from));
    let is_past =
        |one: &&Interval| value(one).is_some_and(|value| (value - half_way) * f64::from(side) > 0.0);
    let from = match level.window {
        1 => from,
        _ => from + intervals[from..here].iter().position(is_past)?,
    };
    let after = median_from(from);
    (level.side(after) == side).then_some(Change { from, after })
}

/// Excursions of one quantity. Each is told of the event during which it began, and lasts until it is over: past a later event that
/// does not take it farther, such as the end of a rebuild, whose first interval is the rebuild's for the most part.
#[derive(Default)]
struct Excursions {
    of_events: Vec<Vec<Excursion>>,
    open: Option<Open>,
}

/// An excursion that goes on where an event's time ends: the event during which it began, and how far its intervals were off, in
/// percent.
struct Open {
    event: usize,
    percents: Vec<f64>,
}

impl Excursions {
    /// Adds an event's intervals; they are not `whole` where a change of level ends them before the next event.
    fn add(
        &mut self,
        intervals: &[&Interval],
        is_whole: bool,
        level: &Level,
        end_s: f64,
        off: impl Fn(&Interval) -> Option<f64>,
    ) {
        let event = self.of_events.len();
        self.of_events.push(Vec::new());
        let mut open = self.open.take();
        let farthest = open.as_ref().map_or(0.0, |open| {
            let latest = open.percents.iter().rev().take(WINDOW_MOST);
            median(latest.map(|percent| percent.abs())) + 100.0 * level.tolerance / level.middle
        });
        for interval in intervals {
            let Some(percent) = off(interval) else {
                open = None;
                continue;
            };
            let (length_s, ios) = (interval.length_s(), interval.all().ios);
            let is_over = interval.end_s < end_s - 1e-9;
            let goes_on = open.as_mut().filter(|open| open.event == event || percent.abs() <= farthest);
            if let Some(open) = goes_on
                && let Some(last) = self.of_events[open.event].last_mut()
            {
                // The interval in which an event falls is that of the event before it too.
                if last.end_s() > interval.start_s + 1e-9 {
                    continue;
                }
                open.percents.push(percent);
                last.mean_percent =
                    (last.mean_percent * last.length_s + percent * length_s) / (last.length_s + length_s);
                last.length_s += length_s;
                last.ios += ios;
                last.is_over = is_over;
                if percent.abs() > last.extreme_percent.abs() {
                    last.extreme_percent = percent;
                }
                continue;
            }
            self.of_events[event].push(Excursion {
                start_s: interval.start_s,
                length_s,
                extreme_percent: percent,
                mean_percent: percent,
                ios,
                is_over,
            });
            open = Some(Open { event, percents: vec![percent] });
        }
        self.open = open.filter(|_| is_whole);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_rates(rates: &[f64]) -> Vec<Interval> {
        let intervals = rates.iter().enumerate().map(|(second, rate)| {
            let flow = crate::Flow { ios: *rate, bytes: *rate, errors: 0, latency_sum_ns: 1e6 * rate };
            Interval { start_s: second as f64, end_s: second as f64 + 1.0, read: flow, ..Interval::default() }
        });
        intervals.collect()
    }

    /// Proves that a fall of a quarter in intervals that scatter by 7 % of their level is a change that begins with the event, and
    /// that the scatter alone is none.
    #[test]
    fn a_change_below_the_scatter_of_intervals() {
        let mut random = load::Random::from_seed(5);
        let mut noisy = |level: f64| {
            // The sum of twelve uniform numbers has a standard deviation of one.
            let normal = (0..12).map(|_| random.unit_open()).sum::<f64>() - 6.0;
            level * (1.0 + 0.07 * normal)
        };
        let before: Vec<f64> = (0..60).map(|_| noisy(300.0)).collect();
        let level = Level::of(&before, DIP_LEAST);
        assert!(level.window > 20 && level.tolerance > 60.0, "{} {}", level.window, level.tolerance);
        let mut change_to = |after: f64| {
            let rates: Vec<f64> = (0..400).map(|_| noisy(after)).collect();
            let intervals = of_rates(&rates);
            let all: Vec<&Interval> = intervals.iter().collect();
            change(&all, all.len(), &level, |one| Some(one.iops()))
        };
        let change = change_to(225.0).expect("a change");
        assert!(change.from <= 2 && (change.after - 225.0).abs() < 5.0, "{change:?}");
        assert!(change_to(300.0).is_none());
    }

    /// Proves that a level that is left to the end has changed from the first interval of it, that one to which the rate comes
    /// back has not, and that too short an end is no change.
    #[test]
    fn changes_of_level() {
        let level = Level { middle: 100.0, tolerance: 5.0, window: 1, window_tolerance: 5.0 };
        let of = |rates: &[f64], here: usize| {
            let intervals = of_rates(rates);
            let all: Vec<&Interval> = intervals.iter().collect();
            change(&all, here, &level, |one| Some(one.iops())).map(|change| (change.from, change.after))
        };
        assert_eq!(of(&[100.0, 80.0, 79.0, 80.0, 80.0, 80.0], 6), Some((1, 80.0)));
        assert_eq!(of(&[100.0, 80.0, 79.0, 80.0, 80.0, 100.0], 6), None);
        assert_eq!(of(&[100.0, 100.0, 100.0, 80.0, 80.0, 80.0], 6), None);
        assert_eq!(of(&[120.0; 6], 6), Some((0, 120.0)));
        assert_eq!(of(&[100.0, 80.0, 80.0, 80.0, 80.0, 80.0], 1), None, "it begins with the next event");
        assert_eq!(
            of(&[80.0, 80.0, 60.0, 60.0, 60.0, 60.0], 2),
            Some((0, 80.0)),
            "the next event takes it further"
        );
    }
}
