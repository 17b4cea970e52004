//! Run directory of a question about changes: each simulation that an answer rests on as a case.

use crate::answer::{AnswerPoint, PointKind, STEP};
use crate::run_directory::{self, KeptCase, KeptEvent, KeptQuestion};
use crate::what_if::{case_name, case_stage};
use crate::{Bottleneck, Configuration, LoadSource, Row, SizingError, bottleneck, what_if};
use findings::{WHAT_IF_EVENT, WHAT_IF_QUESTION_EVENT};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Writes the run directory of answers about changes and of the walk from limit to limit, where one was made.
pub fn keep_what_if_run(
    directory: &Path,
    array: &Configuration,
    load: &LoadSource,
    rows: &[Row],
    walk: Option<&[Bottleneck]>,
    command_line: &[String],
) -> Result<(), SizingError> {
    let steps = walk.unwrap_or_default();
    let of_rows = rows.iter().flat_map(|row| {
        let points = row.answer.points.iter();
        points.map(move |point| (what_if::STAGE, row.change_name(), point))
    });
    let of_steps = steps.iter().flat_map(|step| {
        let own = step.answer.points.iter().map(move |point| (bottleneck::STAGE, step.change_name(), point));
        own.chain(step.second.iter().map(move |second| (bottleneck::STAGE, step.before.clone(), second)))
    });
    // A value that is given twice has one case.
    let mut seen = BTreeSet::new();
    let mut cases: Vec<KeptCase<'_>> = of_rows
        .chain(of_steps)
        .map(|(stage, change, point)| case(array, load, stage, &change, point))
        .filter(|case| seen.insert((case.stage, case.name.clone())))
        .collect();
    let stages: Vec<&str> = stages(walk.is_some_and(|steps| !steps.is_empty())).collect();
    cases.sort_by_key(|case| stages.iter().position(|stage| *stage == case.stage));
    let answers = rows.iter().map(|row| KeptEvent {
        kind: WHAT_IF_EVENT,
        text: format!("{}: limit {}", row.change_text(), row.answer.limit),
        data: row.json(),
    });
    let steps = steps.iter().map(|step| KeptEvent {
        kind: WHAT_IF_EVENT,
        text: format!("{}: limit {}", step.change_name(), step.answer.limit),
        data: step.json(),
    });
    let question_event = KeptEvent {
        kind: WHAT_IF_QUESTION_EVENT,
        text: format!("load: {}; array: {}", load.text, array.name),
        data: question_json(array, load, walk.is_some()),
    };
    let kept = KeptQuestion {
        plan: "what-if",
        title: format!("Changes of {} under {}", array.name, load.title),
        settings: &load.case.settings,
        stages: stages.clone(),
        arrays: std::slice::from_ref(array),
        cases,
        events: std::iter::once(question_event).chain(answers).chain(steps).collect(),
    };
    run_directory::keep(directory, &kept, command_line)
}

/// Stages of the run, those of the walk only where it has steps.
fn stages(has_walk: bool) -> impl Iterator<Item = &'static str> {
    let own = case_stage(what_if::STAGE, PointKind::Own);
    let walk = has_walk.then_some(bottleneck::STAGE);
    let others = [PointKind::More(crate::Part::Hosts, STEP), PointKind::Alone];
    std::iter::once(own).chain(walk).chain(others.map(|kind| case_stage(own, kind)))
}

fn case<'a>(
    array: &Configuration,
    load: &LoadSource,
    stage: &'static str,
    change: &str,
    point: &'a AnswerPoint,
) -> KeptCase<'a> {
    let mut settings = run_directory::load_settings(&load.case.settings);
    settings.insert("change".into(), change.into());
    match point.kind {
        PointKind::Own => {}
        PointKind::Alone => {
            settings.insert("numjobs".into(), json!(1));
            settings.insert("iodepth".into(), json!(1));
        }
        PointKind::More(part, times) => {
            settings.insert("part".into(), part.name().into());
            settings.insert("times".into(), json!(times));
        }
    }
    KeptCase {
        stage: case_stage(stage, point.kind),
        name: case_name(change, point.kind),
        settings,
        array: match change {
            what_if::NO_CHANGE => array.name.clone(),
            _ => format!("{} {change}", array.name),
        },
        samples: &point.samples,
    }
}

fn question_json(array: &Configuration, load: &LoadSource, has_walk: bool) -> Value {
    json!({
        "load": load.text,
        "title": load.title,
        "iops": crate::workload::asked_iops(&load.case),
        "array": array.name,
        "find_bottleneck": has_walk,
        "not_known": load.not_carried,
    })
}
