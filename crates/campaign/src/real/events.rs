//! Events of a case, made by the array's driver at their times or when samples show their conditions.

use crate::conditions::WatchedCondition;
use crate::missed_event::MissedEvent;
use crate::real::reporter::Reporter;
use diagnostic::Problem;
use driver::ArrayDriver;
use load::Sample;
use plan::Case;
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Between two looks at the clock: far below the time that any array takes for an event.
const POLL: Duration = Duration::from_millis(5);

/// An event that is to come.
#[derive(Debug)]
struct ScheduledEvent<'a> {
    /// Time at which it takes place at the latest; `None` where only its condition triggers it.
    at_ns: Option<u64>,
    /// Condition that triggers it, checked at the end of each sample until it has held.
    condition: Option<WatchedCondition<'a>>,
    is_due: bool,
    action: &'a str,
    arguments: &'a Map<String, Value>,
}

/// The events of a case that are to come. Samples bring some of them about while another thread makes them.
#[derive(Debug)]
pub(crate) struct Events<'a> {
    planned: Mutex<Vec<ScheduledEvent<'a>>>,
}

/// Planned events of a case, divided by whether they can be made.
#[derive(Debug)]
pub(crate) struct EventsOfCase<'a> {
    /// Those that can.
    pub events: Events<'a>,
    /// Remarks on how they will be made.
    pub warnings: Vec<String>,
    /// Those that cannot.
    pub missed: Vec<MissedEvent>,
}

impl<'a> Events<'a> {
    /// Returns the events that can be made, and those that cannot. `gives_samples` is true if samples of the load
    /// arrive while it runs; shares of written bytes refer to `range_bytes`.
    pub fn of(case: &'a Case, has_driver: bool, gives_samples: bool, range_bytes: u64) -> EventsOfCase<'a> {
        let mut planned: Vec<ScheduledEvent<'a>> = Vec::new();
        let (mut warnings, mut missed) = (Vec::new(), Vec::new());
        for event in &case.events {
            planned.push(ScheduledEvent {
                at_ns: Some(event.at_ns),
                condition: None,
                is_due: false,
                action: &event.action,
                arguments: &event.arguments,
            });
        }
        for event in &case.conditional_events {
            if !gives_samples {
                let action = &event.action;
                match event.latest_ns {
                    Some(_) => warnings.push(format!("the condition of the event `{action}` was not looked at, because fio gives its samples only at its end: it takes place at its latest moment")),
                    None => missed.push(MissedEvent {
                        action: action.clone(),
                        why: format!("the event `{action}` was not made: its condition needs samples while the load runs, and fio gives them only at its end; give it `latest`, or have our own engine issue the load, on a file or block device"),
                    }),
                }
            }
            if gives_samples || event.latest_ns.is_some() {
                planned.push(ScheduledEvent {
                    at_ns: event.latest_ns,
                    condition: gives_samples.then(|| WatchedCondition::new(&event.condition, range_bytes)),
                    is_due: false,
                    action: &event.action,
                    arguments: &event.arguments,
                });
            }
        }
        if !has_driver {
            missed.extend(planned.drain(..).map(|event| {
                let when = event.at_ns.map_or_else(String::new, |at_ns| {
                    format!(" at {}", units::human_duration(at_ns))
                });
                let action = event.action;
                let why = format!(
                    "the event `{action}`{when} was not made: there is no --array driver; when you make it yourself, note it with `arraylab mark RUN {action}`"
                );
                MissedEvent { action: action.to_owned(), why }
            }));
        }
        EventsOfCase { events: Events { planned: Mutex::new(planned) }, warnings, missed }
    }

    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Looks whether a sample of the load fulfils conditions.
    pub fn look(&self, sample: &Sample) {
        for event in self.lock().iter_mut() {
            let holds = event.condition.as_mut().is_some_and(|condition| condition.holds_after(sample));
            event.is_due |= holds;
        }
    }

    /// Makes events when they are due, until `over`. Gives those whose condition never held, or why one could not be made.
    pub fn make(
        &self,
        driver: &mut dyn ArrayDriver,
        reporter: &Reporter<'_>,
        over: &AtomicBool,
    ) -> Result<Vec<MissedEvent>, Problem> {
        let started = Instant::now();
        while !self.is_empty() {
            let since_ns = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let Some(event) = self.take_due(since_ns) else {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                std::thread::sleep(POLL);
                continue;
            };
            driver.event(event.action, event.arguments).map_err(|error| {
                Problem::of(&error).within(format!("the event `{}` was not made", event.action))
            })?;
            let data = json!({ "action": event.action, "arguments": event.arguments });
            reporter.happened(since_ns, "event", event.action, Some(data));
        }
        let missed = std::mem::take(&mut *self.lock());
        missed
            .iter()
            .map(|event| match event.at_ns {
                Some(at_ns) => Err(Problem::new(format!(
                    "the load ended before the event `{}` at {}",
                    event.action,
                    units::human_duration(at_ns)
                ))),
                None => Ok(MissedEvent::never_due(event.action)),
            })
            .collect()
    }

    /// The event that is due first, of several the one with the earliest moment.
    fn take_due(&self, since_ns: u64) -> Option<ScheduledEvent<'a>> {
        let mut planned = self.lock();
        let due = planned
            .iter()
            .enumerate()
            .filter(|(_, event)| event.is_due || event.at_ns.is_some_and(|at_ns| at_ns <= since_ns))
            .min_by_key(|(_, event)| event.at_ns.filter(|_| !event.is_due))
            .map(|(place, _)| place)?;
        Some(planned.remove(due))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ScheduledEvent<'a>>> {
        // Nothing in here panics half-way through a change that matters.
        self.planned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
