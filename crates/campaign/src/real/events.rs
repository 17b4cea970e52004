//! Events of a case, made by the array's driver at their times.

use crate::real::worker::Telling;
use driver::ArrayDriver;
use plan::Case;
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Between two looks at the clock: far below the time that any array takes for an event.
const POLL: Duration = Duration::from_millis(5);

/// An event with its time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Planned {
    at_ns: u64,
    action: String,
    arguments: Map<String, Value>,
}

/// The events of a case that can be made, and what is to be said about the others.
pub(crate) fn planned(case: &Case, has_driver: bool) -> (Vec<Planned>, Vec<String>) {
    let mut planned = Vec::new();
    let mut warnings = Vec::new();
    let mut plan = |at_ns: u64, action: &str, arguments: &Map<String, Value>| {
        if has_driver {
            planned.push(Planned { at_ns, action: action.to_owned(), arguments: arguments.clone() });
        } else {
            warnings.push(format!(
                "the event `{action}` at {} was not made: there is no --array driver; when you make it yourself, note it with `arraylab mark`",
                units::human_duration(at_ns)
            ));
        }
    };
    for event in &case.events {
        plan(event.at_ns, &event.action, &event.arguments);
    }
    let mut unseen = Vec::new();
    for event in &case.conditional_events {
        match event.latest_ns {
            Some(latest_ns) => {
                plan(latest_ns, &event.action, &event.arguments);
                unseen.push(format!("the condition of the event `{}` was not looked at, because fio gives its samples only at its end: it takes place at its latest moment", event.action));
            }
            None => unseen.push(format!("the event `{}` was not made: its condition needs samples while the load runs, and fio gives them only at its end; give it `latest`", event.action)),
        }
    }
    warnings.extend(unseen);
    planned.sort_by_key(|event| event.at_ns);
    (planned, warnings)
}

/// Makes events at their times, until `over`. Says which could not be made.
pub(crate) fn make(
    events: &[Planned],
    driver: &mut dyn ArrayDriver,
    telling: &Telling<'_>,
    over: &AtomicBool,
) -> Result<(), String> {
    let started = Instant::now();
    for event in events {
        while started.elapsed() < Duration::from_nanos(event.at_ns) {
            if over.load(Ordering::Relaxed) {
                return Err(format!(
                    "the load ended before the event `{}` at {}",
                    event.action,
                    units::human_duration(event.at_ns)
                ));
            }
            std::thread::sleep(POLL);
        }
        let begun_ns = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        driver
            .event(&event.action, &event.arguments)
            .map_err(|error| format!("the event `{}` was not made: {error}", event.action))?;
        let data = json!({ "action": event.action, "arguments": event.arguments });
        telling.happened(begun_ns, "event", &event.action, Some(data));
    }
    Ok(())
}
