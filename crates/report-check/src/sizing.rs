//! Check of a sizing run's answers: each sentence is the text of an event, and says what the event's own data say.

use crate::run::Event;
use serde_json::Value;

/// Returns true if a sentence is the question or an answer of a sizing run.
pub fn is_said(events: &[Event], sentence: &str) -> bool {
    events.iter().any(|event| sentence.strip_suffix('.') == Some(&event.text) && holds(event))
}

fn holds(event: &Event) -> bool {
    let field = |name: &str| event.data.get(name).and_then(Value::as_str);
    match event.kind.as_str() {
        "size" => {
            let (Some(array), Some(state), Some(verdict)) =
                (field("array"), field("state"), field("verdict"))
            else {
                return false;
            };
            event.text.starts_with(array) && event.text.ends_with(&format!(", {state}: {verdict}"))
        }
        "size-question" => field("workload").is_some_and(|workload| event.text.contains(workload)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Proves that an answer is taken only as its event and the event's data give it.
    #[test]
    fn altered_answers_are_found() {
        let event = |verdict: &str| Event {
            kind: "size".into(),
            text: "small-flash, healthy: meets".into(),
            at_s: None,
            data: json!({"array": "small-flash", "state": "healthy", "verdict": verdict}),
        };
        assert!(is_said(&[event("meets")], "small-flash, healthy: meets."));
        assert!(!is_said(&[event("meets")], "small-flash, healthy: fails."));
        assert!(!is_said(&[event("fails")], "small-flash, healthy: meets."));
        assert!(!is_said(&[Event { kind: "mark".into(), ..event("meets") }], "small-flash, healthy: meets."));
    }
}
