//! Events of a case on a twin, by time or condition, and the bytes after which its load ends.

use crate::conditions::WatchedCondition;
use crate::missed_event::MissedEvent;
use diagnostic::Problem;
use load::{Extrapolation, Sample};
use plan::{Amount, Case, ConditionalEvent};
use twin::Twin;

/// Hears a sample of the load of that number, and says whether the case is to stop.
pub(super) type OnSample<'a> = dyn FnMut(&mut Twin, usize, Sample) -> bool + 'a;

/// Events of a case on a twin, by time or condition.
pub(super) struct TimedEvents<'a> {
    waiting: Vec<(&'a ConditionalEvent, WatchedCondition<'a>)>,
    failed: Option<Problem>,
}

impl<'a> TimedEvents<'a> {
    /// Schedules the events at fixed times. Conditions refer to a load with a range of `range_bytes`.
    pub fn begin(twin: &mut Twin, case: &'a Case, range_bytes: u64) -> Result<Self, Problem> {
        let begun_ns = twin.time_ns();
        for event in &case.events {
            twin.act(begun_ns + event.at_ns, &event.action, &event.arguments)
                .map_err(|error| Problem::from(error.to_string()))?;
        }
        let watched =
            |event: &'a ConditionalEvent| (event, WatchedCondition::new(&event.condition, range_bytes));
        Ok(TimedEvents { waiting: case.conditional_events.iter().map(watched).collect(), failed: None })
    }

    /// Makes the events whose condition a sample fulfils. Returns false if one failed and the case must end.
    pub fn look(&mut self, twin: &mut Twin, sample: &Sample) -> bool {
        let failed = &mut self.failed;
        self.waiting.retain_mut(|(event, watched)| {
            let is_latest = event.latest_ns.is_some_and(|latest_ns| sample.end_ns >= latest_ns);
            if !watched.holds_after(sample) && !is_latest {
                return true;
            }
            let made = twin
                .act(twin.time_ns(), &event.action, &event.arguments)
                .map_err(|error| Problem::from(error.to_string()));
            *failed = failed.take().or(made.err());
            false
        });
        self.failed.is_none()
    }

    /// Ends the events: those that did not take place, or the failure.
    pub fn end(self) -> Result<Vec<MissedEvent>, Problem> {
        let missed = self.waiting.iter().map(|(event, _)| MissedEvent::never_due(&event.action));
        self.failed.map_or_else(|| Ok(missed.collect()), Err)
    }
}

/// Result of a case on a twin.
pub(super) struct CaseRun {
    pub extrapolation: Extrapolation,
    /// Events that did not take place.
    pub missed: Vec<MissedEvent>,
}

/// Says when a load has moved the bytes after which it ends.
pub(super) struct BytesMoved {
    bytes: u64,
    ends_after_bytes: Option<u64>,
}

impl BytesMoved {
    pub fn new(ends_after: Option<Amount>, range_bytes: u64) -> Self {
        BytesMoved { bytes: 0, ends_after_bytes: ends_after.map(|amount| amount.resolve(range_bytes)) }
    }

    /// Counts a sample; true where the load is over.
    pub fn is_over_after(&mut self, sample: &Sample) -> bool {
        self.bytes += sample.read.bytes + sample.write.bytes;
        self.ends_after_bytes.is_some_and(|bytes| self.bytes >= bytes)
    }
}
