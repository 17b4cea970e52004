//! Answers of a sizing run, whose cases are multiples of a workload and no test of an array.

use super::section_id;
use crate::model::{Conclusion, Evidence};
use findings::{Cited, SIZE_EVENT, SIZE_QUESTION_EVENT, Source, cited};
use store::Event;

/// The question, then each answer with the stage whose cases it rests on. Empty for any other run.
pub fn answers(events: &[Event]) -> Vec<Conclusion> {
    let sized =
        events.iter().filter(|event| [SIZE_QUESTION_EVENT, SIZE_EVENT].contains(&event.kind.as_str()));
    sized
        .map(|event| {
            let state = event.data.as_ref().and_then(|answer| answer.get("state")?.as_str());
            Conclusion {
                text: cited!("{}.", Cited::quote(&event.text, Source::quote("event"))),
                verdict: None,
                evidence: state
                    .map(|state| Evidence { id: section_id(state), label: state.to_owned() })
                    .into_iter()
                    .collect(),
            }
        })
        .collect()
}

/// Warning that stands before all others.
pub fn warning() -> Cited {
    "The cases of this run are multiples of a workload that `arraylab size` simulated. The conclusions give its answers; `size.txt` gives them with \
     their ranges. Rates in tables and charts here may lie beyond what an array holds within the requirements."
        .into()
}
