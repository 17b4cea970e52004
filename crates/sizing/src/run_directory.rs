//! Run directory of a size question: each simulated multiple of the workload as a case, and the answers as events.

use crate::{Configuration, LoadSource, SizePoint, SizeQuestion, SizeRow, SizingError};
use findings::{SIZE_EVENT, SIZE_QUESTION_EVENT};
use serde_json::{Map, Value, json};
use std::path::Path;
use store::{
    CaseOutcome, CaseStatus, Event, LoadOutcome, Manifest, ManifestTarget, NewCase, Run, RunEnd, SourceText,
};

/// Name of a case's load: the streams of a workload count together.
const LOAD: &str = "load";
/// Settings that every case of a run has.
const SETTINGS: [&str; 5] = ["rw", "bs", "numjobs", "iodepth", "rwmixread"];

/// Writes the run directory of a question and its answers.
pub fn keep_size_run(
    directory: &Path,
    arrays: &[Configuration],
    load: &LoadSource,
    question: &SizeQuestion,
    rows: &[SizeRow],
    command_line: &[String],
) -> Result<(), SizingError> {
    let points: Vec<(&SizeRow, &SizePoint)> = rows
        .iter()
        .flat_map(|row| row.points.iter().map(move |point| (row, point)))
        .filter(|(_, point)| point.samples.iter().any(|sample| !sample.is_ramp))
        .collect();
    let settings = |row: &SizeRow, point: &SizePoint| {
        let own =
            SETTINGS.iter().filter_map(|name| Some((*name, question.case.settings.get(*name)?.clone())));
        let mut settings: Map<String, Value> = own.map(|(name, value)| (name.to_owned(), value)).collect();
        settings.insert("array".into(), row.name().into());
        settings.insert("times".into(), json!((point.times * 1e4).round() / 1e4));
        settings
    };
    let cases: Vec<NewCase> = points
        .iter()
        .map(|(row, point)| NewCase {
            plan: "size".into(),
            stage: row.state.name().into(),
            name: row.case_name(point),
            settings: settings(row, point),
            estimated_duration_ns: point.samples.last().map_or(0, |last| last.end_ns),
            estimated_write_bytes: 0,
        })
        .collect();
    let source = |one: &Configuration| SourceText {
        name: one.name.clone(),
        source: if one.is_shipped { "shipped".into() } else { "file".into() },
        text: plan::with_resolved_values(&one.text, &one.description.parts),
    };
    let manifest = Manifest {
        arraylab_version: env!("CARGO_PKG_VERSION").into(),
        seed: 1,
        plan: SourceText { name: "size".into(), source: "size".into(), text: plan_text(load, question) },
        array: match arrays {
            [one] => Some(source(one)),
            _ => None,
        },
        arrays: arrays.iter().map(source).collect(),
        targets: arrays
            .iter()
            .map(|one| ManifestTarget { spec: format!("twin:{}", one.name), identity: Value::Null })
            .collect(),
        engine: "sim".into(),
        command_line: command_line.to_vec(),
        ..Manifest::default()
    };
    let mut run = Run::create(directory, &manifest, &cases)?;
    for (index, (row, point)) in points.iter().enumerate() {
        let index = index as u32;
        run.begin_case(index)?;
        run.append_samples(index, LOAD, &point.samples)?;
        let counted = point.samples.iter().filter(|sample| !sample.is_ramp);
        run.finish_case(
            index,
            &CaseOutcome {
                status: CaseStatus::Done,
                engine: "sim".into(),
                target: format!("twin:{}", row.name().replace(' ', ",")),
                duration_ns: counted.map(load::Sample::duration_ns).sum(),
                loads: vec![LoadOutcome::of_samples(LOAD, &point.samples)],
                error: None,
                warnings: Vec::new(),
                extrapolation: None,
            },
        )?;
    }
    let required: Vec<String> = question.requirements.iter().map(ToString::to_string).collect();
    let mut event = |kind: &str, text: String, data: Value| {
        run.append_event(&Event { kind: kind.into(), text, data: Some(data), ..Event::default() })
    };
    event(
        SIZE_QUESTION_EVENT,
        format!("workload: {}; required: {}", load.text, required.join(", ")),
        question_json(load, question),
    )?;
    for row in rows {
        let text = format!("{}, {}: {}", row.name(), row.state.name(), row.verdict.name());
        event(SIZE_EVENT, text, row.json())?;
    }
    run.end(&RunEnd::Done)?;
    Ok(())
}

fn question_json(load: &LoadSource, question: &SizeQuestion) -> Value {
    let requirement = |one: &crate::Requirement| {
        let text = one.to_string();
        let measure = text.split(" < ").next().unwrap_or_default();
        json!({ "text": text, "measure": measure, "latency_ns": one.latency_ns })
    };
    json!({
        "workload": load.text,
        "iops": crate::workload::asked_iops(&question.case),
        "requirements": question.requirements.iter().map(requirement).collect::<Vec<_>>(),
        "growth": question.growth.map(|growth| json!({ "per_year": growth.per_year, "years": growth.years })),
        "capacity_bytes": question.capacity_bytes,
        "written_bytes_per_day": question.written_bytes_per_day,
        "states": question.states.iter().map(|state| state.name()).collect::<Vec<_>>(),
        "not_known": load.not_carried,
    })
}

/// Plan that names the stages of the run: one for each state.
fn plan_text(load: &LoadSource, question: &SizeQuestion) -> String {
    let mut settings: Map<String, Value> = Map::new();
    for name in SETTINGS {
        if let Some(value) = question.case.settings.get(name) {
            settings.insert(name.into(), value.clone());
        }
    }
    settings.insert("runtime".into(), json!(60));
    let stage = |state: &crate::State| (state.name().to_owned(), json!({ "settings": settings }));
    let stages: Map<String, Value> = question.states.iter().map(stage).collect();
    json!({ "title": format!("Arrays for {}", load.text), "stages": stages }).to_string()
}
