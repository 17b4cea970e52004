//! Inventory output before the first case and after the last.

use super::{ReportError, Source};
use crate::model::Output;
use serde_json::Value;

/// Of one command, so much is shown; the rest is in the run.
const SHOWN_LIMIT_CHARS: usize = 32 << 10;

/// Outputs of the inventory commands, in the order in which they were run.
pub fn outputs(source: &Source<'_>) -> Result<Vec<Output>, ReportError> {
    let at_start = source.manifest.host.get("inventory").and_then(Value::as_array);
    let mut outputs: Vec<Output> =
        at_start.into_iter().flatten().map(|answer| output(answer, "before the first case")).collect();
    for host in &source.manifest.hosts {
        let answers = host.facts.get("inventory").and_then(Value::as_array).into_iter().flatten();
        outputs
            .extend(answers.map(|answer| output(answer, &format!("{}, before the first case", host.name))));
    }
    for event in source.run.events()?.iter().filter(|event| event.kind == "inventory") {
        outputs.extend(event.data.as_ref().map(|answer| match answer.get("host").and_then(Value::as_str) {
            Some(host) => output(answer, &format!("{host}, after the last case")),
            None => output(answer, "after the last case"),
        }));
    }
    Ok(outputs)
}

fn output(answer: &Value, moment: &str) -> Output {
    let text_of = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default();
    if let Some(left_out) = answer.get("left_out") {
        return Output { title: format!("{left_out} further commands were left out"), text: String::new() };
    }
    let mut text: String = text_of("output").chars().take(SHOWN_LIMIT_CHARS).collect();
    if text.len() < text_of("output").len() {
        text.push_str("\n… the rest is in the run\n");
    }
    for (what, key) in [("on stderr", "stderr"), ("failed", "error")] {
        let excerpt: String = text_of(key).chars().take(SHOWN_LIMIT_CHARS).collect();
        if !excerpt.is_empty() {
            text.push_str(&format!("\n{what}: {excerpt}\n"));
        }
    }
    Output { title: format!("{} ({moment})", text_of("command")), text }
}
