//! Run directory of a size question: each simulated multiple of the workload as a case.

use crate::run_directory::{self, KeptCase, KeptEvent, KeptQuestion};
use crate::{Configuration, LoadSource, SizePoint, SizeQuestion, SizeRow, SizingError};
use findings::{SIZE_EVENT, SIZE_QUESTION_EVENT};
use serde_json::{Value, json};
use std::path::Path;

/// Writes the run directory of a question and its answers.
pub fn keep_size_run(
    directory: &Path,
    arrays: &[Configuration],
    load: &LoadSource,
    question: &SizeQuestion,
    rows: &[SizeRow],
    command_line: &[String],
) -> Result<(), SizingError> {
    let case = |row: &SizeRow, point: &SizePoint| {
        let mut settings = run_directory::load_settings(&question.case.settings);
        settings.insert("array".into(), row.name().into());
        settings.insert("times".into(), json!((point.times * 1e4).round() / 1e4));
        (row.case_name(point), settings)
    };
    let points = rows.iter().flat_map(|row| row.points.iter().map(move |point| (row, point)));
    let cases = points.map(|(row, point)| {
        let (name, settings) = case(row, point);
        KeptCase { stage: row.state.name(), name, settings, array: row.name(), samples: &point.samples }
    });
    let required: Vec<String> = question.requirements.iter().map(ToString::to_string).collect();
    let question_event = KeptEvent {
        kind: SIZE_QUESTION_EVENT,
        text: format!("workload: {}; required: {}", load.text, required.join(", ")),
        data: question_json(load, question),
    };
    let answers = rows.iter().map(|row| KeptEvent {
        kind: SIZE_EVENT,
        text: format!("{}, {}: {}", row.name(), row.state.name(), row.verdict.name()),
        data: row.json(),
    });
    let kept = KeptQuestion {
        plan: "size",
        title: title(arrays, load, rows),
        settings: &question.case.settings,
        stages: question.states.iter().map(|state| state.name()).collect(),
        arrays,
        cases: cases.collect(),
        events: std::iter::once(question_event).chain(answers).collect(),
    };
    run_directory::keep(directory, &kept, command_line)
}

/// `OLTP database on small-flash and composite-flash`; of a space `… on designs of …`.
fn title(arrays: &[Configuration], load: &LoadSource, rows: &[SizeRow]) -> String {
    let is_space = rows.iter().any(|row| !row.design.is_empty());
    let designs = if is_space { "designs of " } else { "" };
    format!("{} on {designs}{}", load.title, run_directory::names_in_words(arrays))
}

fn question_json(load: &LoadSource, question: &SizeQuestion) -> Value {
    let requirement = |one: &crate::Requirement| {
        let text = one.to_string();
        let measure = text.split(" < ").next().unwrap_or_default();
        json!({ "text": text, "measure": measure, "latency_ns": one.latency_ns })
    };
    json!({
        "workload": load.text,
        "title": load.title,
        "iops": crate::workload::asked_iops(&question.case),
        "requirements": question.requirements.iter().map(requirement).collect::<Vec<_>>(),
        "growth": question.growth.map(|growth| json!({ "per_year": growth.per_year, "years": growth.years })),
        "capacity_bytes": question.capacity_bytes,
        "written_bytes_per_day": question.written_bytes_per_day,
        "states": question.states.iter().map(|state| state.name()).collect::<Vec<_>>(),
        "not_known": load.not_carried,
    })
}
