//! A picture like the published one with one thing in it changed.

use findings::{Flow, Interval, Observation, ObservedCase};
use std::sync::Arc;
use store::DirectionResult;

/// Change of a case.
pub type Change = fn(&mut ObservedCase);

/// Cases of a stage by their settings, as `volume=hdd host=node`; all of the stage by an empty text.
pub fn is(case: &ObservedCase, stage: &str, settings: &str) -> bool {
    case.stage == stage
        && settings.split_whitespace().all(|pair| {
            let (name, value) = pair.split_once('=').expect("name=value");
            let found = case.settings.get(name);
            found
                .is_some_and(|found| found.as_str().map_or_else(|| found.to_string(), str::to_owned) == value)
        })
}

/// The picture with a change of some cases, of which there must be one at least.
pub fn changed(picture: &Observation, stage: &str, settings: &str, change: Change) -> Observation {
    let mut picture = picture.clone();
    let mut cases = picture.cases.iter_mut().filter(|case| is(case, stage, settings)).peekable();
    assert!(cases.peek().is_some(), "no case is {stage} {settings}");
    cases.for_each(change);
    picture
}

fn directions(case: &mut ObservedCase) -> impl Iterator<Item = &mut DirectionResult> {
    let result = Arc::make_mut(&mut case.result);
    [&mut result.read, &mut result.write].into_iter().flatten()
}

fn scale(interval: &mut Interval, factor: f64) {
    for flow in [&mut interval.read, &mut interval.write] {
        *flow = Flow {
            ios: flow.ios * factor,
            bytes: flow.bytes * factor,
            errors: flow.errors,
            latency_sum_ns: flow.latency_sum_ns * factor,
        };
    }
}

/// So many times the rate, at the same latency.
pub fn rate(case: &mut ObservedCase, factor: f64) {
    case.intervals.iter_mut().for_each(|interval| scale(interval, factor));
    let result = Arc::make_mut(&mut case.result);
    result.iops *= factor;
    result.bw_bytes_per_s *= factor;
    for direction in directions(case) {
        direction.iops *= factor;
        direction.bw_bytes_per_s *= factor;
    }
}

/// This rate.
pub fn rate_of(case: &mut ObservedCase, iops: f64) {
    rate(case, iops / case.result.iops);
}

/// So many times the rate in some of the intervals; the mean of the case stays what it was.
pub fn rate_in(case: &mut ObservedCase, intervals: impl Fn(usize) -> bool, factor: f64) {
    let some = case.intervals.iter_mut().enumerate().filter(|(index, _)| intervals(*index));
    some.for_each(|(_, interval)| scale(interval, factor));
}

/// So many times the latency.
pub fn latency(case: &mut ObservedCase, factor: f64) {
    for interval in &mut case.intervals {
        interval.read.latency_sum_ns *= factor;
        interval.write.latency_sum_ns *= factor;
    }
    directions(case).for_each(|direction| direction.latency_ns.mean *= factor);
}

/// So many times the latency of reads alone.
pub fn read_latency(case: &mut ObservedCase, factor: f64) {
    case.intervals.iter_mut().for_each(|interval| interval.read.latency_sum_ns *= factor);
    Arc::make_mut(&mut case.result).read.iter_mut().for_each(|read| read.latency_ns.mean *= factor);
}

/// Everything so many intervals earlier; what came before is gone.
pub fn earlier(case: &mut ObservedCase, intervals: usize) {
    case.intervals.drain(..intervals);
    let start_s = case.intervals[0].start_s;
    for interval in &mut case.intervals {
        interval.start_s -= start_s;
        interval.end_s -= start_s;
    }
}

/// A number among the settings.
pub fn number(case: &ObservedCase, name: &str) -> f64 {
    case.settings[name].as_f64().expect("a number")
}

/// Returns true if the load is random.
pub fn is_random(case: &ObservedCase) -> bool {
    case.settings["rw"].as_str().is_some_and(|rw| rw.starts_with("rand"))
}
