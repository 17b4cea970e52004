//! Time line of a question: lines of JSON, one an interval, sent as they are simulated.

use crate::question::{EffortWord, ExploreError, configuration, load, quoted};
use findings::Kind;
use report::Sentences;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sizing::{LoadSource, SizingError, TimeLine, TimeLineEnd, TimeLineKind};

/// I/Os of a rough time line.
const ROUGH_IOS: u64 = 300_000;
/// I/Os of a refined one.
const REFINED_IOS: u64 = 3_000_000;
/// Findings that a long write is told by.
const OF_LONG_WRITE: &[Kind] = &[Kind::WriteCliff, Kind::NoWriteCliff];
/// Findings that a drive failure is told by.
const OF_DRIVE_FAILURE: &[Kind] = &[Kind::Disruption];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    array: Value,
    #[serde(default)]
    load: Map<String, Value>,
    #[serde(default)]
    effort: Option<EffortWord>,
    time_line: String,
}

/// Answers a question for a time line, `{"array", "load", "effort", "time_line": "long-write" | "drive-failure"}`, line by line: the plan
/// and how it is run, each interval as it is simulated, and the findings. Ends early where `send` returns false.
pub fn time_line(body: &[u8], send: &mut dyn FnMut(&Value) -> bool) -> Result<(), ExploreError> {
    let question: Question = serde_json::from_slice(body)?;
    let configuration = configuration(&question.array)?;
    let load = load(&question.load)?;
    let is_refined = question.effort == Some(EffortWord::Refined);
    let named = TimeLineKind::ALL.into_iter().find(|kind| kind.name() == question.time_line);
    let kind = named.ok_or_else(|| {
        let names = TimeLineKind::ALL.map(TimeLineKind::name).join(" or ");
        SizingError::Question { message: format!("`{}` is no time line", question.time_line), hint: names }
    })?;
    let ios = if is_refined { REFINED_IOS } else { ROUGH_IOS };
    let line = TimeLine::new(&configuration, &LoadSource::read(&load)?, kind, ios)?;
    if !send(&begin(&line, is_refined)) {
        return Ok(());
    }
    let end = line.simulate(&mut |point| send(&json!({ "point": point })))?;
    if end.is_whole {
        let kinds = match kind {
            TimeLineKind::LongWrite => OF_LONG_WRITE,
            TimeLineKind::DriveFailure => OF_DRIVE_FAILURE,
        };
        send(&self::end(&end, kinds));
    }
    Ok(())
}

fn begin(line: &TimeLine, is_refined: bool) -> Value {
    json!({ "begin": {
        "effort": if is_refined { "refined" } else { "rough" },
        "runtime_s": line.runtime_ns as f64 / 1e9,
        "interval_s": line.interval_ns as f64 / 1e9,
        "fails_at_s": line.fails_at_ns.map(|nanos| nanos as f64 / 1e9),
        "shrink": line.shrink,
        "settings": line.configuration.settings.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>(),
        "plan": line.plan,
        "array": line.configuration.text,
        "command": command(line),
    } })
}

/// The run that has the same intervals, of the plan and the array as files.
fn command(line: &TimeLine) -> String {
    let target = format!("twin:array.yaml{}", line.target_settings());
    format!("arraylab run time-line.yaml --target {} --out time-line", quoted(&target))
}

fn end(end: &TimeLineEnd, kinds: &[Kind]) -> Value {
    let is_meant = |id: &String| end.findings.get(id).is_some_and(|finding| kinds.contains(&finding.kind()));
    let sentences: Vec<String> = Sentences::of(&end.findings)
        .conclusions()
        .iter()
        .filter(|sentence| sentence.findings.iter().all(is_meant))
        .map(|sentence| sentence.text.text().to_owned())
        .collect();
    let findings: Vec<_> = end.findings.all.iter().filter(|one| kinds.contains(&one.kind())).collect();
    json!({ "end": { "sentences": sentences, "findings": findings, "rebuild": end.rebuild } })
}
