//! Run directory of a question: each simulation as a case, and the answers as events.

use crate::{Configuration, SizingError};
use load::Sample;
use serde_json::{Map, Value, json};
use std::path::Path;
use store::{
    CaseOutcome, CaseStatus, Event, LoadOutcome, Manifest, ManifestTarget, NewCase, Run, RunEnd, SourceText,
};

/// Name of a case's load: the streams of a workload count together.
const LOAD: &str = "load";
/// Settings that every case of a run has.
const SETTINGS: [&str; 5] = ["rw", "bs", "numjobs", "iodepth", "rwmixread"];
/// Runtime that the plan of a question says, in seconds: simulations end when their level is known.
const RUNTIME_S: u64 = 60;

/// Simulation that is kept as a case.
pub(crate) struct KeptCase<'a> {
    /// Stage of the case.
    pub stage: &'static str,
    /// Its name within the stage.
    pub name: String,
    /// Its settings.
    pub settings: Map<String, Value>,
    /// Array that was simulated, with its changes.
    pub array: String,
    /// Its intervals.
    pub samples: &'a [Sample],
}

/// Event of a question or an answer.
pub(crate) struct KeptEvent {
    /// Its kind.
    pub kind: &'static str,
    /// Its text.
    pub text: String,
    /// Its data.
    pub data: Value,
}

/// Question with its simulations and answers.
pub(crate) struct KeptQuestion<'a> {
    /// Command that asked, which names the plan.
    pub plan: &'static str,
    /// Title of the report.
    pub title: String,
    /// Settings of the load.
    pub settings: &'a Map<String, Value>,
    /// Stages in their order.
    pub stages: Vec<&'static str>,
    /// Arrays of the question.
    pub arrays: &'a [Configuration],
    /// Simulations; those of which nothing was counted are left out.
    pub cases: Vec<KeptCase<'a>>,
    /// Question and answers, in their order.
    pub events: Vec<KeptEvent>,
}

/// Settings of a load that a run's cases have.
pub(crate) fn load_settings(settings: &Map<String, Value>) -> Map<String, Value> {
    let own = SETTINGS.iter().filter_map(|name| Some(((*name).to_owned(), settings.get(*name)?.clone())));
    own.collect()
}

/// Title of a question about a load and arrays: the load's words, and the names of up to three arrays.
pub(crate) fn names_in_words(arrays: &[Configuration]) -> String {
    const NAMED_LIMIT: usize = 3;
    let names: Vec<&str> = arrays.iter().map(|one| one.name.as_str()).collect();
    match &names[..] {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [before @ .., last] if names.len() <= NAMED_LIMIT => format!("{} and {last}", before.join(", ")),
        all => units::human_count(all.len() as u64, "array"),
    }
}

/// Writes the run directory of a question.
pub(crate) fn keep(
    directory: &Path,
    question: &KeptQuestion<'_>,
    command_line: &[String],
) -> Result<(), SizingError> {
    let is_counted = |case: &&KeptCase<'_>| case.samples.iter().any(|sample| !sample.is_ramp);
    let kept: Vec<&KeptCase<'_>> = question.cases.iter().filter(is_counted).collect();
    let cases: Vec<NewCase> = kept
        .iter()
        .map(|case| NewCase {
            plan: question.plan.into(),
            stage: case.stage.into(),
            name: case.name.clone(),
            settings: case.settings.clone(),
            estimated_duration_ns: case.samples.last().map_or(0, |last| last.end_ns),
            estimated_write_bytes: 0,
        })
        .collect();
    let mut run = Run::create(directory, &manifest(question, command_line), &cases)?;
    for (index, case) in kept.iter().enumerate() {
        let index = index as u32;
        run.begin_case(index)?;
        run.append_samples(index, LOAD, case.samples)?;
        let counted = case.samples.iter().filter(|sample| !sample.is_ramp);
        run.finish_case(
            index,
            &CaseOutcome {
                status: CaseStatus::Done,
                engine: "sim".into(),
                target: format!("twin:{}", case.array.replace(' ', ",")),
                duration_ns: counted.map(Sample::duration_ns).sum(),
                loads: vec![LoadOutcome::of_samples(LOAD, case.samples)],
                error: None,
                warnings: Vec::new(),
                extrapolation: None,
            },
        )?;
    }
    for event in &question.events {
        let (kind, text) = (event.kind.into(), event.text.clone());
        run.append_event(&Event { kind, text, data: Some(event.data.clone()), ..Event::default() })?;
    }
    run.end(&RunEnd::Done)?;
    Ok(())
}

fn manifest(question: &KeptQuestion<'_>, command_line: &[String]) -> Manifest {
    let source = |one: &Configuration| SourceText {
        name: one.name.clone(),
        source: if one.is_shipped { "shipped".into() } else { "file".into() },
        text: plan::with_resolved_values(&one.text, &one.description.parts),
    };
    Manifest {
        arraylab_version: env!("CARGO_PKG_VERSION").into(),
        seed: 1,
        plan: SourceText {
            name: question.plan.into(),
            source: question.plan.into(),
            text: plan_text(question),
        },
        array: match question.arrays {
            [one] => Some(source(one)),
            _ => None,
        },
        arrays: question.arrays.iter().map(source).collect(),
        targets: question
            .arrays
            .iter()
            .map(|one| ManifestTarget { spec: format!("twin:{}", one.name), identity: Value::Null })
            .collect(),
        engine: "sim".into(),
        command_line: command_line.to_vec(),
        ..Manifest::default()
    }
}

/// Plan that names the stages of the run.
fn plan_text(question: &KeptQuestion<'_>) -> String {
    let mut settings = load_settings(question.settings);
    settings.insert("runtime".into(), json!(RUNTIME_S));
    let stage = |stage: &&str| ((*stage).to_owned(), json!({ "settings": settings }));
    let stages: Map<String, Value> = question.stages.iter().map(stage).collect();
    json!({ "title": question.title, "stages": stages }).to_string()
}
