//! Run of a case on a twin: its loads and timed events.

use super::concurrent;
use super::timed_events::{BytesMoved, CaseRun, OnSample, TimedEvents};
use diagnostic::Problem;
use load::Device as _;
use plan::Case;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use twin::Twin;

/// Runs a case on a twin, until it ends, `on_sample` returns true, or `stop` is raised.
pub(super) fn run(
    twin: &mut Twin,
    case: &Case,
    stop: &AtomicBool,
    on_sample: &mut OnSample<'_>,
) -> Result<CaseRun, Problem> {
    if !case.loads.is_empty() {
        return concurrent::run(twin, case, stop, on_sample);
    }
    let range_bytes = case.load.range_bytes(twin.capacity_bytes());
    let mut timed_events = TimedEvents::begin(twin, case, range_bytes)?;
    let mut moved = BytesMoved::new(case.ends_after, range_bytes);
    let ran = twin.run(&case.load, stop, &mut |twin: &mut Twin, sample| {
        let goes_on = timed_events.look(twin, &sample);
        let is_over = moved.is_over_after(&sample);
        if on_sample(twin, 0, sample) || is_over || !goes_on {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    let missed = timed_events.end()?;
    ran.map(|extrapolation| CaseRun { extrapolation, missed })
        .map_err(|error| Problem::from(error.to_string()))
}
