//! Planned events that did not take place while their case ran: what the case shows is no evidence of a target after them.

use plan::Plan;
use std::collections::{BTreeMap, BTreeSet};
use store::{CaseRecord, CaseState, CaseStatus, Event};

/// Kind of the event that records a planned event which did not take place; its data has the `action`.
pub const MISSED_EVENT: &str = "missed-event";

/// Actions that were planned and did not take place, by case.
#[derive(Debug, Default)]
pub(crate) struct MissedEvents {
    actions: BTreeMap<u32, Vec<String>>,
}

impl MissedEvents {
    /// Missed events of a run. A mark that names the action takes the place of one: somebody did by hand what the plan asked for.
    pub fn of(events: &[Event]) -> MissedEvents {
        let mut actions: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        let of_kind = |kind: &'static str| events.iter().filter(move |event| event.kind == kind);
        for event in of_kind(MISSED_EVENT) {
            let action = event.data.as_ref().and_then(|data| data["action"].as_str());
            if let (Some(case_index), Some(action)) = (event.case_index, action) {
                actions.entry(case_index).or_default().push(action.to_owned());
            }
        }
        for mark in of_kind("mark") {
            let Some(of_case) = mark.case_index.and_then(|index| actions.get_mut(&index)) else { continue };
            if let Some(place) = of_case.iter().position(|action| mark.text.contains(action.as_str())) {
                of_case.remove(place);
            }
        }
        MissedEvents { actions }
    }

    /// True where one of the events of this action did not take place in a case.
    pub fn has(&self, case_index: u32, action: &str) -> bool {
        self.actions.get(&case_index).is_some_and(|actions| actions.iter().any(|missed| missed == action))
    }

    /// Reason why a limit that a case keeps is not shown by it; `None` where all of its events took place.
    pub fn why(&self, case_index: u32) -> Option<String> {
        let action = self.actions.get(&case_index)?.first()?;
        Some(format!("the event `{action}` did not take place in the case"))
    }
}

/// Actions that took place while cases that are done ran: events of their stages, and what marks name.
#[derive(Debug)]
pub struct TakenActions<'a> {
    planned: BTreeSet<&'a str>,
    marks: Vec<&'a str>,
}

impl<'a> TakenActions<'a> {
    /// Actions of a run, from its cases, its events and its plan.
    pub fn of(cases: &[CaseRecord], events: &'a [Event], plan: Option<&'a Plan>) -> TakenActions<'a> {
        let missed = MissedEvents::of(events);
        let mut planned = BTreeSet::new();
        for case in cases.iter().filter(|case| case.state == CaseState::Ended(CaseStatus::Done)) {
            let stage = plan.and_then(|plan| plan.stage(&case.stage));
            let actions =
                stage.into_iter().flat_map(|stage| &stage.events).map(|event| event.action.as_str());
            planned.extend(actions.filter(|action| !missed.has(case.index, action)));
        }
        let marks = events.iter().filter(|event| event.kind == "mark").map(|mark| mark.text.as_str());
        TakenActions { planned, marks: marks.collect() }
    }

    /// Returns true if an action is among them.
    pub fn has(&self, action: &str) -> bool {
        self.planned.contains(action) || self.marks.iter().any(|mark| mark.contains(action))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn event(kind: &str, case_index: u32, text: &str, data: Option<Value>) -> Event {
        Event { case_index: Some(case_index), kind: kind.into(), text: text.into(), data, ..Event::default() }
    }

    /// Proves that each missed event counts until a mark of its own case names it, that one mark is one event, and that other
    /// cases and marks change nothing.
    #[test]
    fn a_mark_takes_the_place_of_one_missed_event() {
        let missed = |case_index| {
            event(MISSED_EVENT, case_index, "not made", Some(json!({ "action": "drive-failure" })))
        };
        let mark = |case_index, text| event("mark", case_index, text, None);
        let is_missed = |events: &[Event]| MissedEvents::of(events).why(0).is_some();
        assert!(!is_missed(&[event("event", 0, "drive 0 failed", None)]));
        assert!(is_missed(&[missed(0)]));
        assert!(is_missed(&[missed(0), mark(1, "drive-failure"), mark(0, "a cable was pulled")]));
        assert!(!is_missed(&[missed(0), mark(0, "drive-failure of bay 3")]));
        assert!(is_missed(&[missed(0), missed(0), mark(0, "drive-failure")]));
        assert!(!is_missed(&[missed(1)]));
    }
}
